"""What differs between databases that are reached through ODBC."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from mottle.io.databases.base import Database
from mottle.io.databases.drivers import Driver
from mottle.io.databases.identifiers import TableName
from mottle.io.databases.odbc.address import Settings

__all__ = ["Arriving", "OdbcDialect"]


@dataclass(frozen=True)
class Arriving:
    """How a column of a result is fetched."""

    expression: str  # SQL over the column
    type: pa.DataType  # that it gets here


class OdbcDialect(Database):
    """The names, statements and types of one database system behind ODBC."""

    driver = Driver(package="arrow-odbc", module="arrow_odbc", errors="arrow_odbc", extra="odbc")
    odbc_drivers: ClassVar[tuple[str, ...]]  # names that its driver is known by, newest first
    odbc_package: ClassVar[str]  # how that driver is installed
    password_variable: ClassVar[str]  # of the environment
    before_reading: ClassVar[tuple[str, ...]] = ()  # statements that begin a read-only snapshot
    after_reading: ClassVar[tuple[str, ...]] = ()  # statements that end it
    tables_query: ClassVar[str]  # schema or NULL, and name of all tables and views
    byte_length: ClassVar[str]  # SQL of the bytes of a text {}
    wide_text: ClassVar[bool] = False  # whether texts are fetched as UTF-16
    # Part of the driver's message, the text that replaces it, and what to do.
    connecting: ClassVar[tuple[tuple[str, str, str], ...]] = ()

    @abstractmethod
    def connection_string(self, settings: Settings) -> str:
        """Return ODBC's connection string, without driver, user and password.

        Parameters
        ----------
        settings : Settings
            The parts of the address.

        Returns
        -------
        str
            ``name=value;`` for every setting.
        """

    @abstractmethod
    def quoted(self, name: str) -> str:
        """Quote a name for SQL.

        Parameters
        ----------
        name : str
            Of a table, a schema or a column.

        Returns
        -------
        str
            The name in the quotes of this database.
        """

    @abstractmethod
    def arriving(self, field: pa.Field) -> Arriving:
        """Decide how a column is fetched so that its values arrive unchanged.

        Parameters
        ----------
        field : pyarrow.Field
            The column as ODBC describes it.

        Returns
        -------
        Arriving
            The SQL, and the type that its values get.

        Raises
        ------
        DataError
            Columns of this type cannot be read.
        """

    def table_sql(self, table: TableName) -> str:
        """Return the name of a table, quoted for SQL.

        Parameters
        ----------
        table : TableName
            The table.

        Returns
        -------
        str
            Its schema, if given, and its name.
        """
        parts = (part for part in (table.schema, table.name) if part is not None)
        return ".".join(map(self.quoted, parts))
