"""Replacing a release: only if asked for, only releases, and all or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from live_database import LiveDatabase
from pydantic_core import PydanticSerializationError
from small_releases import check_readable

import mottle
from mottle import Release, StorageError
from mottle.io.databases import check_database_target


def leaves_nothing(database: LiveDatabase) -> None:
    """No table, and no file of a database that was none before, nor a journal next to it."""
    assert database.tables() == []
    if database.file is not None:
        assert list(database.file.parent.iterdir()) == []


def test_existing_releases_are_kept_unless_told_otherwise(
    url: str, release: Release, other_release: Release
) -> None:
    mottle.write_database(release, url, "open")
    with pytest.raises(StorageError, match=r"already has open, .*--overwrite"):
        mottle.write_database(other_release, url, "open")
    check_readable(url, release)
    mottle.write_database(other_release, url, "open", overwrite=True)
    check_readable(url, other_release)


def test_a_table_that_is_not_a_release_is_never_dropped(
    database: LiveDatabase, release: Release
) -> None:
    database.run("CREATE TABLE open (age integer)", "INSERT INTO open VALUES (31)")
    with pytest.raises(StorageError, match="not a release"):
        mottle.write_database(release, database.url, "open", overwrite=True)
    assert database.rows("SELECT age FROM open") == [(31,)]


def test_only_releases_are_overwritten(url: str, release: Release) -> None:
    mottle.write_database(release, url, "open")
    with pytest.raises(StorageError, match="not a release"):
        mottle.write_database(release, url, "open_certificate", overwrite=True)
    check_readable(url, release)


def test_a_failure_in_the_middle_leaves_nothing(
    database: LiveDatabase, release: Release, tmp_path: Path
) -> None:
    url, link = database.url, tmp_path / "links.parquet"
    no_json = release.certificate.with_changes(rows=object())  # fails last, when all rows are there
    failing = Release(release.table, release.columns, no_json, release.links)
    with pytest.raises(PydanticSerializationError):
        mottle.write_database(failing, url, "open", private=link)
    assert not link.exists()
    leaves_nothing(database)
    mottle.write_database(release, url, "open")
    with pytest.raises(PydanticSerializationError):
        mottle.write_database(failing, url, "open", overwrite=True)
    check_readable(url, release)


def test_the_dry_run_raises_what_writing_would_and_leaves_nothing(
    database: LiveDatabase, release: Release
) -> None:
    url = database.url
    check_database_target(url, "open", overwrite=False)
    leaves_nothing(database)
    mottle.write_database(release, url, "open")
    with pytest.raises(StorageError, match="already has"):
        check_database_target(url, "open", overwrite=False)
    check_database_target(url, "open", overwrite=True)
    check_readable(url, release)
