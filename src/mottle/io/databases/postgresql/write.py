"""Releases in PostgreSQL: sent by COPY, stored in native types, in one transaction."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mottle.errors import MottleError, StorageError, UsageError
from mottle.io.databases.base import Address, Transaction
from mottle.io.databases.identifiers import ReleaseNames, TableName, literal, quoted
from mottle.io.databases.postgresql.connect import connected
from mottle.io.databases.postgresql.errors import translating_postgresql_errors
from mottle.io.databases.postgresql.types import stored
from mottle.io.databases.table_layout import NewTable, Published, Stored

__all__ = ["PostgreSQLTransaction", "transaction"]

_KINDS = {"r": "table", "p": "table", "v": "view"}  # by relkind


@contextmanager
def transaction(address: Address) -> Iterator[PostgreSQLTransaction]:
    """Open a transaction that stores a release.

    Parameters
    ----------
    address : Address
        The database.

    Yields
    ------
    PostgreSQLTransaction
        The transaction; it is rolled back unless it is committed.
    """
    with connected(address) as cursor:
        yield PostgreSQLTransaction(cursor, address)


class PostgreSQLTransaction(Transaction):
    """A transaction of PostgreSQL."""

    longest_name = 63
    ignores_case = False
    certificate_type = "jsonb"
    certificate_value = "$1::text::jsonb"

    def __init__(self, cursor: Any, address: Address) -> None:
        self._cursor = cursor
        self._address = address

    def execute(self, statement: str, values: Sequence[str] = ()) -> None:
        """Run one statement; see `Transaction.execute`."""
        with translating_postgresql_errors(self._address, writing=True):
            self._cursor.execute(statement, list(values) or None)

    def text(self, statement: str) -> str | None:
        """Run a query for one text; see `Transaction.text`."""
        rows = self._rows(statement)
        return rows[0][0] if rows else None

    def qualify(self, name: TableName) -> TableName:
        """Return the name with its schema; see `Transaction.qualify`."""
        self.execute("SET LOCAL standard_conforming_strings = on")
        if name.schema is not None:
            return name
        ((schema,),) = self._rows("SELECT current_schema()")
        if schema is None:
            raise UsageError(
                f"{self._address.shown} has no default schema.", "Write --to-table schema.table."
            )
        return TableName(name.name, schema)

    def existing(self, names: ReleaseNames) -> dict[str, str]:
        """Find out which names are taken; see `Transaction.existing`."""
        wanted = ", ".join(literal(name) for name in names.kinds)
        schema = literal(names.table.schema or "")
        rows = self._rows(
            "SELECT relname, relkind::text FROM pg_catalog.pg_class class"
            " JOIN pg_catalog.pg_namespace space ON space.oid = relnamespace"
            f" WHERE nspname = {schema} AND relname IN ({wanted})"
        )
        return {name: _KINDS.get(kind, "something else") for name, kind in rows}

    def store(self, column: Published) -> Stored:
        """Decide how a column is stored; see `Transaction.store`."""
        return stored(column)

    def create_table(self, name: TableName, new: NewTable) -> None:
        """Copy the batches into a temporary table, and from there into native types.

        See `Transaction.create_table`.
        """
        staging = f"mottle_{secrets.token_hex(8)}"
        sending = new.batches()
        try:
            with translating_postgresql_errors(self._address, writing=True):
                self._cursor.adbc_ingest(staging, sending.reader, mode="create", temporary=True)
        except MottleError:
            if sending.error is not None:
                raise sending.error from None
            raise
        self.execute(f"CREATE TABLE {name.sql} ({new.definition})")
        self.execute(
            f"INSERT INTO {name.sql} SELECT {new.selection} FROM pg_temp.{quoted(staging)}"
        )
        self.execute(f"DROP TABLE pg_temp.{quoted(staging)}")

    def commit(self) -> None:
        """Make everything visible at once; see `Transaction.commit`."""
        errors = self._address.database.driver.load_errors()
        try:
            self._cursor.connection.commit()
        except (errors.Error, OSError):
            raise StorageError(
                f"The connection to {self._address.shown} was lost while the release was being"
                " committed: either all of it is there or nothing.",
                "Look whether the table is there, and run the command again if not.",
            ) from None

    def _rows(self, statement: str) -> list[tuple[Any, ...]]:
        with translating_postgresql_errors(self._address, writing=True):
            self._cursor.execute(statement)
            return list(self._cursor.fetchall())
