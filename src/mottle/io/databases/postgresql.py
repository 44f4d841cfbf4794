"""PostgreSQL through ADBC: results as Arrow batches by COPY, releases in one transaction."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow as pa

from mottle.errors import DataError, MottleError, StorageError, UsageError
from mottle.io.databases import postgresql_types
from mottle.io.databases.errors import (
    cannot_connect,
    missing_driver,
    no_such_table,
    told_by_postgresql,
)
from mottle.io.databases.identifiers import ReleaseNames, TableName, literal, quoted
from mottle.io.databases.postgresql_types import Arriving, arriving, as_decimals, decimal_type
from mottle.io.databases.table_layout import NewTable, Published, Stored
from mottle.io.databases.url import Address

_KINDS = {"r": "table", "p": "table", "v": "view"}


@contextmanager
def _connected(address: Address) -> Iterator[Any]:
    """A cursor in a transaction that ends with the block, undone unless it was committed."""
    try:
        import adbc_driver_manager
        import adbc_driver_postgresql.dbapi as driver
    except ImportError:
        raise missing_driver("adbc-driver-postgresql") from None
    try:
        connection = driver.connect(address.place)
    except adbc_driver_manager.Error as error:
        raise cannot_connect(address, str(error)) from None
    try:
        with connection.cursor() as cursor:
            yield cursor
    finally:
        _close(connection)


def _close(connection: Any) -> None:
    """End the transaction; a connection that is lost already has ended it."""
    import adbc_driver_manager

    with suppress(adbc_driver_manager.Error):
        connection.close()


# ------------------------------------------------------------------------------------------ reading


def batches(address: Address, table: TableName | None, query: str) -> Iterator[pa.Schema | Any]:
    """Yield the schema of the result, then its record batches, all from one snapshot."""
    with _connected(address) as cursor:
        with told_by_postgresql(address, writing=False):
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            cursor.execute("SET LOCAL standard_conforming_strings = on")
        statement = query if table is None else f"SELECT * FROM {table.sql}"
        columns = [arriving(field) for field in _described(cursor, address, table, statement)]
        with told_by_postgresql(address, writing=False):
            kinds = _decimal_types(cursor, columns, statement)
            cursor.execute(_selection(columns, statement))
            reader = cursor.fetch_record_batch()
        try:
            yield from _typed(reader, columns, kinds, address)
        finally:
            reader.close()


def tables(address: Address) -> list[str]:
    """The names of all tables and views that are not the system's own."""
    with _connected(address) as cursor, told_by_postgresql(address, writing=False):
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
        with told_by_postgresql(address, writing=False):
            schema = cursor.adbc_execute_schema(statement)
    except UsageError:
        if table is None or str(table) in (known := tables(address)):
            raise
        raise no_such_table(address, str(table), known) from None
    if len(schema) == 0:
        raise UsageError("The query returns no columns.", "Give a query that begins with SELECT.")
    return schema


def _selection(columns: Sequence[Arriving], statement: str) -> str:
    """The statement, with casts around it where they are needed."""
    if all(column.form == "{}" for column in columns):
        return statement
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
) -> Iterator[pa.Schema | Any]:
    fields = [
        pa.field(field.name, kinds.get(place, field.type))
        for place, field in enumerate(reader.schema)
    ]
    schema = pa.schema(fields)
    yield schema
    while True:
        try:
            with told_by_postgresql(address, writing=False):
                batch = reader.read_next_batch()
        except StopIteration:
            return
        arrays = [
            as_decimals(values, kinds[place], columns[place].name) if place in kinds else values
            for place, values in enumerate(batch.columns)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


# ------------------------------------------------------------------------------------------ writing


@contextmanager
def writing(address: Address) -> Iterator[Store]:
    """A transaction in which to store a release."""
    with _connected(address) as cursor:
        yield Store(cursor, address)


class Store:
    """One transaction; see `mottle.io.databases.publish.Store`."""

    longest_name = 63
    ignoring_case = False
    certificate_type = "jsonb"
    certificate_value = "$1::text::jsonb"

    def __init__(self, cursor: Any, address: Address) -> None:
        self._cursor = cursor
        self._address = address

    def run(self, statement: str, values: Sequence[str] = ()) -> None:
        """Run one statement."""
        with told_by_postgresql(self._address, writing=True):
            self._cursor.execute(statement, list(values) or None)

    def locate(self, name: TableName) -> TableName:
        """The table with the schema it gets into."""
        self.run("SET LOCAL standard_conforming_strings = on")
        if name.schema is not None:
            return name
        ((schema,),) = self._rows("SELECT current_schema()")
        if schema is None:
            raise UsageError(
                f"{self._address.shown} has no default schema.", "Write --to-table schema.table."
            )
        return TableName(name.name, schema)

    def existing(self, names: ReleaseNames) -> dict[str, str]:
        """Which of the names are taken, and by what."""
        wanted = ", ".join(literal(name) for name in names.kinds)
        schema = literal(names.table.schema or "")
        rows = self._rows(
            "SELECT relname, relkind::text FROM pg_catalog.pg_class class"
            " JOIN pg_catalog.pg_namespace space ON space.oid = relnamespace"
            f" WHERE nspname = {schema} AND relname IN ({wanted})"
        )
        return {name: _KINDS.get(kind, "something else") for name, kind in rows}

    def store(self, column: Published) -> Stored:
        """How a published column is stored."""
        return postgresql_types.stored(column)

    def fill(self, name: TableName, new: NewTable) -> None:
        """Copy the batches into a temporary table, and from there into native types."""
        staging = f"mottle_{secrets.token_hex(8)}"
        sending = new.batches()
        try:
            with told_by_postgresql(self._address, writing=True):
                self._cursor.adbc_ingest(staging, sending.reader, mode="create", temporary=True)
        except MottleError:
            if sending.error is not None:
                raise sending.error from None
            raise
        self.run(f"CREATE TABLE {name.sql} ({new.definition})")
        self.run(f"INSERT INTO {name.sql} SELECT {new.selection} FROM pg_temp.{quoted(staging)}")
        self.run(f"DROP TABLE pg_temp.{quoted(staging)}")

    def commit(self) -> None:
        """Make everything visible at once."""
        import adbc_driver_manager

        try:
            self._cursor.connection.commit()
        except (adbc_driver_manager.Error, OSError):
            raise StorageError(
                f"The connection to {self._address.shown} was lost while the release was being"
                " committed: either all of it is there or nothing.",
                "Look whether the table is there, and run the command again if not.",
            ) from None

    def _rows(self, statement: str) -> list[tuple[Any, ...]]:
        with told_by_postgresql(self._address, writing=True):
            self._cursor.execute(statement)
            return list(self._cursor.fetchall())
