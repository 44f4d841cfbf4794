"""DuckDB files, read and written by DuckDB itself; it comes with mottle."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

from mottle.io.databases.base import DATABASES, Address, Transaction
from mottle.io.databases.drivers import Driver
from mottle.io.databases.duckdb.errors import translating_duckdb_errors
from mottle.io.databases.duckdb.read import list_tables, read_batches
from mottle.io.databases.duckdb.write import transaction
from mottle.io.databases.file_database import FileDatabase
from mottle.io.databases.identifiers import TableName

__all__ = ["DuckDB"]


class DuckDB(FileDatabase):
    """DuckDB files."""

    name = "duckdb"
    title = "DuckDB"
    schemes = ("duckdb",)
    suffixes = (".duckdb",)
    example = "duckdb:///FILE"
    driver = Driver(package="duckdb", module="duckdb", errors="duckdb")

    def is_file_of(self, head: bytes) -> bool:
        """Recognize a file; see `Database.is_file_of`."""
        return head[8:12] == b"DUCK"

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
        return translating_duckdb_errors(address, writing=writing)


DATABASES.add(DuckDB())
