"""Rows of SQLite as Arrow batches.

An SQLite column may hold values of any type, while the driver decides by the first rows. So all
rows are scanned first, every column is cast to the one type that holds all of its values, and a row
that announces these types precedes the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import DataError, UsageError
from mottle.io.databases.base import Address
from mottle.io.databases.errors import no_such_table
from mottle.io.databases.identifiers import TableName, quoted
from mottle.io.databases.sqlite.connect import connected
from mottle.io.databases.sqlite.errors import translating_sqlite_errors
from mottle.io.databases.sqlite.types import Seen, shown_as

__all__ = ["list_tables", "read_batches"]

_SOURCE = "mottle_source"
_COLUMNS_AT_ONCE = 100  # SQLite's results have at most 2,000 columns
_ROWS_PER_BATCH = 1 << 16


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
    with connected(address, "ro") as cursor:
        statement = query if table is None else f"SELECT * FROM {table.sql}"
        columns = _described(cursor, address, table, statement)
        with translating_sqlite_errors(address, writing=False):
            kinds = [_type(cursor, seen) for seen in _seen(cursor, columns)]
            options = {"adbc.sqlite.query.batch_rows": str(_ROWS_PER_BATCH)}
            cursor.adbc_statement.set_options(**options)
            cursor.execute(_selection(list(columns), kinds))
            reader = cursor.fetch_record_batch()
        schema = pa.schema(list(zip(columns, kinds, strict=True)))
        yield schema
        try:
            yield from _typed(reader, schema, address)
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
        Sorted names.
    """
    with connected(address, "ro") as cursor, translating_sqlite_errors(address, writing=False):
        cursor.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
            " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY 1"
        )
        return [name for (name,) in cursor.fetchall()]


def _described(
    cursor: Any, address: Address, table: TableName | None, statement: str
) -> dict[str, str]:
    """The columns of a result and their declared types, by a temporary view."""
    try:
        with translating_sqlite_errors(address, writing=False):
            cursor.execute(f"CREATE TEMP VIEW {_SOURCE} AS\n{statement}")
            cursor.execute(f"SELECT name, type FROM pragma_table_info('{_SOURCE}')")
            return {name: declared.upper() for name, declared in cursor.fetchall()}
    except UsageError:
        if table is None or str(table) in (known := list_tables(address)):
            raise
        raise no_such_table(address.shown, str(table), known) from None


def _seen(cursor: Any, columns: dict[str, str]) -> list[Seen]:
    """Scan all rows to find which types the values of each column have."""
    found = []
    names = list(columns)
    for first in range(0, len(names), _COLUMNS_AT_ONCE):
        some = names[first : first + _COLUMNS_AT_ONCE]
        expressions = [one for name in some for one in Seen.expressions(name)]
        cursor.execute(f"SELECT {', '.join(expressions)} FROM {_SOURCE}")
        (row,) = cursor.fetchall()
        each = len(expressions) // len(some)
        found += [
            Seen.of(name, columns[name], *row[place * each : (place + 1) * each])
            for place, name in enumerate(some)
        ]
    return found


def _type(cursor: Any, seen: Seen) -> pa.DataType:
    """A type of time if all texts have its form, else the one that holds all values."""
    for kind, is_such in seen.finer.items():
        cursor.execute(f"SELECT count(*) FROM {_SOURCE} WHERE NOT ({is_such})")
        if cursor.fetchall() == [(0,)]:
            return kind
    return seen.type


def _selection(names: Sequence[str], kinds: Sequence[pa.DataType]) -> str:
    shown = [shown_as(kind) for kind in kinds]
    example = ", ".join(
        f"{value} AS {quoted(name)}" for name, (_, value) in zip(names, shown, strict=True)
    )
    cast = ", ".join(
        f"CAST({quoted(name)} AS {kind})" for name, (kind, _) in zip(names, shown, strict=True)
    )
    return f"SELECT {example} UNION ALL SELECT {cast} FROM {_SOURCE}"


def _typed(reader: Any, schema: pa.Schema, address: Address) -> Iterator[pa.RecordBatch]:
    skip = 1  # the row that announces the types
    while True:
        try:
            with translating_sqlite_errors(address, writing=False):
                batch = reader.read_next_batch().slice(skip)
        except StopIteration:
            return
        skip = 0
        arrays = [_cast(values, field) for values, field in zip(batch.columns, schema, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _cast(values: pa.Array, field: pa.Field) -> pa.Array:
    try:
        return pc.cast(values, field.type)
    except pa.ArrowException:  # its message may quote a cell
        raise DataError(
            f"Column '{field.name}' has values that are not valid {field.type} values."
        ) from None
