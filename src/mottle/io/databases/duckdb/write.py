"""Releases in DuckDB files: all tables in one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mottle.errors import MottleError
from mottle.io.databases.base import Address, Transaction
from mottle.io.databases.duckdb.connect import connected
from mottle.io.databases.duckdb.errors import translating_duckdb_errors
from mottle.io.databases.duckdb.types import stored
from mottle.io.databases.file_database import removing_on_failure
from mottle.io.databases.identifiers import ReleaseNames, TableName, literal
from mottle.io.databases.table_layout import NewTable, Published, Stored

__all__ = ["DuckDBTransaction", "transaction"]

_SENT = "mottle_sent"  # the name under which DuckDB finds the batches


@contextmanager
def transaction(address: Address) -> Iterator[DuckDBTransaction]:
    """Open a transaction that stores a release.

    Parameters
    ----------
    address : Address
        The database; a file that does not exist is created.

    Yields
    ------
    DuckDBTransaction
        The transaction; it is rolled back unless it is committed.
    """
    committed: list[bool] = []
    opened = connected(address, read_only=False)
    with removing_on_failure(address.path, committed), opened as connection:
        opened_transaction = DuckDBTransaction(connection, address, committed)
        opened_transaction.execute("BEGIN TRANSACTION")
        yield opened_transaction


class DuckDBTransaction(Transaction):
    """A transaction of DuckDB."""

    longest_name = None
    ignores_case = True
    certificate_type = "JSON"
    certificate_value = "?"

    def __init__(self, connection: Any, address: Address, committed: list[bool]) -> None:
        self._connection = connection
        self._address = address
        self._committed = committed

    def execute(self, statement: str, values: Sequence[str] = ()) -> None:
        """Run one statement; see `Transaction.execute`."""
        with translating_duckdb_errors(self._address, writing=True):
            self._connection.execute(statement, list(values))

    def text(self, statement: str) -> str | None:
        """Run a query for one text; see `Transaction.text`."""
        with translating_duckdb_errors(self._address, writing=True):
            row = self._connection.execute(statement).fetchone()
        return None if row is None else row[0]

    def qualify(self, name: TableName) -> TableName:
        """Return the name with its schema; see `Transaction.qualify`."""
        return name if name.schema is not None else TableName(name.name, "main")

    def existing(self, names: ReleaseNames) -> dict[str, str]:
        """Find out which names are taken; see `Transaction.existing`."""
        wanted = ", ".join(literal(name.lower()) for name in names.kinds)
        with translating_duckdb_errors(self._address, writing=True):
            rows = self._connection.execute(
                "SELECT lower(table_name), table_type FROM information_schema.tables"
                f" WHERE table_schema = {literal(names.table.schema or 'main')}"
                f" AND table_catalog = current_database() AND lower(table_name) IN ({wanted})"
            ).fetchall()
        taken = {name: "view" if kind == "VIEW" else "table" for name, kind in rows}
        return {name: taken[name.lower()] for name in names.kinds if name.lower() in taken}

    def store(self, column: Published) -> Stored:
        """Decide how a column is stored; see `Transaction.store`."""
        return stored(column)

    def create_table(self, name: TableName, new: NewTable) -> None:
        """Create a table from the batches, which DuckDB reads where they are, without a copy."""
        sending = new.batches()
        with translating_duckdb_errors(self._address, writing=True):
            self._connection.register(_SENT, sending.reader)
        try:
            self.execute(f"CREATE TABLE {name.sql} AS SELECT {new.selection} FROM {_SENT}")
        except MottleError:
            if sending.error is not None:
                raise sending.error from None
            raise  # the connection is closed next; an aborted transaction allows no unregistering
        with translating_duckdb_errors(self._address, writing=True):
            self._connection.unregister(_SENT)

    def commit(self) -> None:
        """Make everything visible at once; see `Transaction.commit`."""
        self.execute("COMMIT")
        self._committed.append(True)
