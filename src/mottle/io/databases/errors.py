"""What drivers say when something fails, told again without passwords and without cells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

from mottle.errors import DataError, MottleError, StorageError, UsageError, did_you_mean
from mottle.io.databases.url import Address, redacted

_EXTRA = "Install the database drivers: pip install 'mottle[db]'."

# Part of libpq's message, what we say instead, and what to do. Never the message itself: it may
# quote the URL, or what a mistyped one makes of a password.
_CONNECTING = (
    (
        "password authentication failed",
        "the server refuses this user and password",
        "Check the user, and the password in PGPASSWORD, ~/.pgpass, the service file or the URL.",
    ),
    (
        "no password supplied",
        "the server asks for a password",
        "Give it in PGPASSWORD, in ~/.pgpass or in a service file.",
    ),
    ("Connection refused", "no server listens there", "Check host and port."),
    ("timeout expired", "the server did not answer in time", "Check host, port and network."),
    ("timed out", "the server did not answer in time", "Check host, port and network."),
    ("could not translate host name", "the host is not known", "Check the host."),
    (
        "no pg_hba.conf entry",
        "the server does not let this client in",
        "Ask its administrator for an entry in pg_hba.conf.",
    ),
    (
        "definition of service",
        "the service is not defined",
        "Define it in ~/.pg_service.conf or in the file that PGSERVICEFILE names.",
    ),
    ("service file", "the service file cannot be read", "Check ~/.pg_service.conf, PGSERVICEFILE."),
    ("too many", "the server has no connection left", "Try again later."),
    ("starting up", "the server is starting up", "Try again in a moment."),
    ("shutting down", "the server is shutting down", "Try again later."),
    ("role ", "the server does not know this user", "Check the user."),
    ("database ", "the server has no such database", "Check the database."),
    ("SSL", "the encrypted connection failed", "Check sslmode and the certificates."),
    (
        "No such file or directory",
        "no server listens on this machine",
        "Start it, or name its host: postgresql://HOST/DATABASE.",
    ),
)

_LOST = re.compile(
    "server closed the connection|terminating connection|connection not open|no connection"
    "|could not (?:receive|send) data|SSL connection has been closed|Connection reset",
    re.IGNORECASE,
)
# classes of SQLSTATE whose messages speak of names and statements, never of values
_ABOUT_STATEMENTS = ("0A", "25", "2B", "3D", "3F", "42", "54")
_ABOUT_RESOURCES = ("53", "55")
_ABOUT_CONNECTIONS = ("08", "57")


def missing_driver(package: str) -> UsageError:
    """The extra with the drivers is not installed."""
    return UsageError(f"The package {package} is not installed.", _EXTRA)


def cannot_connect(address: Address, message: str) -> MottleError:
    """A PostgreSQL server that could not be reached, in our own words."""
    for sign, problem, remedy in _CONNECTING:
        if sign in message:
            return StorageError(f"Cannot connect to {address.shown}: {problem}.", remedy)
    if re.search("Failed to connect: (invalid|unexpected|missing|forbidden|extra)", message):
        return UsageError(
            f"The settings of the connection to {address.shown} cannot be right.",
            "Check the URL and the variables that begin with PG: hosts, ports, and the names and"
            " values after the ?.",
        )
    return StorageError(
        f"Cannot connect to {address.shown}: the server could not be reached or refused.",
        "Check host, port, user and password.",
    )


@contextmanager
def told_by_postgresql(address: Address, *, writing: bool) -> Iterator[None]:
    """Turn errors of the driver into ours, by their SQLSTATE."""
    import adbc_driver_manager

    try:
        yield
    except adbc_driver_manager.Error as error:
        said = [text for name, text in error.details if "MESSAGE_PRIMARY" in str(name)]
        told = b"".join(said).decode(errors="replace")
        raise _postgresql(address, error.sqlstate, told, str(error), writing=writing) from None
    except (OSError, pa.ArrowException) as error:  # in the middle of a stream
        raise _postgresql(address, None, "", str(error), writing=writing) from None


def _postgresql(
    address: Address, state: str | None, told: str, message: str, *, writing: bool
) -> MottleError:
    nothing = " Nothing was written." if writing else ""
    group = (state or "")[:2]
    if group in _ABOUT_CONNECTIONS or _LOST.search(message):
        return StorageError(
            f"The connection to {address.shown} was lost.{nothing}", "Try again when it is back."
        )
    if group in _ABOUT_STATEMENTS:
        kind = StorageError if writing or state == "42501" else UsageError
        return kind(f"PostgreSQL: {redacted(told)}.{nothing}", _remedy(state))
    if group in _ABOUT_RESOURCES:
        return StorageError(f"PostgreSQL: {redacted(told)}.{nothing}")
    known_as = f" (SQLSTATE {state})" if state else ""
    if writing:
        return DataError(
            f"PostgreSQL refused a value of the release{known_as}.{nothing}",
            "Text cannot hold the character zero, and numbers have bounds.",
        )
    return DataError(f"PostgreSQL failed to compute the rows{known_as}.", "Try the query in psql.")


def _remedy(state: str | None) -> str:
    if state == "42501":
        return "Ask for the privilege, or use another user."
    if state == "25006":
        return "Queries are run in a read-only transaction: only SELECT."
    if state == "2BP01":
        return "Drop what depends on the old release first, or choose another --to-table."
    return ""


@contextmanager
def told_by_sqlite(address: Address, *, writing: bool) -> Iterator[None]:
    """Turn errors of the driver into ours; only what was said of statements is repeated."""
    import adbc_driver_manager

    try:
        yield
    except (adbc_driver_manager.Error, OSError, pa.ArrowException) as error:
        raise _sqlite(address, str(error), writing=writing) from None


def _sqlite(address: Address, message: str, *, writing: bool) -> MottleError:
    nothing = " Nothing was written." if writing else ""
    about = re.search(r"Failed to prepare query: ([^\n]*)|(no such \w+: [^\n]*)", message)
    for sign in ("locked", "disk is full", "readonly", "read-only", "disk I/O error"):
        if sign in message:
            return StorageError(f"{address.shown}: the database says: {sign}.{nothing}")
    if "to open" in message:
        return StorageError(f"{address.shown} cannot be opened.{nothing}", "Check the path.")
    if "not a database" in message or "disk image is malformed" in message:
        return DataError(f"{address.shown} is damaged or is not an SQLite database.{nothing}")
    if about is not None:
        told = redacted(about.group(1) or about.group(2))
        kind = StorageError if writing else UsageError
        return kind(f"SQLite: {told}.{nothing}")
    if writing:
        return StorageError(f"{address.shown}: SQLite failed to write.{nothing}")
    return DataError(f"{address.shown}: SQLite failed to compute the rows.", "Try it in sqlite3.")


@contextmanager
def told_by_duckdb(address: Address, *, writing: bool) -> Iterator[None]:
    """Turn errors of DuckDB into ours; only what was said of statements and files is repeated."""
    import duckdb

    nothing = " Nothing was written." if writing else ""
    try:
        yield
    except (duckdb.CatalogException, duckdb.ParserException, duckdb.BinderException) as error:
        kind = StorageError if writing else UsageError
        raise kind(f"DuckDB: {_first_line(error)}.{nothing}") from None
    except (duckdb.IOException, duckdb.ConnectionException) as error:
        raise StorageError(f"{address.shown}: {_first_line(error)}.{nothing}") from None
    except (duckdb.Error, OSError, pa.ArrowException):
        if writing:
            raise StorageError(f"{address.shown}: DuckDB failed to write.{nothing}") from None
        raise DataError(
            f"{address.shown}: DuckDB failed to compute the rows.", "Try the query in duckdb."
        ) from None


def _first_line(error: Exception) -> str:
    return redacted(str(error).split("\n", 1)[0].rstrip(".!"))


def no_such_table(address: Address, table: str, known: Sequence[str]) -> UsageError:
    """That a database has no table of this name, and which it may be instead."""
    remedy = did_you_mean(table, known) if known else "It has no tables."
    return UsageError(f"{address.shown} has no table '{table}'.", remedy)
