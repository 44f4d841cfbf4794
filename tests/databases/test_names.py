"""Names of tables and columns: quoted where needed, refused where two would be one."""

from __future__ import annotations

import pyarrow as pa
import pytest
from live_database import LiveDatabase
from small_releases import between, check_readable, generalized, release_of, unchanged

import mottle
from mottle import Kind, Release, StorageError, UsageError


def test_stored_names_that_collide_are_refused(url: str) -> None:
    release = release_of(
        [
            (generalized("size", Kind.ORDERED, "range", pa.string()), [between("S", "L")]),
            (unchanged("size_lo", pa.int64()), [1]),
        ]
    )
    if url.startswith("duckdb"):
        mottle.write_database(release, url, "open")
        release = release_of(
            [(unchanged("size", pa.int64()), [1]), (unchanged("Size", pa.int64()), [1])]
        )
    with pytest.raises(UsageError, match=r"both be stored as 'size"):
        mottle.write_database(release, url, "collision")


@pytest.mark.parametrize("name", ["", "a.b.c", '"'])
def test_bad_names_of_tables_are_refused(url: str, release: Release, name: str) -> None:
    with pytest.raises(UsageError, match="not the name of a table"):
        mottle.write_database(release, url, name)


@pytest.mark.parametrize("name", ["Two words", "it's", "ü|{}", "a.b", 'say "hi"'])
def test_odd_names_are_written_and_read_as_they_are(
    database: LiveDatabase, release: Release, name: str
) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    mottle.write_database(release, database.url, quoted)
    assert database.tables() == sorted([name, f"{name}_certificate", f"{name}_readable"])
    shown = mottle.read_database(database.url, table=quoted[:-1] + '_readable"')
    assert shown.num_rows == release.table.num_rows
    mottle.write_database(release, database.url, quoted, overwrite=True)


def test_odd_names_of_columns_are_written_and_read_as_they_are(url: str) -> None:
    cells: list[object] = [between(1, 2)]
    columns = [
        (generalized(name, Kind.NUMBER, "range", pa.int64()), cells)
        for name in ('a "b"', "it's", "x.y", "select", "ü %s {} ?")
    ]
    release = release_of(columns)
    mottle.write_database(release, url, "open")
    check_readable(url, release)


@pytest.mark.parametrize("database", ["postgresql", "duckdb"], indirect=True)
def test_a_release_is_written_into_the_schema_that_is_named(
    database: LiveDatabase, release: Release
) -> None:
    database.run("CREATE SCHEMA research")
    written = mottle.write_database(release, database.url, "research.open")
    assert written == ["open", "open_readable", "open_certificate"]
    check_readable(database.url, release, "research.open")
    (count,) = database.rows("SELECT count(*) FROM research.open")
    assert count == (release.table.num_rows,)
    with pytest.raises(StorageError, match="nowhere"):
        mottle.write_database(release, database.url, "nowhere.open")


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_schemas_are_refused_where_there_are_none(database: LiveDatabase, release: Release) -> None:
    with pytest.raises(UsageError, match=r"no schema 'research'.*--to-table open"):
        mottle.write_database(release, database.url, "research.open")
    assert database.tables() == []
