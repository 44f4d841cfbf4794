"""Moves: beliefs about them are those over all outcomes of the draw, weighed one by one."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from mottle.audit.links.edges import read_edges
from mottle.audit.links.moves import Moves
from mottle.graph.model import Graph
from mottle.release.links import Links


def edges_of(graph: Graph):
    everybody = np.arange(graph.records)
    return read_edges(Links(graph, everybody, everybody.astype(np.int32)), graph.records)


def table_of(buckets: int, size: int) -> Graph:
    """One table: record j of bucket b has record j of every bucket as a preimage."""
    places = np.arange(buckets * size)
    edges = (places % size)[:, None] + size * np.arange(buckets)[None, :]
    return Graph.explicit(
        places.astype(np.int32),
        np.array([0, buckets * size]),
        np.array([buckets], np.int32),
        edges.ravel().astype(np.int32),
    )


@pytest.mark.parametrize("buckets", [2, 3, 4])
def test_buckets_move_as_a_whole_by_one_permutation(buckets):
    size = 3
    edges = edges_of(table_of(buckets, size))
    moves = Moves.of(edges, "buckets")
    likelihood = np.random.default_rng(1).random(len(edges.originals)) + 0.1
    scores = np.bincount(moves.move, np.log(likelihood))
    found = moves.beliefs(scores)[moves.move]
    expected, total = np.zeros(len(likelihood)), 0.0
    for order in permutations(range(buckets)):
        true = edges.originals // size == np.array(order)[edges.published // size]
        weight = np.prod(likelihood[true])
        expected += weight * true
        total += weight
    np.testing.assert_allclose(found, expected / total)


def test_a_ring_is_turned_by_one_layer():
    edges = edges_of(Graph.rings(np.arange(7), np.array([0, 7]), np.array([3])))
    moves = Moves.of(edges, "rotation")
    likelihood = np.random.default_rng(2).random(len(edges.originals)) + 0.1
    scores = np.bincount(moves.move, np.log(likelihood))
    weight = np.array([np.prod(likelihood[edges.layers == layer]) for layer in range(3)])
    np.testing.assert_allclose(
        moves.beliefs(scores)[moves.move], (weight / weight.sum())[edges.layers], rtol=1e-6
    )


@pytest.mark.parametrize("size", [4, 9])
def test_people_of_a_complete_block_have_one_record_each(size):
    edges = edges_of(Graph.rings(np.arange(size), np.array([0, size]), np.array([size])))
    moves = Moves.of(edges, "closed")
    scores = np.log(np.random.default_rng(3).random(len(edges.originals)) + 0.1)
    found = moves.beliefs(scores[np.argsort(moves.move)])[moves.move]
    np.testing.assert_allclose(np.bincount(edges.originals, found), 1.0)
    np.testing.assert_allclose(np.bincount(edges.published, found), 1.0, rtol=1e-3)


def test_without_likelihoods_all_outcomes_are_equally_likely():
    for graph, draw in ((table_of(3, 2), "buckets"), (table_of(7, 2), "buckets")):
        edges = edges_of(graph)
        moves = Moves.of(edges, draw)
        found = moves.beliefs(np.zeros(len(moves.of_people)))
        np.testing.assert_allclose(found[moves.move], 1 / edges.degrees[edges.published])
