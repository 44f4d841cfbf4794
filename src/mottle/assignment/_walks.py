"""Helpers that the walks share: edges by original, random picks, and the check of the result.

*Originals* and *slots* (published records) are numbered by their place in the block.
"""

from __future__ import annotations

import numpy as np

from mottle.errors import PrivacyError
from mottle.graph.model import Graph, is_complete, is_order, preimage
from mottle.typing import Int32Array, Int64Array, UInt32Array
from mottle.utils import parallel
from mottle.utils.compiled import inner_kernel, kernel
from mottle.utils.csprng import Purpose, below, open_stream, shuffle

_WALK = int(Purpose.WALK)


@inner_kernel
def assign_if_complete(
    graph: Graph, block: int, key: UInt32Array, stream: UInt32Array, truth: Int32Array
) -> bool:
    """Open the block's random stream; if the block is complete, assign it and return true."""
    open_stream(stream, key, _WALK, block)
    if not is_complete(graph, block):
        return False
    _permute_block(graph, block, stream, truth)
    return True


@inner_kernel
def write_block(graph: Graph, block: int, holder_of: Int32Array, truth: Int32Array) -> None:
    """Write the assignment of a block, given as the original that holds each slot."""
    start = graph.starts[block]
    for slot in range(holder_of.size):
        truth[start + slot] = start + holder_of[slot]


@inner_kernel
def slots_of_originals(graph: Graph, block: int) -> Int32Array:
    """[size, degree]: the slots that each original may take, the edges of a block by original."""
    size = graph.starts[block + 1] - graph.starts[block]
    degree = np.int64(graph.degrees[block])
    free = np.empty((size, degree), np.int32)
    filled = np.zeros(size, np.int32)
    for slot in range(size):
        for layer in range(degree):
            original = preimage(graph, block, slot, layer)
            free[original, filled[original]] = slot
            filled[original] += 1
    return free


@inner_kernel
def pick_unvisited(
    stream: UInt32Array, slots: Int32Array, first: int, last: int, visited: Int64Array, walk: int
) -> int:
    """Index in ``slots[first:last]`` of a slot not visited in this walk; -1 when all are visited.

    The search starts at a random index.
    """
    if first == last:
        return -1
    offset = first + below(stream, last - first)
    for choice in range(offset, last):
        if visited[slots[choice]] != walk:
            return choice
    for choice in range(first, offset):
        if visited[slots[choice]] != walk:
            return choice
    return -1


@inner_kernel
def _permute_block(graph: Graph, block: int, stream: UInt32Array, truth: Int32Array) -> None:
    """Assign a complete block by a uniformly random permutation: every edge has chance 1/size."""
    start, end = graph.starts[block], graph.starts[block + 1]
    places = np.arange(end - start)
    shuffle(stream, places)
    for place in range(end - start):
        truth[start + place] = start + places[place]


def check_assignment(graph: Graph, truth: Int32Array) -> int:
    """Check invariant 3: the assignment is one-to-one along edges of the graph.

    Parameters
    ----------
    graph : Graph
        The graph that the assignment was drawn from.
    truth : Int32Array
        [n]: the position of the true original of every published record.

    Returns
    -------
    int
        Number of records.

    Raises
    ------
    PrivacyError
        If an original is assigned never or twice, or to a record that may not stand for it.
    """
    if len(truth) != graph.records or not is_order(truth):
        raise PrivacyError("Invariant 3: the assignment is not one-to-one.")
    outside = sum(
        parallel.over_blocks(
            lambda first, last: _count_outside(graph, truth, first, last), graph.starts
        )
    )
    if outside:
        raise PrivacyError(f"Invariant 3: {outside} records are assigned outside the graph.")
    return graph.records


@kernel
def _count_outside(graph: Graph, truth: Int32Array, first: int, last: int) -> int:
    """Count published records whose true original is not among their preimages."""
    outside = 0
    for block in range(first, last):
        start, end = graph.starts[block], graph.starts[block + 1]
        degree = np.int64(graph.degrees[block])
        for position in range(start, end):
            place = truth[position] - start
            found = degree == end - start and 0 <= place < degree and graph.edges.size == 0
            for layer in range(0 if found else degree):
                if preimage(graph, block, position - start, layer) == place:
                    found = True
                    break
            outside += not found
    return outside
