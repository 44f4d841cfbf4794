"""Releases in MariaDB, whose statements that create tables cannot be rolled back.

So tables are written under names of their own and one RENAME TABLE, which is atomic, gives all of
them their names at once and moves an earlier release out of the way. The readable cells are a table
as well, because a view would not follow when its table is renamed.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow as pa

from mottle.errors import MottleError, StorageError, UsageError
from mottle.io.databases.base import Address, Transaction
from mottle.io.databases.identifiers import ReleaseNames, TableName, literal
from mottle.io.databases.mariadb.types import quoted, stored
from mottle.io.databases.odbc.connect import connect
from mottle.io.databases.odbc.dialect import OdbcDialect
from mottle.io.databases.odbc.errors import translating_odbc_errors
from mottle.io.databases.odbc.read import texts_of
from mottle.io.databases.table_layout import NewTable, Published, ReadableRows, Stored

__all__ = ["MariaDBTransaction", "transaction"]

_UNFINISHED = "mottle_unfinished_"
_CHARACTERS = "CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
_ROWS_AT_ONCE = 1000
_LONGEST_CERTIFICATE = 1 << 26
_KINDS = {"BASE TABLE": "table", "VIEW": "view"}


@contextmanager
def transaction(dialect: OdbcDialect, address: Address) -> Iterator[MariaDBTransaction]:
    """Open what stands for a transaction that stores a release.

    Parameters
    ----------
    dialect : OdbcDialect
        MariaDB.
    address : Address
        The database.

    Yields
    ------
    MariaDBTransaction
        The transaction; what it has written is dropped unless it is committed.
    """
    opened = MariaDBTransaction(dialect, address)
    try:
        yield opened
    finally:
        opened.discard()


class MariaDBTransaction(Transaction):
    """Tables under names of their own, until they are renamed together."""

    longest_name = 64
    ignores_case = True
    certificate_type = "JSON"
    certificate_value = "?"
    certificate_text = "certificate"
    readable_kind = "table"

    def __init__(self, dialect: OdbcDialect, address: Address) -> None:
        self._dialect = dialect
        self._address = address
        self._connection: Any = connect(dialect, address)
        self._staged: dict[TableName, TableName] = {}  # by the name that a table will have
        self._replaced: list[TableName] = []
        # Names in double quotes, and backslashes as they are, as in the SQL of all databases.
        self.execute("SET SESSION sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,STRICT_ALL_TABLES'")

    def execute(self, statement: str, values: Sequence[str] = ()) -> None:
        """Run one statement; see `Transaction.execute`."""
        with self._translating():
            self._connection.execute(statement, parameters=list(values) or None)

    def text(self, statement: str) -> str | None:
        """Run a query for one text; see `Transaction.text`."""
        with self._translating():
            rows = texts_of(self._dialect, self._connection, statement, _LONGEST_CERTIFICATE)
        return rows[0][0] if rows else None

    def qualify(self, name: TableName) -> TableName:
        """Return the name with its database; see `Transaction.qualify`."""
        schema = name.schema or self.text("SELECT DATABASE()")
        if schema is None:
            raise UsageError(
                f"{self._address.shown} names no database.",
                "Write mariadb://HOST/DATABASE, or --to-table database.table.",
            )
        return TableName(name.name, schema)

    def existing(self, names: ReleaseNames) -> dict[str, str]:
        """Find out which names are taken; see `Transaction.existing`."""
        wanted = ", ".join(literal(name) for name in names.kinds)
        with self._translating():
            rows = texts_of(
                self._dialect,
                self._connection,
                "SELECT table_name, table_type FROM information_schema.tables"
                f" WHERE table_schema = {literal(names.table.schema or '')}"
                f" AND table_name IN ({wanted})",
            )
        return {str(name): _KINDS.get(str(kind), "something else") for name, kind in rows}

    def store(self, column: Published) -> Stored:
        """Decide how a column is stored; see `Transaction.store`."""
        return stored(column)

    def create_table(self, name: TableName, new: NewTable) -> None:
        """Write the rows under another name; see `Transaction.create_table`."""
        sending = new.batches()
        sent = sending.reader.schema
        kinds = {column.name: column.type for column in new.columns}
        # The driver does not quote the names of columns, so they are given at the end.
        plain = [f"c{place}" for place in range(len(sent))]
        staging = self._new_name(name)
        definition = ", ".join(
            f"{short} {kinds[field.name]}" for short, field in zip(plain, sent, strict=True)
        )
        self.execute(f"CREATE TABLE {staging.sql} ({definition}) {_CHARACTERS}")
        fields = [field.with_name(short) for short, field in zip(plain, sent, strict=True)]
        reader = pa.RecordBatchReader.from_batches(
            pa.schema(fields),
            (pa.RecordBatch.from_arrays(batch.columns, plain) for batch in sending.reader),
        )
        self.execute("START TRANSACTION")
        try:
            with self._translating():
                self._connection.insert_into_table(reader, staging.sql, _ROWS_AT_ONCE)
        except (MottleError, pa.ArrowException):
            if sending.error is not None:
                raise sending.error from None
            raise
        self.execute("COMMIT")
        renamed = ", ".join(
            f"CHANGE {short} {quoted(field.name)} {kinds[field.name]}"
            for short, field in zip(plain, sent, strict=True)
        )
        self.execute(f"ALTER TABLE {staging.sql} {renamed}")

    def create_readable(self, names: ReleaseNames, main: NewTable) -> None:
        """Write the readable cells as a table; see `Transaction.create_readable`."""
        self.create_table(names.readable, NewTable.of(ReadableRows(main.table), self.store))

    def create_certificate(self, name: TableName, certificate: str) -> None:
        """Write the certificate under another name; see `Transaction.create_certificate`."""
        super().create_certificate(self._new_name(name), certificate)

    def drop(self, kind: str, name: TableName) -> None:
        """Remember what will be replaced; see `Transaction.drop`."""
        self._replaced.append(name)

    def rehearse(self, name: TableName) -> None:
        """Create a table under another name, and drop it; see `Transaction.rehearse`."""
        super().rehearse(self._new_name(name))

    def commit(self) -> None:
        """Give all tables their names at once; see `Transaction.commit`."""
        away = {old: _unfinished(old) for old in self._replaced}
        moves = [*away.items(), *((mine, name) for name, mine in self._staged.items())]
        renamed = ", ".join(f"{old.sql} TO {new.sql}" for old, new in moves)
        try:
            self.execute(f"RENAME TABLE {renamed}")
        except StorageError as error:
            if "was lost" not in error.problem:
                raise
            raise StorageError(
                f"The connection to {self._address.shown} was lost while the release was being"
                " committed: either all of it is there or nothing.",
                "Look whether the table is there, and run the command again if not.",
            ) from None
        self._staged = dict(away)

    def discard(self) -> None:
        """Drop what was not given its name, and what was replaced."""
        for name in self._staged.values():
            with suppress(MottleError):
                self.execute(f"DROP TABLE IF EXISTS {name.sql}")
        self._connection = None  # which closes it

    def _new_name(self, name: TableName) -> TableName:
        self._staged[name] = _unfinished(name)
        return self._staged[name]

    def _translating(self) -> Any:
        return translating_odbc_errors(self._dialect, self._address, writing=True)


def _unfinished(name: TableName) -> TableName:
    """A name that nobody has, in the same database."""
    return TableName(f"{_UNFINISHED}{secrets.token_hex(8)}", name.schema)
