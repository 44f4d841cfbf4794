"""Groups along an order are the best of all partitions into consecutive groups (FAST07 §3)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mottle import Hierarchy, Schema
from mottle.encoding.cover import cover
from mottle.encoding.domain import Codes
from mottle.encoding.encode import encode
from mottle.loss.ncp import measure
from mottle.methods.fast07 import partitioning
from mottle.methods.fast07.partitioning import arrange, boxed_groups, short_groups
from mottle.schema.model import Representation

TREE = Hierarchy.from_rows([("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"), ("d", "y", "*")])


def partitions(records: int, k: int) -> Iterator[list[int]]:
    """Starts of all partitions into consecutive groups of k records or more."""
    if records >= k:
        yield [0, records]
    for last in range(k, records - k + 1):
        for starts in partitions(records - last, k):
            yield [*starts, records]


@st.composite
def coded_tables(draw) -> Codes:
    rows = draw(st.integers(2, 11))
    numbers = st.one_of(st.none(), st.integers(0, 20))
    table = pa.table(
        {
            "number": pa.array(draw(st.lists(numbers, min_size=rows, max_size=rows)), pa.int64()),
            "category": draw(st.lists(st.sampled_from("pqr"), min_size=rows, max_size=rows)),
            "leaf": pa.array(
                draw(st.lists(st.sampled_from([*"abcd", None]), min_size=rows, max_size=rows)),
                pa.string(),
            ),
        }
    )
    schema = Schema.of(
        quasi_identifying=table.column_names, hierarchies={"leaf": TREE}, weights={"number": 2.5}
    )
    return encode(table, schema, draw(st.sampled_from(Representation)))


def gcp(codes: Codes, order: np.ndarray, starts: list[int]) -> float:
    graph = arrange(order, np.array(starts)).graph
    return measure(cover(graph, codes), codes).gcp


@given(coded_tables(), st.integers(2, 4), st.integers(0, 99))
def test_no_partition_into_consecutive_groups_loses_less(codes: Codes, k: int, seed: int):
    k = min(k, codes.records)
    order = np.random.default_rng(seed).permutation(codes.records)
    found = boxed_groups(codes, order, k).tolist()
    least = min(gcp(codes, order, starts) for starts in partitions(codes.records, k))
    assert gcp(codes, order, found) == pytest.approx(least, abs=1e-12)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=11), st.integers(2, 4))
def test_no_partition_into_consecutive_groups_is_shorter(gaps: list[int], k: int):
    k = min(k, len(gaps) + 1)

    def cost(starts: list[int]) -> int:
        groups = itertools.pairwise(starts)
        return sum((last - first) * sum(gaps[first : last - 1]) for first, last in groups)

    found = short_groups(np.array(gaps, float), k).tolist()
    assert cost(found) == min(map(cost, partitions(len(gaps) + 1, k)))


@given(st.integers(2, 300), st.integers(2, 20), st.integers(0, 99))
def test_groups_have_k_to_2k_minus_1_records(records: int, k: int, seed: int):
    k = min(k, records)
    sizes = np.diff(short_groups(np.random.default_rng(seed).random(records - 1), k))
    assert sizes.sum() == records
    assert sizes.min() >= k
    assert sizes.max() < 2 * k


def test_one_long_leap_does_not_blur_what_follows():
    gaps = np.array([0.0, 1e-9, 0.0] * 40)
    leap = np.concatenate([gaps, [1e12], gaps])
    after = short_groups(leap, 2)
    assert np.array_equal(after[after > 121] - 121, short_groups(gaps, 2)[1:])


def test_tables_filled_in_parts_give_the_same_groups(monkeypatch: pytest.MonkeyPatch):
    random = np.random.default_rng(3)
    table = pa.table({name: random.integers(0, 30, 500) for name in "abc"})
    codes = encode(table, Schema.of(quasi_identifying=list("abc")), Representation.RANGE)
    whole = boxed_groups(codes, np.arange(500), 6)
    monkeypatch.setattr(partitioning, "_TABLE_ENTRIES", 1)
    monkeypatch.setattr(partitioning, "_TABLE_ROWS", 7)
    assert boxed_groups(codes, np.arange(500), 6).tolist() == whole.tolist()


def test_groups_become_complete_blocks():
    graph = arrange(np.array([3, 1, 0, 2]), np.array([0, 2, 4])).graph
    assert graph.members.tolist() == [3, 1, 0, 2]
    assert graph.degrees.tolist() == graph.sizes.tolist() == [2, 2]
