"""Mondrian's cuts against a plain recursion, and what strict, relaxed and both together promise."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mottle import Hierarchy, Schema, methods
from mottle.coding import Codes, Form, encode
from mottle.cover import cover
from mottle.growth import scales
from mottle.guarantees import Demand
from mottle.loss import measure
from mottle.schema import Representation

TREE = Hierarchy.from_rows([("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"), ("d", "y", "*")])
VARIANTS = ["mondrian", "mondrian-strict", "mondrian-relaxed"]

Rows = list[int]


@st.composite
def coded_tables(draw) -> Codes:
    rows = draw(st.integers(2, 60))
    numbers = st.one_of(st.none(), st.integers(0, draw(st.integers(0, 20))))
    table = pa.table(
        {
            "number": pa.array(draw(st.lists(numbers, min_size=rows, max_size=rows)), pa.int64()),
            "category": draw(st.lists(st.sampled_from("pqr"), min_size=rows, max_size=rows)),
            "leaf": draw(st.lists(st.sampled_from("abcd"), min_size=rows, max_size=rows)),
        }
    )
    schema = Schema.of(
        quasi_identifying=table.column_names, hierarchies={"leaf": TREE}, weights={"leaf": 0.7}
    )
    return encode(table, schema, draw(st.sampled_from(Representation)))


def groups_of(codes: Codes, k: int, method: str) -> list[Rows]:
    graph = methods.get(method).arrange(codes, Demand(k), methods.Effort()).graph
    return [graph.members[first:last].tolist() for first, last in itertools.pairwise(graph.starts)]


def width(codes: Codes, part: Rows, column: int) -> float:
    prices, domain = scales(codes), codes.domains[column]
    offset, step = prices.offset[column], prices.step[column]
    present = sorted({int(codes.matrix[row, column]) for row in part})
    if domain.form is Form.SET:
        return step * (len(present) - 1)
    if domain.form is Form.RANGE:
        known = [prices.position[offset + code] for code in present if code != domain.missing]
        missing = step if known and len(known) < len(present) else 0.0
        return known[-1] - known[0] + missing if known else 0.0
    node = domain.hierarchy.common_ancestors(np.array(present[:1]), np.array(present[-1:]))[0]
    return prices.penalty[prices.node[offset] + node]


def cut(codes: Codes, part: Rows, column: int, k: int, relaxed: bool) -> tuple[Rows, Rows] | None:
    by_value = sorted(part, key=lambda row: codes.matrix[row, column])
    half = len(part) // 2
    if relaxed:
        return by_value[:half], by_value[half:]
    values = [codes.matrix[row, column] for row in by_value]
    median = values[half]
    sides = [values.index(median) + values.count(median), values.index(median)]
    sides = [left for left in sides if k <= left <= len(part) - k]
    if not sides:
        return None
    left = min(sides, key=lambda side: abs(len(part) - 2 * side))
    return by_value[:left], by_value[left:]


def reference(codes: Codes, part: Rows, k: int, method: str) -> list[Rows]:
    if len(part) < 2 * k:
        return [part]
    columns = range(len(codes.domains))
    widest_first = sorted(columns, key=lambda column: -width(codes, part, column))
    attempts = [(column, False) for column in widest_first]
    if method == "mondrian-relaxed":
        attempts = []
    if method != "mondrian-strict":
        attempts.append((widest_first[0], True))
    for column, relaxed in attempts:
        sides = cut(codes, part, column, k, relaxed)
        if sides is not None:
            # either side keeps the order its records had, as the kernel's does
            kept = [sorted(side, key=part.index) for side in sides]
            return [group for side in kept for group in reference(codes, side, k, method)]
    return [part]


@pytest.mark.parametrize("method", VARIANTS)
@settings(max_examples=150)
@given(codes=coded_tables(), k=st.integers(2, 6))
def test_groups_are_those_of_a_plain_recursion(method: str, codes: Codes, k: int):
    expected = reference(codes, list(range(codes.records)), k, method)
    assert sorted(groups_of(codes, k, method)) == sorted(expected)


@pytest.mark.parametrize("method", VARIANTS)
@given(codes=coded_tables(), k=st.integers(2, 6))
def test_groups_are_large_enough_and_hold_every_record_once(method: str, codes: Codes, k: int):
    k = min(k, codes.records)
    groups = groups_of(codes, k, method)
    assert sorted(itertools.chain(*groups)) == list(range(codes.records))
    assert min(map(len, groups)) >= k
    if method != "mondrian-strict":
        assert max(map(len, groups)) < 2 * k


@given(coded_tables(), st.integers(2, 6))
def test_strict_groups_never_share_a_region(codes: Codes, k: int):
    groups = groups_of(codes, k, "mondrian-strict")
    boxes = [(codes.matrix[group].min(axis=0), codes.matrix[group].max(axis=0)) for group in groups]
    for (low, high), (other_low, other_high) in itertools.combinations(boxes, 2):
        assert ((high < other_low) | (other_high < low)).any()


@given(coded_tables(), st.integers(2, 6))
def test_tearing_at_need_never_loses_more_than_strict_cuts(codes: Codes, k: int):
    k = min(k, codes.records)

    def gcp(method: str) -> float:
        graph = methods.get(method).arrange(codes, Demand(k), methods.Effort()).graph
        return measure(cover(graph, codes), codes).gcp

    assert gcp("mondrian") <= gcp("mondrian-strict") + 1e-12


def test_next_widest_attribute_is_cut_when_the_widest_cannot_be():
    table = pa.table({"wide": [0, 0, 0, 0, 0, 0, 0, 9], "narrow": [0, 0, 0, 0, 1, 1, 1, 1]})
    table = table.append_column("far", pa.array([0] * 8))
    codes = encode(table, Schema.of(quasi_identifying=table.column_names), Representation.RANGE)
    assert sorted(groups_of(codes, 3, "mondrian-strict")) == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_many_equal_and_sorted_values_are_no_trouble():
    table = pa.table(
        {"a": list(range(5000)), "b": [1] * 5000, "c": [i // 2500 for i in range(5000)]}
    )
    codes = encode(table, Schema.of(quasi_identifying=["a", "b", "c"]), Representation.RANGE)
    assert all(len(group) < 10 for group in groups_of(codes, 5, "mondrian-strict"))
