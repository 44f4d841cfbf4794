"""Plain SQL on a release reads and writes nothing else."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from mottle.errors import UsageError
from mottle.queries.sql.plain import query_plain

RELEASE = pa.table({"age": [1, 2, 3], "ill": ["flu", "s3cret", "flu"]})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current directory with files in DuckDB's folder of temporary files, ./.tmp."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".tmp").mkdir()
    (tmp_path / ".tmp" / "x.csv").write_text("q\n1\n", encoding="utf-8")
    duckdb.connect(str(tmp_path / ".tmp" / "x.db")).close()
    return tmp_path


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM '.tmp/x.csv'",
        "SELECT * FROM read_csv('.tmp/x.csv')",
        "SELECT * FROM read_text('.tmp/x.csv')",
        "SELECT * FROM glob('.tmp/*')",
        "COPY release TO '.tmp/o.csv'",
        "EXPORT DATABASE '.tmp/e'",
        "ATTACH '.tmp/x.db'",
        "ATTACH '.tmp/new.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET temp_directory = '.tmp'",
        "SET enable_external_access = true",
        "RESET lock_configuration",
        "PRAGMA profiling_output = '.tmp/p.json'",
        "SELECT * FROM RELEASE_OF_THE_CALLER",
    ],
)
def test_no_folder_is_read_or_written(folder: Path, sql: str) -> None:
    """At 8cdc187 ./.tmp could be read, written and attached."""
    RELEASE_OF_THE_CALLER = RELEASE  # noqa: F841, N806 - DuckDB finds variables by their names
    with pytest.raises(UsageError):
        query_plain(RELEASE, None, sql)
    assert sorted(path.name for path in folder.rglob("*")) == [".tmp", "x.csv", "x.db"]


def test_temporary_folder_is_not_created(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answer = query_plain(
        RELEASE, None, "SELECT ill, sum(age) s FROM release GROUP BY ill ORDER BY 2"
    )
    assert answer.column("s").to_pylist() == [2, 4]
    assert not list(tmp_path.iterdir())


def test_errors_about_values_do_not_quote_them() -> None:
    with pytest.raises(UsageError) as caught:
        query_plain(RELEASE, None, "SELECT ill::INT FROM release")
    assert "s3cret" not in str(caught.value)


def test_columns_that_duckdb_does_not_know_are_a_named_error() -> None:
    wide = pa.table({"a": pa.array([1], pa.decimal256(60, 2))})
    with pytest.raises(UsageError, match="DuckDB"):
        query_plain(wide, None, "SELECT * FROM release")
