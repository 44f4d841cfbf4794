"""Releases in SQLite files: all tables in one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mottle.errors import MottleError, UsageError
from mottle.io.databases.base import Address, Transaction
from mottle.io.databases.file_database import removing_on_failure
from mottle.io.databases.identifiers import ReleaseNames, TableName, literal
from mottle.io.databases.sqlite.connect import connected
from mottle.io.databases.sqlite.errors import translating_sqlite_errors
from mottle.io.databases.sqlite.types import stored
from mottle.io.databases.table_layout import NewTable, Published, Stored

__all__ = ["SQLiteTransaction", "transaction"]


@contextmanager
def transaction(address: Address) -> Iterator[SQLiteTransaction]:
    """Open a transaction that stores a release.

    Parameters
    ----------
    address : Address
        The database; a file that does not exist is created.

    Yields
    ------
    SQLiteTransaction
        The transaction; it is rolled back unless it is committed.
    """
    committed: list[bool] = []
    with removing_on_failure(address.path, committed), connected(address, "rwc") as cursor:
        yield SQLiteTransaction(cursor, address, committed)


class SQLiteTransaction(Transaction):
    """A transaction of SQLite."""

    longest_name = None
    ignores_case = True
    certificate_type = "TEXT"
    certificate_value = "?"

    def __init__(self, cursor: Any, address: Address, committed: list[bool]) -> None:
        self._cursor = cursor
        self._address = address
        self._committed = committed

    def execute(self, statement: str, values: Sequence[str] = ()) -> None:
        """Run one statement; see `Transaction.execute`."""
        with translating_sqlite_errors(self._address, writing=True):
            self._cursor.execute(statement, list(values) or None)

    def text(self, statement: str) -> str | None:
        """Run a query for one text; see `Transaction.text`."""
        with translating_sqlite_errors(self._address, writing=True):
            self._cursor.execute(statement)
            row = self._cursor.fetchone()
        return None if row is None else row[0]

    def qualify(self, name: TableName) -> TableName:
        """Refuse schemas, which SQLite files do not have; see `Transaction.qualify`."""
        if name.schema is not None:
            raise UsageError(
                f"An SQLite file has no schema '{name.schema}'.",
                f"Write --to-table {name.name}; names with dots in double quotes.",
            )
        return name

    def existing(self, names: ReleaseNames) -> dict[str, str]:
        """Find out which names are taken; see `Transaction.existing`."""
        wanted = ", ".join(literal(name.lower()) for name in names.kinds)
        with translating_sqlite_errors(self._address, writing=True):
            self._cursor.execute(
                f"SELECT name, type FROM sqlite_master WHERE lower(name) IN ({wanted})"
            )
            taken = {name.lower(): kind for name, kind in self._cursor.fetchall()}
        return {name: taken[name.lower()] for name in names.kinds if name.lower() in taken}

    def store(self, column: Published) -> Stored:
        """Decide how a column is stored; see `Transaction.store`."""
        return stored(column)

    def create_table(self, name: TableName, new: NewTable) -> None:
        """Create a table and insert the batches into it; see `Transaction.create_table`."""
        self.execute(f"CREATE TABLE {name.sql} ({new.definition})")
        sending = new.batches()
        try:
            with translating_sqlite_errors(self._address, writing=True):
                self._cursor.adbc_ingest(name.name, sending.reader, mode="append")
        except MottleError:
            if sending.error is not None:
                raise sending.error from None
            raise

    def commit(self) -> None:
        """Make everything visible at once; see `Transaction.commit`."""
        with translating_sqlite_errors(self._address, writing=True):
            self._cursor.connection.commit()
        self._committed.append(True)
