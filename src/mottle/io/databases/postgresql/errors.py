"""Errors of PostgreSQL's driver, translated without passwords and without cells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from mottle.errors import DataError, MottleError, StorageError, UsageError
from mottle.io.databases.base import Address
from mottle.io.databases.errors import nothing_written
from mottle.io.databases.url import redacted

__all__ = ["connection_error", "translating_postgresql_errors"]

# Part of libpq's message, the text that replaces it, and what to do. The message itself is never
# repeated: it may quote the URL, or a password that a mistyped URL puts in the wrong place.
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
# Classes of SQLSTATE whose messages name statements and tables, never values.
_ABOUT_STATEMENTS = ("0A", "25", "2B", "3D", "3F", "42", "54")
# Classes of SQLSTATE about full disks, memory and locks.
_ABOUT_RESOURCES = ("53", "55")
# Classes of SQLSTATE about lost connections.
_ABOUT_CONNECTIONS = ("08", "57")


def connection_error(address: Address, message: str) -> MottleError:
    """Make the error for a server that cannot be reached or refuses the connection.

    Parameters
    ----------
    address : Address
        The database.
    message : str
        The driver's message, which is only searched and never repeated.

    Returns
    -------
    MottleError
        A `StorageError`, or a `UsageError` if the settings are not valid.
    """
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
def translating_postgresql_errors(address: Address, *, writing: bool) -> Iterator[None]:
    """Turn errors of the driver into mottle's, by their SQLSTATE.

    Parameters
    ----------
    address : Address
        The database.
    writing : bool
        Whether a release is being written.

    Raises
    ------
    StorageError
        The connection was lost, a privilege or resource is missing, or writing failed.
    UsageError
        The statement is not valid.
    DataError
        The rows cannot be computed, or a value of the release cannot be stored.
    """
    driver = address.database.driver.load_errors()
    try:
        yield
    except driver.Error as error:
        primary = [text for name, text in error.details if "MESSAGE_PRIMARY" in str(name)]
        reported = b"".join(primary).decode(errors="replace")
        raise _translated(address, error.sqlstate, reported, str(error), writing) from None
    except (OSError, pa.ArrowException) as error:  # in the middle of a stream
        raise _translated(address, None, "", str(error), writing) from None


def _translated(
    address: Address, state: str | None, reported: str, message: str, writing: bool
) -> MottleError:
    nothing = nothing_written(writing)
    group = (state or "")[:2]
    if group in _ABOUT_CONNECTIONS or _LOST.search(message):
        return StorageError(
            f"The connection to {address.shown} was lost.{nothing}", "Try again when it is back."
        )
    if group in _ABOUT_STATEMENTS:
        kind = StorageError if writing or state == "42501" else UsageError
        return kind(f"PostgreSQL: {redacted(reported)}.{nothing}", _remedy(state))
    if group in _ABOUT_RESOURCES:
        return StorageError(f"PostgreSQL: {redacted(reported)}.{nothing}")
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
