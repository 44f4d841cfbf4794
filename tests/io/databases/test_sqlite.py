"""SQLite files: values of any type in any column, and what a release looks like in them."""

from __future__ import annotations

import datetime as dt
import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import mottle
from mottle import Release
from mottle.errors import StorageError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "people.db"


def fill(file: Path, *statements: str) -> None:
    connection = sqlite3.connect(file)
    with connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    ("declared", "values", "kind", "expected"),
    [
        ("INTEGER", "1, NULL, -5", pa.int64(), [1, None, -5]),
        ("INTEGER", "1, 2.5", pa.float64(), [1.0, 2.5]),
        ("INTEGER", "1, 'unknown'", pa.string(), ["1", "unknown"]),
        ("", "1.5, 'x'", pa.string(), ["1.5", "x"]),
        ("TEXT", "'a', NULL", pa.string(), ["a", None]),
        ("TEXT", "'2020-01-31', NULL", pa.date32(), [dt.date(2020, 1, 31), None]),
        ("DATE", "'2020-01-31', '2020-02-30'", pa.string(), ["2020-01-31", "2020-02-30"]),
        ("DATE", "NULL", pa.date32(), [None]),
        (
            "TIMESTAMP",
            "'2020-01-31 10:00:00', '2020-01-31T10:00:00.5'",
            pa.timestamp("us"),
            [dt.datetime(2020, 1, 31, 10), dt.datetime(2020, 1, 31, 10, 0, 0, 500_000)],
        ),
        ("TIMESTAMP", "'2020-01-31 10:00:00+02:00'", pa.string(), ["2020-01-31 10:00:00+02:00"]),
        ("BOOLEAN", "1, 0, NULL", pa.bool_(), [True, False, None]),
        ("BOOLEAN", "1, 2", pa.int64(), [1, 2]),
        ("BLOB", "x'00ff', NULL", pa.binary(), [b"\x00\xff", None]),
        ("REAL", "NULL", pa.float64(), [None]),
        ("INT", "NULL", pa.int64(), [None]),
        ("VARCHAR(9)", "NULL", pa.string(), [None]),
        ("DECIMAL(9, 2)", "'1.50', 2", pa.float64(), [1.5, 2.0]),
    ],
)
def test_a_column_gets_the_one_type_that_holds_its_values(
    file: Path, declared: str, values: str, kind: pa.DataType, expected: list[object]
) -> None:
    cells = ", ".join(f"({value})" for value in values.split(", "))
    fill(file, f"CREATE TABLE t(cell {declared})", f"INSERT INTO t VALUES {cells}")
    for source in ({"table": "t"}, {"query": "SELECT cell FROM t;"}):
        found = mottle.read_database(file, **source)
        assert found.schema.field("cell").type == kind
        assert found.column("cell").to_pylist() == expected


def test_the_first_rows_do_not_decide(file: Path) -> None:
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150000)"
    fill(
        file,
        f"CREATE TABLE t AS {numbers} SELECT i, CASE WHEN i > 149990 THEN 'late' END AS text,"
        " CASE WHEN i > 140000 THEN i + 0.5 ELSE i END AS number FROM n",
    )
    with mottle.database_batches(file, table="t") as reader:
        batches = list(reader)
    assert len(batches) > 2
    found = pa.Table.from_batches(batches)
    assert found.schema.types == [pa.int64(), pa.string(), pa.float64()]
    assert found.column("i").to_pylist() == list(range(1, 150_001))
    assert found.column("text").null_count == 149_990


def test_a_file_that_another_program_writes_to_is_not_waited_for_in_vain(
    file: Path, release: Release
) -> None:
    fill(file, "CREATE TABLE t(age)")
    hold = (
        "import sqlite3, sys; other = sqlite3.connect(sys.argv[1], isolation_level=None);"
        " other.execute('BEGIN EXCLUSIVE'); print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", hold, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:  # another process: SQLite's locks are between processes
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(StorageError, match="locked"):
            mottle.write_database(release, file, "open")
        other.communicate()


def test_a_release_reads_well_with_sqlite_itself(file: Path, release: Release) -> None:
    mottle.write_database(release, file, "open")
    connection = sqlite3.connect(file)
    names = [row[1] for row in connection.execute("PRAGMA table_info(open)")]
    assert names == [
        "age_lo",
        "age_hi",
        "age_may_be_missing",
        "sex",
        "size_lo",
        "size_hi",
        "born_lo",
        "born_hi",
        "place",
        "diagnosis",
        "note",
    ]
    sexes = [json.loads(cell) for (cell,) in connection.execute("SELECT sex FROM open")]
    assert sexes == release.table.column("sex").to_pylist()
    shown = connection.execute("SELECT sex FROM open_readable").fetchall()
    assert [cell for (cell,) in shown] == release.to_text().column("sex").to_pylist()
    connection.close()
