"""What the walks share: edges seen from the originals, random picks, and the check of the result.

*Originals* and *slots* (published records) are numbered by their place in the block.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from mottle.errors import PrivacyError
from mottle.graph.model import Graph, is_order, preimage
from mottle.typing import Int32Array, Int64Array, UInt32Array
from mottle.utils import parallel
from mottle.utils.csprng import below, shuffle


@njit(cache=True, nogil=True)
def slots_of_originals(graph: Graph, block: int) -> Int32Array:
    """Slots every original may take, [size, degree]: the edges of a block turned around."""
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


@njit(cache=True, nogil=True)
def pick_unvisited(
    stream: UInt32Array, slots: Int32Array, first: int, last: int, visited: Int64Array, walk: int
) -> int:
    """Index in ``slots[first:last]`` of a slot not visited in this walk, from a random one on.

    -1 when all are visited.
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


@njit(cache=True, nogil=True)
def permute_block(graph: Graph, block: int, stream: UInt32Array, truth: Int32Array) -> None:
    """Assign a complete block by a uniformly random permutation: every edge has chance 1/size."""
    start, end = graph.starts[block], graph.starts[block + 1]
    places = np.arange(end - start)
    shuffle(stream, places)
    for place in range(end - start):
        truth[start + place] = start + places[place]


def check_assignment(graph: Graph, truth: Int32Array) -> int:
    """Invariant 3: the assignment is one-to-one along edges of the graph.

    Returns the number of records, or raises `PrivacyError`.
    """
    if len(truth) != graph.records or not is_order(truth):
        raise PrivacyError("Invariant 3: the assignment is not one-to-one.")
    astray = sum(
        parallel.over_blocks(lambda first, last: _astray(graph, truth, first, last), graph.starts)
    )
    if astray:
        raise PrivacyError(f"Invariant 3: {astray} records are assigned outside the graph.")
    return graph.records


@njit(cache=True, nogil=True)
def _astray(graph: Graph, truth: Int32Array, first: int, last: int) -> int:
    """Count published records whose true original is not among their preimages."""
    astray = 0
    for block in range(first, last):
        start, end = graph.starts[block], graph.starts[block + 1]
        degree = graph.degrees[block]
        for position in range(start, end):
            place = truth[position] - start
            found = degree == end - start and 0 <= place < degree and graph.edges.size == 0
            for layer in range(0 if found else degree):
                if preimage(graph, block, position - start, layer) == place:
                    found = True
                    break
            astray += not found
    return astray
