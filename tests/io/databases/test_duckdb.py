"""DuckDB files: its types, and structs and lists as they are."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest
from paths import DOCS

import mottle
from mottle import Release


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "people.duckdb"


def fill(file: Path, *statements: str) -> None:
    with duckdb.connect(str(file)) as connection:
        for statement in statements:
            connection.execute(statement)


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
