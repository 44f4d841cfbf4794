"""Databases as sources and destinations of streamed runs."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from command_line import mottle_command
from live_database import LiveDatabase

import mottle
from mottle import KAnonymity, Schema

ROWS = 6000
PEOPLE = mottle.datasets.population(ROWS, seed=5)
QI = ["age", "sex", "education"]
SCHEMA = Schema.of(quasi_identifying=QI, identifying=["person_id"], rest="insensitive")
OPTIONS = ["--qi", ",".join(QI), "--id", "person_id", "--rest", "insensitive", "--k", "5"]
STREAMED = ["--method", "nh", "--memory", "1GB"]


@pytest.fixture
def filled(database: LiveDatabase) -> LiveDatabase:
    """A database with people in it."""
    database.load("people", PEOPLE)
    return database


def test_a_table_of_a_database_is_streamed_from_the_command_line(
    filled: LiveDatabase, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    source = ("anonymize", filled.url, "--table", "people")
    done = mottle_command(*source, *OPTIONS, *STREAMED, "-o", folder)
    assert done.exit_code == 0, done.output
    release = mottle.read_release(folder)
    assert release.certificate.engine.name == "streaming"
    assert list(folder.glob(".mottle-unfinished-*")) == []
    assert release.table.num_rows == ROWS
    assert sorted(release.table.column("diagnosis").to_pylist()) == sorted(
        PEOPLE.column("diagnosis").to_pylist()
    )
    report = mottle.audit_release(
        PEOPLE, release, schema=SCHEMA.covering(PEOPLE.column_names), guarantee=KAnonymity(5)
    )
    assert report.passed


def test_a_streamed_release_is_stored_in_a_database(
    filled: LiveDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    target = filled.url if filled.file is None else f"{filled.name}:///released.{filled.name}"
    source = ("anonymize", filled.url, "--table", "people")
    done = mottle_command(*source, *OPTIONS, *STREAMED, "--to", target, "--to-table", "released")
    assert done.exit_code == 0, done.output
    shown = mottle.read_database(target, table="released_readable")
    assert shown.num_rows == ROWS
    expected = [name for name in PEOPLE.column_names if name != "person_id"]
    assert shown.column_names == expected
    assert sorted(shown.column("diagnosis").to_pylist()) == sorted(
        PEOPLE.column("diagnosis").cast(pa.string()).to_pylist()
    )
