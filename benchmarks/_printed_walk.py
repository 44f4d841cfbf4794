"""NH10's Figure 7 as printed, with which SET12 §5.3 compares its closed walk ("WMC").

`mottle.assignment.backtracking_walk` has the improvements of NH10 §5.2.1: it starts from a random
permutation, of which a large part is valid already, and stops at the assignment that was drawn.
Here every round starts with every record matched to itself and processes all records, and all
rounds are run.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from mottle.assignment._walks import pick_unvisited, slots_of_originals
from mottle.assignment.backtracking_walk import _settle
from mottle.graph.model import Graph
from mottle.typing import UInt32Array
from mottle.utils.csprng import STREAM_WORDS, Purpose, below, open_stream

_WALK = int(Purpose.WALK)


@njit(cache=True, nogil=True)
def printed_walk(graph: Graph, key: UInt32Array, rounds: int) -> int:
    """Extract ``rounds`` assignments of the first block; return the number of steps."""
    stream = np.empty(STREAM_WORDS, np.uint32)
    open_stream(stream, key, _WALK, 0)
    size = graph.starts[1] - graph.starts[0]
    degree = graph.degrees[0]
    free = slots_of_originals(graph, 0)
    slot_of, holder_of = np.empty(size, np.int64), np.empty(size, np.int32)
    settled = np.empty(size, np.bool_)
    waiting, place_in_waiting = np.empty(size, np.int32), np.empty(size, np.int32)
    visited, taken_by = np.zeros(size, np.int64), np.empty(size, np.int32)
    walk, steps = 0, 0
    for left in range(degree, degree - rounds, -1):
        for record in range(size):  # lines 1-2
            slot_of[record], holder_of[record], settled[record] = record, record, False
            waiting[record], place_in_waiting[record] = record, record
        count = size
        while count > 0:  # line 3
            walk += 1
            start = waiting[below(stream, count)]  # line 5
            goal = slot_of[start]
            original = start
            while visited[goal] != walk:  # line 8
                steps += 1
                end = left - 1 if settled[original] else left
                choice = pick_unvisited(stream, free[original], 0, end, visited, walk)
                if choice < 0:  # lines 13-14
                    original = taken_by[slot_of[original]]
                else:  # lines 6, 12, 16
                    slot = free[original, choice]
                    visited[slot] = walk
                    taken_by[slot] = original
                    original = holder_of[slot]  # line 11
            slot = goal
            while True:  # line 19
                original = taken_by[slot]
                freed = slot_of[original]
                choice = 0
                while free[original, choice] != slot:
                    choice += 1
                count = _settle(
                    original,
                    choice,
                    left,
                    count,
                    free,
                    slot_of,
                    holder_of,
                    settled,
                    waiting,
                    place_in_waiting,
                )
                if original == start:
                    break
                slot = freed
    return steps
