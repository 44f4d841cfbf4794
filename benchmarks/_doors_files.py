"""The same table from every file format and database: one release under one key."""

from __future__ import annotations

import hashlib
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
from _shared import ROOT, markdown_table, report

import mottle

sys.path.insert(0, str(ROOT / "tests" / "support"))
import door_tables as doors
import mariadb_server
import postgresql_server
from live_database import LiveDatabase, live_duckdb, live_mariadb, live_postgresql, live_sqlite

ROWS = 5_000
KEY = hashlib.sha256(b"the owner's key of this benchmark").digest()


def main() -> None:
    people = doors.table(ROWS)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for door, path in doors.files(people, folder):
            rows.append(line(door, mottle.read_table(path), folder))
        with (
            postgresql_server.running_server() as postgresql,
            mariadb_server.running_server() as mariadb,
            mariadb.new_database() as database,
        ):
            lives: dict[str, LiveDatabase] = {
                "PostgreSQL": live_postgresql(postgresql.url()),
                "MariaDB": live_mariadb(mariadb, database),
                "SQLite": live_sqlite(folder / "people.sqlite"),
                "DuckDB": live_duckdb(folder / "people.duckdb"),
            }
            for door, live in lives.items():
                live.load("people", people)
                table = mottle.read_database(live.url, table="people")
                rows.append(line(door, table, folder))
    releases = {row[-1] for row in rows}
    said = (
        f"{ROWS:,} rows, six columns: whole numbers, fractions, days, categories, missing values."
        f" k = 5, one key for all. {len(rows)} doors, {len(releases)} different release.csv."
    )
    header = ["read from", "rows", "release.csv, SHA-256"]
    title = "The same table through every door"
    report("doors-files", title, [said, markdown_table(header, rows)], "doors.py files")


def line(door: str, table: pa.Table, folder: Path) -> list[str]:
    """A row of the report: the release that the table gives."""
    target = folder / f"released {door}"
    doors.release_of(table, KEY).save(target, report=False)
    digest = hashlib.sha256((target / "release.csv").read_bytes()).hexdigest()
    return [door, f"{table.num_rows:,}", digest[:16]]
