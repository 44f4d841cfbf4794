"""Errors of SQLite's driver, translated; only what concerns statements is repeated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from mottle.errors import DataError, MottleError, StorageError, UsageError
from mottle.io.databases.base import Address
from mottle.io.databases.errors import nothing_written
from mottle.io.databases.url import redacted

__all__ = ["translating_sqlite_errors"]

_STORAGE_PROBLEMS = ("locked", "disk is full", "readonly", "read-only", "disk I/O error")


@contextmanager
def translating_sqlite_errors(address: Address, *, writing: bool) -> Iterator[None]:
    """Turn errors of the driver into mottle's; cells and passwords are not repeated.

    Parameters
    ----------
    address : Address
        The database.
    writing : bool
        Whether a release is being written.

    Raises
    ------
    StorageError
        The file cannot be opened or is locked, or writing failed.
    UsageError
        The statement is not valid.
    DataError
        The file is damaged or the rows cannot be computed.
    """
    driver = address.database.driver.load_errors()
    try:
        yield
    except (driver.Error, OSError, pa.ArrowException) as error:
        raise _translated(address, str(error), writing) from None


def _translated(address: Address, message: str, writing: bool) -> MottleError:
    nothing = nothing_written(writing)
    about = re.search(r"Failed to prepare query: ([^\n]*)|(no such \w+: [^\n]*)", message)
    for sign in _STORAGE_PROBLEMS:
        if sign in message:
            return StorageError(f"{address.shown}: SQLite reports '{sign}'.{nothing}")
    if "to open" in message:
        return StorageError(f"{address.shown} cannot be opened.{nothing}", "Check the path.")
    if "not a database" in message or "disk image is malformed" in message:
        return DataError(f"{address.shown} is damaged or is not an SQLite database.{nothing}")
    if about is not None:
        reported = redacted(about.group(1) or about.group(2))
        kind = StorageError if writing else UsageError
        return kind(f"SQLite: {reported}.{nothing}")
    if writing:
        return StorageError(f"{address.shown}: SQLite failed to write.{nothing}")
    return DataError(f"{address.shown}: SQLite failed to compute the rows.", "Try it in sqlite3.")
