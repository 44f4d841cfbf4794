"""DuckDB files: its types, and structs and lists as they are."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from paths import DOCS

import mottle
from mottle import Release
from mottle.errors import DataError, StorageError, UsageError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "people.duckdb"


def fill(file: Path, *statements: str) -> None:
    with duckdb.connect(str(file)) as connection:
        for statement in statements:
            connection.execute(statement)


TYPES = (
    ("7::TINYINT", pa.int8(), 7),
    ("7::HUGEINT", pa.decimal128(38, 0), Decimal(7)),
    ("1.5::DECIMAL(10, 2)", pa.decimal128(10, 2), Decimal("1.50")),
    ("'x'::ENUM('x', 'y')", pa.string(), "x"),
    (
        "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::UUID",
        pa.string(),
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    ),
    ("'101'::BIT", pa.string(), "101"),
    ("DATE '2020-01-31'", pa.date32(), dt.date(2020, 1, 31)),
    ("TIMESTAMP '2020-01-31 10:00'", pa.timestamp("us"), dt.datetime(2020, 1, 31, 10)),
    ("TIMESTAMP_S '2020-01-31 10:00:00'", pa.timestamp("ms"), dt.datetime(2020, 1, 31, 10)),
    ("TIME '10:30'", pa.time64("us"), dt.time(10, 30)),
    ("['a', NULL]", pa.list_(pa.string()), ["a", None]),
    ("'x'::BLOB", pa.binary(), b"x"),
)


def test_every_type_arrives_as_what_it_is(file: Path) -> None:
    cells = ", ".join(f"{expression} AS c{place}" for place, (expression, *_) in enumerate(TYPES))
    fill(file, f"CREATE TABLE one AS SELECT {cells}")
    found = mottle.read_database(file, table="one")
    for (expression, kind, value), name in zip(TYPES, found.column_names, strict=True):
        got = found.schema.field(name).type
        assert got == kind or pa.types.is_list(got), expression
        assert found.column(name).to_pylist() == [value], expression


@pytest.mark.parametrize(
    ("expression", "cast"),
    [
        ("{'a': 1}", '"cell"::VARCHAR'),
        ("INTERVAL 1 DAY", 'epoch("cell")'),
        ("MAP {'a': 1}", '"cell"::VARCHAR'),
    ],
)
def test_other_types_are_refused_with_a_cast_that_works(file: Path, expression, cast) -> None:
    fill(file, f"CREATE TABLE one AS SELECT {expression} AS cell")
    with pytest.raises(DataError, match="Column 'cell'") as refused:
        mottle.read_database(file, table="one")
    assert f"{cast} AS" in refused.value.remedy
    assert mottle.read_database(file, query=f"SELECT {cast} AS cell FROM one").num_rows == 1


def test_mistakes_say_what_there_is_and_quote_no_cells(file: Path) -> None:
    fill(
        file,
        "CREATE SCHEMA clinic",
        "CREATE TABLE clinic.people AS SELECT 'Ms Unknown' AS name",
        "CREATE TABLE visits(day DATE)",
    )
    with pytest.raises(UsageError, match=r"Did you mean 'clinic\.people'"):
        mottle.read_database(file, table="clinic.peple")
    with pytest.raises(UsageError, match=r"Its tables: clinic\.people, visits"):
        mottle.read_database(file)
    with pytest.raises(UsageError, match="syntax error"):
        mottle.read_database(file, query="SELEC 1")
    with pytest.raises(DataError, match="failed to compute") as refused:
        mottle.read_database(file, query="SELECT name::INT FROM clinic.people")
    assert "Unknown" not in str(refused.value)
    with pytest.raises(DataError, match="outside the years 1 to 9999"):
        mottle.read_database(file, query="SELECT DATE 'infinity' AS day")


def test_reading_never_writes(file: Path) -> None:
    fill(file, "CREATE TABLE t AS SELECT 1 AS age")
    with pytest.raises((UsageError, DataError, StorageError)):
        mottle.read_database(file, query="DROP TABLE t")
    assert mottle.read_database(file, table="t").num_rows == 1


def test_files_that_are_missing_or_damaged(tmp_path: Path, release: Release) -> None:
    with pytest.raises(StorageError, match="does not exist"):
        mottle.read_database(tmp_path / "none.duckdb", table="t")
    (tmp_path / "bad.duckdb").write_bytes(b"this is not a database at all" * 100)
    with pytest.raises(StorageError, match="not a valid DuckDB database"):
        mottle.read_database(tmp_path / "bad.duckdb", table="t")
    with pytest.raises(StorageError):
        mottle.write_database(release, tmp_path / "no" / "folder.duckdb", "open")
    assert [path.name for path in tmp_path.iterdir()] == ["bad.duckdb"]


def test_batches_come_as_they_are_needed(file: Path) -> None:
    fill(file, "CREATE TABLE t AS SELECT range AS i FROM range(500000)")
    with mottle.database_batches(file, table="t") as reader:
        sizes = [batch.num_rows for batch in reader]
    assert sum(sizes) == 500_000
    assert len(sizes) > 1


def test_a_release_is_typed_as_in_parquet(file: Path, release: Release) -> None:
    mottle.write_database(release, file, "open")
    with duckdb.connect(str(file), read_only=True) as connection:
        types = {row[0]: row[1] for row in connection.execute("DESCRIBE open").fetchall()}
        assert types["age"] == "STRUCT(lo BIGINT, hi BIGINT, missing BOOLEAN)"
        assert types["sex"] == "VARCHAR[]"
        found = connection.sql("SELECT * FROM open").to_arrow_table()
    assert found.to_pylist() == release.table.to_pylist()


def test_the_example_of_the_documentation_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    document = DOCS / "databases.md"
    code = re.search(r"```python\n(.*?)```", document.read_text(), re.DOTALL)
    assert code is not None
    exec(compile(code.group(1), "databases.md", "exec"), {})
    assert capsys.readouterr().out.startswith("1000 ")
