"""SQLite files through ADBC.

An SQLite column may hold values of any type, while the driver decides by the first rows. So all
rows are looked over first, every column is cast to the one type that holds its values, and a row
that shows the types goes ahead of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import DataError, MottleError, UsageError
from mottle.io.databases import sqlite_types
from mottle.io.databases._files import removing_on_failure
from mottle.io.databases.errors import missing_driver, no_such_table, told_by_sqlite
from mottle.io.databases.identifiers import ReleaseNames, TableName, literal, quoted
from mottle.io.databases.sqlite_types import Seen, shown_as
from mottle.io.databases.table_layout import NewTable, Published, Stored
from mottle.io.databases.url import Address

_SOURCE = "mottle_source"
_COLUMNS_AT_ONCE = 100  # SQLite's results have at most 2,000 columns
_ROWS_PER_BATCH = 1 << 16


@contextmanager
def _connected(address: Address, mode: str) -> Iterator[Any]:
    """A cursor in a transaction that ends with the block, undone unless it was committed."""
    try:
        import adbc_driver_sqlite.dbapi as driver
    except ImportError:
        raise missing_driver("adbc-driver-sqlite") from None
    with told_by_sqlite(address, writing=mode != "ro"):
        connection = driver.connect(f"{address.path.absolute().as_uri()}?mode={mode}")
    try:
        with connection.cursor() as cursor:
            yield cursor
    finally:
        connection.close()


# ------------------------------------------------------------------------------------------ reading


def batches(address: Address, table: TableName | None, query: str) -> Iterator[pa.Schema | Any]:
    """Yield the schema of the result, then its record batches, all from one snapshot."""
    with _connected(address, "ro") as cursor:
        statement = query if table is None else f"SELECT * FROM {table.sql}"
        columns = _described(cursor, address, table, statement)
        with told_by_sqlite(address, writing=False):
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


def tables(address: Address) -> list[str]:
    """The names of all tables and views."""
    with _connected(address, "ro") as cursor, told_by_sqlite(address, writing=False):
        cursor.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
            " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY 1"
        )
        return [name for (name,) in cursor.fetchall()]


def _described(
    cursor: Any, address: Address, table: TableName | None, statement: str
) -> dict[str, str]:
    """The columns of a result and their declared types, by a view that only we see."""
    try:
        with told_by_sqlite(address, writing=False):
            cursor.execute(f"CREATE TEMP VIEW {_SOURCE} AS\n{statement}")
            cursor.execute(f"SELECT name, type FROM pragma_table_info('{_SOURCE}')")
            return {name: declared.upper() for name, declared in cursor.fetchall()}
    except UsageError:
        if table is None or str(table) in (known := tables(address)):
            raise
        raise no_such_table(address, str(table), known) from None


def _seen(cursor: Any, columns: dict[str, str]) -> list[Seen]:
    """Look over all rows: which types the values of each column have."""
    found = []
    names = list(columns)
    for first in range(0, len(names), _COLUMNS_AT_ONCE):
        some = names[first : first + _COLUMNS_AT_ONCE]
        asked = [question for name in some for question in Seen.asked(name)]
        cursor.execute(f"SELECT {', '.join(asked)} FROM {_SOURCE}")
        (row,) = cursor.fetchall()
        each = len(asked) // len(some)
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
    skip = 1  # the row that shows the types
    while True:
        try:
            with told_by_sqlite(address, writing=False):
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
        raise DataError(f"Column '{field.name}' has values that are no {field.type}.") from None


# ------------------------------------------------------------------------------------------ writing


@contextmanager
def writing(address: Address) -> Iterator[Store]:
    """A transaction in which to store a release."""
    committed: list[bool] = []
    with removing_on_failure(address.path, committed), _connected(address, "rwc") as cursor:
        yield Store(cursor, address, committed)


class Store:
    """One transaction; see `mottle.io.databases.publish.Store`."""

    longest_name = None
    ignoring_case = True
    certificate_type = "TEXT"
    certificate_value = "?"

    def __init__(self, cursor: Any, address: Address, committed: list[bool]) -> None:
        self._cursor = cursor
        self._address = address
        self._committed = committed

    def run(self, statement: str, values: Sequence[str] = ()) -> None:
        """Run one statement."""
        with told_by_sqlite(self._address, writing=True):
            self._cursor.execute(statement, list(values) or None)

    def locate(self, name: TableName) -> TableName:
        """SQLite files have no schemas."""
        if name.schema is not None:
            raise UsageError(
                f"An SQLite file has no schema '{name.schema}'.",
                f"Write --to-table {name.name}; names with dots in double quotes.",
            )
        return name

    def existing(self, names: ReleaseNames) -> dict[str, str]:
        """Which of the names are taken, and by what."""
        wanted = ", ".join(literal(name.lower()) for name in names.kinds)
        with told_by_sqlite(self._address, writing=True):
            self._cursor.execute(
                f"SELECT name, type FROM sqlite_master WHERE lower(name) IN ({wanted})"
            )
            taken = {name.lower(): kind for name, kind in self._cursor.fetchall()}
        return {name: taken[name.lower()] for name in names.kinds if name.lower() in taken}

    def store(self, column: Published) -> Stored:
        """How a published column is stored."""
        return sqlite_types.stored(column)

    def fill(self, name: TableName, new: NewTable) -> None:
        """Make a table and insert the batches into it."""
        self.run(f"CREATE TABLE {name.sql} ({new.definition})")
        sending = new.batches()
        try:
            with told_by_sqlite(self._address, writing=True):
                self._cursor.adbc_ingest(name.name, sending.reader, mode="append")
        except MottleError:
            if sending.error is not None:
                raise sending.error from None
            raise

    def commit(self) -> None:
        """Make everything visible at once."""
        with told_by_sqlite(self._address, writing=True):
            self._cursor.connection.commit()
        self._committed.append(True)
