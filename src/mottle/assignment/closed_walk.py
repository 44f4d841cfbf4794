"""SET12's closed walk: extract assignments by walks that may revisit slots but never backtrack.

Xue, Karras, Raïssi, Vaidya, Tan: Anonymizing Set-Valued Data by Nonreciprocal Recoding (KDD 2012),
§4.2, Algorithm 1.
"""

from __future__ import annotations

import numpy as np

from mottle.assignment._walks import assign_if_complete, slots_of_originals, write_block
from mottle.graph.model import Graph
from mottle.typing import Int32Array, Int64Array, UInt32Array
from mottle.utils.compiled import inner_kernel, kernel
from mottle.utils.csprng import STREAM_WORDS, below, shuffle

_NOBODY = -1


@kernel
def closed_walk(graph: Graph, first: int, last: int, key: UInt32Array, truth: Int32Array) -> None:
    """Assign blocks ``first .. last - 1`` by closed walks; fills ``truth`` at their positions.

    The walk starts at a random original that has no slot yet, takes a random slot, sends that
    slot's holder to a random slot of its own, and so on until it closes. It prefers slots it has
    not visited; if there is none, it revisits one over an edge it has not used. Only the last
    choice of each original counts, so the detour (a *deviant cycle*) is forgotten. Every original
    has as many incoming as outgoing edges, so the walk is never stuck (Theorem 4.1).

    One deviation, for speed: the paper starts from an arbitrary assignment of the originals that
    are still waiting, and closes a walk at the slot that its first original holds there. Because
    that assignment is arbitrary, we decide it as late as possible: the first slot without a settled
    holder that the walk reaches *is* the one its first original held. The walks are then short,
    about |P|/w steps while w originals wait, and one assignment costs O(|P| log |P|) steps on
    average instead of O(k · |P|²) (Goel, Kapralov, Khanna, Perfect Matchings in O(n log n) Time in
    Regular Bipartite Graphs, SIAM J. Comput. 2013).
    """
    stream = np.empty(STREAM_WORDS, np.uint32)
    for block in range(first, last):
        if assign_if_complete(graph, block, key, stream, truth):
            continue
        size = graph.starts[block + 1] - graph.starts[block]
        degree = graph.degrees[block]
        # free[i, :left] are the slots that original i may still take; the one it holds is last.
        free = slots_of_originals(graph, block)
        holder_of = np.empty(size, np.int32)  # by slot
        settled = np.empty(size, np.bool_)  # by original: whether it holds a slot
        waiting = np.arange(size)
        visited = np.zeros(size, np.int64)  # by slot: the last walk that took it
        used = np.zeros(size, np.int32)  # by original: free[i, :used[i]] was taken in walk used_in
        used_in = np.zeros(size, np.int64)  # by original: the last walk that ``used`` refers to
        walk = 0
        chosen = below(stream, int(np.int64(degree)))  # which assignment is the true one
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
                while original != _NOBODY:  # follow the last choices to the slot without holder
                    slots = free[original]
                    choice = used[original] - 1
                    slot = slots[choice]
                    slots[choice], slots[left - 1] = slots[left - 1], slot
                    settled[original] = True
                    displaced = holder_of[slot]
                    holder_of[slot] = original
                    original = displaced
        write_block(graph, block, holder_of, truth)


@inner_kernel
def _pick(
    stream: UInt32Array,
    slots: Int32Array,
    begin: int,
    end: int,
    holder_of: Int32Array,
    visited: Int64Array,
    walk: int,
) -> np.int64:
    """Index of the next slot: one without holder, else an unvisited one, else a random one.

    The search starts at a random index.
    """
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
