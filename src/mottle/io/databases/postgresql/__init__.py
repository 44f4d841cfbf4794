"""PostgreSQL through ADBC: results as Arrow batches by COPY, releases in one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

from mottle.io.databases.base import DATABASES, Address, Database, Transaction
from mottle.io.databases.drivers import Driver
from mottle.io.databases.identifiers import TableName
from mottle.io.databases.postgresql.address import parse_url
from mottle.io.databases.postgresql.errors import translating_postgresql_errors
from mottle.io.databases.postgresql.read import list_tables, read_batches
from mottle.io.databases.postgresql.write import transaction

__all__ = ["PostgreSQL"]


class PostgreSQL(Database):
    """PostgreSQL servers, addressed by libpq's URLs."""

    name = "postgresql"
    title = "PostgreSQL"
    schemes = ("postgresql", "postgres")
    example = "postgresql://…"
    driver = Driver(
        package="adbc-driver-postgresql",
        module="adbc_driver_postgresql.dbapi",
        errors="adbc_driver_manager",
        extra="db",
    )

    def parse(self, url: str) -> Address:
        """Read a URL; see `Database.parse`."""
        return parse_url(self, url)

    def check_exists(self, address: Address) -> None:
        """Do nothing: only connecting tells whether a server has a database."""

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
        return translating_postgresql_errors(address, writing=writing)


DATABASES.add(PostgreSQL())
