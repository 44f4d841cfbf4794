"""Counts, sums, averages and group-bys agree with brute force over all possible worlds."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mottle
from mottle import Form, Hierarchy, Kind, Release, Role
from mottle.errors import UsageError
from mottle.evaluation.workloads import query_error, random_counts
from mottle.queries import Condition, Queries
from mottle.release.column import PublishedColumn

PLACES = Hierarchy.from_rows(
    [("Italy", "South", "*"), ("Spain", "South", "*"), ("US", "North", "*")]
)
SIZES = ("S", "M", "L")
DAY = dt.date(1999, 12, 30)

COLUMNS = {
    "age": PublishedColumn("age", Role.QUASI_IDENTIFYING, Kind.NUMBER, Form.RANGE, pa.int16()),
    "born": PublishedColumn("born", Role.QUASI_IDENTIFYING, Kind.DATE, Form.RANGE, pa.date32()),
    "fee": PublishedColumn(
        "fee", Role.QUASI_IDENTIFYING, Kind.NUMBER, Form.RANGE, pa.decimal128(6, 1)
    ),
    "size": PublishedColumn(
        "size", Role.QUASI_IDENTIFYING, Kind.ORDERED, Form.RANGE, pa.string(), order=SIZES
    ),
    "sex": PublishedColumn("sex", Role.QUASI_IDENTIFYING, Kind.CATEGORY, Form.SET, pa.string()),
    "rooms": PublishedColumn("rooms", Role.QUASI_IDENTIFYING, Kind.NUMBER, Form.SET, pa.int8()),
    "place": PublishedColumn(
        "place", Role.QUASI_IDENTIFYING, Kind.HIERARCHY, Form.NODE, pa.string(), hierarchy=PLACES
    ),
    "salary": PublishedColumn("salary", Role.SENSITIVE, None, None, pa.float64()),
}


def release_of(cells: dict[str, list[Any]]) -> Release:
    columns = tuple(COLUMNS[name] for name in cells)
    arrays = [
        pa.array(values, column.field().type)
        for column, values in zip(columns, cells.values(), strict=True)
    ]
    fields = pa.schema([column.field() for column in columns])
    return Release(pa.table(arrays, schema=fields), columns)


# ------------------------------------------------------------------------ possible values of cells


def steps_of(name: str, low: Any, high: Any) -> list[Any]:
    match name:
        case "age":
            return list(range(low, high + 1))
        case "born":
            return [low + dt.timedelta(day) for day in range((high - low).days + 1)]
        case "fee":
            return [Decimal(step) / 10 for step in range(int(low * 10), int(high * 10) + 1)]
        case _:
            return list(SIZES[SIZES.index(low) : SIZES.index(high) + 1])


def weighted_values(name: str, cell: Any, *, nulls_occur: bool) -> list[tuple[Any, float]]:
    """The values a cell may stand for; weight 0 for a possible value with no expected share."""
    if name in ("age", "born", "fee", "size"):
        known = [] if cell["lo"] is None else steps_of(name, cell["lo"], cell["hi"])
        return [(value, 1.0) for value in (*known, *([None] if cell["missing"] else []))]
    if name in ("sex", "rooms"):
        return [(value, 1.0) for value in cell]
    if name == "place":
        if cell is None:
            return [(None, 1.0)]
        leaves: list[tuple[Any, float]] = [(leaf, 1.0) for leaf in PLACES.leaves_under(cell)]
        return [*leaves, (None, float(nulls_occur))] if cell == "*" else leaves
    return [(cell, 1.0)]


def satisfies(name: str, value: Any, condition: Condition) -> bool:
    if value is None:
        return condition.missing or (name == "place" and "*" in (condition.values or ()))
    if not condition.known:
        return False

    def key(one: Any) -> Any:
        return SIZES.index(one) if name == "size" else one

    if condition.low is not None:
        low = key(condition.low)
        if key(value) < low or (condition.low_open and key(value) == low):
            return False
    if condition.high is not None:
        high = key(condition.high)
        if key(value) > high or (condition.high_open and key(value) == high):
            return False

    def among(listed: tuple[Any, ...]) -> bool:
        if name == "place":
            return any(value in PLACES.leaves_under(label) for label in listed)
        return value in listed

    if condition.values is not None and not among(condition.values):
        return False
    return not among(condition.excluded)


Worlds = list[tuple[dict[str, Any], float]]


def worlds_of_records(cells: dict[str, list[Any]]) -> list[Worlds]:
    """For every record, all possible true records and their probabilities."""
    records = []
    for row in range(len(next(iter(cells.values())))):
        options = [
            weighted_values(name, column[row], nulls_occur=None in column)
            for name, column in cells.items()
        ]
        worlds = []
        for chosen in product(*options):
            weight = math.prod(weight for _, weight in chosen)
            worlds.append((dict(zip(cells, (value for value, _ in chosen), strict=True)), weight))
        total = sum(weight for _, weight in worlds)
        records.append([(world, weight / total) for world, weight in worlds])
    return records


# ------------------------------------------------------------------------------------- strategies


@st.composite
def ranges(draw: st.DrawFn, values: st.SearchStrategy[Any], key: Any = lambda one: one) -> Any:
    low, high = sorted((draw(values), draw(values)), key=key)
    missing = draw(st.booleans())
    if missing and draw(st.booleans()):
        return {"lo": None, "hi": None, "missing": True}
    return {"lo": low, "hi": high, "missing": missing}


AGES = st.integers(-2, 3)
DAYS = st.integers(0, 3).map(lambda days: DAY + dt.timedelta(days))
FEES = st.integers(-2, 2).map(lambda step: Decimal(step) / 10)
NAMES = st.sampled_from(["f", "m", "x"])
ROOMS = st.integers(1, 3)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "age": AGES,
    "born": DAYS,
    "fee": FEES,
    "size": st.sampled_from(SIZES),
    "sex": NAMES,
    "rooms": ROOMS,
    "place": st.sampled_from(PLACES.labels),
    "salary": st.sampled_from([1.5, 2.0, -3.0]),
}
CELLS: dict[str, st.SearchStrategy[Any]] = {
    "age": ranges(AGES),
    "born": ranges(DAYS),
    "fee": ranges(FEES),
    "size": ranges(st.sampled_from(SIZES), SIZES.index),
    "sex": st.sets(NAMES | st.none(), min_size=1).map(list),
    "rooms": st.sets(ROOMS | st.none(), min_size=1).map(list),
    "place": st.sampled_from(PLACES.labels) | st.none(),
    "salary": VALUES["salary"] | st.none(),
}


@st.composite
def conditions(draw: st.DrawFn, name: str) -> Condition:
    value = VALUES[name]
    kind = draw(st.sampled_from(["range", "values", "excluded", "missing", "known"]))
    if kind == "range" and name not in ("place", "sex"):  # text without an order
        low, high = (draw(value | st.none()) for _ in range(2))
        return Condition(low, high, low_open=draw(st.booleans()), high_open=draw(st.booleans()))
    if kind == "missing":
        return Condition(known=False, missing=True)
    listed = tuple(draw(st.lists(value, max_size=3)))
    if kind == "excluded":
        return Condition(excluded=listed)
    if kind == "known":
        return Condition()
    return Condition(values=listed, missing=draw(st.booleans()))


@st.composite
def queries_with_cells(
    draw: st.DrawFn,
) -> tuple[dict[str, list[Any]], dict[str, tuple[Condition, ...]]]:
    names = draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=3, unique=True))
    rows = draw(st.integers(1, 4))
    cells = {name: draw(st.lists(CELLS[name], min_size=rows, max_size=rows)) for name in names}
    chosen = draw(st.lists(st.sampled_from(names), unique=True))
    where = {
        name: tuple(draw(st.lists(conditions(name), min_size=1, max_size=2))) for name in chosen
    }
    return cells, where


def fits(world: dict[str, Any], where: dict[str, tuple[Condition, ...]]) -> bool:
    return all(
        satisfies(name, world[name], condition)
        for name, wanted in where.items()
        for condition in wanted
    )


# ------------------------------------------------------------------------------------------- tests


@given(queries_with_cells())
def test_counts_are_the_mean_and_the_extremes_over_all_worlds(
    query: tuple[dict[str, list[Any]], dict[str, tuple[Condition, ...]]],
) -> None:
    cells, where = query
    found = release_of(cells).count(where, fit="uniform")
    records = worlds_of_records(cells)
    chances = [sum(w for world, w in worlds if fits(world, where)) for worlds in records]
    variance = sum(chance * (1 - chance) for chance in chances)
    assert found.expected == pytest.approx(sum(chances), abs=1e-9)
    assert found.error == pytest.approx(math.sqrt(max(variance, 0)), abs=1e-6)
    assert found.certain == sum(all(fits(w, where) for w, _ in worlds) for worlds in records)
    assert found.possible == sum(any(fits(w, where) for w, _ in worlds) for worlds in records)
    assert found.certain <= found.expected <= found.possible


@given(queries_with_cells(), st.sampled_from(["age", "fee", "rooms", "salary"]), st.data())
def test_sums_and_averages_are_those_over_all_worlds(
    query: tuple[dict[str, list[Any]], dict[str, tuple[Condition, ...]]],
    column: str,
    data: st.DataObject,
) -> None:
    cells, where = query
    rows = min(len(next(iter(cells.values()))), 2)
    cells = {name: values[:rows] for name, values in cells.items()}
    if column not in cells:
        cells[column] = data.draw(st.lists(CELLS[column], min_size=rows, max_size=rows))
    queries = Queries.of(release_of(cells), "uniform")
    total, average = queries.total(column, where), queries.average(column, where)
    sums, means, expected, square, likely = [], [], 0.0, 0.0, 0.0
    for together in product(*worlds_of_records(cells)):
        added = [
            float(world[column])
            for world, _ in together
            if world[column] is not None and fits(world, where)
        ]
        weight = math.prod(weight for _, weight in together)
        sums.append(sum(added))
        expected += weight * sum(added)
        square += weight * sum(added) ** 2
        likely += weight * len(added)
        if added:
            means.append(sum(added) / len(added))
    assert total.expected == pytest.approx(expected, abs=1e-9)
    assert total.error == pytest.approx(math.sqrt(max(square - expected**2, 0)), abs=1e-6)
    exact_ends = not any(condition.excluded for condition in where.get(column, ()))
    if exact_ends:
        assert total.certain == pytest.approx(min(sums), abs=1e-9)
        assert total.possible == pytest.approx(max(sums), abs=1e-9)
    assert total.certain - 1e-9 <= min(sums)
    assert max(sums) <= total.possible + 1e-9
    if likely > 0:
        assert average.expected == pytest.approx(expected / likely, abs=1e-9)
        assert average.certain <= min(means) + 1e-9
        assert average.possible >= max(means) - 1e-9
        if exact_ends:
            assert average.certain == pytest.approx(min(means), abs=1e-9)
            assert average.possible == pytest.approx(max(means), abs=1e-9)
    else:
        assert math.isnan(average.expected)


@given(queries_with_cells(), st.data())
def test_groups_are_counts_with_one_more_condition(
    query: tuple[dict[str, list[Any]], dict[str, tuple[Condition, ...]]], data: st.DataObject
) -> None:
    cells, where = query
    columns = data.draw(st.lists(st.sampled_from(sorted(cells)), min_size=1, unique=True))
    queries = Queries.of(release_of(cells), data.draw(st.sampled_from(["fitted", "uniform"])))
    table = queries.group_by(columns, where)
    for row in table.to_pylist():
        group = {name: (*where.get(name, ()), Condition.of(row[name], name)) for name in columns}
        found = queries.count({**where, **group})
        assert row["expected"] == pytest.approx(found.expected, abs=1e-9)
        assert (row["certain"], row["possible"]) == (found.certain, found.possible)
        assert row["error"] == pytest.approx(found.error, abs=1e-6)
    assert sum(table.column("expected").to_pylist()) == pytest.approx(
        queries.count(where).expected, abs=1e-9
    )


def test_cube_has_every_subset_of_its_columns(release: Release) -> None:
    cube = release.cube(["sex", "size"], {"diagnosis": "flu"})
    assert set(cube.column("grouped_by").to_pylist()) == {"", "sex", "size", "sex, size"}
    for level in ("", "sex", "size", "sex, size"):
        rows = [row for row in cube.to_pylist() if row["grouped_by"] == level]
        assert sum(row["expected"] for row in rows) == pytest.approx(10)
        assert {row["level"] for row in rows} == {0 if not level else len(level.split(", "))}


def test_ranges_of_numbers_that_are_not_whole_are_measured_by_length() -> None:
    column = PublishedColumn(
        "weight", Role.QUASI_IDENTIFYING, Kind.NUMBER, Form.RANGE, pa.float64()
    )
    cells = [(0.5, 2.5, False), (1.0, 1.0, False), (0.5, 2.5, True), (None, None, True)]
    array = pa.array(
        [dict(zip(("lo", "hi", "missing"), cell, strict=True)) for cell in cells],
        column.field().type,
    )
    queries = Queries.of(
        Release(pa.table([array], schema=pa.schema([column.field()])), (column,), None), "uniform"
    )
    half = queries.count({"weight": (1.0, 2.0)})
    assert half.expected == pytest.approx(1 / 2 + 1 + 2 / 3 / 2)
    assert (half.certain, half.possible) == (1, 3)
    point = queries.count({"weight": 1.0})
    assert (point.expected, point.certain, point.possible) == (1, 1, 3)
    end = queries.count({"weight": Condition(low=2.5)})
    assert (end.expected, end.certain, end.possible) == (0, 0, 2)
    nothing = queries.count({"weight": Condition(low=2.5, low_open=True)})
    assert (nothing.expected, nothing.certain, nothing.possible) == (0, 0, 0)
    all_but_one = queries.count({"weight": Condition(excluded=(2.0,))})
    assert (all_but_one.certain, all_but_one.possible) == (1, 3)
    assert all_but_one.expected == pytest.approx(2 + 2 / 3)
    assert queries.count({"weight": None}).expected == pytest.approx(1 + 1 / 3)
    mean = queries.average("weight")
    assert mean.expected == pytest.approx((1.5 + 1.0 + 1.5 * 2 / 3) / (2 + 2 / 3))
    assert (mean.certain, mean.possible) == (pytest.approx(2 / 3), pytest.approx(2.0))
    assert queries.total("weight", {"weight": (None, 1.0)}).expected == pytest.approx(
        0.25 * 0.75 + 1.0 + 0.25 * 0.75 * 2 / 3
    )
    with pytest.raises(UsageError, match="not whole"):
        queries.group_by(["weight"])
    grouped = queries.group_by(["weight"], None, {"weight": [1.0, 2.0]})
    assert sum(grouped.column("expected").to_pylist()) == pytest.approx(4)


def test_whole_numbers_in_a_float_column_are_counted() -> None:
    column = PublishedColumn("age", Role.QUASI_IDENTIFYING, Kind.NUMBER, Form.RANGE, pa.float64())
    array = pa.array([{"lo": 1.0, "hi": 4.0, "missing": False}], column.field().type)
    queries = Queries.of(
        Release(pa.table([array], schema=pa.schema([column.field()])), (column,), None)
    )
    assert queries.count({"age": (1, 2)}).expected == pytest.approx(0.5)


def test_widest_integers_and_empty_columns_can_be_queried() -> None:
    column = PublishedColumn("id", Role.QUASI_IDENTIFYING, Kind.NUMBER, Form.RANGE, pa.int64())
    ends = (-(2**63), 2**63 - 1)
    array = pa.array(
        [{"lo": ends[0], "hi": ends[1], "missing": False}, {"lo": None, "missing": True}],
        column.field().type,
    )
    queries = Queries.of(
        Release(pa.table([array], schema=pa.schema([column.field()])), (column,), None)
    )
    found = queries.count({"id": (0, None)})
    assert found.expected == pytest.approx(0.5)
    assert (found.certain, found.possible) == (0, 1)
    only_missing = Queries.of(
        Release(pa.table([array[1:]], schema=pa.schema([column.field()])), (column,), None)
    )
    assert only_missing.count({"id": None}).certain == 1
    assert only_missing.count({"id": (0, 5)}).possible == 0


def test_conditions_on_dates_accept_text_and_timestamps(release: Release) -> None:
    by_text = release.count({"born": ("1960-01-01", "1969-12-31")})
    by_date = release.count({"born": (dt.date(1960, 1, 1), dt.date(1969, 12, 31))})
    by_timestamp = release.count(
        {"born": (dt.datetime(1959, 12, 31, 12), dt.datetime(1969, 12, 31, 12))}
    )
    assert by_text == by_date == by_timestamp
    assert 0 < by_text.possible < 40


def test_a_node_stands_for_all_values_below_it(release: Release) -> None:
    europe = release.count({"place": "Europe"})
    leaves = release.count({"place": ["Italy", "Spain", "France"]})
    assert europe == leaves
    assert release.count({"place": "*"}).certain == 40


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ({"agee": 3}, "no column 'agee'"),
        ({"age": "old"}, "cannot be compared"),
        ({"born": "someday"}, "2024-12-31"),
        ({"sex": 3}, "'3' in quotes"),
        ({"size": "XXL"}, "no value 'XXL'"),
        ({"place": "Mars"}, "no value or node 'Mars'"),
        ({"place": ("Italy", "US")}, "no order"),
        ({"age": (1, 2, 3)}, "tuple of 3"),
        ([("age", 3)], "not a valid condition"),
    ],
)
def test_errors_of_invalid_conditions_state_what_is_wrong(
    release: Release, where: Any, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        release.count(where)


def test_only_numbers_can_be_added_up(release: Release) -> None:
    for column in ("sex", "born", "diagnosis", "place"):
        with pytest.raises(UsageError, match=f"'{column}'"):
            release.total(column)
    with pytest.raises(UsageError, match="no fit"):
        release.count({}, fit="best")


def test_values_with_escapes_and_empty_text_are_found(release: Release, tmp_path: Path) -> None:
    release.save(tmp_path)
    (tmp_path / "release.parquet").unlink()
    for source in (release, mottle.read_release(tmp_path / "release.csv")):
        assert source.count({"diagnosis": ""}).certain == 10
        assert source.count({"diagnosis": "a,b"}).certain == 10
        assert source.count({"diagnosis": None}).certain == 10
        assert source.count({"sex": ["f", None]}).possible > 0


def test_queries_on_a_csv_without_orders_state_what_is_missing(
    release: Release, tmp_path: Path
) -> None:
    release.save(tmp_path)
    (tmp_path / "release.parquet").unlink()
    read = mottle.read_release(tmp_path)
    where = {"age": (20, 30)}
    assert read.count(where, fit="uniform") == release.count(where, fit="uniform")
    with pytest.raises(UsageError, match=r"order of column 'size'.*release.parquet"):
        read.count({"size": "M"})
    with pytest.raises(UsageError, match=r"release.parquet, which does"):
        read.sample(1)


def test_a_release_read_back_gives_the_same_answers(release: Release, tmp_path: Path) -> None:
    release.save(tmp_path)
    where = {"age": (30, 50), "place": "Europe", "size": ("M", None), "sex": "f"}
    assert mottle.read_release(tmp_path).count(where) == release.count(where)


def population(rows: int) -> tuple[pa.Table, mottle.Schema]:
    people = mottle.datasets.population(rows, seed=3)
    people = people.select(["age", "sex", "origin", "workclass", "income", "diagnosis"])
    return people, mottle.Schema.of(
        quasi_identifying=["age", "sex", "origin", "workclass", "income"], sensitive=["diagnosis"]
    )


@pytest.mark.parametrize("method", ["nh", "mondrian", "anatomy"])
def test_the_truth_lies_within_the_bounds(method: str) -> None:
    people, schema = population(600)
    guarantee = mottle.LDiversity(2) if method == "anatomy" else mottle.KAnonymity(5)
    release = mottle.anonymize(people, schema, guarantee, method=method, seed=1)
    for conditions in (1, 3):
        wheres = random_counts(
            people,
            ["age", "sex", "origin", "workclass", "income"],
            "diagnosis",
            conditions=conditions,
            number=300,
            seed=conditions,
        )
        for fit in ("uniform", "fitted"):
            found = query_error(people, release, wheres, fit)
            assert found.within_bounds == found.query_count == 300


@pytest.mark.parametrize("fit", ["uniform", "fitted"])
def test_expected_values_lie_between_the_bounds(fit: str) -> None:
    people, schema = population(400)
    release = mottle.anonymize(people, schema, mottle.KAnonymity(7), method="nh", seed=1)
    wheres = random_counts(people, ["age", "sex", "workclass"], "diagnosis", number=200)
    answers = Queries.of(release, fit).counts(wheres)
    assert (answers.certain <= answers.expected).all()
    assert (answers.expected <= answers.possible).all()
    assert (answers.error >= 0).all()
    singly = [release.count(where, fit=fit).expected for where in wheres[:20]]
    assert np.allclose(answers.expected[:20], singly)


def test_sensitive_values_of_two_tables_are_assigned_within_groups() -> None:
    people, schema = population(300)
    release = mottle.anonymize(people, schema, mottle.LDiversity(2), method="anatomy", seed=1)
    where = {"sex": "female", "diagnosis": "none"}
    found = release.count(where)
    drawn = [Queries.of(table).count(where).expected for table in release.sample(100, seed=1)]
    assert np.mean(drawn) == pytest.approx(found.expected, abs=4 * found.error / math.sqrt(100))
    assert np.std(drawn) == pytest.approx(found.error, rel=0.35)
    assert found.certain <= min(drawn)
    assert max(drawn) <= found.possible
    table = release.group_by(["sex", "diagnosis"])
    rows = {(row["sex"], row["diagnosis"]): row for row in table.to_pylist()}
    row = rows["female", "none"]
    assert (row["expected"], row["certain"]) == (pytest.approx(found.expected), found.certain)
    assert (row["possible"], row["error"]) == (found.possible, pytest.approx(found.error))
    average = release.average("income", {"diagnosis": "none"})
    assert average.certain <= average.expected <= average.possible


def test_exact_columns_of_every_type_can_be_queried() -> None:
    table = pa.table(
        {
            "word": pa.array(["a", "b", None, "a"]).dictionary_encode(),
            "flag": [True, False, None, True],
            "moment": [dt.datetime(2020, 1, 1, 5), None, dt.datetime(2021, 1, 1), None],
            "number": [1.5, float("nan"), -0.0, 0.0],
            "nothing": pa.nulls(4),
            "money": pa.array([Decimal("1.00"), Decimal("2.00"), Decimal("3.00"), None]),
            "id": pa.array([1, 2, 3, 4], pa.uint64()),
        }
    )
    queries = Queries.of(table)
    for where, count in (
        ({"word": "a"}, 2),
        ({"word": None}, 1),
        ({"flag": False}, 1),
        ({"moment": ("2020-06-01", None)}, 1),
        ({"moment": (dt.date(2020, 1, 1), None)}, 2),
        ({"number": None}, 1),
        ({"number": 0}, 2),
        ({"nothing": None}, 4),
        ({"nothing": 1}, 0),
        ({"money": (1.5, 2.5)}, 1),
        ({"money": 2}, 1),
        ({"id": (2, 3.5)}, 2),
        ({"id": np.int64(3)}, 1),
        ({"word": np.str_("b")}, 1),
        ({}, 4),
    ):
        found = queries.count(where)
        assert (found.expected, found.certain, found.possible, found.error) == (
            count,
            count,
            count,
            0,
        ), where
    empty = Queries.of(table.slice(0, 0))
    assert empty.count({"flag": True}).possible == 0
    assert empty.group_by(["flag"]).num_rows == 0
    assert math.isnan(empty.average("id").expected)
    assert len(queries.counts([])) == 0


def test_text_without_an_order_is_not_compared() -> None:
    bands = Queries.of(pa.table({"age": ["30-39", "60-69", "70-79"]}))
    assert bands.count({"age": ["60-69", "70-79"]}).certain == 2
    with pytest.raises(UsageError, match=r"text without an order.*Name the values"):
        bands.count({"age": ("60", None)})
