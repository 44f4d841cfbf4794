"""NH10's random walk with backtracking: extract assignments by cycles that visit no slot twice.

Wong, Mamoulis, Cheung: Non-homogeneous Generalization in Privacy Preserving Data Publishing
(SIGMOD 2010), §5.2, Fig. 7, with both optimizations of §5.2.1.
"""

from __future__ import annotations

import numpy as np

from mottle.assignment._walks import (
    assign_if_complete,
    pick_unvisited,
    slots_of_originals,
    write_block,
)
from mottle.graph.model import Graph
from mottle.typing import BoolArray, Int32Array, Int64Array, UInt32Array
from mottle.utils.compiled import inner_kernel, kernel
from mottle.utils.csprng import STREAM_WORDS, below, shuffle


@kernel
def backtracking_walk(
    graph: Graph, first: int, last: int, key: UInt32Array, truth: Int32Array
) -> None:
    """Assign blocks ``first .. last - 1`` as in Fig. 7; fills ``truth`` at their positions.

    Line numbers in comments are those of the figure. Cost O(k · |P|²) for one assignment in the
    worst case: each cycle may visit every slot and settle a single original.

    ``free[i, :left]`` are the slots that original i may still take. ``slot_of`` and ``holder_of``
    are the current assignment, which is one-to-one but may use slots that are not free for their
    original. ``settled`` marks the originals whose slot is valid; that slot then stands last, at
    ``free[i, left - 1]``. The other originals are ``waiting[:count]``.
    """
    stream = np.empty(STREAM_WORDS, np.uint32)
    for block in range(first, last):
        if assign_if_complete(graph, block, key, stream, truth):
            continue
        size = graph.starts[block + 1] - graph.starts[block]
        degree = graph.degrees[block]
        free = slots_of_originals(graph, block)
        slot_of, holder_of = np.empty(size, np.int64), np.empty(size, np.int32)
        settled = np.empty(size, np.bool_)
        waiting, place_in_waiting = np.empty(size, np.int32), np.empty(size, np.int32)
        visited = np.zeros(size, np.int64)  # U, by slot: the last walk that took it
        taken_by = np.empty(size, np.int32)  # by slot: the original that took it (its parent)
        walk = 0
        chosen = below(stream, degree)  # which of the assignments becomes the true one
        for left in range(degree, degree - chosen - 1, -1):
            count = _begin(  # lines 1-2, from a random permutation
                stream, free, left, slot_of, holder_of, settled, waiting, place_in_waiting
            )
            while count > 0:  # line 3
                walk += 1
                start = waiting[below(stream, count)]  # line 5
                goal = slot_of[start]
                original = start
                while visited[goal] != walk:  # line 8
                    end = left - 1 if settled[original] else left
                    choice = pick_unvisited(stream, free[original], 0, end, visited, walk)
                    if choice < 0:  # lines 13-14: a dead end, return to the original before it
                        original = taken_by[slot_of[original]]
                    else:  # lines 6, 12, 16
                        slot = free[original, choice]
                        visited[slot] = walk
                        taken_by[slot] = original
                        original = holder_of[slot]  # line 11
                slot = goal
                while True:  # line 19: from the goal back to the start
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
        write_block(graph, block, holder_of, truth)


@inner_kernel
def _begin(
    stream: UInt32Array,
    free: Int32Array,
    left: int,
    slot_of: Int64Array,
    holder_of: Int32Array,
    settled: BoolArray,
    waiting: Int32Array,
    place_in_waiting: Int32Array,
) -> int:
    """Start from a random permutation (NH10 §5.2.1); return the number of waiting originals."""
    size = slot_of.size
    for original in range(size):
        slot_of[original] = original
    shuffle(stream, slot_of)
    count = 0
    for original in range(size):
        slot = slot_of[original]
        holder_of[slot] = original
        settled[original] = False
        for choice in range(left):
            if free[original, choice] == slot:
                free[original, choice] = free[original, left - 1]
                free[original, left - 1] = slot
                settled[original] = True
                break
        if not settled[original]:
            waiting[count] = original
            place_in_waiting[original] = count
            count += 1
    return count


@kernel
def _settle(
    original: int,
    choice: int,
    left: int,
    count: int,
    free: Int32Array,
    slot_of: Int64Array,
    holder_of: Int32Array,
    settled: BoolArray,
    waiting: Int32Array,
    place_in_waiting: Int32Array,
) -> int:
    """Give ``original`` the slot ``free[original, choice]``; return how many are still waiting."""
    slot = free[original, choice]
    free[original, choice] = free[original, left - 1]
    free[original, left - 1] = slot
    slot_of[original] = slot
    holder_of[slot] = original
    if settled[original]:
        return count
    settled[original] = True
    last = waiting[count - 1]
    waiting[place_in_waiting[original]] = last
    place_in_waiting[last] = place_in_waiting[original]
    return count - 1
