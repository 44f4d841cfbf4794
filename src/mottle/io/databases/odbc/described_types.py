"""How columns are fetched from databases whose ODBC driver describes their types as they are."""

from __future__ import annotations

import pyarrow as pa

from mottle.errors import DataError
from mottle.io.databases.odbc.dialect import Arriving

__all__ = ["as_described"]

_LONG = 18  # digits that a whole number of 64 bits always holds


def as_described(field: pa.Field, name: str) -> Arriving:
    """Fetch a column in the type that ODBC describes; see `OdbcDialect.arriving`.

    Parameters
    ----------
    field : pyarrow.Field
        The column as ODBC describes it.
    name : str
        Its name, quoted.

    Returns
    -------
    Arriving
        The SQL, and the type that its values get.

    Raises
    ------
    DataError
        Columns of this type cannot be read.

    Examples
    --------
    >>> as_described(pa.field("n", pa.decimal128(9, 0)), '"n"').type
    DataType(int64)
    """
    kind = field.type
    if pa.types.is_decimal(kind):
        whole = kind.scale == 0 and kind.precision <= _LONG
        return Arriving(name, pa.int64() if whole else kind)
    if any(is_such(kind) for is_such in _AS_THEY_ARE):
        return Arriving(name, kind)
    raise DataError(
        f"Column '{field.name}' has a type that is not read ({kind}).",
        f"Cast it in a query: --query 'SELECT …, CAST({name} AS VARCHAR(100)) AS {name} FROM …'.",
    )


_AS_THEY_ARE = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_boolean,
    pa.types.is_string,
    pa.types.is_binary,
    pa.types.is_date,
    pa.types.is_timestamp,
    pa.types.is_time,
)
