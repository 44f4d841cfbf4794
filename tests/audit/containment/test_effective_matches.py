"""Verification of releases: matches of every form of cell, effective ones, disjoint assignments."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime
from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import mottle
from mottle import DataError, Hierarchy, KAnonymity, Release, Role, Schema, UsageError, anonymize
from mottle.audit import (
    Verdict,
    assignment_graph,
    effective_matches,
    match_different_assignments,
    verify,
)
from mottle.encoding.domain import Form
from mottle.release.cell_text import published_type
from mottle.release.column import PublishedColumn
from mottle.schema.model import Kind

CONTINENTS = Hierarchy.from_rows(
    [
        ("Italy", "South", "Europe", "*"),
        ("Spain", "South", "Europe", "*"),
        ("Norway", "North", "Europe", "*"),
        ("Peru", "America", "America", "*"),
    ]
)


def published(
    name: str,
    cells: list[object],
    kind: Kind,
    form: Form,
    value_type: pa.DataType,
    order: tuple[str, ...] | None = None,
    hierarchy: Hierarchy | None = None,
) -> Release:
    """A release of one column, cells as Python values."""
    column = PublishedColumn(name, Role.QUASI_IDENTIFYING, kind, form, value_type, order, hierarchy)
    array = pa.array(cells, published_type(form, value_type))
    return Release(pa.table([array], schema=pa.schema([column.field()])), (column,), None)


def matches(values: pa.Array, release: Release) -> list[str]:
    """A text of 0 and 1 for every original."""
    graph = assignment_graph(pa.table({"x": values}), release)
    return ["".join(str(int(cell)) for cell in row) for row in graph.toarray()]


def spans(*ranges: tuple[object, object, bool]) -> list[object]:
    return [{"lo": low, "hi": high, "missing": missing} for low, high, missing in ranges]


# -------------------------------------------------------------------- matches by form of cell


def test_numbers_match_ranges_by_value_and_missing_by_flag():
    cells = spans((10, 20, False), (15, 30, True), (None, None, True), (21, 21, False))
    release = published("x", cells, Kind.NUMBER, Form.RANGE, pa.int64())
    assert matches(pa.array([10, 20, None, 21]), release) == ["1000", "1100", "0110", "0101"]


def test_bounds_that_no_original_has_still_count_by_value():
    cells = spans((11, 19, False), (0, 10, False), (-5, 99, False))
    release = published("x", cells, Kind.NUMBER, Form.RANGE, pa.int64())
    assert matches(pa.array([10, 15, 20]), release) == ["011", "101", "001"]


def test_nan_is_missing_and_negative_zero_is_zero():
    cells = spans((0.0, 0.5, False), (-1.0, 0.0, True), (None, None, True))
    release = published("x", cells, Kind.NUMBER, Form.RANGE, pa.float64())
    assert matches(pa.array([-0.0, float("nan"), 0.25]), release) == ["110", "011", "100"]


def test_a_time_lies_in_the_range_of_its_day():
    days = [date(1969, 12, 30), date(1969, 12, 31), date(1970, 1, 1)]
    cells = spans((days[0], days[1], False), (days[1], days[1], False), (days[1], days[2], True))
    release = published("x", cells, Kind.DATE, Form.RANGE, pa.date32())
    times = [datetime(1969, 12, 31, 23, 59), None, datetime(1970, 1, 1, 0, 1)]
    assert matches(pa.array(times, pa.timestamp("us")), release) == ["111", "001", "001"]


def test_ordered_values_compare_by_their_order_and_not_by_their_letters():
    order = ("low", "high", "alarming")
    cells = spans(("low", "high", False), ("high", "alarming", False), ("alarming",) * 2 + (True,))
    release = published("x", cells, Kind.ORDERED, Form.RANGE, pa.string(), order=order)
    assert matches(pa.array(["high", "alarming", None]), release) == ["110", "011", "001"]


def test_ordered_numbers_compare_by_their_order():
    cells = spans((3, 1, False), (1, 2, False), (2, 2, False))
    release = published("x", cells, Kind.ORDERED, Form.RANGE, pa.int64(), order=("3", "1", "2"))
    assert matches(pa.array([3, 1, 2]), release) == ["100", "110", "011"]


@pytest.mark.parametrize(
    ("values", "value_type"), [(["a", "b", None, "c"], pa.string()), ([1, 2, None, 9], pa.int64())]
)
def test_sets_match_their_members_and_null_is_the_missing_one(values, value_type):
    first, second, _, third = values
    cells = [[second, first], [second, None], [None], [third, first, None]]
    release = published("x", cells, Kind.CATEGORY, Form.SET, value_type)
    assert matches(pa.array(values, value_type), release) == ["1001", "1100", "0111", "0001"]


def test_nodes_match_the_leaves_below_them_and_only_the_root_the_missing_value():
    cells = ["South", "Europe", "*", None, "America"]
    release = published("x", cells, Kind.HIERARCHY, Form.NODE, pa.string(), hierarchy=CONTINENTS)
    originals = pa.array(["Spain", "Norway", None, "Peru", "Italy"])
    assert matches(originals, release) == ["11100", "01100", "00110", "00101", "11100"]


def test_a_column_of_missing_values_only_matches_everywhere():
    release = published("x", spans((None, None, True)) * 2, Kind.NUMBER, Form.RANGE, pa.null())
    assert matches(pa.nulls(2), release) == ["11", "11"]


def test_a_match_has_to_hold_in_every_column():
    ages = published(
        "age", spans((1, 9, False), (5, 5, False)), Kind.NUMBER, Form.RANGE, pa.int64()
    )
    sexes = published("sex", [["f"], ["f", "m"]], Kind.CATEGORY, Form.SET, pa.string())
    both = Release(
        ages.table.append_column(sexes.table.schema.field(0), sexes.table.column(0)),
        ages.columns + sexes.columns,
        {},
    )
    graph = assignment_graph(pa.table({"sex": ["f", "m"], "age": [5, 5]}), both)
    assert graph.toarray().tolist() == [[True, True], [False, True]]


# ------------------------------------------------------- matches against the definition, slowly


def inside(value: object, cell: object, column: PublishedColumn) -> bool:
    """NH10's 'included in', spelled out for one value and one cell of Python objects."""
    match column.form:
        case Form.SET:
            return value in cell
        case Form.NODE:
            if cell is None or value is None:
                return value is None and cell in (None, "*")
            return column.hierarchy.contains(cell, value)
    if value is None:
        return cell["missing"]
    if cell["lo"] is None:
        return False
    if column.order is not None:
        value, low, high = (column.order.index(each) for each in (value, cell["lo"], cell["hi"]))
        return low <= value <= high
    return cell["lo"] <= value <= cell["hi"]


@st.composite
def mixed_tables(draw: st.DrawFn) -> pa.Table:
    rows = draw(st.integers(3, 20))

    def column(values: list[object]) -> pa.Array:
        cells = st.one_of(st.none(), st.sampled_from(values))
        return draw(st.lists(cells, min_size=rows, max_size=rows))

    return pa.table(
        {
            "number": pa.array(column([0, 1, 2, 3, 50]), pa.int64()),
            "day": pa.array(column([date(2020, 1, day) for day in range(1, 6)]), pa.date32()),
            "level": pa.array(column(["low", "mid", "high"]), pa.string()),
            "country": pa.array(column(["Italy", "Spain", "Norway", "Peru"]), pa.string()),
            "word": pa.array(column(["x", "y", ""]), pa.string()),
        }
    )


MIXED = Schema.of(
    quasi_identifying=["number", "day", "level", "country", "word"],
    orders={"level": ("low", "mid", "high")},
    hierarchies={"country": CONTINENTS},
)


@settings(max_examples=60, deadline=None)
@given(mixed_tables(), st.sampled_from(["range", "set"]), st.sampled_from(["nh", "hp"]))
def test_graph_agrees_with_the_definition_pair_by_pair(table, representation, method):
    release = anonymize(table, MIXED, KAnonymity(3), method=method, representation=representation)
    rows = table.to_pylist()
    records = release.table.to_pylist()
    expected = [
        [all(inside(row[c.name], record[c.name], c) for c in release.columns) for record in records]
        for row in rows
    ]
    assert assignment_graph(table, release).toarray().tolist() == expected


# ---------------------------------------------------- effective matches and disjoint assignments


@st.composite
def graphs_with_an_assignment(draw: st.DrawFn) -> np.ndarray:
    size = draw(st.integers(1, 6))
    graph = np.array(draw(st.lists(st.booleans(), min_size=size**2, max_size=size**2)))
    graph = graph.reshape(size, size)
    graph[np.arange(size), draw(st.permutations(range(size)))] = True
    return graph


def all_assignments(graph: np.ndarray) -> list[tuple[int, ...]]:
    rows = np.arange(len(graph))
    return [columns for columns in permutations(rows) if graph[rows, columns].all()]


@settings(max_examples=150, deadline=None)
@given(graphs_with_an_assignment())
def test_effective_matches_are_those_in_some_assignment(graph):
    expected = np.zeros_like(graph)
    assignments = all_assignments(graph)
    for assignment in assignments:
        expected[np.arange(len(graph)), assignment] = True
    for known in (None, np.array(assignments[-1])):
        effective = effective_matches(csr_array(graph), known)
        assert np.array_equal(effective.toarray(), expected)


@settings(max_examples=80, deadline=None)
@given(graphs_with_an_assignment())
def test_match_different_assignments_are_as_many_as_can_be_packed(graph):
    assignments = all_assignments(graph)
    assume(len(assignments) <= 60)
    rows = np.arange(len(graph))

    def packed(chosen: int, free: np.ndarray) -> int:
        """The most disjoint assignments among those from ``chosen`` on."""
        most = 0
        for number in range(chosen, len(assignments)):
            if free[rows, assignments[number]].all():
                rest = free.copy()
                rest[rows, assignments[number]] = False
                most = max(most, 1 + packed(number + 1, rest))
                if most == rest.sum(axis=0).min() + 1:
                    break
        return most

    assert match_different_assignments(csr_array(graph)) == packed(0, graph)


@pytest.mark.parametrize(("size", "degree"), [(5, 3), (9, 4), (6, 6)])
def test_a_ring_has_as_many_match_different_assignments_as_its_degree(size, degree):
    ring = (np.arange(size)[:, None] - np.arange(size)) % size < degree
    assert match_different_assignments(csr_array(ring)) == degree


def test_a_graph_without_assignment_has_no_match_different_ones():
    assert match_different_assignments(csr_array(np.array([[1, 0], [1, 0]], bool))) == 0


def test_originals_that_share_their_only_record_are_an_error():
    with pytest.raises(DataError, match="1 originals find no published record"):
        effective_matches(csr_array(np.array([[1, 0], [1, 0]], bool)))


@pytest.mark.parametrize("assignment", [[0, 0], [1, 0], [0]])
def test_an_invalid_assignment_is_refused(assignment):
    graph = csr_array(np.array([[1, 0], [1, 1]], bool))
    with pytest.raises(UsageError, match="not one-to-one along matches"):
        effective_matches(graph, np.array(assignment))


def test_a_graph_that_is_not_square_is_refused():
    graph = csr_array(np.ones((2, 3), bool))
    for function in (effective_matches, match_different_assignments):
        with pytest.raises(UsageError, match="square"):
            function(graph)


def test_a_verdict_needs_both_effective_matches_and_disjoint_assignments():
    assert Verdict(3, matches=5, effective_matches=3, match_different_assignments=3).holds
    assert not Verdict(3, matches=5, effective_matches=3, match_different_assignments=2).holds
    assert not Verdict(3, matches=5, effective_matches=2, match_different_assignments=2).holds


# ---------------------------------------------------------------------------------- end to end


@pytest.fixture(scope="module")
def people() -> pa.Table:
    return mottle.datasets.population(400, seed=3)


@pytest.mark.parametrize("representation", ["range", "set"])
@pytest.mark.parametrize("method", ["nh", "hp"])
def test_a_release_of_people_passes(people, method, representation):
    schema = Schema.of(quasi_identifying=["age", "sex", "origin", "income"], rest="insensitive")
    release = anonymize(
        people, schema, KAnonymity(5), method=method, representation=representation, seed=1
    )
    verdict = verify(people, release, 5)
    assert verdict.holds
    assert verdict.matches >= verdict.effective_matches >= verdict.match_different_assignments >= 5


def test_a_release_read_back_from_parquet_passes(people, tmp_path):
    schema = Schema.of(quasi_identifying=["age", "sex"], rest="insensitive")
    anonymize(people, schema, KAnonymity(5)).save(tmp_path / "release")
    assert verify(people, mottle.read_release(tmp_path / "release"), 5).holds


def narrowed(release: Release, row: int) -> Release:
    """The release with the lower bound of one age raised by one year."""
    cells = release.table.column("age").to_pylist()
    cells[row] = cells[row] | {"lo": cells[row]["lo"] + 1}
    column = pa.array(cells, release.table.schema.field("age").type)
    position = release.table.schema.get_field_index("age")
    table = release.table.set_column(position, release.table.schema.field("age"), column)
    return replace(release, stored=table)


@pytest.mark.parametrize("method", ["nh", "hp"])
def test_a_cell_narrowed_by_one_year_fails(method):
    ages = pa.table({"age": list(range(20, 44))})  # all different: no match but those intended
    schema = Schema.of(quasi_identifying=["age"])
    release = anonymize(ages, schema, KAnonymity(4), method=method, seed=1)
    assert verify(ages, release, 4).holds
    lowest = release.table.column("age").combine_chunks().field("lo").to_numpy()
    truths = ages.column("age").to_numpy()[release.links.original_of_row]
    row = int(np.flatnonzero(lowest == truths)[0])  # its true record is the one that falls out
    tampered = narrowed(release, row)
    true_original = int(release.links.original_of_row[row])
    assert not assignment_graph(ages, tampered).toarray()[true_original, row]
    assert not verify(ages, tampered, 4).holds


def test_a_release_of_other_people_is_refused():
    ages = pa.table({"age": list(range(20, 44))})
    release = anonymize(ages, Schema.of(quasi_identifying=["age"]), KAnonymity(4), seed=1)
    with pytest.raises(DataError, match="does not come from this table"):
        verify(pa.table({"age": list(range(21, 45))}), release, 4)


# --------------------------------------------------------------------------- what cannot be joined


def one_number() -> Release:
    return published("x", spans((1, 2, False)) * 2, Kind.NUMBER, Form.RANGE, pa.int64())


def test_a_missing_column_is_named():
    with pytest.raises(DataError, match="no column 'x'"):
        assignment_graph(pa.table({"y": [1, 2]}), one_number())


def test_another_number_of_rows_is_refused():
    with pytest.raises(DataError, match="3 rows and the release 2"):
        assignment_graph(pa.table({"x": [1, 2, 3]}), one_number())


def test_values_of_another_type_are_refused_without_showing_one():
    with pytest.raises(DataError, match="string values in the original") as error:
        assignment_graph(pa.table({"x": ["a secret", "b"]}), one_number())
    assert "secret" not in str(error.value)


def test_values_outside_the_hierarchy_are_refused_without_showing_one():
    release = published(
        "x", ["*", "*"], Kind.HIERARCHY, Form.NODE, pa.string(), hierarchy=CONTINENTS
    )
    with pytest.raises(DataError, match="1 values that the release does not know") as error:
        assignment_graph(pa.table({"x": ["Peru", "Atlantis"]}), release)
    assert "Atlantis" not in str(error.value)


def test_a_release_without_order_or_hierarchy_says_where_to_find_it():
    ordered = published("x", spans(("a", "b", False)), Kind.ORDERED, Form.RANGE, pa.string())
    node = published("x", ["*"], Kind.HIERARCHY, Form.NODE, pa.string())
    for release, word in ((ordered, "order"), (node, "hierarchy")):
        with pytest.raises(UsageError, match=rf"does not carry the {word} .* release\.parquet"):
            assignment_graph(pa.table({"x": ["a"]}), release)


def test_a_release_without_quasi_identifiers_is_refused():
    column = PublishedColumn("x", Role.SENSITIVE, None, None, pa.int64())
    release = Release(pa.table({"x": [1]}), (column,), None)
    with pytest.raises(UsageError, match="no quasi-identifier"):
        assignment_graph(pa.table({"x": [1]}), release)
