"""The same table gives the same release under one key, whatever it is read from."""

from __future__ import annotations

from pathlib import Path

import door_tables as doors
from live_database import LiveDatabase

import mottle

KEY = bytes(range(32))


def test_files_give_the_same_release(tmp_path: Path) -> None:
    people = doors.table(60)
    expected = doors.release_of(people, KEY).to_text()
    for name, path in doors.files(people, tmp_path):
        assert doors.release_of(mottle.read_table(path), KEY).to_text().equals(expected), name


def test_databases_give_the_same_release(database: LiveDatabase) -> None:
    people = doors.table(60)
    release = doors.release_of(doors.through(people, database), KEY)
    assert release.to_text().equals(doors.release_of(people, KEY).to_text())
