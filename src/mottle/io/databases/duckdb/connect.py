"""Connections to DuckDB files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mottle.io.databases.base import Address
from mottle.io.databases.duckdb.errors import translating_duckdb_errors

__all__ = ["connected"]


@contextmanager
def connected(address: Address, *, read_only: bool) -> Iterator[Any]:
    """Yield a connection that is closed with the block.

    Parameters
    ----------
    address : Address
        The database.
    read_only : bool
        Whether nothing may be written; otherwise a file that does not exist is created.

    Yields
    ------
    duckdb.DuckDBPyConnection
        The connection.

    Raises
    ------
    StorageError
        The file cannot be opened.
    """
    duckdb = address.database.driver.load()
    with translating_duckdb_errors(address, writing=not read_only):
        connection = duckdb.connect(address.location, read_only=read_only)
    try:
        yield connection
    finally:
        connection.close()
