"""Connections to PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from mottle.io.databases.base import Address
from mottle.io.databases.postgresql.errors import connection_error

__all__ = ["connected"]


@contextmanager
def connected(address: Address) -> Iterator[Any]:
    """Yield a cursor in a transaction that ends with the block.

    Parameters
    ----------
    address : Address
        The database.

    Yields
    ------
    cursor
        Of the driver; what is not committed is rolled back.

    Raises
    ------
    StorageError
        The server cannot be reached or refuses the connection.
    UsageError
        The driver is not installed, or the settings of the connection are not valid.
    """
    package = address.database.driver
    driver, errors = package.load(), package.load_errors()
    try:
        connection = driver.connect(address.location)
    except errors.Error as error:
        raise connection_error(address, str(error)) from None
    try:
        with connection.cursor() as cursor:
            yield cursor
    finally:
        with suppress(errors.Error):  # a lost connection has already ended the transaction
            connection.close()
