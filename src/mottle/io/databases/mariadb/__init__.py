"""MariaDB and MySQL through ODBC; a release appears by one statement that renames its tables."""

from __future__ import annotations

from contextlib import AbstractContextManager

import pyarrow as pa

from mottle.io.databases.base import DATABASES, Address, Transaction
from mottle.io.databases.mariadb.connect import connection_string
from mottle.io.databases.mariadb.errors import CONNECTING
from mottle.io.databases.mariadb.read import BEFORE_READING, TABLES
from mottle.io.databases.mariadb.types import arriving, quoted
from mottle.io.databases.mariadb.write import transaction
from mottle.io.databases.odbc.address import Settings
from mottle.io.databases.odbc.database import OdbcDatabase
from mottle.io.databases.odbc.dialect import Arriving

__all__ = ["MariaDB"]


class MariaDB(OdbcDatabase):
    """MariaDB and MySQL servers."""

    name = "mariadb"
    title = "MariaDB"
    schemes = ("mariadb", "mysql")
    example = "mariadb://…"
    odbc_drivers = (
        "MariaDB Unicode",
        "MariaDB ODBC 3.2 Driver",
        "MariaDB ODBC 3.1 Driver",
        "MariaDB",
        "MySQL ODBC 9.4 Unicode Driver",
        "MySQL ODBC 8.4 Unicode Driver",
        "MySQL ODBC 8.0 Unicode Driver",
    )
    odbc_package = "Debian: apt-get install odbc-mariadb"
    password_variable = "MYSQL_PWD"
    before_reading = BEFORE_READING
    after_reading = ("ROLLBACK",)
    tables_query = TABLES
    byte_length = "OCTET_LENGTH({})"
    connecting = CONNECTING

    def connection_string(self, settings: Settings) -> str:
        """Return ODBC's settings; see `OdbcDialect.connection_string`."""
        return connection_string(settings)

    def quoted(self, name: str) -> str:
        """Quote a name; see `OdbcDialect.quoted`."""
        return quoted(name)

    def arriving(self, field: pa.Field) -> Arriving:
        """Decide how a column is fetched; see `OdbcDialect.arriving`."""
        return arriving(field)

    def transaction(self, address: Address) -> AbstractContextManager[Transaction]:
        """Open what stands for a transaction; see `Database.transaction`."""
        return transaction(self, address)


DATABASES.add(MariaDB())
