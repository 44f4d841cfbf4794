"""What every database implements: addresses, reading, and a transaction that stores a release.

A database is one sub-package of `mottle.io.databases` that registers a `Database` in `DATABASES`.
The sub-packages have the same files: ``__init__`` (the `Database`), ``connect``, ``errors``,
``read``, ``types`` and ``write``. Adding a database means adding one such sub-package.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from mottle.io.databases.drivers import Driver
from mottle.io.databases.identifiers import ReleaseNames, TableName
from mottle.io.databases.table_layout import NewTable, Published, Stored
from mottle.utils.registry import Registry

__all__ = ["DATABASES", "Address", "Database", "Transaction"]


@dataclass(frozen=True)
class Address:
    """Where one database is."""

    database: Database  # the database system
    location: str = field(repr=False)  # what the driver gets: a URL with its password, or a path
    shown: str  # the address as it appears in messages, without user and password

    @property
    def path(self) -> Path:
        """The file, for databases that are files."""
        return Path(self.location)


class Transaction(ABC):
    """An open transaction of one database; it is rolled back unless it is committed."""

    longest_name: ClassVar[int | None]  # the limit of names, in bytes
    ignores_case: ClassVar[bool]  # whether Age and age are the same name
    certificate_type: ClassVar[str]  # SQL type of the certificate's column
    certificate_value: ClassVar[str]  # SQL for the one parameter of the INSERT
    certificate_text: ClassVar[str] = "CAST(certificate AS text)"  # SQL of the stored certificate
    readable_kind: ClassVar[str] = "view"  # "table" where the readable cells are stored as well

    @abstractmethod
    def execute(self, statement: str, values: Sequence[str] = ()) -> None:
        """Run one statement.

        Parameters
        ----------
        statement : str
            The SQL.
        values : sequence of str
            The values of its parameters.
        """

    @abstractmethod
    def text(self, statement: str) -> str | None:
        """Run a query whose answer is one text.

        Parameters
        ----------
        statement : str
            The SQL.

        Returns
        -------
        str or None
            The first cell of the first row; None if there is no row or the cell is missing.
        """

    @abstractmethod
    def qualify(self, name: TableName) -> TableName:
        """Return the table's name with the schema in which it is created.

        Parameters
        ----------
        name : TableName
            The name as the user gave it.

        Returns
        -------
        TableName
            The same table, with its schema if the database has schemas.

        Raises
        ------
        UsageError
            The database has no such schema, or no default one.
        """

    @abstractmethod
    def existing(self, names: ReleaseNames) -> dict[str, str]:
        """Find out which names of a release are taken.

        Parameters
        ----------
        names : ReleaseNames
            The names that the release needs.

        Returns
        -------
        dict of str to str
            For each name that is taken: ``"table"``, ``"view"`` or something else.
        """

    @abstractmethod
    def store(self, column: Published) -> Stored:
        """Decide how a published column is stored.

        Parameters
        ----------
        column : Published
            The column of the release.

        Returns
        -------
        Stored
            The columns that are sent, those that are stored and those of the readable view.
        """

    @abstractmethod
    def create_table(self, name: TableName, new: NewTable) -> None:
        """Create a table and insert all rows.

        Parameters
        ----------
        name : TableName
            The name, with its schema.
        new : NewTable
            The columns and rows.
        """

    def create_readable(self, names: ReleaseNames, main: NewTable) -> None:
        """Make the readable cells visible beside the typed ones.

        Parameters
        ----------
        names : ReleaseNames
            The names of the release.
        main : NewTable
            The table with the typed cells.
        """
        self.execute(
            f"CREATE VIEW {names.readable.sql} AS SELECT {main.readable} FROM {names.table.sql}"
        )

    def create_certificate(self, name: TableName, certificate: str) -> None:
        """Create the table of the certificate.

        Parameters
        ----------
        name : TableName
            Its name.
        certificate : str
            JSON.
        """
        self.execute(f"CREATE TABLE {name.sql} (certificate {self.certificate_type})")
        self.execute(f"INSERT INTO {name.sql} VALUES ({self.certificate_value})", [certificate])

    def drop(self, kind: str, name: TableName) -> None:
        """Drop a table or view of an earlier release.

        Parameters
        ----------
        kind : str
            ``"table"`` or ``"view"``.
        name : TableName
            Its name.
        """
        self.execute(f"DROP {kind.upper()} {name.sql}")

    def rehearse(self, name: TableName) -> None:
        """Find out, without a trace, whether a table may be created.

        Parameters
        ----------
        name : TableName
            Its name.
        """
        self.execute(f"CREATE TABLE {name.sql} (rehearsal integer)")

    @abstractmethod
    def commit(self) -> None:
        """Make everything visible at once."""


class Database(ABC):
    """A database system that mottle reads from and writes releases to."""

    name: ClassVar[str]  # in lower case; the key in the registry
    title: ClassVar[str]  # as its makers write it
    schemes: ClassVar[tuple[str, ...]]  # of its URLs, the usual one first
    suffixes: ClassVar[tuple[str, ...]] = ()  # of its files; empty for servers
    example: ClassVar[str]  # an address as messages show it
    driver: ClassVar[Driver]  # the Python package it needs, and the extra that installs it

    def __repr__(self) -> str:
        return self.title

    @abstractmethod
    def parse(self, url: str) -> Address:
        """Read a URL with one of the schemes.

        Parameters
        ----------
        url : str
            The URL, its scheme included.

        Returns
        -------
        Address
            What the driver gets, and how the address is shown without its password.

        Raises
        ------
        UsageError
            The URL is not valid. The message does not repeat any part that may be a password.
        """

    def is_file_of(self, head: bytes) -> bool:
        """Tell whether a file with these first bytes is a database of this system.

        Parameters
        ----------
        head : bytes
            The first 16 bytes.

        Returns
        -------
        bool
            False for databases that are not files.
        """
        return False

    @abstractmethod
    def check_exists(self, address: Address) -> None:
        """Raise before connecting if there is certainly nothing to read.

        Parameters
        ----------
        address : Address
            The database to read from.

        Raises
        ------
        StorageError
            The database is a file that does not exist.
        """

    @abstractmethod
    def list_tables(self, address: Address) -> list[str]:
        """List the tables and views.

        Parameters
        ----------
        address : Address
            The database.

        Returns
        -------
        list of str
            Names, with their schema where it is needed to find them.
        """

    @abstractmethod
    def read_batches(self, address: Address, table: TableName | None, query: str) -> Iterator[Any]:
        """Yield the schema of a result, then its record batches, all from one snapshot.

        Parameters
        ----------
        address : Address
            The database.
        table : TableName or None
            The table to read; None for a query.
        query : str
            The query, without a semicolon at its end; it is run read-only.

        Yields
        ------
        pyarrow.Schema or pyarrow.RecordBatch
            First the schema, then batches of that schema.
        """

    @abstractmethod
    def transaction(self, address: Address) -> AbstractContextManager[Transaction]:
        """Open a transaction that stores a release.

        Parameters
        ----------
        address : Address
            The database; a file that does not exist is created.

        Returns
        -------
        context manager of Transaction
            Rolls back at its end unless the transaction was committed.
        """

    @abstractmethod
    def translating_errors(
        self, address: Address, *, writing: bool
    ) -> AbstractContextManager[None]:
        """Turn the driver's errors into mottle's, without passwords and without cells.

        Parameters
        ----------
        address : Address
            The database, for the message.
        writing : bool
            Whether a release is being written; the message then says that nothing was written.

        Returns
        -------
        context manager
            Raises `StorageError`, `UsageError` or `DataError` in place of the driver's errors.
        """


DATABASES: Registry[Database] = Registry(
    "database", "mottle.io.databases", group="mottle.io.databases"
)
