"""Errors of ODBC drivers, translated by their SQLSTATE, without passwords and without cells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from mottle.errors import DataError, MottleError, StorageError, UsageError
from mottle.io.databases.base import Address
from mottle.io.databases.errors import nothing_written
from mottle.io.databases.odbc.dialect import OdbcDialect
from mottle.utils.redaction import redacted

__all__ = ["connection_error", "is_driver_absent", "translating_odbc_errors"]

_DIAGNOSTIC = re.compile(r"State: (\w{5}), Native error: (-?\d+), Message: (.*)", re.DOTALL)
_MAKER = re.compile(r"^(?:\[[^\]]*\])+")  # the names of the drivers in front of a message
_LOST = re.compile(
    r"server has gone away|lost connection|communication link|connection (?:was )?(?:reset|closed)",
    re.IGNORECASE,
)
_DENIED = re.compile(r"command denied|access denied|permission|insufficient privileges", re.I)
_READ_ONLY = re.compile(r"READ ONLY transaction|read-only", re.IGNORECASE)


def is_driver_absent(message: str) -> bool:
    """Tell from the driver manager's message that it knows no driver of a name.

    Parameters
    ----------
    message : str
        The message.

    Returns
    -------
    bool
        Whether the driver is not installed.
    """
    return "Can't open lib" in message or "State: IM002" in message or "State: IM003" in message


def connection_error(dialect: OdbcDialect, address: Address, message: str) -> MottleError:
    """Make the error for a server that cannot be reached or refuses the connection.

    Parameters
    ----------
    dialect : OdbcDialect
        The database system.
    address : Address
        The database.
    message : str
        The driver's message, which is only searched and never repeated.

    Returns
    -------
    MottleError
        What is wrong, as far as it is known.
    """
    for sign, problem, remedy in dialect.connecting:
        if sign in message:
            return StorageError(f"Cannot connect to {address.shown}: {problem}.", remedy)
    return StorageError(
        f"Cannot connect to {address.shown}: the server could not be reached or refused.",
        f"Check host, port, user and the password in the URL or {dialect.password_variable}.",
    )


@contextmanager
def translating_odbc_errors(
    dialect: OdbcDialect, address: Address, *, writing: bool
) -> Iterator[None]:
    """Turn errors of the driver into mottle's.

    Parameters
    ----------
    dialect : OdbcDialect
        The database system.
    address : Address
        The database.
    writing : bool
        Whether a release is being written.

    Raises
    ------
    StorageError
        The connection was lost, a privilege is missing, or writing failed.
    UsageError
        The statement is not valid.
    DataError
        The rows cannot be computed, or a value of the release cannot be stored.
    """
    errors = dialect.driver.load_errors()
    try:
        yield
    except (errors.Error, pa.ArrowException) as error:
        raise _translated(dialect, address, str(error), writing) from None


def _translated(dialect: OdbcDialect, address: Address, message: str, writing: bool) -> MottleError:
    nothing = nothing_written(writing)
    found = _DIAGNOSTIC.search(message)
    state, text = ("", "") if found is None else (found.group(1), found.group(3))
    if state.startswith("08") or _LOST.search(message):
        return StorageError(
            f"The connection to {address.shown} was lost.{nothing}", "Try again when it is back."
        )
    if _DENIED.search(text):
        return StorageError(
            f"{dialect.title}: a privilege is missing.{nothing}",
            "Ask for the privilege, or use another user.",
        )
    if _READ_ONLY.search(text):
        return UsageError(
            f"{dialect.title}: the query would change the database.",
            "Queries are run in a read-only transaction: only SELECT.",
        )
    if state.startswith("42"):
        reported = redacted(_MAKER.sub("", text.strip()).splitlines()[0])
        kind = StorageError if writing else UsageError
        return kind(f"{dialect.title}: {reported}.{nothing}")
    known_as = f" (SQLSTATE {state})" if state else ""
    if writing:
        return DataError(f"{dialect.title} refused a value of the release{known_as}.{nothing}")
    return DataError(f"{dialect.title} failed to compute the rows{known_as}.", "Try the query.")
