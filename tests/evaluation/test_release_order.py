"""The utility ordering: cells of every form, alignment by original, all four outcomes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mottle
from mottle import Hierarchy, KAnonymity, Release, Role, Schema, UsageError, anonymize
from mottle.encoding.domain import Form
from mottle.evaluation import Ordering, compare, tuple_is_better
from mottle.graph.model import Graph
from mottle.release.cell_text import published_type
from mottle.release.column import PublishedColumn
from mottle.release.links import Links
from mottle.schema.model import Kind

SIZES = Hierarchy.from_rows(
    [("S", "small", "*"), ("M", "big", "*"), ("L", "big", "*"), ("XL", "huge", "*")]
)
ORDER = ("low", "high", "alarming")  # not alphabetical


def published(
    cells: list[object], column: PublishedColumn, rows: list[int] | None = None
) -> Release:
    """A release of one column; ``cells`` by original, ``rows`` the original shown in each row."""
    size = len(cells)
    shown = list(range(size)) if rows is None else rows
    # positions in an order of their own, so that rows, positions and originals all differ
    members = np.roll(np.arange(size), 1)
    position_of = np.argsort(members)
    links = Links(
        Graph.rings(members, np.array([0, size]), np.array([size])),
        position_of[shown],
        np.arange(size, dtype=np.int32),
    )
    array = pa.array(
        [cells[original] for original in shown], published_type(column.form, column.value_type)
    )
    return Release(pa.table([array], schema=pa.schema([column.field()])), (column,), None, links)


def described(kind: Kind, form: Form, value_type: pa.DataType, **more: object) -> PublishedColumn:
    return PublishedColumn("x", Role.QUASI_IDENTIFYING, kind, form, value_type, **more)


NUMBER = described(Kind.NUMBER, Form.RANGE, pa.int64())
LEVEL = described(Kind.ORDERED, Form.RANGE, pa.string(), order=ORDER)
WORD = described(Kind.CATEGORY, Form.SET, pa.string())
SIZE = described(Kind.HIERARCHY, Form.NODE, pa.string(), hierarchy=SIZES)


def span(low: object, high: object, missing: bool = False) -> dict[str, object]:
    return {"lo": low, "hi": high, "missing": missing}


CASES = [
    (NUMBER, span(3, 4), span(3, 4), "equal"),
    (NUMBER, span(3, 4), span(3, 5), "better"),
    (NUMBER, span(9, 10), span(10, 10), "worse"),
    (NUMBER, span(1, 4), span(3, 5), "incomparable"),
    (NUMBER, span(1, 2), span(5, 6), "incomparable"),
    (NUMBER, span(3, 4), span(3, 4, missing=True), "better"),
    (NUMBER, span(3, 4, missing=True), span(3, 5), "incomparable"),
    (NUMBER, span(None, None, missing=True), span(3, 4, missing=True), "better"),
    (NUMBER, span(None, None, missing=True), span(3, 4), "incomparable"),
    (NUMBER, span(None, None, missing=True), span(None, None, missing=True), "equal"),
    (LEVEL, span("low", "high"), span("low", "alarming"), "better"),
    (LEVEL, span("high", "alarming"), span("alarming", "alarming"), "worse"),
    (LEVEL, span("low", "high"), span("high", "alarming"), "incomparable"),
    (WORD, ["a", "b"], ["b", "a"], "equal"),
    (WORD, ["a"], ["b", "a"], "better"),
    (WORD, ["a", None], ["a"], "worse"),
    (WORD, [None], ["a", None], "better"),
    (WORD, ["a", "c"], ["a", "b"], "incomparable"),
    (SIZE, "M", "big", "better"),
    (SIZE, "*", "big", "worse"),
    (SIZE, "small", "big", "incomparable"),
    (SIZE, "S", "small", "equal"),  # the same leaves under two names
    (SIZE, None, "*", "better"),
    (SIZE, None, "big", "incomparable"),
    (SIZE, None, None, "equal"),
]
OPPOSITE = {
    Ordering.BETTER: Ordering.WORSE,
    Ordering.WORSE: Ordering.BETTER,
    Ordering.EQUAL: Ordering.EQUAL,
    Ordering.INCOMPARABLE: Ordering.INCOMPARABLE,
}


@pytest.mark.parametrize(("column", "cell", "other", "expected"), CASES)
def test_cells_compare_by_containment(column, cell, other, expected):
    first, second = published([cell], column), published([other], column)
    assert compare(first, second) == expected
    assert compare(second, first) == OPPOSITE[Ordering(expected)]


def test_rows_are_aligned_by_the_original_they_were_generalized_around():
    narrow = [span(1, 1), span(2, 2), span(3, 3), span(4, 4)]
    wide = [span(1, 2), span(2, 2), span(2, 3), span(4, 4)]
    first = published(narrow, NUMBER, rows=[2, 0, 3, 1])
    second = published(wide, NUMBER, rows=[1, 3, 0, 2])
    assert compare(first, second) is Ordering.BETTER
    assert tuple_is_better(first, second).tolist() == [True, False, True, False]
    assert not tuple_is_better(second, first).any()


def test_one_tuple_that_is_worse_makes_releases_incomparable():
    first = published([span(1, 1), span(1, 3)], NUMBER)
    second = published([span(1, 9), span(2, 3)], NUMBER)
    assert compare(first, second) is Ordering.INCOMPARABLE
    assert tuple_is_better(first, second).tolist() == [True, False]


def test_a_tuple_with_one_smaller_and_one_larger_cell_is_not_better():
    rows = pa.table({"a": list(range(6)), "b": [3, 1, 4, 1, 5, 9]})
    schema = Schema.of(quasi_identifying=["a", "b"])
    fine, coarse = (anonymize(rows, schema, KAnonymity(k), method="hp", seed=1) for k in (2, 6))
    mixed = replace(
        fine, stored=fine.table.set_column(1, fine.table.schema.field(1), coarse.table.column(1))
    )
    other = replace(
        fine, stored=fine.table.set_column(0, fine.table.schema.field(0), coarse.table.column(0))
    )
    assert compare(fine, mixed) is Ordering.BETTER
    assert compare(mixed, other) is Ordering.INCOMPARABLE
    assert not tuple_is_better(mixed, other).any()


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.one_of(st.none(), st.sampled_from("xyz"))),
        min_size=6,
        max_size=18,
    ),
    st.sampled_from(["range", "set"]),
)
def test_ordering_of_releases_agrees_with_the_definition(rows, representation):
    """Against Definition 3 over the values each tuple covers, one by one."""
    table = pa.table({"a": [a for a, _ in rows], "b": pa.array([b for _, b in rows], pa.string())})
    schema = Schema.of(quasi_identifying=["a", "b"])

    def released(k: int) -> Release:
        return anonymize(table, schema, KAnonymity(k), representation=representation)

    def tuples(release: Release) -> list[tuple[frozenset, frozenset]]:
        by_original = {}
        for row, record in enumerate(release.table.to_pylist()):
            cell = record["a"]
            values = cell if representation == "set" else range(cell["lo"], cell["hi"] + 1)
            original = int(release.links.graph.members[release.links.position_of_row[row]])
            by_original[original] = (frozenset(values), frozenset(record["b"]))
        return [by_original[original] for original in range(len(rows))]

    first, second = released(2), released(3)
    pairs = list(zip(tuples(first), tuples(second), strict=True))
    better = [
        all(a <= b for a, b in zip(*pair, strict=True)) and pair[0] != pair[1] for pair in pairs
    ]
    worse = [
        all(a >= b for a, b in zip(*pair, strict=True)) and pair[0] != pair[1] for pair in pairs
    ]
    equal = [one == other for one, other in pairs]
    if all(equal):
        expected = Ordering.EQUAL
    elif all(b or e for b, e in zip(better, equal, strict=True)):
        expected = Ordering.BETTER
    elif all(w or e for w, e in zip(worse, equal, strict=True)):
        expected = Ordering.WORSE
    else:
        expected = Ordering.INCOMPARABLE
    assert compare(first, second) is expected
    assert tuple_is_better(first, second).tolist() == better


def test_a_different_draw_of_the_truth_changes_nothing():
    people = mottle.datasets.population(200, seed=2).select(["age", "sex"])
    schema = Schema.of(quasi_identifying=["age", "sex"])
    first, second = (
        anonymize(people, schema, KAnonymity(4), method="nh", seed=seed) for seed in (1, 2)
    )
    assert not np.array_equal(first.links.truth, second.links.truth)
    assert compare(first, second) is Ordering.EQUAL


# ------------------------------------------------------------------------ what does not compare


def test_a_release_without_links_is_refused():
    release = published([span(1, 2)], NUMBER)
    with pytest.raises(UsageError, match="without links"):
        compare(release, replace(release, links=None))


def test_ranges_and_sets_of_one_column_do_not_compare():
    ages = pa.table({"age": [1, 2, 3, 4]})
    schema = Schema.of(quasi_identifying=["age"])
    ranges, sets = (
        anonymize(ages, schema, KAnonymity(2), representation=representation)
        for representation in ("range", "set")
    )
    with pytest.raises(UsageError, match="'age' is published as range in one release and as set"):
        compare(ranges, sets)


def test_different_quasi_identifiers_do_not_compare():
    table = pa.table({"age": [1, 2, 3], "size": [7, 8, 9]})
    both = Schema.of(quasi_identifying=["age", "size"])
    one = Schema.of(quasi_identifying=["age"], insensitive=["size"])
    with pytest.raises(UsageError, match="Only one of the releases generalizes: size"):
        compare(*(anonymize(table, schema, KAnonymity(2)) for schema in (both, one)))


def test_different_orders_do_not_compare():
    cells = [span("low", "high")]
    other = described(Kind.ORDERED, Form.RANGE, pa.string(), order=ORDER[::-1])
    with pytest.raises(UsageError, match="another type, kind, order or hierarchy"):
        compare(published(cells, LEVEL), published(cells, other))


def test_tables_of_different_length_do_not_compare():
    with pytest.raises(UsageError, match="1 and 2 rows"):
        compare(published([span(1, 2)], NUMBER), published([span(1, 2)] * 2, NUMBER))
