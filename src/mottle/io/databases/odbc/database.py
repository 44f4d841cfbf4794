"""The base of databases that are reached through ODBC and the driver of their makers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

from mottle.errors import UsageError
from mottle.io.databases.base import Address, Transaction
from mottle.io.databases.identifiers import TableName
from mottle.io.databases.odbc.address import parse_server_url
from mottle.io.databases.odbc.dialect import OdbcDialect
from mottle.io.databases.odbc.errors import translating_odbc_errors
from mottle.io.databases.odbc.read import list_tables, read_batches

__all__ = ["OdbcDatabase"]


class OdbcDatabase(OdbcDialect):
    """A server that is reached through ODBC; releases are written to those that say how."""

    def parse(self, url: str) -> Address:
        """Read a URL; see `Database.parse`."""
        return parse_server_url(self, url, self.password_variable)

    def check_exists(self, address: Address) -> None:
        """Do nothing: only connecting tells whether a server has a database."""

    def list_tables(self, address: Address) -> list[str]:
        """List the tables and views; see `Database.list_tables`."""
        return list_tables(self, address)

    def read_batches(self, address: Address, table: TableName | None, query: str) -> Iterator[Any]:
        """Yield the schema, then the batches; see `Database.read_batches`."""
        return read_batches(self, address, table, query)

    def transaction(self, address: Address) -> AbstractContextManager[Transaction]:
        """Refuse to write; see `Database.transaction`."""
        raise UsageError(
            f"Releases are not written to {self.title}.",
            "Write to a folder with --output, and load release.csv from there.",
        )

    def translating_errors(
        self, address: Address, *, writing: bool
    ) -> AbstractContextManager[None]:
        """Translate the driver's errors; see `Database.translating_errors`."""
        return translating_odbc_errors(self, address, writing=writing)
