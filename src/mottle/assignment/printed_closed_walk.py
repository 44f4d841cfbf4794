"""SET12's Algorithm 1 as printed: closed walks that start from a fixed assignment.

Xue, Karras, Raïssi, Vaidya, Tan: Anonymizing Set-Valued Data by Nonreciprocal Recoding (KDD 2012),
§4.2. `mottle.assignment.closed_walk` decides the initial assignment as late as possible and is much
faster; this one is for comparison with the paper. Both are sound in the same way: the index of the
assignment that becomes true is drawn first, and every edge lies in one of them.
"""

from __future__ import annotations

import numpy as np

from mottle.assignment._walks import assign_if_complete, slots_of_originals, write_block
from mottle.graph.model import Graph
from mottle.typing import Int32Array, Int64Array, UInt32Array
from mottle.utils.compiled import inner_kernel, kernel
from mottle.utils.csprng import STREAM_WORDS, below, shuffle


@kernel
def printed_closed_walk(
    graph: Graph, first: int, last: int, key: UInt32Array, truth: Int32Array
) -> None:
    """Assign blocks ``first .. last - 1``; fills ``truth`` at their positions."""
    stream = np.empty(STREAM_WORDS, np.uint32)
    for block in range(first, last):
        if assign_if_complete(graph, block, key, stream, truth):
            continue
        rounds = (
            int(below(stream, int(graph.degrees[block]))) + 1
        )  # the last one extracted becomes true
        holder_of = np.empty(graph.starts[block + 1] - graph.starts[block], np.int32)
        extract_as_printed(graph, block, rounds, stream, holder_of)
        write_block(graph, block, holder_of, truth)


@inner_kernel
def extract_as_printed(
    graph: Graph, block: int, rounds: int, stream: UInt32Array, holder_of: Int32Array
) -> int:
    """Extract ``rounds`` disjoint assignments of a block; return the number of steps.

    Fills ``holder_of`` with the original that holds each slot in the last one. Line numbers in
    comments are those of Algorithm 1. ``free[i, :left]`` are the slots that original i may still
    take, those it tried in this walk first; if it has been processed, its own stands last.
    """
    size = graph.starts[block + 1] - graph.starts[block]
    degree = graph.degrees[block]
    free = slots_of_originals(graph, block)
    processed = np.empty(size, np.bool_)
    waiting = np.arange(size)  # L, in a random order
    visited = np.zeros(size, np.int64)  # by slot: the last walk that took it
    used = np.zeros(size, np.int32)  # by original: free[i, :used[i]] was taken in walk used_in
    used_in = np.zeros(size, np.int64)
    walk, steps = 0, 0
    for left in range(degree, degree - rounds, -1):
        for slot in range(size):  # line 1: everybody holds the own slot, whether free or not
            holder_of[slot] = slot
        processed[:] = False  # line 2
        shuffle(stream, waiting)
        for start in waiting:  # lines 3 and 5
            if processed[start]:
                continue
            walk += 1  # line 4
            original, slot = start, -1
            while slot != start:  # lines 6-12: until the walk reaches the slot it began with
                if used_in[original] != walk:
                    used_in[original] = walk
                    used[original] = 0
                begin = used[original]
                end = left - 1 if processed[original] else left
                slots = free[original]
                choice = _pick(stream, slots, begin, end, visited, walk)
                slots[begin], slots[choice] = slots[choice], slots[begin]
                used[original] += 1
                slot = slots[begin]
                visited[slot] = walk
                original = holder_of[slot]
                steps += 1
            original, slot = start, -1
            while slot != start:  # lines 13-14: follow the last choices
                slots = free[original]
                choice = used[original] - 1
                slot = slots[choice]
                slots[choice], slots[left - 1] = slots[left - 1], slot
                processed[original] = True
                displaced = holder_of[slot]
                holder_of[slot] = original
                original = displaced
    return steps


@inner_kernel
def _pick(
    stream: UInt32Array, slots: Int32Array, begin: int, end: int, visited: Int64Array, walk: int
) -> int:
    """Index of a random slot among those not tried: one that is not visited, if there is any."""
    offset = begin + below(stream, end - begin)
    for step in range(end - begin):
        choice = offset + step
        if choice >= end:
            choice -= end - begin
        if visited[slots[choice]] != walk:
            return int(choice)
    return int(offset)
