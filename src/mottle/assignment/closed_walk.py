"""SET12's closed walk: extract assignments by walks that may revisit, never backtrack.

Xue, Karras, Raïssi, Vaidya, Tan: Anonymizing Set-Valued Data by Nonreciprocal Recoding (KDD 2012),
§4.2, Algorithm 1.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from mottle.assignment._walks import permute_block, slots_of_originals
from mottle.graph.model import Graph, is_complete
from mottle.typing import Int32Array, Int64Array, UInt32Array
from mottle.utils.csprng import STREAM_WORDS, Purpose, below, open_stream, shuffle

_WALK = int(Purpose.WALK)
_NOBODY = -1


@njit(cache=True, nogil=True)
def closed_walk(graph: Graph, first: int, last: int, key: UInt32Array, truth: Int32Array) -> None:
    """Assign blocks ``first .. last - 1`` by closed walks; fills ``truth`` at their positions.

    The walk starts at a random original that has no slot yet, takes a random slot, sends that
    slot's holder to a random slot of its own, and so on until it closes. It prefers slots it has
    not visited; where there is none it revisits one over an edge it has not used, and only the
    last choice of each original counts, so the detour (a *deviant cycle*) is forgotten. Every
    original has as many ways in as out, so the walk is never stuck (Theorem 4.1).

    One deviation, for speed: the paper starts from an arbitrary assignment of the originals still
    waiting and closes a walk at the slot its first original holds there. That assignment being
    arbitrary, we decide it as late as possible: whichever slot without a settled holder the walk
    reaches first *is* the one its first original held. The walks are then short, about |P|/w steps
    while w originals wait, and one assignment costs O(|P| log |P|) steps on average instead of
    O(k · |P|²) (Goel, Kapralov, Khanna, Perfect Matchings in O(n log n) Time in Regular Bipartite
    Graphs, SIAM J. Comput. 2013).
    """
    stream = np.empty(STREAM_WORDS, np.uint32)
    for block in range(first, last):
        open_stream(stream, key, _WALK, block)
        if is_complete(graph, block):
            permute_block(graph, block, stream, truth)
            continue
        size = graph.starts[block + 1] - graph.starts[block]
        degree = graph.degrees[block]
        # free[i, :left] are the slots original i may still take; the one it holds stands last.
        free = slots_of_originals(graph, block)
        holder_of = np.empty(size, np.int32)  # by slot
        settled = np.empty(size, np.bool_)  # by original: whether it holds a slot
        waiting = np.arange(size)
        visited = np.zeros(size, np.int64)  # by slot: the last walk that took it
        used = np.zeros(size, np.int32)  # by original: free[i, :used[i]] was walked already …
        used_in = np.zeros(size, np.int64)  # … in this walk
        walk = 0
        chosen = below(stream, degree)  # which of the assignments becomes the true one
        for left in range(degree, degree - chosen - 1, -1):
            holder_of[:] = _NOBODY
            settled[:] = False
            shuffle(stream, waiting)
            for start in waiting:
                walk += 1
                original = start
                while original != _NOBODY:
                    if used_in[original] != walk:
                        used_in[original] = walk
                        used[original] = 0
                    slots = free[original]
                    begin = used[original]
                    end = left - 1 if settled[original] else left
                    choice = _pick(stream, slots, begin, end, holder_of, visited, walk)
                    slots[begin], slots[choice] = slots[choice], slots[begin]
                    used[original] += 1
                    visited[slots[begin]] = walk
                    original = holder_of[slots[begin]]
                original = start
                while original != _NOBODY:  # follow everybody's last choice to the open slot
                    slots = free[original]
                    choice = used[original] - 1
                    slot = slots[choice]
                    slots[choice], slots[left - 1] = slots[left - 1], slot
                    settled[original] = True
                    displaced = holder_of[slot]
                    holder_of[slot] = original
                    original = displaced
        offset = graph.starts[block]
        for slot in range(size):
            truth[offset + slot] = offset + holder_of[slot]


@njit(cache=True, nogil=True)
def _pick(
    stream: UInt32Array,
    slots: Int32Array,
    begin: int,
    end: int,
    holder_of: Int32Array,
    visited: Int64Array,
    walk: int,
) -> np.int64:
    """Index of the next slot, looking from a random one on: open, else unvisited, else that one."""
    offset = begin + below(stream, end - begin)
    unvisited = np.int64(-1)
    for step in range(end - begin):
        choice = offset + step
        if choice >= end:
            choice -= end - begin
        slot = slots[choice]
        if holder_of[slot] == _NOBODY:
            return choice
        if unvisited < 0 and visited[slot] != walk:
            unvisited = choice
    return unvisited if unvisited >= 0 else offset
