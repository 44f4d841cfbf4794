"""Databases in and out, as Arrow batches: PostgreSQL, SQLite files and DuckDB files.

One file per database with the same two functions: ``batches`` yields the schema of a result and
then its record batches, ``writing`` is a transaction in which `publishing` stores a release.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa

from mottle.errors import StorageError, UsageError
from mottle.io.databases import duckdb, postgresql, sqlite
from mottle.io.databases.identifiers import ReleaseNames, TableName
from mottle.io.databases.publish import dry_run, publish
from mottle.io.databases.url import Address, System, is_database, parse, redacted
from mottle.io.read_table import mask_missing_markers, normalize, validate_table
from mottle.io.write_release import private_links
from mottle.release.certificate import Certificate
from mottle.release.data import ReleaseData
from mottle.release.rows import Rows
from mottle.utils.arrow import as_days

__all__ = [
    "DatabaseTable",
    "check_database_place",
    "database_batches",
    "is_database",
    "parse",
    "read_database",
    "redacted",
    "write_database",
    "write_stored_rows",
]


@dataclass(frozen=True)
class DatabaseTable:
    """A table of a database as the place of a release."""

    url: str
    table: str

    def __repr__(self) -> str:
        return f"DatabaseTable({redacted(self.url)!r}, {self.table!r})"


_SYSTEMS: dict[System, ModuleType] = {
    System.POSTGRESQL: postgresql,
    System.SQLITE: sqlite,
    System.DUCKDB: duckdb,
}


def read_database(
    url: str | Path,
    *,
    table: str | None = None,
    query: str | None = None,
    missing: Sequence[str] = (),
) -> pa.Table:
    """Read a table or the result of a query from a database.

    Parameters
    ----------
    url
        ``postgresql://…`` (whatever libpq understands, such as ``postgresql://?service=NAME``),
        ``sqlite:///FILE``, ``duckdb:///FILE``, or the path of an SQLite or DuckDB file.
    table
        ``table`` or ``schema.table``.
    query
        A SELECT statement, instead of a table. It is run read-only.
    missing
        Words that stand for a missing value in text columns.

    Raises
    ------
    StorageError
        The database cannot be reached or the connection is lost. No password is ever shown.
    UsageError
        The URL, the table or the query cannot be right, or a driver is not installed.
    DataError
        A column is of a type that mottle does not read, or there are no rows.

    Examples
    --------
    >>> import duckdb, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = f"{folder}/people.duckdb"
    ...     with duckdb.connect(file) as database:
    ...         _ = database.execute("CREATE TABLE people AS SELECT 31 AS age, 'NA' AS country")
    ...     read_database(file, table="people").to_pylist()
    [{'age': 31, 'country': 'NA'}]
    """
    address = parse(url)
    with database_batches(url, table=table, query=query) as reader:
        found = reader.read_all()
    source = f"Table '{table}' of {address.shown}" if query is None else "The result of the query"
    return mask_missing_markers(validate_table(found, source), missing)


def database_batches(
    url: str | Path, *, table: str | None = None, query: str | None = None
) -> pa.RecordBatchReader:
    """Read as `read_database` does, as a reader of record batches that come as they are needed.

    All batches are of one snapshot of the database. The connection is open until the last batch
    was read or the reader is closed.
    """
    address = parse(url)
    system = _SYSTEMS[address.system]
    if (table is None) == (query is None):
        raise UsageError(
            f"Which rows of {address.shown}?", f"Give --table or --query. {_known(address)}"
        )
    _refuse_missing_file(address)
    name = None if table is None else TableName.parse(table)
    statement = (query or "").strip().rstrip(";").rstrip()
    if name is None and not statement:
        raise UsageError("The query is empty.", "Give a query that begins with SELECT.")
    arriving = system.batches(address, name, statement)
    schema = normalize(next(arriving).empty_table()).schema
    return pa.RecordBatchReader.from_batches(schema, _uniform(arriving))


def write_database(
    release: ReleaseData,
    url: str | Path,
    table: str,
    *,
    private: str | Path | None = None,
    overwrite: bool = False,
) -> list[str]:
    """Store a release as tables, in one transaction: all of it appears or nothing.

    ``table`` gets typed cells, ``table_readable`` is a view with the cells of ``release.csv`` and
    ``table_certificate`` has the certificate; ``table_sensitive`` has the sensitive values of a
    release that publishes them apart. ``overwrite`` replaces an earlier release, and nothing but
    a release. ``private`` names a local file for the owner's links. Returns the names written.

    Examples
    --------
    >>> import mottle, tempfile
    >>> people = mottle.datasets.population(100, seed=1).select(["age", "sex", "diagnosis"])
    >>> schema = mottle.Schema.of(quasi_identifying=["age", "sex"], sensitive=["diagnosis"])
    >>> release = mottle.anonymize(people, schema, mottle.KAnonymity(5), seed=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_database(release, f"duckdb:///{folder}/open.duckdb", "people")
    ['people', 'people_readable', 'people_certificate']
    """
    address = parse(url)
    with (
        private_links(release, private, overwrite=overwrite),
        _SYSTEMS[address.system].writing(address) as store,
    ):
        names = publish(
            store,
            release.table,
            release.sensitive,
            release.certificate,
            table,
            overwrite=overwrite,
        )
    return _listed(names, apart=release.sensitive is not None)


def write_stored_rows(
    rows: Rows, certificate: Certificate, place: DatabaseTable, *, overwrite: bool = False
) -> list[str]:
    """Store a release whose rows come in batches, as `write_database` does; in one transaction."""
    address = parse(place.url)
    with _SYSTEMS[address.system].writing(address) as store:
        names = publish(store, rows, None, certificate, place.table, overwrite=overwrite)
    return _listed(names, apart=False)


def check_database_target(url: str | Path, table: str, *, overwrite: bool) -> None:
    """Raise before a long run what `write_database` would raise after it."""
    address = parse(url)
    with _SYSTEMS[address.system].writing(address) as store:
        dry_run(store, table, overwrite=overwrite)


def _listed(names: ReleaseNames, *, apart: bool) -> list[str]:
    written = [names.table, names.readable, names.certificate]
    if apart:
        written.append(names.sensitive)
    return [name.name for name in written]


def _known(address: Address) -> str:
    _refuse_missing_file(address)
    names = _SYSTEMS[address.system].tables(address)
    if not names:
        return "It has no tables."
    return f"Its tables: {', '.join(names[:20])}" + (", …." if len(names) > 20 else ".")


def _refuse_missing_file(address: Address) -> None:
    if address.system is System.POSTGRESQL or address.path.is_file():
        return
    remedy = "Check the path."
    from_root = Path("/", address.place)
    if from_root != address.path and from_root.is_file():
        scheme = str(address.system).lower()
        remedy = f"A path from the root has four slashes: {scheme}:///{from_root}."
    raise StorageError(f"{os.fspath(address.path)} does not exist.", remedy)


def _uniform(batches: Iterator[Any]) -> Iterator[pa.RecordBatch]:
    """Batches with uniform types whose days are those of the calendar."""
    for batch in batches:
        table = normalize(pa.Table.from_batches([batch]))
        for name, column in zip(table.column_names, table.columns, strict=True):
            if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
                as_days(column, name)  # refuses infinity and the years before 1
        yield from table.combine_chunks().to_batches()
