"""Rows through ODBC as Arrow batches.

ODBC describes types loosely: unsigned numbers arrive as negative ones and bits as missing values.
So every column is fetched by an expression of its database that is safe, and cast here. Texts are
measured first, because buffers have to be as long as the longest one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import DataError, UsageError
from mottle.io.databases.base import Address
from mottle.io.databases.errors import no_such_table
from mottle.io.databases.identifiers import TableName
from mottle.io.databases.odbc.connect import connect
from mottle.io.databases.odbc.dialect import Arriving, OdbcDialect
from mottle.io.databases.odbc.errors import translating_odbc_errors

__all__ = ["list_tables", "read_batches", "texts_of"]

_ROWS_PER_BATCH = 1 << 16
_BYTES_PER_BATCH = 1 << 26
_SHORT_TEXT = 1 << 12  # of names and of lengths, in bytes


def read_batches(
    dialect: OdbcDialect, address: Address, table: TableName | None, query: str
) -> Iterator[Any]:
    """Yield the schema of the result, then its record batches.

    Parameters
    ----------
    dialect : OdbcDialect
        The database system.
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
        The database cannot be reached or the connection is lost.
    """
    with _snapshot(dialect, address) as connection:
        source = f"({query}\n) mottle_source" if table is None else dialect.table_sql(table)
        fields = _described(dialect, connection, address, table, source)
        columns = [dialect.arriving(field) for field in fields]
        named = list(zip(fields.names, columns, strict=True))
        schema = pa.schema([(name, column.type) for name, column in named])
        selection = ", ".join(
            f"{column.expression} AS {dialect.quoted(name)}" for name, column in named
        )
        with translating_odbc_errors(dialect, address, writing=False):
            longest = _longest(dialect, connection, columns, source)
            reader = _read(dialect, connection, f"SELECT {selection} FROM {source}", longest)
        try:
            yield schema
            yield from _typed(dialect, address, reader, schema)
        finally:
            del reader  # before the transaction ends


@contextmanager
def _snapshot(dialect: OdbcDialect, address: Address) -> Iterator[Any]:
    """A connection whose transaction ends with the block, and with it all locks."""
    connection = connect(dialect, address)
    try:
        with translating_odbc_errors(dialect, address, writing=False):
            for statement in dialect.before_reading:
                connection.execute(statement)
        yield connection
    finally:
        with suppress(dialect.driver.load_errors().Error):  # a lost connection has ended it
            for statement in dialect.after_reading:
                connection.execute(statement)


def _typed(
    dialect: OdbcDialect, address: Address, reader: Any, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    while True:
        with translating_odbc_errors(dialect, address, writing=False):
            batch = next(reader, None)
        if batch is None:
            return
        arrays = [_cast(values, field) for values, field in zip(batch.columns, schema, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def list_tables(dialect: OdbcDialect, address: Address) -> list[str]:
    """List all tables and views.

    Parameters
    ----------
    dialect : OdbcDialect
        The database system.
    address : Address
        The database.

    Returns
    -------
    list of str
        Sorted names, with their schema where that is not the usual one.
    """
    connection = connect(dialect, address)
    with translating_odbc_errors(dialect, address, writing=False):
        rows = texts_of(dialect, connection, dialect.tables_query)
    return sorted(str(TableName(name or "", schema)) for schema, name in rows)


def texts_of(
    dialect: OdbcDialect, connection: Any, query: str, longest: int = _SHORT_TEXT
) -> list[tuple[str | None, ...]]:
    """Return the rows of a small query as texts.

    Parameters
    ----------
    dialect : OdbcDialect
        The database system.
    connection : arrow_odbc.Connection
        The connection.
    query : str
        The query.
    longest : int
        The bytes of the longest text.

    Returns
    -------
    list of tuple
        The rows.
    """
    rows: list[tuple[str | None, ...]] = []
    for batch in _read(dialect, connection, query, longest):
        columns = [pc.cast(column, pa.string()).to_pylist() for column in batch.columns]
        rows += list(zip(*columns, strict=True))
    return rows


def _read(dialect: OdbcDialect, connection: Any, query: str, longest: int) -> Any:
    encodings = dialect.driver.load().TextEncoding
    return connection.read_arrow_batches(
        query,
        batch_size=_ROWS_PER_BATCH,
        max_bytes_per_batch=max(_BYTES_PER_BATCH, 8 * longest),
        max_text_size=longest,
        max_binary_size=longest,
        fetch_concurrently=False,
        payload_text_encoding=encodings.UTF16 if dialect.wide_text else encodings.AUTO,
    )


def _described(
    dialect: OdbcDialect, connection: Any, address: Address, table: TableName | None, source: str
) -> pa.Schema:
    """The columns of a result as ODBC describes them."""
    seen: list[pa.Schema] = []

    def keep(schema: pa.Schema) -> pa.Schema:
        seen.append(schema)
        return pa.schema([(field.name, pa.string()) for field in schema])

    try:
        with translating_odbc_errors(dialect, address, writing=False):
            connection.read_arrow_batches(
                f"SELECT * FROM {source} WHERE 1 = 0",
                batch_size=1,
                max_text_size=1,
                max_binary_size=1,
                map_schema=keep,
                fetch_concurrently=False,
            )
    except UsageError:
        if table is None or str(table) in (known := list_tables(dialect, address)):
            raise
        raise no_such_table(address.shown, str(table), known) from None
    return seen[0]


def _longest(dialect: OdbcDialect, connection: Any, columns: list[Arriving], source: str) -> int:
    """The bytes of the longest text or bytes of all columns."""
    varying = [
        f"MAX({dialect.byte_length.format(column.expression)})"
        for column in columns
        if pa.types.is_string(column.type) or pa.types.is_binary(column.type)
    ]
    if not varying:
        return _SHORT_TEXT
    (row,) = texts_of(dialect, connection, f"SELECT {', '.join(varying)} FROM {source}")
    return max(_SHORT_TEXT, *(int(float(length)) + 1 for length in row if length is not None), 0)


def _cast(values: pa.Array, field: pa.Field) -> pa.Array:
    try:
        return pc.cast(values, field.type)
    except pa.ArrowException:  # its message may quote a cell
        raise DataError(
            f"Column '{field.name}' has values that are not valid {field.type} values."
        ) from None
