"""Draws for graphs whose edges depend on sensitive values: permute buckets, or rotate rings.

A random walk mixes the given assignments into new ones, in which an individual's matches may
repeat a sensitive value other than its own; an adversary who knows the algorithm rules those out.
Here the matches of an individual always carry values from different buckets (or from different
places of the ring), whatever was drawn. Every edge still has chance 1/degree.
"""

from __future__ import annotations

import numpy as np

from mottle.assignment._walks import assign_if_complete
from mottle.errors import PrivacyError
from mottle.graph.model import Graph, is_complete, preimage
from mottle.typing import Int32Array, UInt32Array
from mottle.utils import parallel
from mottle.utils.compiled import kernel
from mottle.utils.csprng import STREAM_WORDS, below, shuffle


@kernel
def bucket_permutation(
    graph: Graph, first: int, last: int, key: UInt32Array, truth: Int32Array
) -> None:
    """Assign blocks ``first .. last - 1`` by one random permutation of their buckets each.

    A block of degree μ consists of μ buckets of equal size, one after the other, and layer b of
    every published record is a preimage in bucket b. The records published for bucket b receive
    their preimages in bucket π(b): one-to-one, because both sides are buckets matched one-to-one.
    """
    stream = np.empty(STREAM_WORDS, np.uint32)
    for block in range(first, last):
        if assign_if_complete(graph, block, key, stream, truth):
            continue
        start, end = graph.starts[block], graph.starts[block + 1]
        bucket_size = (end - start) // graph.degrees[block]
        order = np.arange(graph.degrees[block])
        shuffle(stream, order)
        for place in range(end - start):
            layer = order[place // bucket_size]
            truth[start + place] = start + preimage(graph, block, place, layer)


@kernel
def rotation(graph: Graph, first: int, last: int, key: UInt32Array, truth: Int32Array) -> None:
    """Assign blocks ``first .. last - 1`` each by one of its layers, drawn uniformly."""
    stream = np.empty(STREAM_WORDS, np.uint32)
    for block in range(first, last):
        if assign_if_complete(graph, block, key, stream, truth):
            continue
        start, end = graph.starts[block], graph.starts[block + 1]
        layer = int(below(stream, graph.degrees[block]))
        for place in range(end - start):
            truth[start + place] = start + preimage(graph, block, place, layer)


@kernel
def identity(graph: Graph, first: int, last: int, key: UInt32Array, truth: Int32Array) -> None:
    """Assign every record to itself: with sensitive values in a second table nothing is drawn."""
    for position in range(graph.starts[first], graph.starts[last]):
        truth[position] = position


def check_layers(graph: Graph, *, buckets: bool) -> None:
    """Check that the layers of the graph are what `bucket_permutation` or `rotation` needs.

    Parameters
    ----------
    graph : Graph
        The graph to check.
    buckets : bool
        If true, layer b of every record must lie in bucket b (`bucket_permutation`); otherwise
        every layer must be an assignment (`rotation`).

    Raises
    ------
    PrivacyError
        If the layers of a block are not of that form.
    """
    broken = parallel.over_blocks(
        lambda first, last: _unlayered_blocks(graph, first, last, buckets), graph.starts
    )
    if sum(broken):
        raise PrivacyError(f"Invariant 1: {sum(broken)} blocks are not layered for their draw.")


@kernel
def _unlayered_blocks(graph: Graph, first: int, last: int, buckets: bool) -> int:
    unlayered = 0
    for block in range(first, last):
        if is_complete(graph, block):
            continue
        size = graph.starts[block + 1] - graph.starts[block]
        degree = np.int64(graph.degrees[block])
        bucket_size = size // degree if buckets else size
        good = not buckets or size % degree == 0
        seen_by = np.full((degree, size), -1, np.int32)  # by layer and original: the last bucket
        for place in range(size if good else 0):
            for layer in range(degree):
                original = preimage(graph, block, place, layer)
                if buckets and original // bucket_size != layer:
                    good = False
                if seen_by[layer, original] == place // bucket_size:
                    good = False
                seen_by[layer, original] = place // bucket_size
        unlayered += not good
    return unlayered
