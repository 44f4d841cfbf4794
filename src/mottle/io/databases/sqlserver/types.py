"""Types of SQL Server, whose ODBC driver describes them as they are."""

from __future__ import annotations

import pyarrow as pa

from mottle.io.databases.odbc.described_types import as_described
from mottle.io.databases.odbc.dialect import Arriving

__all__ = ["arriving", "quoted"]


def quoted(name: str) -> str:
    """Quote a name for SQL Server's SQL.

    Parameters
    ----------
    name : str
        Of a table, a schema or a column.

    Returns
    -------
    str
        The name in quotes.

    Examples
    --------
    >>> quoted("a]b")
    '[a]]b]'
    """
    return "[" + name.replace("]", "]]") + "]"


def arriving(field: pa.Field) -> Arriving:
    """Decide how a column is fetched; see `OdbcDialect.arriving`.

    Parameters
    ----------
    field : pyarrow.Field
        The column as ODBC describes it.

    Returns
    -------
    Arriving
        The SQL, and the type that its values get.
    """
    return as_described(field, quoted(field.name))
