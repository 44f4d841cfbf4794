"""Only regular graphs with distinct preimages and enough of them pass invariant 1."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mottle import PrivacyError
from mottle.graph.model import Graph


@st.composite
def regular_edges(draw) -> tuple[int, int, list[list[int]]]:
    """A block of ``size`` records with ``degree`` distinct preimages each, in random order."""
    size = draw(st.integers(2, 9))
    degree = draw(st.integers(1, size))
    shifts = draw(st.permutations(range(size)))[:degree]
    order = draw(st.permutations(range(size)))
    rows = [[order[(place + shift) % size] for shift in shifts] for place in range(size)]
    return size, degree, [draw(st.permutations(row)) for row in rows]


def explicit(size: int, degree: int, edges: list[list[int]]) -> Graph:
    return Graph.explicit(
        np.arange(size), np.array([0, size]), np.array([degree]), np.array(edges).ravel()
    )


def ring(sizes: list[int], degrees: list[int]) -> Graph:
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return Graph.rings(np.arange(starts[-1]), starts, np.array(degrees))


def test_ring_goes_around_its_own_block():
    graph = ring([3, 4], [2, 3])
    assert [graph.preimages(position).tolist() for position in range(7)] == [
        [0, 1],
        [1, 2],
        [2, 0],
        [3, 4, 5],
        [4, 5, 6],
        [5, 6, 3],
        [6, 3, 4],
    ]


def test_degree_of_all_blocks_is_reported():
    assert ring([3, 5, 4], [2, 5, 3]).check_regular(2) == (2, 5)


@given(regular_edges())
def test_regular_graph_passes_and_keeps_its_edges(block):
    size, degree, edges = block
    graph = explicit(size, degree, edges)
    assert graph.check_regular(degree) == (degree, degree)
    assert [graph.preimages(place).tolist() for place in range(size)] == edges


@given(regular_edges(), st.data())
def test_any_single_changed_edge_is_caught(block, data):
    size, degree, edges = block
    place = data.draw(st.integers(0, size - 1))
    layer = data.draw(st.integers(0, degree - 1))
    changed = data.draw(st.integers(-2, size + 1).filter(lambda new: new != edges[place][layer]))
    edges[place][layer] = changed
    with pytest.raises(PrivacyError, match="not regular"):
        explicit(size, degree, edges).check_regular(1)


def test_repeated_preimages_are_caught_even_when_all_counts_are_right():
    """Every original has two matches and every record two preimages, but they are not distinct."""
    with pytest.raises(PrivacyError, match="not regular"):
        explicit(3, 2, [[0, 0], [1, 1], [2, 2]]).check_regular(2)


def test_degree_below_the_guarantee_is_caught_in_any_block():
    with pytest.raises(PrivacyError, match="below 3"):
        ring([4, 4, 4], [3, 2, 3]).check_regular(3)


def test_degree_above_the_block_is_caught():
    with pytest.raises(PrivacyError, match="above its size"):
        ring([4, 4], [3, 5]).check_regular(2)


@pytest.mark.parametrize("members", [[0, 0, 1, 2], [0, 1, 2, 4], [-1, 0, 1, 2]])
def test_original_in_no_block_or_in_two_is_caught(members: list[int]):
    graph = Graph.rings(np.array(members), np.array([0, 4]), np.array([2]))
    with pytest.raises(PrivacyError, match="no block or in several"):
        graph.check_regular(2)


@pytest.mark.parametrize("starts", [[0, 3], [1, 4], [0, 5]])
def test_blocks_that_do_not_cover_the_table_are_caught(starts: list[int]):
    graph = Graph.rings(np.arange(4), np.array(starts), np.array([2]))
    with pytest.raises(PrivacyError, match="cover the table"):
        graph.check_regular(2)


@pytest.mark.parametrize(
    ("starts", "degrees"), [([0, 4, 4], [2, 2]), ([0, 3, 2, 4], [2, 2, 2]), ([0, 4], [2, 2])]
)
def test_empty_blocks_and_missing_degrees_are_caught(starts: list[int], degrees: list[int]):
    graph = Graph.rings(np.arange(4), np.array(starts), np.array(degrees))
    with pytest.raises(PrivacyError, match="empty or has no degree"):
        graph.check_regular(2)


def test_empty_graph_is_caught():
    graph = Graph.rings(np.arange(0), np.array([0, 0]), np.array([2]))
    with pytest.raises(PrivacyError):
        graph.check_regular(2)


def test_too_few_edges_are_caught():
    graph = Graph.explicit(
        np.arange(4), np.array([0, 4]), np.array([2]), np.array([0, 1, 1, 2, 2, 3])
    )
    with pytest.raises(PrivacyError, match="fewer edges"):
        graph.check_regular(2)


@pytest.mark.parametrize("edge_starts", [[0, 9], [0, 6, 6], [-6, 6], [0], [3, 6]])
def test_edges_said_to_begin_elsewhere_are_caught(edge_starts: list[int]):
    graph = explicit(3, 2, [[0, 1], [1, 2], [2, 0]])._replace(edge_starts=np.array(edge_starts))
    with pytest.raises(PrivacyError, match="begin elsewhere"):
        graph.check_regular(2)


def test_irregular_block_among_many_is_caught():
    """One wrong edge in the last of 5,000 blocks, so that every range of work is looked at."""
    blocks = 5000
    edges = np.tile([0, 1, 1, 2, 2, 0], blocks)
    starts = np.arange(0, 3 * blocks + 1, 3)
    members, degrees = np.arange(3 * blocks), np.full(blocks, 2)
    assert Graph.explicit(members, starts, degrees, edges).check_regular(2) == (2, 2)
    edges[-1] = 1
    with pytest.raises(PrivacyError, match="1 blocks are not regular"):
        Graph.explicit(members, starts, degrees, edges).check_regular(2)
