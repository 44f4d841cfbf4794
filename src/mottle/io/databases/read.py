"""Tables and query results from a database, as a table in memory or as record batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from mottle.errors import UsageError
from mottle.io.databases.base import Address
from mottle.io.databases.identifiers import TableName
from mottle.io.databases.url import parse
from mottle.io.normalize import mask_missing_markers, normalize, validate_table
from mottle.utils.arrow import as_days

__all__ = ["database_batches", "read_database"]

_TABLES_LISTED = 20  # in an error message; the others are only hinted at


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
    url : str or Path
        ``postgresql://…`` (anything libpq understands, such as ``postgresql://?service=NAME``),
        ``sqlite:///FILE``, ``duckdb:///FILE``, or the path of an SQLite or DuckDB file.
    table : str, optional
        ``table`` or ``schema.table``.
    query : str, optional
        A SELECT statement, instead of a table. It is run read-only.
    missing : sequence of str
        Words that stand for a missing value in text columns.

    Returns
    -------
    pyarrow.Table
        All rows, with the types that `mottle.anonymize` takes.

    Raises
    ------
    StorageError
        The database cannot be reached or the connection is lost. No password is ever shown.
    UsageError
        The URL, the table or the query is not valid, or a driver is not installed.
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
    """Read a table or the result of a query as a reader of record batches.

    The batches are fetched as they are needed and all come from one snapshot of the database. The
    connection stays open until the last batch was read or the reader is closed.

    Parameters
    ----------
    url : str or Path
        The database, as in `read_database`.
    table : str, optional
        ``table`` or ``schema.table``.
    query : str, optional
        A SELECT statement, instead of a table. It is run read-only.

    Returns
    -------
    pyarrow.RecordBatchReader
        A context manager that yields the batches.

    Raises
    ------
    StorageError
        The database cannot be reached or the connection is lost, perhaps while batches are read.
    UsageError
        The URL, the table or the query is not valid, or a driver is not installed.
    DataError
        A column is of a type that mottle does not read, or the rows cannot be computed.

    Examples
    --------
    >>> import duckdb, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = f"{folder}/people.duckdb"
    ...     with duckdb.connect(file) as database:
    ...         _ = database.execute("CREATE TABLE people AS SELECT 31 AS age")
    ...     with database_batches(file, query="SELECT age + 1 AS next FROM people") as reader:
    ...         [batch.to_pylist() for batch in reader]
    [[{'next': 32}]]
    """
    address = parse(url)
    if (table is None) == (query is None):
        raise UsageError(
            f"Either a table or a query of {address.shown} is needed.",
            f"Give --table or --query. {_known_tables(address)}",
        )
    address.database.check_exists(address)
    name = None if table is None else TableName.parse(table)
    statement = (query or "").strip().rstrip(";").rstrip()
    if name is None and not statement:
        raise UsageError("The query is empty.", "Give a query that begins with SELECT.")
    arriving = address.database.read_batches(address, name, statement)
    schema = normalize(next(arriving).empty_table()).schema
    return pa.RecordBatchReader.from_batches(schema, _normalized(arriving))


def _known_tables(address: Address) -> str:
    """A sentence that lists the tables of a database."""
    address.database.check_exists(address)
    names = address.database.list_tables(address)
    if not names:
        return "It has no tables."
    more = ", …." if len(names) > _TABLES_LISTED else "."
    return f"Its tables: {', '.join(names[:_TABLES_LISTED])}{more}"


def _normalized(batches: Iterator[Any]) -> Iterator[pa.RecordBatch]:
    """Batches with uniform types; dates outside the calendar's years are refused."""
    for batch in batches:
        table = normalize(pa.Table.from_batches([batch]))
        for name, column in zip(table.column_names, table.columns, strict=True):
            if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
                as_days(column, name)  # refuses infinity and the years before 1
        yield from table.combine_chunks().to_batches()
