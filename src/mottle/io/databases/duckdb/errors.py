"""Errors of DuckDB, translated; only what concerns statements and files is repeated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from mottle.errors import DataError, StorageError, UsageError
from mottle.io.databases.base import Address
from mottle.io.databases.errors import nothing_written
from mottle.io.databases.url import redacted

__all__ = ["translating_duckdb_errors"]


@contextmanager
def translating_duckdb_errors(address: Address, *, writing: bool) -> Iterator[None]:
    """Turn errors of DuckDB into mottle's; cells and passwords are not repeated.

    Parameters
    ----------
    address : Address
        The database.
    writing : bool
        Whether a release is being written.

    Raises
    ------
    StorageError
        The file cannot be opened, or writing failed.
    UsageError
        The statement is not valid.
    DataError
        The rows cannot be computed.
    """
    duckdb = address.database.driver.load_errors()
    nothing = nothing_written(writing)
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
