"""DuckDB files by DuckDB itself, whose structs and lists hold ranges and sets as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import DataError, MottleError, UsageError
from mottle.io.databases import sql_cell_text
from mottle.io.databases._files import removing_on_failure
from mottle.io.databases.errors import no_such_table, told_by_duckdb
from mottle.io.databases.identifiers import ReleaseNames, TableName, literal, quoted
from mottle.io.databases.table_layout import NewTable, Published, Stored, StoredColumn
from mottle.io.databases.url import Address
from mottle.release.cell_text import PARTS
from mottle.utils.arrow import is_plain

_AS_TEXT = ("BIT", "TIME WITH TIME ZONE", "BIGNUM", "UUID")
_SENT = "mottle_sent"
_MOST_DIGITS = 38


@contextmanager
def _connected(address: Address, *, read_only: bool) -> Iterator[Any]:
    with told_by_duckdb(address, writing=not read_only):
        connection = duckdb.connect(address.place, read_only=read_only)
    try:
        yield connection
    finally:
        connection.close()


# ------------------------------------------------------------------------------------------ reading


def batches(address: Address, table: TableName | None, query: str) -> Iterator[pa.Schema | Any]:
    """Yield the schema of the result, then its record batches, all from one snapshot."""
    with _connected(address, read_only=True) as connection:
        statement = query if table is None else f"SELECT * FROM {table.sql}"
        names, types = _described(connection, address, table, statement)
        with told_by_duckdb(address, writing=False):
            relation = connection.sql(_selection(names, types, statement))
            reader = pa.RecordBatchReader.from_stream(relation)
        try:
            for field, kind in zip(reader.schema, types, strict=True):
                _check_readable(field, kind)
            yield reader.schema
            while True:
                try:
                    with told_by_duckdb(address, writing=False):
                        batch = reader.read_next_batch()
                except StopIteration:
                    return
                yield batch
        finally:
            reader.close()


def tables(address: Address) -> list[str]:
    """The names of all tables and views."""
    reading = _connected(address, read_only=True)
    with reading as connection, told_by_duckdb(address, writing=False):
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
        with told_by_duckdb(address, writing=False):
            relation = connection.sql(statement)
    except UsageError:
        if table is None or str(table) in (known := _tables(connection)):
            raise
        raise no_such_table(address, str(table), known) from None
    if relation is None:
        raise UsageError("The query returns no columns.", "Give a query that begins with SELECT.")
    return list(relation.columns), [str(kind) for kind in relation.types]


def _selection(names: Sequence[str], types: Sequence[str], statement: str) -> str:
    """The statement, with casts around it where they are needed."""
    if not any(kind in _AS_TEXT for kind in types):
        return statement
    inner = [f"column{place}" for place in range(len(names))]
    outer = [
        f"{column}{'::VARCHAR' if kind in _AS_TEXT else ''} AS {quoted(name)}"
        for column, name, kind in zip(inner, names, types, strict=True)
    ]
    return f"SELECT {', '.join(outer)} FROM (\n{statement}\n) AS source({', '.join(inner)})"


def _check_readable(field: pa.Field, kind: str) -> None:
    members = field.type.value_type if pa.types.is_list(field.type) else field.type
    if isinstance(members, pa.BaseExtensionType) or not is_plain(members):
        name = quoted(field.name)
        cast = f"epoch({name})" if kind == "INTERVAL" else f"{name}::VARCHAR"
        raise DataError(
            f"Column '{field.name}' is of type {kind}, which mottle does not read.",
            "Leave it out, or turn it into another type:"
            f" --query 'SELECT …, {cast} AS {name} FROM …'.",
        )


# ------------------------------------------------------------------------------------------ writing


@contextmanager
def writing(address: Address) -> Iterator[Store]:
    """A transaction in which to store a release."""
    committed: list[bool] = []
    opened = _connected(address, read_only=False)
    with removing_on_failure(address.path, committed), opened as connection:
        store = Store(connection, address, committed)
        store.run("BEGIN TRANSACTION")
        yield store


class Store:
    """One transaction; see `mottle.io.databases.publish.Store`."""

    longest_name = None
    ignoring_case = True
    certificate_type = "JSON"
    certificate_value = "?"

    def __init__(self, connection: Any, address: Address, committed: list[bool]) -> None:
        self._connection = connection
        self._address = address
        self._committed = committed

    def run(self, statement: str, values: Sequence[str] = ()) -> None:
        """Run one statement."""
        with told_by_duckdb(self._address, writing=True):
            self._connection.execute(statement, list(values))

    def locate(self, name: TableName) -> TableName:
        """The table with the schema it gets into."""
        return name if name.schema is not None else TableName(name.name, "main")

    def existing(self, names: ReleaseNames) -> dict[str, str]:
        """Which of the names are taken, and by what."""
        wanted = ", ".join(literal(name.lower()) for name in names.kinds)
        with told_by_duckdb(self._address, writing=True):
            rows = self._connection.execute(
                "SELECT lower(table_name), table_type FROM information_schema.tables"
                f" WHERE table_schema = {literal(names.table.schema or 'main')}"
                f" AND table_catalog = current_database() AND lower(table_name) IN ({wanted})"
            ).fetchall()
        taken = {name: "view" if kind == "VIEW" else "table" for name, kind in rows}
        return {name: taken[name.lower()] for name in names.kinds if name.lower() in taken}

    def store(self, column: Published) -> Stored:
        """How a published column is stored: as it is."""
        convert = _text_of_wide if _is_wide(column.type) else _same
        sent = f"sent{column.place}"
        value = f"{sent}::VARCHAR" if pa.types.is_null(column.type) else sent
        only = StoredColumn(column.name, "", value)
        return Stored({sent: convert}, (only,), _readable(column))

    def fill(self, name: TableName, new: NewTable) -> None:
        """Make a table of the batches, which DuckDB reads where they are."""
        sending = new.batches()
        with told_by_duckdb(self._address, writing=True):
            self._connection.register(_SENT, sending.reader)
        try:
            self.run(f"CREATE TABLE {name.sql} AS SELECT {new.selection} FROM {_SENT}")
        except MottleError:
            if sending.error is not None:
                raise sending.error from None
            raise
        finally:
            self._connection.unregister(_SENT)

    def commit(self) -> None:
        """Make everything visible at once."""
        self.run("COMMIT")
        self._committed.append(True)


def _readable(column: Published) -> dict[str, str]:
    """The view's columns: SQL over the stored one."""
    if column.form is None:
        return {column.name: quoted(column.name)}
    return column.form.stored_by(_ReadableLayout(), column)


class _ReadableLayout:
    """How the view shows each form: `mottle.kinds.forms.base.Layout`."""

    def store_text(self, column: Published) -> dict[str, str]:
        """One text."""
        return {column.name: sql_cell_text.value(quoted(column.name))}

    def store_range(self, column: Published) -> dict[str, str]:
        """A struct of two ends."""
        name = quoted(column.name)
        value_type = column.type.field("lo").type
        low, high = (_text(f"{name}.{end}", value_type) for end in ("lo", "hi"))
        or_missing = f"{name}.missing" if column.may_be_missing else None
        return {column.name: sql_cell_text.between(low, high, or_missing)}

    def store_list(self, column: Published) -> dict[str, str]:
        """A list."""
        name = quoted(column.name)
        kind = column.type.value_type
        joined = _joined(name, _text("member", kind))
        shown = sql_cell_text.one_of(f"len({name})", _text(f"{name}[1]", kind), joined)
        return {column.name: shown}

    def store_worlds(self, column: Published) -> dict[str, str]:
        """A struct of two lists and a number."""
        name = quoted(column.name)
        base, uncertain, distance = (f"{name}.{part}" for part in PARTS)
        base_text, uncertain_text = sql_cell_text.worlds(
            base,
            _joined(base, sql_cell_text.value("member")),
            _joined(uncertain, sql_cell_text.value("member")),
            f"{name}.missing" if column.may_be_missing else None,
        )
        shown = (base_text, uncertain_text, distance)
        names = (f"{column.name}.{part}" for part in PARTS)
        return dict(zip(names, shown, strict=True))


def _joined(members: str, text: str) -> str:
    return f"array_to_string([coalesce({text}, '') FOR member IN {members}], '|')"


def _text(value: str, kind: pa.DataType) -> str:
    return sql_cell_text.value(value) if pa.types.is_string(kind) else f"CAST({value} AS VARCHAR)"


def _is_wide(kind: pa.DataType) -> bool:
    """Whether DuckDB's decimals are too narrow."""
    return bool(pa.types.is_decimal(kind) and kind.precision > _MOST_DIGITS)


def _text_of_wide(values: pa.Array) -> pa.Array:
    return pc.cast(values, pa.string())


def _same(values: pa.Array) -> pa.Array:
    return values
