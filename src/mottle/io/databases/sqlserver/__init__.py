"""SQL Server through ODBC; it is read, and releases are not written to it."""

from __future__ import annotations

import pyarrow as pa

from mottle.io.databases.base import DATABASES
from mottle.io.databases.odbc.address import Settings
from mottle.io.databases.odbc.database import OdbcDatabase
from mottle.io.databases.odbc.dialect import Arriving
from mottle.io.databases.sqlserver.connect import connection_string
from mottle.io.databases.sqlserver.errors import CONNECTING
from mottle.io.databases.sqlserver.read import BEFORE_READING, TABLES
from mottle.io.databases.sqlserver.types import arriving, quoted

__all__ = ["SQLServer"]


class SQLServer(OdbcDatabase):
    """SQL Server servers."""

    name = "sqlserver"
    title = "SQL Server"
    schemes = ("sqlserver", "mssql")
    example = "sqlserver://…"
    odbc_drivers = ("ODBC Driver 18 for SQL Server", "ODBC Driver 17 for SQL Server", "FreeTDS")
    odbc_package = "Microsoft's package msodbcsql18"
    password_variable = "SQLCMDPASSWORD"
    before_reading = BEFORE_READING
    tables_query = TABLES
    byte_length = "DATALENGTH({})"
    wide_text = True
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


DATABASES.add(SQLServer())
