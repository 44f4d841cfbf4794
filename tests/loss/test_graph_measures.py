"""Measures worked out by hand, and what they are for complete blocks."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mottle import LDiversity, Schema, UsageError, anonymize
from mottle.encoding.domain import Codes
from mottle.encoding.encode import encode
from mottle.graph.model import Graph
from mottle.loss.graph_measures import (
    average_class_size,
    classification,
    discernibility,
    entropy,
    measure_graph,
)
from mottle.schema.model import Representation


def coded(**columns: list) -> Codes:
    table = pa.table(columns)
    return encode(table, Schema.of(quasi_identifying=table.column_names), Representation.RANGE)


def cliques(sizes: list[int]) -> Graph:
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return Graph.rings(np.arange(starts[-1]), starts, np.array(sizes))


RING = Graph.rings(np.arange(4), np.array([0, 4]), np.array([2]))  # preimages 01, 12, 23, 30


@given(st.lists(st.integers(2, 30), min_size=1, max_size=20), st.integers(2, 9))
def test_groups_have_the_measures_of_the_literature(sizes: list[int], k: int):
    graph = cliques(sizes)
    assert discernibility(graph) == sum(size**2 for size in sizes)
    assert average_class_size(graph, k) == pytest.approx(sum(sizes) / len(sizes) / k)


def test_ring_counts_matches_instead_of_block_mates():
    assert discernibility(RING) == 8
    assert average_class_size(RING, 2) == 1


def test_records_outside_the_majority_of_their_group_are_misclassified():
    graph = cliques([3, 4])
    assert classification(graph, list("aab" + "abcc")) == pytest.approx((1 + 2) / 7)


def test_ring_misclassifies_by_the_majority_of_each_records_preimages():
    # aa ab bb ba: in two of the four records one of two preimages is outvoted
    assert classification(RING, pa.chunked_array([["a", "a"], ["b", "b"]])) == pytest.approx(0.25)


def test_missing_labels_are_a_class_of_their_own():
    assert classification(cliques([4]), ["a", None, None, None]) == 0.25


def test_labels_belong_to_rows_not_positions():
    graph = Graph.rings(np.array([0, 2, 1, 3]), np.array([0, 2, 4]), np.array([2, 2]))
    assert classification(graph, list("abab")) == 0


def test_label_count_must_fit():
    with pytest.raises(UsageError, match="3 class labels for 4 records"):
        classification(RING, list("abc"))


def test_entropy_of_groups_by_hand():
    # column a: first group 1/2, 1/2 (1 bit), second pure; table 1/4, 3/4. Column b is constant.
    codes = coded(a=[1, 2, 2, 2], b=[5, 5, 5, 5])
    table_entropy = -(0.25 * math.log2(0.25) + 0.75 * math.log2(0.75))
    assert entropy(cliques([2, 2]), codes) == pytest.approx((0.5 / table_entropy + 0) / 2)


def test_entropy_of_a_ring_by_hand():
    assert entropy(RING, coded(a=[1, 1, 2, 2])) == pytest.approx((0 + 1 + 0 + 1) / 4)


def test_one_group_leaves_nothing_known():
    assert entropy(cliques([4]), coded(a=[1, 2, 2, 3])) == pytest.approx(1)


@given(st.data())
def test_entropy_is_at_most_that_of_the_table(data: st.DataObject):
    sizes = data.draw(st.lists(st.integers(2, 8), min_size=1, max_size=5))
    values = st.lists(st.integers(0, 4), min_size=sum(sizes), max_size=sum(sizes))
    codes = coded(a=data.draw(values), b=data.draw(values))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    graph = Graph.rings(np.arange(sum(sizes)), starts, np.full(len(sizes), 2))
    assert 0 <= entropy(graph, codes) <= 1 + 1e-12
    assert entropy(graph, codes) <= entropy(cliques(sizes), codes) + 1e-12


def test_all_measures_together():
    measures = measure_graph(RING, coded(a=[1, 1, 2, 2]), 2)
    assert (measures.discernibility, measures.average_class_size) == (8, 1)
    assert measures.entropy == 0.5
    assert measures.classification is None
    assert measure_graph(RING, coded(a=[1, 1, 2, 2]), 2, [0, 0, 0, 1]).classification == 0.25


@pytest.mark.parametrize("method", ["hilbert", "mondrian", "anatomy"])
def test_releases_for_sensitive_guarantees_are_measured_alike(people, method: str):
    table, schema = people
    release = anonymize(table, schema, LDiversity(3), method=method, seed=1)
    codes = encode(table, schema.covering(table.column_names), Representation.RANGE)
    measures = measure_graph(release.links.graph, codes, 3, table.column("diagnosis"))
    assert measures.classification >= 1 - 1 / 3  # no diagnosis has more than a third of a group
    assert measures.average_class_size >= 1
    assert 0 < measures.entropy <= 1
    assert 40 * 3 <= measures.discernibility <= 40 * 40
