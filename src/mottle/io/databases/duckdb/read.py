"""Rows of DuckDB as Arrow batches, which DuckDB makes itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from mottle.errors import UsageError
from mottle.io.databases.base import Address
from mottle.io.databases.duckdb.connect import connected
from mottle.io.databases.duckdb.errors import translating_duckdb_errors
from mottle.io.databases.duckdb.types import AS_TEXT, check_readable
from mottle.io.databases.errors import no_such_table
from mottle.io.databases.identifiers import TableName, quoted

__all__ = ["list_tables", "read_batches"]


def read_batches(address: Address, table: TableName | None, query: str) -> Iterator[Any]:
    """Yield the schema of the result, then its record batches, all from one snapshot.

    Parameters
    ----------
    address : Address
        The database.
    table : TableName or None
        The table to read; None for a query.
    query : str
        The query, without a semicolon at its end.

    Yields
    ------
    pyarrow.Schema or pyarrow.RecordBatch
        First the schema, then the batches.

    Raises
    ------
    UsageError
        The table does not exist or the query is not valid.
    DataError
        A column is of a type that mottle does not read, or the rows cannot be computed.
    StorageError
        The database cannot be opened or the connection is lost.
    """
    with connected(address, read_only=True) as connection:
        statement = query if table is None else f"SELECT * FROM {table.sql}"
        names, types = _described(connection, address, table, statement)
        with translating_duckdb_errors(address, writing=False):
            relation = connection.sql(_selection(names, types, statement))
            reader = pa.RecordBatchReader.from_stream(relation)
        try:
            for field, kind in zip(reader.schema, types, strict=True):
                check_readable(field, kind)
            yield reader.schema
            while True:
                try:
                    with translating_duckdb_errors(address, writing=False):
                        batch = reader.read_next_batch()
                except StopIteration:
                    return
                yield batch
        finally:
            reader.close()


def list_tables(address: Address) -> list[str]:
    """List all tables and views.

    Parameters
    ----------
    address : Address
        The database.

    Returns
    -------
    list of str
        Sorted names, with the schema where it is not ``main``.
    """
    reading = connected(address, read_only=True)
    with reading as connection, translating_duckdb_errors(address, writing=False):
        return _tables(connection)


def _tables(connection: Any) -> list[str]:
    rows = connection.execute(
        "SELECT CASE table_schema WHEN 'main' THEN table_name"
        " ELSE table_schema || '.' || table_name END"
        " FROM information_schema.tables WHERE table_catalog = current_database() ORDER BY 1"
    ).fetchall()
    return [name for (name,) in rows]


def _described(
    connection: Any, address: Address, table: TableName | None, statement: str
) -> tuple[list[str], list[str]]:
    """Names and DuckDB's types of the columns of a result."""
    try:
        with translating_duckdb_errors(address, writing=False):
            relation = connection.sql(statement)
    except UsageError:
        if table is None or str(table) in (known := _tables(connection)):
            raise
        raise no_such_table(address.shown, str(table), known) from None
    if relation is None:
        raise UsageError("The query returns no columns.", "Give a query that begins with SELECT.")
    return list(relation.columns), [str(kind) for kind in relation.types]


def _selection(names: Sequence[str], types: Sequence[str], statement: str) -> str:
    """The statement, with casts around it where they are needed."""
    if not any(kind in AS_TEXT for kind in types):
        return statement
    inner = [f"column{place}" for place in range(len(names))]
    outer = [
        f"{column}{'::VARCHAR' if kind in AS_TEXT else ''} AS {quoted(name)}"
        for column, name, kind in zip(inner, names, types, strict=True)
    ]
    return f"SELECT {', '.join(outer)} FROM (\n{statement}\n) AS source({', '.join(inner)})"
