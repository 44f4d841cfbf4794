"""Rows of PostgreSQL as Arrow batches, which its driver fetches by COPY."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from mottle.errors import DataError, UsageError
from mottle.io.databases.base import Address
from mottle.io.databases.errors import no_such_table
from mottle.io.databases.identifiers import TableName, quoted
from mottle.io.databases.postgresql.connect import connected
from mottle.io.databases.postgresql.errors import translating_postgresql_errors
from mottle.io.databases.postgresql.types import Arriving, arriving, as_decimals, decimal_type

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
    with connected(address) as cursor:
        with translating_postgresql_errors(address, writing=False):
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            cursor.execute("SET LOCAL standard_conforming_strings = on")
        statement = query if table is None else f"SELECT * FROM {table.sql}"
        columns = [arriving(field) for field in _described(cursor, address, table, statement)]
        with translating_postgresql_errors(address, writing=False):
            kinds = _decimal_types(cursor, columns, statement)
            cursor.execute(_selection(columns, statement))
            reader = cursor.fetch_record_batch()
        try:
            yield from _typed(reader, columns, kinds, address)
        finally:
            reader.close()


def list_tables(address: Address) -> list[str]:
    """List all tables and views that are not the system's own.

    Parameters
    ----------
    address : Address
        The database.

    Returns
    -------
    list of str
        Sorted names, with the schema where it is not in the search path.
    """
    with connected(address) as cursor, translating_postgresql_errors(address, writing=False):
        cursor.execute(
            "SELECT CASE WHEN pg_catalog.pg_table_is_visible(class.oid) THEN relname"
            " ELSE nspname || '.' || relname END"
            " FROM pg_catalog.pg_class class"
            " JOIN pg_catalog.pg_namespace space ON space.oid = relnamespace"
            " WHERE relkind IN ('r', 'p', 'v', 'm', 'f')"
            " AND nspname <> 'information_schema' AND nspname NOT LIKE 'pg\\_%' ORDER BY 1"
        )
        return [name for (name,) in cursor.fetchall()]


def _described(cursor: Any, address: Address, table: TableName | None, statement: str) -> pa.Schema:
    try:
        with translating_postgresql_errors(address, writing=False):
            schema = cursor.adbc_execute_schema(statement)
    except UsageError:
        if table is None or str(table) in (known := list_tables(address)):
            raise
        raise no_such_table(address.shown, str(table), known) from None
    if len(schema) == 0:
        raise UsageError("The query returns no columns.", "Give a query that begins with SELECT.")
    return schema


def _selection(columns: Sequence[Arriving], statement: str) -> str:
    """The statement, with casts around it where they are needed.

    It ends with a line break: the driver puts it into ``COPY (…)``, and a comment at its end must
    not swallow the bracket.
    """
    if all(column.form == "{}" for column in columns):
        return f"{statement}\n"
    inner = [f"column{place}" for place in range(len(columns))]
    outer = [
        f"{column.form.format(name)} AS {quoted(column.name)}"
        for name, column in zip(inner, columns, strict=True)
    ]
    return f"SELECT {', '.join(outer)} FROM (\n{statement}\n) AS source({', '.join(inner)})"


def _decimal_types(
    cursor: Any, columns: Sequence[Arriving], statement: str
) -> dict[int, pa.DataType]:
    """The type of every numeric column: as declared, or else by counting its digits."""
    sizes = {place: column.size for place, column in enumerate(columns) if column.decimal}
    unknown = [place for place, size in sizes.items() if size is None]
    sizes |= _counted_digits(cursor, columns, unknown, statement)
    return {
        place: decimal_type(columns[place].name, *size)
        for place, size in sizes.items()
        if size is not None
    }


def _counted_digits(
    cursor: Any, columns: Sequence[Arriving], places: Sequence[int], statement: str
) -> dict[int, tuple[int, int]]:
    if not places:
        return {}
    inner = ", ".join(f"column{place}" for place in range(len(columns)))
    counts = []
    for place in places:
        number = f"column{place}::numeric"
        counts.append(f"coalesce(max(min_scale({number})), 0)")
        counts.append(f"coalesce(max(length(trunc(abs({number}))::text)), 1)")
        counts.append(
            f"coalesce(bool_or({number}::text IN ('NaN', 'Infinity', '-Infinity')), false)"
        )
    cursor.execute(f"SELECT {', '.join(counts)} FROM (\n{statement}\n) AS source({inner})")
    (row,) = cursor.fetchall()
    sizes = {}
    for place, (scale, before, strange) in zip(
        places, zip(row[::3], row[1::3], row[2::3], strict=True), strict=True
    ):
        if strange:
            name = columns[place].name
            raise DataError(
                f"Column '{name}' has numeric values that are NaN or infinite.",
                f"Read it as {quoted(name)}::float8, or replace them by NULL.",
            )
        sizes[place] = (before + scale, scale)
    return sizes


def _typed(
    reader: Any, columns: Sequence[Arriving], kinds: dict[int, pa.DataType], address: Address
) -> Iterator[Any]:
    fields = [
        pa.field(field.name, kinds.get(place, field.type))
        for place, field in enumerate(reader.schema)
    ]
    schema = pa.schema(fields)
    yield schema
    while True:
        try:
            with translating_postgresql_errors(address, writing=False):
                batch = reader.read_next_batch()
        except StopIteration:
            return
        arrays = [
            as_decimals(values, kinds[place], columns[place].name) if place in kinds else values
            for place, values in enumerate(batch.columns)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)
