"""Connections to SQLite files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mottle.io.databases.base import Address
from mottle.io.databases.sqlite.errors import translating_sqlite_errors

__all__ = ["connected"]


@contextmanager
def connected(address: Address, mode: str) -> Iterator[Any]:
    """Yield a cursor in a transaction that ends with the block.

    Parameters
    ----------
    address : Address
        The database.
    mode : str
        Of SQLite's URIs: ``ro`` to read, ``rwc`` to write and create the file.

    Yields
    ------
    cursor
        Of the driver; what is not committed is rolled back.

    Raises
    ------
    StorageError
        The file cannot be opened.
    UsageError
        The driver is not installed.
    """
    driver = address.database.driver.load()
    with translating_sqlite_errors(address, writing=mode != "ro"):
        connection = driver.connect(f"{address.path.absolute().as_uri()}?mode={mode}")
    try:
        with connection.cursor() as cursor:
            yield cursor
    finally:
        connection.close()
