"""Databases that are files: missing, damaged, misnamed, and left as they were after a failure."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from live_database import LiveDatabase
from pydantic_core import PydanticSerializationError

import mottle
from mottle import DataError, MottleError, Release, StorageError
from mottle.io.databases.base import DATABASES

FILES = [name for name, known in DATABASES.items() if known.suffixes]
DAMAGED = {
    "sqlite": (DataError, "not an SQLite database"),
    "duckdb": (StorageError, "not a valid DuckDB database"),
}

pytestmark = pytest.mark.parametrize("database", FILES, indirect=True)


def test_a_missing_file_is_named_and_not_created(database: LiveDatabase) -> None:
    assert database.file is not None
    for ask in ({"table": "t"}, {"query": "SELECT 1"}, {}):
        with pytest.raises(StorageError, match=r"store\.\w+ does not exist"):
            mottle.read_database(database.url, **ask)
    assert list(database.file.parent.iterdir()) == []


def test_a_path_from_the_root_with_too_few_slashes_is_pointed_out(database: LiveDatabase) -> None:
    database.run("CREATE TABLE t(age int)")
    relative = f"{database.name}:///{str(database.file)[1:]}"
    with pytest.raises(StorageError, match="four slashes") as refused:
        mottle.read_database(relative, table="t")
    assert database.url in refused.value.remedy


def test_a_damaged_file_is_refused(database: LiveDatabase, tmp_path: Path) -> None:
    suffix = DATABASES[database.name].suffixes[0]
    damaged = tmp_path / f"damaged{suffix}"
    damaged.write_bytes(b"this is not a database at all" * 100)
    error, words = DAMAGED[database.name]
    with pytest.raises(error, match=words):
        mottle.read_database(damaged, table="t")


def test_a_file_in_a_folder_that_is_missing_cannot_be_written(
    database: LiveDatabase, release: Release, tmp_path: Path
) -> None:
    words = {"sqlite": "cannot be opened", "duckdb": "Cannot open file"}[database.name]
    with pytest.raises(StorageError, match=rf"{words}.* Nothing was written"):
        mottle.write_database(release, f"{database.name}:///{tmp_path}/no/folder.db", "open")
    assert not (tmp_path / "no").exists()


def test_an_existing_file_is_what_its_first_bytes_say(
    database: LiveDatabase, tmp_path: Path
) -> None:
    database.run("CREATE TABLE people AS SELECT 31 AS age")
    assert database.file is not None
    for name in ("people", "people.csv", "people.sqlite", "people.duckdb"):
        (tmp_path / name).write_bytes(database.file.read_bytes())
        found = mottle.read_database(tmp_path / name, table="people")
        assert found.to_pylist() == [{"age": 31}]


def test_a_release_that_fails_leaves_other_tables_of_the_file_alone(
    database: LiveDatabase, release: Release
) -> None:
    database.run("CREATE TABLE people AS SELECT 31 AS age")
    failing = Release(
        release.table, release.columns, release.certificate.with_changes(rows=object())
    )
    with pytest.raises(PydanticSerializationError):
        mottle.write_database(failing, database.url, "open")
    assert database.tables() == ["people"]
    assert database.rows("SELECT age FROM people") == [(31,)]


def test_a_file_that_cannot_be_opened_is_an_error_of_ours(
    database: LiveDatabase, release: Release, tmp_path: Path
) -> None:
    (tmp_path / "folder.db").mkdir()
    with pytest.raises(MottleError):
        mottle.write_database(release, f"{database.name}:///{tmp_path}/folder.db", "open")
    assert (tmp_path / "folder.db").is_dir()


def test_link_that_leads_nowhere_is_not_removed(database: LiveDatabase, release: Release) -> None:
    """What a failed run removes is the file that it made, and no link of the user."""
    assert database.file is not None
    database.file.symlink_to(database.file.parent / "missing" / "store")
    with pytest.raises(MottleError):
        mottle.write_database(release, database.url, "open")
    assert database.file.is_symlink()


def test_pipe_is_refused_and_not_waited_for(database: LiveDatabase, release: Release) -> None:
    assert database.file is not None
    os.mkfifo(database.file)
    with pytest.raises(StorageError, match="is not a file"):
        mottle.write_database(release, database.url, "open")
