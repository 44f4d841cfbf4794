"""SQLite files through ADBC."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

from mottle.io.databases.base import DATABASES, Address, Transaction
from mottle.io.databases.drivers import Driver
from mottle.io.databases.file_database import FileDatabase
from mottle.io.databases.identifiers import TableName
from mottle.io.databases.sqlite.errors import translating_sqlite_errors
from mottle.io.databases.sqlite.read import list_tables, read_batches
from mottle.io.databases.sqlite.write import transaction

__all__ = ["SQLite"]


class SQLite(FileDatabase):
    """SQLite files."""

    name = "sqlite"
    title = "SQLite"
    schemes = ("sqlite",)
    suffixes = (".db", ".sqlite", ".sqlite3")
    example = "sqlite:///FILE"
    driver = Driver(
        package="adbc-driver-sqlite",
        module="adbc_driver_sqlite.dbapi",
        errors="adbc_driver_manager",
        extra="db",
    )

    def is_file_of(self, head: bytes) -> bool:
        """Recognize a file; see `Database.is_file_of`."""
        return head == b"SQLite format 3\x00"

    def list_tables(self, address: Address) -> list[str]:
        """List the tables and views; see `Database.list_tables`."""
        return list_tables(address)

    def read_batches(self, address: Address, table: TableName | None, query: str) -> Iterator[Any]:
        """Yield the schema, then the batches; see `Database.read_batches`."""
        return read_batches(address, table, query)

    def transaction(self, address: Address) -> AbstractContextManager[Transaction]:
        """Open a transaction; see `Database.transaction`."""
        return transaction(address)

    def translating_errors(
        self, address: Address, *, writing: bool
    ) -> AbstractContextManager[None]:
        """Translate the driver's errors; see `Database.translating_errors`."""
        return translating_sqlite_errors(address, writing=writing)


DATABASES.add(SQLite())
