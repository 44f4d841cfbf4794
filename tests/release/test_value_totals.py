"""Totals count every record once, and never few together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mottle
from mottle import KAnonymity, Schema
from mottle.encoding.encode import encode
from mottle.release.column import PublishedColumn
from mottle.release.value_totals import MOST_GROUPS, Totals, _count_ranges
from mottle.schema.model import Representation


def totals_of(values: list[Any], least: int, kind: str, representation: str = "range") -> Totals:
    table = pa.table({"x": pa.array(values)})
    schema = Schema.of(quasi_identifying=["x"], kinds={"x": kind})
    codes = encode(table, schema, Representation(representation))
    found = Totals.of(codes.domains[0], codes.matrix[:, 0], least)
    assert found is not None
    return found


numbers = st.lists(st.one_of(st.integers(0, 9), st.none()), min_size=6, max_size=40)


@given(numbers, st.integers(1, 6))
def test_neighbours_are_counted_together_until_they_are_enough(
    values: list[int | None], least: int
) -> None:
    if all(value is None for value in values):
        values[0] = 5
    found = totals_of(values, least, "number")
    assert sum(found.counts) == len(values)
    assert min(found.counts) >= least
    starts = [int(value) for value in found.values]
    assert starts == sorted(set(starts))
    expected = [0] * len(found.counts)
    for value in values:
        group = found.missing if value is None else np.searchsorted(starts, value, "right") - 1
        expected[group] += 1
    assert expected == list(found.counts)


@given(st.lists(st.integers(0, 9), max_size=40), st.integers(1, 12), st.integers(0, 20))
def test_ranges_are_those_of_counting_value_by_value(
    known: list[int], least: int, absent: int
) -> None:
    found = _count_ranges(np.array([*known, absent], np.int64), len(known), least)
    starts: list[int] = []
    sums: list[int] = []
    for code, count in enumerate(known):
        if not starts:
            starts, sums = [0], [absent if absent < least else 0]
        elif sums[-1] >= least and count > 0:
            starts.append(code)
            sums.append(0)
        sums[-1] += count
    if len(sums) > 1 and sums[-1] < least:
        starts.pop()
        sums[-2:] = [sum(sums[-2:])]
    if absent >= least and sums and sums[-1] < least:
        sums[-1] += absent
    elif absent >= least:
        sums.append(absent)
    assert (found.named.tolist(), found.counts) == (starts, sums)


@given(st.lists(st.sampled_from(["a", "b", "c", "d", None]), min_size=6), st.integers(1, 6))
def test_rare_values_are_the_rest(values: list[str | None], least: int) -> None:
    if all(value is None for value in values):
        values[0] = "a"
    found = totals_of(values, least, "category")
    assert sum(found.counts) == len(values)
    assert all(count == 0 or count >= least for count in found.counts)
    assert (found.missing == -1) == (None not in values)
    for place, value in enumerate(found.values):
        assert found.counts[place] == values.count(value)


def test_a_column_of_all_different_values_is_counted_in_ranges() -> None:
    found = totals_of(list(range(5000)), 2, "number")
    assert len(found.counts) <= MOST_GROUPS
    assert min(found.counts) >= 5


def test_totals_are_read_back_from_the_column() -> None:
    people = mottle.datasets.population(300, seed=1).select(["age", "sex", "income", "workclass"])
    schema = Schema.of(quasi_identifying=people.column_names)
    release = mottle.anonymize(people, schema, KAnonymity(7), method="nh", seed=1)
    for column in release.columns:
        assert column.totals is not None
        assert sum(column.totals.counts) == 300
        assert min(count for count in column.totals.counts if count) >= 7
        read = PublishedColumn.of_field(release.table.schema.field(column.name))
        assert read.totals == column.totals


def test_totals_can_be_left_out() -> None:
    ages = pa.table({"age": [20, 21, 22, 23]})
    schema = Schema.of(quasi_identifying=["age"])
    release = mottle.anonymize(ages, schema, KAnonymity(2), seed=1, totals=False)
    assert release.columns[0].totals is None
    assert b"totals" not in release.table.schema.field("age").metadata[b"mottle"]


@pytest.mark.parametrize("method", ["anatomy"])
def test_exact_columns_need_no_totals(method: str) -> None:
    people = mottle.datasets.population(200, seed=1).select(["age", "diagnosis"])
    schema = Schema.of(quasi_identifying=["age"], sensitive=["diagnosis"])
    release = mottle.anonymize(people, schema, mottle.LDiversity(2), method=method, seed=1)
    assert all(column.totals is None for column in release.columns)
