"""Pruning of grouped records: agrees with the graph in which every match is written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from mottle import DataError
from mottle.audit import effective_matches, match_different_assignments
from mottle.audit.containment.coded_columns import code_columns
from mottle.audit.containment.index import build_index
from mottle.audit.containment.pruning import disjoint_assignments, prune


@st.composite
def graphs(draw: st.DrawFn, *, repeats: bool = True) -> np.ndarray:
    """Matches with at least one assignment; some records repeat, so that they are grouped."""
    size = draw(st.integers(1, 7))
    cells = draw(st.lists(st.booleans(), min_size=size**2, max_size=size**2))
    graph = np.array(cells).reshape(size, size)
    if repeats:
        graph = graph[:, draw(st.lists(st.integers(0, size - 1), min_size=size, max_size=size))]
    graph[np.arange(size), draw(st.permutations(range(size)))] = True
    return graph


@given(graphs())
def test_effective_matches_agree_with_those_written_out(of_graph, graph):
    index = build_index(code_columns(*of_graph(graph)))
    expected = effective_matches(csr_array(graph)).toarray()
    for owners in (None, an_assignment(graph)):
        pruned = prune(index, owners)
        assert pruned is not None
        assert np.array_equal(pruned.of_points[index.place_of], expected.sum(axis=1))
        assert np.array_equal(pruned.of_boxes[index.box_of], expected.sum(axis=0))


@given(graphs())
def test_disjoint_assignments_are_as_many_as_written_out(of_graph, graph):
    index = build_index(code_columns(*of_graph(graph)))
    pruned = prune(index, None)
    assert pruned is not None
    expected = match_different_assignments(csr_array(graph))
    assert disjoint_assignments(index, pruned, len(graph)) == expected
    assert disjoint_assignments(index, pruned, 1) == min(expected, 1)


@given(graphs(repeats=False), st.integers(1, 3))
def test_dropped_records_are_records_that_fit_everybody(of_graph, graph, dropped):
    assume(dropped < len(graph))
    published = graph[:, : len(graph) - dropped]
    padded = graph.copy()
    padded[:, len(graph) - dropped :] = True
    expected = effective_matches(csr_array(padded)).toarray()[:, : len(graph) - dropped]
    table, release = of_graph(published)
    index = build_index(code_columns(table, release))
    owners = an_assignment(padded)[: len(graph) - dropped]
    for known in (None, owners):
        pruned = prune(index, known, dropped)
        assert pruned is not None
        assert np.array_equal(pruned.of_points[index.place_of], expected.sum(axis=1))
    wanted = match_different_assignments(csr_array(padded))
    most = min(int(expected.sum(axis=1).min()), int(expected.sum(axis=0).min()))
    assert disjoint_assignments(index, pruned, len(graph), dropped) == min(wanted, most)


def test_without_any_assignment_there_is_nothing_to_prune(of_graph):
    graph = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 1]], bool)
    index = build_index(code_columns(*of_graph(graph)))
    assert prune(index, None) is None
    with pytest.raises(DataError):
        effective_matches(csr_array(graph))


def an_assignment(graph: np.ndarray) -> np.ndarray:
    """The original of every record under some assignment."""
    from scipy.sparse.csgraph import maximum_bipartite_matching

    owners = maximum_bipartite_matching(csr_array(graph.T), perm_type="column")
    return owners.astype(np.int64)
