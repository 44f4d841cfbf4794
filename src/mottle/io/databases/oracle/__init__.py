"""Oracle through ODBC; it is read, and releases are not written to it."""

from __future__ import annotations

import pyarrow as pa

from mottle.io.databases.base import DATABASES
from mottle.io.databases.odbc.address import Settings
from mottle.io.databases.odbc.database import OdbcDatabase
from mottle.io.databases.odbc.dialect import Arriving
from mottle.io.databases.oracle.connect import connection_string
from mottle.io.databases.oracle.errors import CONNECTING
from mottle.io.databases.oracle.read import BEFORE_READING, TABLES
from mottle.io.databases.oracle.types import arriving, quoted

__all__ = ["Oracle"]


class Oracle(OdbcDatabase):
    """Oracle servers."""

    name = "oracle"
    title = "Oracle"
    schemes = ("oracle",)
    example = "oracle://…"
    odbc_drivers = ("Oracle 23 ODBC driver", "Oracle 21 ODBC driver", "Oracle 19 ODBC driver")
    odbc_package = "Oracle's Instant Client with its ODBC package"
    password_variable = "ORACLE_PASSWORD"
    before_reading = BEFORE_READING
    after_reading = ("ROLLBACK",)
    tables_query = TABLES
    byte_length = "LENGTHB({})"
    wide_text = False
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


DATABASES.add(Oracle())
