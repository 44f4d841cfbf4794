"""Degrees on the certificate count every record once, and never as of a lower degree."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mottle.graph.degrees import MOST_LISTED, coarsen_degrees, describe_degrees, records_by_degree
from mottle.graph.model import Graph

histograms = st.dictionaries(st.integers(1, 10_000), st.integers(1, 1000), min_size=1, max_size=150)


def test_records_of_all_blocks_are_counted_by_degree() -> None:
    starts = np.array([0, 4, 9, 11])
    graph = Graph.rings(np.arange(11), starts, np.array([3, 2, 2]))
    assert records_by_degree(graph) == {2: 7, 3: 4}


@given(histograms, st.integers(1, 100))
def test_merged_degrees_are_few_and_none_is_lower_than_it_was(
    records: dict[int, int], most: int
) -> None:
    merged = coarsen_degrees(records, most)
    assert len(merged) == min(most, len(records))
    assert list(merged) == sorted(merged)
    assert set(merged) <= set(records)
    assert sum(merged.values()) == sum(records.values())
    before, after = (np.repeat(*np.array(sorted(one.items())).T) for one in (records, merged))
    assert np.all(after >= before)


@given(histograms)
def test_a_certificate_lists_few_degrees_between_the_lowest_and_the_highest(
    records: dict[int, int],
) -> None:
    described = describe_degrees(records)
    assert (described["min"], described["max"]) == (min(records), max(records))
    assert len(described["records"]) <= MOST_LISTED
    assert described["records"][-1][0] == max(records)


def test_those_are_merged_that_give_away_least() -> None:
    assert coarsen_degrees({2: 100, 3: 100, 50: 100, 60: 100}, 3) == {2: 100, 3: 100, 60: 200}
    assert coarsen_degrees({2: 1, 3: 100, 50: 10_000, 90: 100}, 3) == {3: 101, 50: 10_000, 90: 100}
