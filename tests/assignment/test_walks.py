"""Walks: valid assignments on every shape of block, and every edge equally likely."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from mottle.assignment import WALKS, assign, check_assignment
from mottle.assignment.printed_closed_walk import extract_as_printed
from mottle.cli.options.output import WALKS as COMMAND_LINE_WALKS
from mottle.errors import PrivacyError, UsageError
from mottle.graph.model import Graph
from mottle.utils.csprng import STREAM_WORDS, Purpose, Secret, open_stream

DRAWS = 20_000
SIGNIFICANT = 1e-4

every_walk = pytest.mark.parametrize("walk", WALKS)


def rings(sizes: list[int], degrees: list[int], seed: int = 0) -> Graph:
    """Rings of the given sizes over originals in a random order."""
    starts = np.concatenate([[0], np.cumsum(sizes)])
    members = np.random.default_rng(seed).permutation(starts[-1])
    return Graph.rings(members, starts, np.array(degrees))


def regular_edges(size: int, degree: int, seed: int) -> np.ndarray:
    """Edges of a random regular block, [size, degree]: disjoint random permutations."""
    random = np.random.default_rng(seed)
    columns: list[np.ndarray] = []
    while len(columns) < degree:
        candidate = random.permutation(size)
        if not any(np.any(candidate == column) for column in columns):
            columns.append(candidate)
    return np.stack(columns, axis=1)


def explicit(edges: np.ndarray, copies: int = 1) -> Graph:
    """Copies of a block with the given edges, [size, degree]."""
    size, degree = edges.shape
    return Graph.explicit(
        np.arange(copies * size),
        np.arange(copies + 1) * size,
        np.full(copies, degree),
        np.tile(edges.ravel(), copies),
    )


# ------------------------------------------------------------------------ Algorithm 1 as printed


@pytest.mark.parametrize("edges", [regular_edges(12, 5, 3), regular_edges(7, 7, 1)])
def test_rounds_of_the_printed_walk_use_every_edge_once(edges: np.ndarray):
    """SET12 §4.2: the assignments of all rounds are disjoint and together they are the graph."""
    graph, (size, degree) = explicit(edges), edges.shape
    used = set()
    for rounds in range(1, degree + 1):
        stream = np.empty(STREAM_WORDS, np.uint32)
        open_stream(stream, Secret.draw(seed=4).words, int(Purpose.WALK), 0)
        holder_of = np.empty(size, np.int32)
        steps = extract_as_printed(graph, 0, rounds, stream, holder_of)
        assert sorted(holder_of.tolist()) == list(range(size))
        assert steps >= rounds * size
        used |= {(slot, int(original)) for slot, original in enumerate(holder_of)}
    assert used == {(slot, int(one)) for slot, row in enumerate(edges) for one in row}


def test_the_printed_walk_closes_at_the_slot_that_its_first_original_held():
    """Where everybody may take the own slot alone, every walk is one step."""
    own = np.arange(6)[:, None]
    stream, holder_of = np.empty(STREAM_WORDS, np.uint32), np.empty(6, np.int32)
    open_stream(stream, Secret.draw(seed=4).words, int(Purpose.WALK), 0)
    assert extract_as_printed(explicit(own), 0, 1, stream, holder_of) == 6
    assert holder_of.tolist() == list(range(6))


def test_the_command_line_knows_all_walks():
    assert tuple(WALKS) == COMMAND_LINE_WALKS


# ----------------------------------------------------------------------------- equal chances


def p_values(layers: np.ndarray, degree: int) -> np.ndarray:
    """Chi-square of 'every edge has chance 1/degree'; layers is [draws, published records]."""
    counts = [np.bincount(column, minlength=degree) for column in layers.T]
    return chisquare(np.stack(counts), axis=1).pvalue


def drawn_layers(edges: np.ndarray, graph: Graph, walk: str, seed: int) -> np.ndarray:
    """The layer of the true preimage of every published record, in every copy of the block."""
    size = len(edges)
    truth = assign(graph, Secret.draw(seed), walk)
    places = truth.reshape(-1, size) - np.arange(0, len(truth), size)[:, None]
    is_true = edges[None, :, :] == places[:, :, None]
    assert (is_true.sum(axis=2) == 1).all()
    return is_true.argmax(axis=2)


@every_walk
@pytest.mark.parametrize(("size", "degree"), [(7, 3), (6, 5), (4, 4), (9, 2)])
def test_every_edge_of_a_ring_is_true_equally_often(walk, size, degree):
    edges = (np.arange(size)[:, None] + np.arange(degree)) % size
    graph = Graph.rings(
        np.arange(DRAWS * size), np.arange(DRAWS + 1) * size, np.full(DRAWS, degree)
    )
    assert p_values(drawn_layers(edges, graph, walk, seed=7), degree).min() > SIGNIFICANT


@every_walk
def test_every_edge_of_a_random_regular_block_is_true_equally_often(walk):
    edges = regular_edges(size=7, degree=3, seed=3)
    layers = drawn_layers(edges, explicit(edges, copies=DRAWS), walk, seed=8)
    assert p_values(layers, 3).min() > SIGNIFICANT


def test_a_slightly_biased_draw_fails_the_same_test():
    biased = np.random.default_rng(7).choice(3, size=DRAWS, p=[0.36, 0.32, 0.32])
    layers = np.repeat(biased[:, None], 7, axis=1)  # always one of the three plain shifts
    assert p_values(layers, 3).max() < SIGNIFICANT


@every_walk
def test_knowing_one_true_edge_does_not_give_away_the_rest(walk):
    """Corruption (NH10 §5.2): k - 1 candidates stay possible; plain shifts would leave one."""
    edges = (np.arange(7)[:, None] + np.arange(3)) % 7
    graph = Graph.rings(np.arange(DRAWS * 7), np.arange(DRAWS + 1) * 7, np.full(DRAWS, 3))
    layers = drawn_layers(edges, graph, walk, seed=9)
    known = layers[layers[:, 0] == 0]
    for record in range(1, 7):
        counts = np.bincount(known[:, record], minlength=3)
        assert np.count_nonzero(counts > 0.1 * len(known)) >= 2


# ---------------------------------------------------------------------------- valid everywhere

SHAPES = {
    "pairs": rings([2, 2, 3, 5], [2, 2, 2, 2]),
    "everybody in one complete block": rings([9], [9]),
    "one more than k": rings([6], [5]),
    "k and 2k - 1": rings([5, 9, 5, 9], [5, 5, 5, 5]),
    "degrees that differ": rings([4, 8, 12], [4, 5, 7]),
    "small random regular": explicit(regular_edges(5, 2, seed=1)),
    "random regular": explicit(regular_edges(60, 5, seed=2), copies=3),
    "complete and explicit": explicit((np.arange(4)[:, None] + np.arange(4)) % 4),
    "one large ring": rings([3000], [10]),
    "one large random regular": explicit(regular_edges(3000, 4, seed=4)),
}


@every_walk
@pytest.mark.parametrize("shape", SHAPES)
def test_assignment_is_one_to_one_along_edges_on(shape, walk):
    graph = SHAPES[shape]
    graph.check_regular(2)
    for seed in range(3):
        assert check_assignment(graph, assign(graph, Secret.draw(seed), walk)) == graph.records


@every_walk
def test_number_of_threads_does_not_change_the_assignment(walk, monkeypatch):
    graph = rings([5, 9, 40, 7] * 50, [5] * 200)
    truths = []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("MOTTLE_THREADS", threads)
        truths.append(assign(graph, Secret.draw(seed=5), walk))
    assert np.array_equal(truths[0], truths[1])
    assert np.array_equal(truths[0], truths[2])


@every_walk
def test_without_a_seed_two_draws_differ(walk):
    graph = rings([50], [10])
    assert not np.array_equal(
        assign(graph, Secret.draw(), walk), assign(graph, Secret.draw(), walk)
    )


def test_unknown_walk_is_refused_with_a_suggestion():
    with pytest.raises(UsageError, match="Did you mean 'closed'"):
        assign(rings([3], [2]), Secret.draw(seed=1), "close")


# ------------------------------------------------------------------------------ planted defects


def test_original_given_away_twice_is_found():
    graph = rings([5], [3])
    with pytest.raises(PrivacyError, match="not one-to-one"):
        check_assignment(graph, np.array([0, 1, 2, 3, 3], np.int32))


def test_assignment_of_another_length_is_found():
    with pytest.raises(PrivacyError, match="not one-to-one"):
        check_assignment(rings([5], [3]), np.arange(4, dtype=np.int32))


@pytest.mark.parametrize(
    "graph", [rings([5], [3]), explicit((np.arange(5)[:, None] + np.arange(3)) % 5)]
)
def test_original_outside_the_preimages_is_found(graph):
    # record 0 may stand for 0, 1, 2; the swap sends records 0 and 3 to originals 3 and 0
    with pytest.raises(PrivacyError, match=r"\b1 records are assigned outside"):
        check_assignment(graph, np.array([3, 1, 2, 0, 4], np.int32))


@pytest.mark.parametrize("degrees", [[2, 2], [3, 3]])
def test_original_from_another_block_is_found(degrees):
    swapped = np.array([3, 1, 2, 0, 4, 5], np.int32)
    with pytest.raises(PrivacyError, match=r"\b2 records are assigned outside"):
        check_assignment(rings([3, 3], degrees), swapped)


def test_original_with_too_few_matches_is_found():
    edges = np.array([[0, 1], [1, 2], [2, 0], [3, 0]])  # 0 has three matches, 3 has one
    with pytest.raises(PrivacyError, match="1 blocks are not regular"):
        explicit(edges).check_regular(2)


def test_repeated_preimage_is_found():
    edges = np.array([[0, 0], [1, 1], [2, 3], [3, 2]])  # regular if repetitions counted
    with pytest.raises(PrivacyError, match="1 blocks are not regular"):
        explicit(edges).check_regular(2)


@pytest.mark.parametrize("stray", [-1, 4])
def test_preimage_outside_its_block_is_found(stray):
    edges = np.array([[0, 1], [1, 2], [2, 3], [3, stray]])
    with pytest.raises(PrivacyError, match="1 blocks are not regular"):
        explicit(edges).check_regular(2)


def test_only_the_irregular_blocks_are_counted():
    good, bad = (np.arange(4)[:, None] + np.arange(2)) % 4, np.zeros((4, 2), int)
    edges = np.concatenate([bad, good, bad]).ravel()
    graph = Graph.explicit(np.arange(12), np.array([0, 4, 8, 12]), np.full(3, 2), edges)
    with pytest.raises(PrivacyError, match="2 blocks are not regular"):
        graph.check_regular(2)


def test_degree_below_the_guarantee_is_found():
    with pytest.raises(PrivacyError, match="degree below 3"):
        rings([5, 5], [3, 2]).check_regular(3)


def test_degree_above_the_block_size_is_found():
    with pytest.raises(PrivacyError, match="above its size"):
        rings([5, 2], [3, 3]).check_regular(3)


@pytest.mark.parametrize("members", [[0, 1, 2, 3, 3], [0, 1, 2, 3, 5]])
def test_original_in_no_block_or_in_two_is_found(members):
    graph = Graph.rings(np.array(members), np.array([0, 5]), np.array([2]))
    with pytest.raises(PrivacyError, match="in no block or in several"):
        graph.check_regular(2)


@pytest.mark.parametrize("starts", [[0, 3], [1, 5], [0, 6]])
def test_blocks_that_do_not_cover_the_table_are_found(starts):
    graph = Graph.rings(np.arange(5), np.array(starts), np.array([2]))
    with pytest.raises(PrivacyError, match="do not cover the table"):
        graph.check_regular(2)


def test_empty_block_is_found():
    graph = Graph.rings(np.arange(5), np.array([0, 5, 5]), np.array([2, 2]))
    with pytest.raises(PrivacyError, match="is empty"):
        graph.check_regular(2)


def test_smallest_and_largest_degree_are_reported():
    assert rings([5, 9], [3, 4]).check_regular(3) == (3, 4)
