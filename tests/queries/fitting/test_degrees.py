"""Degrees guessed from cell widths improve answers and never change the bounds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from certificates import certificate
from hypothesis import given
from hypothesis import strategies as st

import mottle
from mottle import BetaLikeness, Form, KAnonymity, Kind, Release, Role, Schema
from mottle.evaluation import query_error, random_counts
from mottle.hierarchy.tree import Hierarchy
from mottle.queries import Estimate, Queries
from mottle.queries.cells.from_columns import cells_of
from mottle.queries.fitting.degrees import (
    MAX_DEGREES,
    degrees_by_width,
    guess_degrees,
    relative_widths,
    split_cells_by_degree,
)
from mottle.release.certificate import Degrees
from mottle.release.column import PublishedColumn
from mottle.release.value_totals import Totals

VALUES = "abcdef"
NAMES = ["age", "sex", "origin", "workclass"]


def column(form: Form, totals: Totals | None = None, value_type: Any = None) -> PublishedColumn:
    kinds = {Form.SET: Kind.CATEGORY, Form.RANGE: Kind.NUMBER}
    value_type = value_type or {Form.SET: pa.string(), Form.RANGE: pa.int64()}[form]
    name = {Form.SET: "x", Form.RANGE: "y"}[form]
    return PublishedColumn(
        name, Role.QUASI_IDENTIFYING, kinds[form], form, value_type, totals=totals
    )


def unchanged(name: str, role: Role) -> PublishedColumn:
    return PublishedColumn(name, role, None, None, pa.string())


def released(
    columns: list[PublishedColumn], values: list[list[Any]], records: dict[int, int] | None
) -> Release:
    schema = pa.schema([one.field() for one in columns])
    arrays = [pa.array(part, field.type) for part, field in zip(values, schema, strict=True)]
    degree: dict[str, Any] = {}
    if records is not None:
        degree = {"min": min(records), "max": max(records), "records": sorted(records.items())}
    table = pa.table(arrays, schema=schema)
    return Release(table, tuple(columns), certificate(degree=degree))


def without_records(release: Release) -> Release:
    stated = release.certificate.degree
    degree = {"min": stated.min, "max": stated.max}
    return replace(release, certified=certificate(degree=degree))


# ----------------------------------------------------------------------------- guessed degrees


def ranked_slowly(widths: list[int], fewest: list[int], records: dict[int, int]) -> list[int]:
    """Assign each record, narrowest first, to the lowest degree that has room left."""
    found = [max(records)] * len(widths)
    room = dict(records)
    for degree in sorted(records)[:-1]:
        for row in sorted(range(len(widths)), key=lambda row: (widths[row], row)):
            is_unassigned = found[row] == max(records) and fewest[row] <= degree
            if is_unassigned and room[degree] > 0:
                found[row] = degree
                room[degree] -= 1
    return found


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(1, 9)), min_size=1, max_size=25), st.data()
)
def test_the_widest_records_get_the_highest_degrees(
    rows: list[tuple[int, int]], data: st.DataObject
) -> None:
    degrees = data.draw(
        st.lists(st.integers(1, 12), min_size=len(rows), max_size=len(rows)).map(sorted)
    )
    records = {degree: degrees.count(degree) for degree in degrees}
    widths, fewest = (list(part) for part in zip(*rows, strict=True))
    found = degrees_by_width(np.array(widths, np.float64), np.array(fewest), records)
    assert found.tolist() == ranked_slowly(widths, fewest, records)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.data())
def test_every_degree_is_assigned_as_often_as_it_occurs_if_cells_allow_it(
    widths: list[int], data: st.DataObject
) -> None:
    true = data.draw(st.lists(st.integers(1, 12), min_size=len(widths), max_size=len(widths)))
    fewest = [data.draw(st.integers(1, degree)) for degree in true]
    records = {degree: true.count(degree) for degree in sorted(true)}
    found = degrees_by_width(np.array(widths, np.float64), np.array(fewest), records)
    assert sorted(found.tolist()) == sorted(true)
    assert np.all(found >= fewest)


def range_cells(value_type: pa.DataType, *cells: tuple[Any, Any, bool]) -> Any:
    described = column(Form.RANGE, value_type=value_type)
    ranges = [dict(zip(("lo", "hi", "missing"), cell, strict=True)) for cell in cells]
    return cells_of(pa.chunked_array([pa.array(ranges, described.field().type)]), described)


def widths_by_row(cells: Any) -> list[float]:
    return relative_widths(cells)[cells.of_row].tolist()


def test_widths_are_0_for_a_single_value_and_1_for_the_whole_column() -> None:
    whole = (10, 20, False), (12, 12, False), (15, 20, False)
    assert widths_by_row(range_cells(pa.int64(), *whole)) == pytest.approx([1, 0, 0.5])
    finer = [(low / 16, high / 16, missing) for low, high, missing in whole]
    assert widths_by_row(range_cells(pa.float64(), *finer)) == pytest.approx([1, 0, 0.5])
    with_missing = (0, 8, True), (3, 3, True), (None, None, True), (4, 4, False)
    assert widths_by_row(range_cells(pa.int64(), *with_missing)) == pytest.approx([1, 1 / 9, 0, 0])
    sets = [["a", "b", "c"], ["a"], ["b", "c"], ["a", None], [None]]
    described = column(Form.SET)
    cells = cells_of(pa.chunked_array([pa.array(sets, described.field().type)]), described)
    assert widths_by_row(cells) == pytest.approx([2 / 3, 0, 1 / 3, 1 / 3, 0])


def test_one_value_alone_has_no_width() -> None:
    assert widths_by_row(range_cells(pa.int64(), (7, 7, False), (7, 7, False))) == [0, 0]
    assert widths_by_row(range_cells(pa.float64(), (0.5, 0.5, False))) == [0]


def test_many_ends_inside_a_range_do_not_widen_it() -> None:
    """A thousand single values between 0 and 1 are a thousand atoms; the range 1..100 has two."""
    fine = [(place / 1000, place / 1000, False) for place in range(1000)]
    cells = range_cells(pa.float64(), (0.0, 0.999, False), (1.0, 100.0, False), *fine)
    crowded, empty, *_ = widths_by_row(cells)
    assert crowded == pytest.approx(0.00999)
    assert empty == pytest.approx(0.99)


def test_nodes_are_as_wide_as_their_leaves_and_not_split_by_degree() -> None:
    hierarchy = Hierarchy.from_rows(
        [
            ["Rome", "Italy", "*"],
            ["Milan", "Italy", "*"],
            ["Oslo", "Norway", "*"],
            ["Paris", "France", "*"],
        ]
    )
    described = PublishedColumn(
        "place", Role.QUASI_IDENTIFYING, Kind.HIERARCHY, Form.NODE, pa.string(), hierarchy=hierarchy
    )
    labels = pa.chunked_array([pa.array(["Rome", "Italy", "*"])])
    cells = cells_of(labels, described)
    assert widths_by_row(cells) == pytest.approx([0, 1 / 4, 1])
    split, degrees = split_cells_by_degree(cells, np.array([2, 3, 9]))
    assert split is cells
    assert degrees.tolist() == [9] * len(cells.first)


def test_the_number_of_distinguished_degrees_is_limited() -> None:
    rows = 40
    cells = range_cells(pa.int64(), *((0, high, False) for high in range(rows)))
    records = [[degree, 1] for degree in range(1, rows + 1)]
    degrees = guess_degrees([cells], Degrees(min=1, max=rows, records=records), rows)
    assert degrees is not None
    assert len(np.unique(degrees)) == MAX_DEGREES
    assert np.all(np.diff(degrees) >= 0)


def test_too_many_equal_records_are_not_treated_as_groups() -> None:
    """Twelve pairs of equal records may be groups of two; two sets of twelve are not."""
    degree = Degrees(min=2, max=4, records=[(2, 16), (4, 8)])
    paired = range_cells(pa.int64(), *((row // 2, 20 + row // 2, False) for row in range(24)))
    degrees = guess_degrees([paired], degree, 24)
    assert degrees is not None
    assert degrees.tolist() == [2] * 24
    alike = range_cells(pa.int64(), *((0, 20 + row // 12, False) for row in range(24)))
    degrees = guess_degrees([alike], degree, 24)
    assert degrees is not None
    assert degrees.tolist() == [2] * 16 + [4] * 8


# ------------------------------------------------------------------------------------- answers


@st.composite
def rings(draw: st.DrawFn) -> tuple[list[list[tuple[str, int]]], dict[int, int]]:
    """The originals behind every record, in two rings of different degrees."""
    behind: list[list[tuple[str, int]]] = []
    records: dict[int, int] = {}
    for degree in (2, 5):
        original = st.tuples(st.sampled_from(VALUES), st.integers(0, 9))
        members = draw(st.lists(original, min_size=degree, max_size=14))
        size = len(members)
        behind += [[members[(row + step) % size] for step in range(degree)] for row in range(size)]
        records[degree] = size
    return behind, records


def of_rings(
    behind: list[list[tuple[str, int]]], records: dict[int, int], *, known: bool
) -> Release:
    sets = [sorted({word for word, _ in cell}) for cell in behind]
    numbers = [[number for _, number in cell] for cell in behind]
    ranges = [{"lo": min(cell), "hi": max(cell), "missing": False} for cell in numbers]
    words = [cell[0][0] for cell in behind]
    counts = (*(words.count(value) for value in VALUES), 0)
    totals = Totals(tuple(VALUES), counts) if known else None
    illness = ["st"[number[0] % 2] for number in numbers]
    columns = [column(Form.SET, totals), column(Form.RANGE), unchanged("illness", Role.SENSITIVE)]
    return released(columns, [sets, ranges, illness], records)


@given(rings(), st.booleans(), st.integers(0, 9), st.sampled_from(VALUES))
def test_bounds_do_not_change_and_expected_counts_lie_between_them(
    drawn: tuple[Any, Any], known: bool, number: int, value: str
) -> None:
    release = of_rings(*drawn, known=known)
    rows = release.table.num_rows
    queries, before = Queries.of(release), Queries.of(without_records(release))
    wheres: list[Any] = [
        {"x": value},
        {"y": (None, number)},
        {"x": value, "y": (number, 9)},
        {"x": [value, "a"], "illness": "s"},
        {},
    ]
    for where in wheres:
        now, then = queries.count(where), before.count(where)
        assert (now.certain, now.possible) == (then.certain, then.possible)
        assert now.certain - 1e-9 <= now.expected <= now.possible + 1e-9
    by_value = [queries.count({"x": one}).expected for one in VALUES]
    assert sum(by_value) == pytest.approx(rows)


@given(rings(), st.booleans())
def test_groups_and_sums_are_those_of_single_counts(drawn: tuple[Any, Any], known: bool) -> None:
    release = of_rings(*drawn, known=known)
    queries = Queries.of(release)
    for row in queries.group_by(["x", "illness"]).to_pylist():
        found = queries.count({"x": row["x"], "illness": row["illness"]})
        assert row["expected"] == pytest.approx(found.expected, abs=1e-9)
        assert (row["certain"], row["possible"]) == (found.certain, found.possible)
    levels = queries.cube(["x", "illness"]).to_pylist()
    assert levels[0]["expected"] == pytest.approx(release.table.num_rows)
    total = queries.total("y")
    singly = [number * queries.count({"y": number}).expected for number in range(10)]
    assert total.expected == pytest.approx(sum(singly), abs=1e-6)
    assert total.certain - 1e-9 <= total.expected <= total.possible + 1e-9


def two_degrees() -> Release:
    """Sets {a, b} with two originals behind each; sets of all values with a hundred, mostly a."""
    rows = [["a", "b"]] * 40 + [list(VALUES)] * 200
    groups = ["narrow"] * 40 + ["wide"] * 200
    totals = Totals(tuple(VALUES), (20 + 192, 20, 2, 2, 2, 2, 0))
    columns = [column(Form.SET, totals), unchanged("group", Role.INSENSITIVE)]
    return released(columns, [rows, groups], {2: 40, 100: 200})


def test_values_behind_few_originals_have_their_full_share() -> None:
    """Of two originals behind {a, b}, one is a and one is b: 20 each, whatever the totals."""
    release = two_degrees()
    assert release.count({"x": "b", "group": "narrow"}).expected == pytest.approx(20)
    assert release.count({"x": "a", "group": "narrow"}).expected == pytest.approx(20)
    before = without_records(release).count({"x": "b", "group": "narrow"})
    assert abs(before.expected - 20) > 5
    by_cells = replace(release.queries(), totals={}).count({"x": "b"})
    assert by_cells.expected == pytest.approx(22, abs=0.5)  # 2 of the 200, 1/100
    assert release.count({"x": "b"}) == Estimate(20.0, 0.0, 240.0, 0.0)  # as its totals state


def test_samples_are_drawn_with_the_same_probabilities() -> None:
    release = two_degrees()
    tables = [Queries.of(table) for table in release.sample(200, seed=3)]
    for where in ({"x": "b", "group": "narrow"}, {"x": "a"}, {"x": "c", "group": "wide"}):
        found = replace(release.queries(), totals={}).count(where)
        drawn = [table.count(where).expected for table in tables]
        assert np.mean(drawn) == pytest.approx(found.expected, abs=4.5 * found.error / 14)
        assert np.std(drawn) == pytest.approx(found.error, rel=0.3)


def test_degrees_of_other_records_are_not_used() -> None:
    release = two_degrees()
    for records in ([], [[2, 40], [100, 1]]):
        degree = {"min": 2, "max": 100, "records": records}
        found = replace(release, certified=certificate(degree=degree)).count({"x": "b"})
        assert found == without_records(release).count({"x": "b"})
    assert replace(release, certified=None).count({"x": "b"}).possible == 240


def degrees_of(release: Release) -> tuple[Any, Any]:
    """The true and the guessed degrees of all records."""
    assert release.links is not None
    graph = release.links.graph
    true = np.repeat(graph.degrees, graph.sizes)[release.links.position_of_row]
    columns = [one for one in release.columns if one.form is not None]
    cells = [cells_of(release.table.column(one.name), one) for one in columns]
    return true, guess_degrees(cells, release.certificate.degree, release.table.num_rows)


def test_degrees_of_plain_groups_are_their_sizes() -> None:
    points = np.random.default_rng(1).integers(0, 10**6, (2, 500))
    table = pa.table({"east": points[0], "north": points[1]})
    schema = Schema.of(quasi_identifying=["east", "north"])
    release = mottle.anonymize(table, schema, KAnonymity(5), method="mondrian", seed=1)
    true, guessed = degrees_of(release)
    assert len(np.unique(true)) > 1
    assert np.array_equal(guessed, true)


def test_answers_are_closer_to_the_truth_if_degrees_differ() -> None:
    people = mottle.datasets.population(3000, seed=1).select([*NAMES, "diagnosis"])
    schema = Schema.of(quasi_identifying=NAMES, sensitive=["diagnosis"])
    release = mottle.anonymize(people, schema, BetaLikeness(8), method="buckets", effort=0, seed=1)
    true, guessed = degrees_of(release)
    assert len(np.unique(true)) > 1
    assert np.mean(guessed == true) > 0.8
    wheres = random_counts(people, NAMES, "diagnosis", number=300, seed=1)
    now = query_error(people, release, wheres)
    before = query_error(people, without_records(release), wheres)
    assert now.mean < before.mean
    assert now.within_bounds == before.within_bounds == 300
