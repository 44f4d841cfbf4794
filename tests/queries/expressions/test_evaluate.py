"""Bounds of every construct hold for all originals that a release allows; means are theirs.

Small releases are written down cell by cell. Every original that they allow is enumerated and
asked the same SQL by DuckDB, which knows nothing of cells.
"""

from __future__ import annotations

import datetime as dt
import math
from itertools import product
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mottle import Form, Kind, Release, Role
from mottle.release.column import PublishedColumn

QUASI = Role.QUASI_IDENTIFYING
COLUMNS = {
    "age": PublishedColumn("age", QUASI, Kind.NUMBER, Form.RANGE, pa.int64()),
    "sex": PublishedColumn("sex", QUASI, Kind.CATEGORY, Form.SET, pa.string()),
    "rooms": PublishedColumn("rooms", QUASI, Kind.NUMBER, Form.SET, pa.int64()),
    "born": PublishedColumn("born", QUASI, Kind.DATE, Form.RANGE, pa.date32()),
    "pay": PublishedColumn("pay", Role.SENSITIVE, None, None, pa.float64()),
}
DAY = dt.date(2000, 1, 30)
CODES = pa.table({"code": ["f", "m", "z"], "word": ["ja", "nein", "nie"], "points": [1, -2, 9]})
STEPS = pa.table({"years": [1, 2, 3, 7], "step": ["low", "low", "high", "high"]})
TABLES = {"codes": CODES, "steps": STEPS}


def release_of(cells: dict[str, list[Any]]) -> Release:
    columns = tuple(COLUMNS[name] for name in cells)
    arrays = [
        pa.array(values, column.field().type)
        for column, values in zip(columns, cells.values(), strict=True)
    ]
    return Release(pa.table(arrays, schema=pa.schema([one.field() for one in columns])), columns)


def values_of(name: str, cell: Any) -> list[Any]:
    if name == "pay":
        return [cell]
    if name in ("sex", "rooms"):
        return list(cell)
    known: list[Any] = []
    if cell["lo"] is not None and name == "age":
        known = list(range(cell["lo"], cell["hi"] + 1))
    elif cell["lo"] is not None:
        known = [
            cell["lo"] + dt.timedelta(day) for day in range((cell["hi"] - cell["lo"]).days + 1)
        ]
    return [*known, *([None] if cell["missing"] else [])]


def originals(cells: dict[str, list[Any]]) -> list[list[tuple[Any, ...]]]:
    """Every table that the cells allow, as rows."""
    rows = [
        list(product(*(values_of(name, cell) for name, cell in zip(cells, row, strict=True))))
        for row in zip(*cells.values(), strict=True)
    ]
    return [list(world) for world in product(*rows)]


class Asked(NamedTuple):
    """A query in parts, so that it can be asked of one release or of all originals at once."""

    argument: str
    where: str = "true"
    join: str = ""
    key: str = "0"

    @property
    def sql(self) -> str:
        return f"SELECT {self.argument} AS n FROM release {self.join} WHERE {self.where}"

    @property
    def by_key(self) -> str:
        return (
            f"SELECT {self.key} AS g, {self.argument} AS n FROM release {self.join}"
            f" WHERE {self.where} GROUP BY g"
        )


def truths(cells: dict[str, list[Any]], asked: Asked) -> list[dict[Any, Any]]:
    """What DuckDB answers on every original, by group."""
    worlds = originals(cells)
    rows = [(number, *row) for number, world in enumerate(worlds) for row in world]
    types = [pa.int64(), *(COLUMNS[name].value_type for name in cells)]
    columns = [
        pa.array(list(one), kind) for one, kind in zip(zip(*rows, strict=True), types, strict=True)
    ]
    found: list[dict[Any, Any]] = [{} for _ in worlds]
    with duckdb.connect() as connection:
        for name, table in TABLES.items():
            connection.register(name, table)
        connection.register("release", pa.table(columns, names=["world", *cells]))
        answers = connection.execute(
            f"SELECT world, {asked.key} AS g, {asked.argument} AS n FROM release {asked.join}"
            f" WHERE {asked.where} GROUP BY ALL"
        )
        for world, group, value in answers.fetchall():
            found[world][group] = value
    return found


def ranges(low: int, width: int, convert: Any = int) -> st.SearchStrategy[dict[str, Any]]:
    known = st.tuples(st.integers(low, low + 6), st.integers(0, width), st.booleans()).map(
        lambda drawn: {
            "lo": convert(drawn[0]),
            "hi": convert(drawn[0] + drawn[1]),
            "missing": drawn[2] and drawn[1] < width,
        }
    )
    return known | st.just({"lo": None, "hi": None, "missing": True})


def tables(*names: str, rows: int) -> st.SearchStrategy[dict[str, list[Any]]]:
    cell = {
        "age": ranges(0, 2),
        "born": ranges(0, 1, lambda day: DAY + dt.timedelta(day)),
        "sex": st.sampled_from([["f"], ["m"], ["f", "m"], ["f", None], ["x"], [None]]),
        "rooms": st.sampled_from([[1], [2], [1, 2], [2, 4], [3, None]]),
        "pay": st.sampled_from([-1.5, 0.0, 2.0, 10.0, None]),
    }
    return st.fixed_dictionaries(
        {name: st.lists(cell[name], min_size=rows, max_size=rows) for name in names}
    )


def close(value: float, other: float) -> bool:
    return math.isclose(value, other, rel_tol=1e-9, abs_tol=1e-9)


def check(cells: dict[str, list[Any]], asked: Asked, *, mean: bool, tight: bool = True) -> None:
    """Compare the answer with all originals."""
    (row,) = release_of(cells).query(asked.sql, tables=TABLES, fit="uniform").to_pylist()
    nothing = 0 if asked.argument.startswith("count") else None
    everything = [world.get(0, nothing) for world in truths(cells, asked)]
    known = [float(value) for value in everything if value is not None]
    if not known:
        return
    low, high = row["n_low"], row["n_high"]
    assert low <= min(known) or close(low, min(known)), (row, min(known))
    assert high >= max(known) or close(high, max(known)), (row, max(known))
    if tight:
        assert close(low, min(known)), (row, min(known))
        assert close(high, max(known)), (row, max(known))
    if mean:
        wanted = np.mean([0.0 if value is None else float(value) for value in everything])
        assert close(row["n"], float(wanted)), (row, wanted)
    assert low <= row["n"] <= high
    assert row["n_error"] >= 0


CONDITIONS = [
    "age < 3 OR sex = 'f'",
    "NOT (age < 3 OR sex = 'f')",
    "(age < 3 AND sex = 'f') OR (age >= 3 AND sex = 'm')",
    "NOT (age BETWEEN 2 AND 4) OR age = 3",
    "age <= 3 OR age > 3",
    "age IS NULL OR sex <> 'm'",
    "sex IN ('f', 'm') AND NOT (age > 2 AND age < 5)",
    "age IN (1, 2.5, 4) OR NOT sex IN ('f', 'x')",
    "CASE WHEN age < 2 THEN 'young' WHEN sex = 'f' THEN 'woman' ELSE 'rest' END <> 'rest'",
    "CASE WHEN age < 4 THEN 1 WHEN age IS NULL THEN 3 END >= 2",
    "CASE sex WHEN 'f' THEN 1 ELSE 0 END IN (1, 2)",
    "(age < 2) OR (age > 2 AND sex IS NULL) OR (sex = 'x' AND NOT age = 5)",
]


@pytest.mark.parametrize("condition", CONDITIONS)
@settings(max_examples=5)
@given(cells=tables("age", "sex", rows=3))
def test_counts_under_any_condition(cells: dict[str, list[Any]], condition: str) -> None:
    check(cells, Asked("count(*)", condition), mean=True)


@settings(max_examples=5)
@given(cells=tables("born", "pay", rows=3))
def test_alternatives_over_dates_and_exact_columns(cells: dict[str, list[Any]]) -> None:
    where = "born < DATE '2000-02-01' OR pay > 1 OR (pay IS NULL AND born = DATE '2000-02-03')"
    check(cells, Asked("count(*)", where), mean=True)


SUMS = [
    ("sum(age * 12 + 1)", "true"),
    ("sum(-age / 4)", "sex = 'f' OR age > 3"),
    ("sum(age * rooms - 2 * age)", "true"),
    ("sum((age - 3) * (rooms + 1) * 2)", "sex = 'f' OR rooms = 2"),
    ("sum(CASE WHEN sex = 'f' THEN age WHEN age > 4 THEN -rooms ELSE 0.5 END)", "true"),
    ("sum(CASE WHEN rooms = 2 THEN 1 ELSE 0 END)", "age < 3 OR sex = 'm'"),
    ("count(CASE WHEN age < 3 THEN rooms END)", "true"),
    ("sum(rooms)", "age > 2 OR rooms > 2"),
]


@pytest.mark.parametrize(("argument", "where"), SUMS)
@settings(max_examples=5)
@given(cells=tables("age", "sex", "rooms", rows=2))
def test_sums_of_expressions(cells: dict[str, list[Any]], argument: str, where: str) -> None:
    check(cells, Asked(argument, where), mean=True, tight=False)


@pytest.mark.parametrize("where", ["age IS NOT NULL", "sex = 'f' OR age > 3"])
@pytest.mark.parametrize(
    ("argument", "tight"),
    [
        ("avg(age * 2 - 1)", True),
        ("median(age)", True),
        ("quantile_cont(age, 0.1)", True),
        ("percentile_cont(0.75) WITHIN GROUP (ORDER BY age)", True),
        ("stddev(age)", False),
        ("stddev_pop(age)", False),
        ("variance(age + 1)", False),
        ("var_pop(age)", False),
        ("count(DISTINCT age)", False),
        ("count(DISTINCT sex)", False),
        ("count(DISTINCT CASE WHEN age > 3 THEN 'old' ELSE sex END)", False),
    ],
)
@settings(max_examples=4)
@given(cells=tables("age", "sex", rows=3))
def test_means_quantiles_deviations_and_distinct_values(
    cells: dict[str, list[Any]], argument: str, tight: bool, where: str
) -> None:
    check(cells, Asked(argument, where), mean=False, tight=tight)


JOINS = [
    ("JOIN codes ON release.sex = codes.code", "count(*)", "word = 'ja'"),
    ("JOIN codes ON sex = code", "count(*)", "true"),
    ("LEFT JOIN codes c ON c.code = sex", "count(*)", "c.word IS NULL OR age > 3"),
    ("LEFT JOIN codes c ON c.code = sex", "sum(c.points * age)", "c.points < 5"),
    ("LEFT JOIN steps ON age = years", "count(*)", "step <> 'low'"),
    ("JOIN steps s ON age = s.years JOIN codes ON sex = code", "sum(points)", "s.step = 'low'"),
]


@pytest.mark.parametrize(("join", "argument", "where"), JOINS)
@settings(max_examples=5)
@given(cells=tables("age", "sex", rows=3))
def test_code_lists(cells: dict[str, list[Any]], join: str, argument: str, where: str) -> None:
    check(cells, Asked(argument, where, join), mean=True, tight=argument == "count(*)")


GROUPS = [
    ("CASE WHEN age < 3 THEN 'young' WHEN age >= 3 THEN 'old' END", ""),
    ("word", "LEFT JOIN codes ON sex = code"),
    ("step", "JOIN steps ON age = years"),
    ("sex", ""),
]


@pytest.mark.parametrize(("key", "join"), GROUPS)
@settings(max_examples=5)
@given(cells=tables("age", "sex", rows=3))
def test_groups_by_derived_values(cells: dict[str, list[Any]], key: str, join: str) -> None:
    for argument in ("count(*)", "sum(age + 1)"):
        asked = Asked(argument, "age > 1 OR sex = 'f'", join, key)
        answer = release_of(cells).query(asked.by_key, tables=TABLES, fit="uniform").to_pylist()
        worlds = truths(cells, asked)
        assert {row["g"] for row in answer} == {group for world in worlds for group in world}
        for row in answer:
            values = [float(world.get(row["g"]) or 0) for world in worlds]
            assert row["n_low"] <= min(values)
            assert row["n_high"] >= max(values)
            assert close(row["n"], float(np.mean(values)))
            if argument == "count(*)":
                assert (row["n_low"], row["n_high"]) == (min(values), max(values))
