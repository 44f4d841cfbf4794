"""The DuckDB macros for text cells agree with the Python parser, escapes included."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mottle
from mottle.kinds.forms.grammar import parse_cell
from mottle.queries.sql.plain import cell_macros
from mottle.release.cell_text import to_text
from mottle.release.formula_guard import guard_text, unguard_text

TEXTS = st.text(st.sampled_from("ab.|{}\\e \n'\"\u00e4=-"), max_size=5)


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute(cell_macros())
    return connection


def row(database: duckdb.DuckDBPyConnection, sql: str, *values: object) -> tuple[Any, ...]:
    found = database.execute(f"SELECT {sql}", list(values)).fetchone()
    assert found is not None
    return found


@given(st.lists(st.none() | TEXTS, min_size=1, max_size=4, unique=True))
def test_members_of_sets_are_those_of_the_parser(
    database: duckdb.DuckDBPyConnection, values: list[str | None]
) -> None:
    ordered = sorted((value for value in values if value is not None), key=str)
    members = [*ordered, *([None] if None in values else [])]
    (cell,) = to_text(pa.array([members], pa.list_(pa.string())), mottle.Form.SET).to_pylist()
    cell = None if cell is None else guard_text(cell)
    parsed = [low for low, _ in parse_cell(unguard_text(cell or ""))]
    assert parsed == members
    found = row(
        database,
        "cell_members($1), cell_missing($1), cell_size($1), cell_contains($1, $2)",
        cell,
        ordered[0] if ordered else "a",
    )
    assert found == (members, None in members, len(members), bool(ordered))
    assert row(database, "cell_contains($1, $2)", cell, "no such value") == (False,)


@given(TEXTS, TEXTS, st.booleans())
def test_ends_of_ranges_are_those_of_the_parser(
    database: duckdb.DuckDBPyConnection, low: str, high: str, missing: bool
) -> None:
    kind = mottle.Form.RANGE.arrow_type(pa.string())
    cells = pa.array([{"lo": low, "hi": high, "missing": missing}], kind)
    (cell,) = to_text(cells, mottle.Form.RANGE).to_pylist()
    assert parse_cell(cell)[0] == (low, high)
    cell = guard_text(cell)
    assert row(database, "cell_lo($1), cell_hi($1), cell_missing($1)", cell) == (low, high, missing)


@pytest.mark.parametrize(
    ("cell", "value", "contained", "width"),
    [
        ("28..39", 28, True, 11.0),
        ("28..39", 40, False, 11.0),
        ("{-2.5..1e3|}", "0.25", True, 1002.5),
        ("{-2.5..1e3|}", None, True, 1002.5),
        ("2020-01-31..2020-02-02", "2020-02-01", True, 2.0),
        ("2020-01-31..2020-02-02", "2020-02-03", False, 2.0),
        ("28", 28.0, True, 0.0),
        ("{a|b}", "b", True, None),
        ("{a|b}", None, False, None),
        ("", None, True, None),
        (None, "a", False, None),
    ],
)
def test_values_within_cells_and_widths(
    database: duckdb.DuckDBPyConnection,
    cell: str | None,
    value: object,
    contained: bool,
    width: float | None,
) -> None:
    found = row(database, "cell_contains($1::VARCHAR, $2), cell_width($1::VARCHAR)", cell, value)
    assert found == (contained, width)


def test_macros_read_the_csv_file_of_a_release(
    database: duckdb.DuckDBPyConnection, release: mottle.Release, tmp_path: Path
) -> None:
    release.save(tmp_path / "out", report=False)
    found = row(
        database,
        "count(*) FILTER (cell_contains(age, 40)), count(*) FILTER (cell_contains(sex, 'f')),"
        " count(*) FILTER (cell_contains(born, DATE '1960-06-01'))"
        " FROM read_csv($1, all_varchar = true)",
        str(tmp_path / "out" / "release.csv"),
    )
    wanted = [{"age": 40}, {"sex": "f"}, {"born": "1960-06-01"}]
    assert list(found) == [release.count(where).possible for where in wanted]
