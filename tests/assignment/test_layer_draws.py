"""Draws for graphs that know sensitive values: equal chances, no leak, and graphs they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from mottle.assignment import assign, check_assignment, check_layers
from mottle.errors import PrivacyError
from mottle.graph.model import Graph
from mottle.utils.csprng import Secret

DRAWS = 20_000
SIGNIFICANT = 1e-4


def bucket_edges(buckets: int, size: int, seed: int) -> np.ndarray:
    """Edges [buckets · size, buckets] of a block: every pair of buckets matched at random."""
    random = np.random.default_rng(seed)
    edges = np.empty((buckets * size, buckets), np.int32)
    for own in range(buckets):
        for other in range(buckets):
            match = np.arange(size) if own == other else random.permutation(size)
            edges[own * size : (own + 1) * size, other] = other * size + match
    return edges


def copies_of(edges: np.ndarray, copies: int) -> Graph:
    size, degree = edges.shape
    return Graph.explicit(
        np.arange(copies * size),
        np.arange(copies + 1) * size,
        np.full(copies, degree),
        np.tile(edges.ravel(), copies),
    )


def ring_edges(size: int, degree: int) -> np.ndarray:
    return (np.arange(size)[:, None] + np.arange(degree)) % size


def drawn_layers(edges: np.ndarray, graph: Graph, draw: str, seed: int) -> np.ndarray:
    """The layer of the true preimage of every record in every copy of the block."""
    size = len(edges)
    truth = assign(graph, Secret.draw(seed), draw)
    check_assignment(graph, truth)
    places = truth.reshape(-1, size) - np.arange(0, len(truth), size)[:, None]
    is_true = edges[None, :, :] == places[:, :, None]
    return is_true.argmax(axis=2)


def p_values(layers: np.ndarray, degree: int) -> np.ndarray:
    counts = [np.bincount(column, minlength=degree) for column in layers.T]
    return chisquare(np.stack(counts), axis=1).pvalue


# --------------------------------------------------------------------------------- equal chances


@pytest.mark.parametrize(("buckets", "size"), [(3, 4), (5, 2), (2, 7)])
def test_permuting_buckets_makes_every_edge_equally_likely(buckets: int, size: int):
    edges = bucket_edges(buckets, size, seed=1)
    graph = copies_of(edges, DRAWS)
    check_layers(graph, buckets=True)
    layers = drawn_layers(edges, graph, "buckets", seed=2)
    assert p_values(layers, buckets).min() > SIGNIFICANT


@pytest.mark.parametrize(("size", "degree"), [(7, 3), (9, 2), (6, 5)])
def test_turning_rings_makes_every_edge_equally_likely(size: int, degree: int):
    graph = Graph.rings(
        np.arange(DRAWS * size), np.arange(DRAWS + 1) * size, np.full(DRAWS, degree)
    )
    check_layers(graph, buckets=False)
    layers = drawn_layers(ring_edges(size, degree), graph, "rotation", seed=3)
    assert p_values(layers, degree).min() > SIGNIFICANT


@pytest.mark.parametrize("draw", ["buckets", "rotation"])
def test_complete_blocks_are_permuted(draw: str):
    graph = Graph.rings(np.arange(DRAWS * 4), np.arange(DRAWS + 1) * 4, np.full(DRAWS, 4))
    layers = drawn_layers(ring_edges(4, 4), graph, draw, seed=4)
    assert p_values(layers, 4).min() > SIGNIFICANT
    assert len(np.unique(layers, axis=0)) == 24  # all permutations, not only the four turns


def test_buckets_move_as_a_whole():
    edges = bucket_edges(4, 5, seed=5)
    layers = drawn_layers(edges, copies_of(edges, 500), "buckets", seed=6)
    by_bucket = layers.reshape(500, 4, 5)
    assert np.all(by_bucket == by_bucket[:, :, :1])
    assert np.all(np.sort(by_bucket[:, :, 0], axis=1) == np.arange(4))


# -------------------------------------------------------------------- what an adversary can strike


def strike_out(graph: Graph, truth: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """Share of individuals whose matches repeat a value; chance that one seen once is the true one.

    ``values`` [n] by position; a person's own value is always seen once.
    """
    degree = int(graph.degrees[0])
    size = int(graph.starts[1])
    published = values[truth].reshape(-1, size)
    edges = np.array([graph.preimages(place) for place in range(size)])
    matches = np.argsort(edges, axis=None, kind="stable").reshape(size, degree) // degree
    seen = published[:, matches].reshape(-1, degree)
    assert np.all(np.sum(seen == values[:, None], axis=1) == 1)
    seen = np.sort(seen, axis=1)
    fresh = np.ones_like(seen, bool)
    fresh[:, 1:] &= seen[:, 1:] != seen[:, :-1]
    fresh[:, :-1] &= seen[:, 1:] != seen[:, :-1]
    once = fresh.sum(axis=1)
    return float(np.mean(once < degree)), float(1 / np.mean(once))


@pytest.mark.parametrize(
    ("diversity", "repeats", "chance"), [(3, 0.43, 0.47), (5, 0.88, 0.35), (8, 0.99, 0.25)]
)
def test_walk_over_pure_buckets_leaks_and_permuting_them_does_not(diversity, repeats, chance):
    """HET's graph with buckets of ten, one value each."""
    found = {"closed": [], "buckets": []}
    for seed in range(20):
        graph = copies_of(bucket_edges(diversity, 10, seed), 30)
        values = np.tile(np.repeat(np.arange(diversity), 10), 30)
        for draw, results in found.items():
            results.append(strike_out(graph, assign(graph, Secret.draw(seed), draw), values))
    assert np.mean(found["closed"], axis=0) == pytest.approx([repeats, chance], abs=0.03)
    assert np.mean(found["buckets"], axis=0) == pytest.approx([0, 1 / diversity])


def test_walk_over_rings_of_spaced_values_leaks_and_turning_them_does_not():
    """NH10's ring of six times three values: who sees one twice knows the third."""
    values = np.tile(np.arange(3), 6 * 300)
    graph = Graph.rings(np.arange(len(values)), np.arange(301) * 18, np.full(300, 3))
    leaked = strike_out(graph, assign(graph, Secret.draw(1), "closed"), values)
    assert leaked == pytest.approx((0.46, 0.48), abs=0.06)
    sound = strike_out(graph, assign(graph, Secret.draw(1), "rotation"), values)
    assert sound == pytest.approx((0, 1 / 3))


# ------------------------------------------------------------------------------- graphs refused


def refused(edges: np.ndarray, *, buckets: bool, blocks: int = 1) -> None:
    with pytest.raises(PrivacyError, match=rf"\b{blocks} blocks are not layered"):
        check_layers(copies_of(edges, blocks), buckets=buckets)


def test_layer_that_is_not_its_bucket_is_found():
    edges = bucket_edges(3, 4, seed=1)
    edges[0, [1, 2]] = edges[0, [2, 1]]
    refused(edges, buckets=True, blocks=3)


def test_bucket_matched_twice_with_one_record_is_found():
    edges = bucket_edges(3, 4, seed=1)
    edges[0, 1] = edges[1, 1]
    refused(edges, buckets=True)


def test_blocks_that_buckets_do_not_divide_are_found():
    refused(ring_edges(7, 3), buckets=True)


def test_layer_that_takes_a_record_twice_is_found():
    edges = ring_edges(7, 3)
    edges[0] = edges[0, [1, 0, 2]]  # still regular, but the first two layers are no assignments
    copies_of(edges, 1).check_regular(3)
    refused(edges, buckets=False)


def test_buckets_in_place_are_no_reason_to_refuse():
    check_layers(copies_of(bucket_edges(4, 3, seed=2), 5), buckets=True)
    check_layers(copies_of(ring_edges(8, 3), 5), buckets=False)
