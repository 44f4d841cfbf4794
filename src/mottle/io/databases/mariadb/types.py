"""Types between MariaDB and Arrow: how columns are fetched, and how a release is stored.

ODBC does not say whether a number is unsigned, and its driver turns bits into missing values, so
numbers, days and times are fetched as text or decimals. Sets are stored as JSON arrays and ranges
as two columns.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import DataError
from mottle.io.databases.json_cells import json_arrays
from mottle.io.databases.odbc.dialect import Arriving
from mottle.io.databases.table_layout import MAY_BE_MISSING, Convert, Published, Stored, part
from mottle.release.cell_text import PARTS

__all__ = ["arriving", "quoted", "stored"]

_LONG = 18  # digits that a whole number of 64 bits always holds
_WIDEST = 65  # digits of DECIMAL
_DEEPEST = 30  # of them behind the point


def quoted(name: str) -> str:
    """Quote a name for MariaDB's SQL.

    Parameters
    ----------
    name : str
        Of a table, a database or a column.

    Returns
    -------
    str
        The name in backticks.

    Examples
    --------
    >>> quoted("a`b")
    '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"


# ------------------------------------------------------------------------------------------ reading


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

    Raises
    ------
    DataError
        Columns of this type cannot be read.
    """
    name, kind = quoted(field.name), field.type
    if pa.types.is_integer(kind):  # may be unsigned
        return Arriving(f"CAST({name} AS DECIMAL(20, 0))", pa.int64())
    if pa.types.is_boolean(kind):  # BIT(1)
        return Arriving(f"CAST({name} + 0 AS DECIMAL(1, 0))", pa.int64())
    if pa.types.is_date(kind):
        return Arriving(f"CAST({name} AS CHAR)", pa.date32())
    if pa.types.is_timestamp(kind):
        return Arriving(f"CAST({name} AS CHAR)", pa.timestamp("us" if kind.unit == "us" else "ms"))
    if pa.types.is_time(kind):
        return Arriving(f"CAST({name} AS CHAR)", pa.string())  # up to 838 hours
    if pa.types.is_decimal(kind):
        whole = kind.scale == 0 and kind.precision <= _LONG
        return Arriving(name, pa.int64() if whole else kind)
    if pa.types.is_floating(kind) or pa.types.is_string(kind) or pa.types.is_binary(kind):
        return Arriving(name, kind)
    raise DataError(
        f"Column '{field.name}' has a type that is not read: bits or bytes of a fixed length.",
        f"Read it as a number or as text: --query 'SELECT …, {name} + 0 AS {name} FROM …', or"
        f" HEX({name}).",
    )


# ------------------------------------------------------------------------------------------ writing


def stored(column: Published) -> Stored:
    """Decide how MariaDB stores a published column.

    Parameters
    ----------
    column : Published
        The column of the release.

    Returns
    -------
    Stored
        The columns that are sent and stored; the readable cells are a table of their own.
    """
    return _plain(column) if column.form is None else column.form.stored_by(_Layout(), column)


class _Layout:
    """What MariaDB makes of each form: `mottle.kinds.forms.base.Layout`."""

    def store_text(self, column: Published) -> Stored:
        """One text."""
        return _plain(column)

    def store_range(self, column: Published) -> Stored:
        """Two columns, and a flag if one is needed."""
        convert, kind = _fitting(column.type.field("lo").type)
        converts, types = [convert, convert], [kind, kind]
        endings = ["lo", "hi"]
        if column.may_be_missing:
            converts.append(_flag)
            types.append("BOOLEAN NOT NULL")
            endings.append(MAY_BE_MISSING)
        return _parts(column, endings, converts, types)

    def store_list(self, column: Published) -> Stored:
        """A JSON array."""
        return Stored.as_sent({column.name: json_arrays}, ["JSON"], {})

    def store_worlds(self, column: Published) -> Stored:
        """Two JSON arrays and a number."""
        converts: list[Convert] = [json_arrays, json_arrays, _cast(pa.int64())]
        types = ["JSON", "JSON", "BIGINT"]
        endings = [*PARTS]
        if column.may_be_missing:
            converts.append(_flag)
            types.append("BOOLEAN NOT NULL")
            endings.append(MAY_BE_MISSING)
        return _parts(column, endings, converts, types)


def _parts(
    column: Published, endings: list[str], converts: list[Convert], types: list[str]
) -> Stored:
    sent = {
        f"{column.name}_{ending}": part(place, convert)
        for place, (ending, convert) in enumerate(zip(endings, converts, strict=True))
    }
    return Stored.as_sent(sent, types, {})


def _plain(column: Published) -> Stored:
    convert, kind = _fitting(column.type)
    return Stored.as_sent({column.name: convert}, [kind], {})


def _fitting(kind: pa.DataType) -> tuple[Convert, str]:
    """How values of an Arrow type are sent, and the type of their column."""
    if pa.types.is_boolean(kind):
        return _flag, "BOOLEAN"
    if pa.types.is_uint64(kind):
        return _cast(pa.string()), "BIGINT UNSIGNED"
    if pa.types.is_integer(kind):
        return _cast(pa.int64()), "BIGINT"
    if pa.types.is_floating(kind):
        return _cast(pa.float64()), "DOUBLE"
    if pa.types.is_decimal(kind) and kind.precision <= _WIDEST and kind.scale <= _DEEPEST:
        return _cast(pa.string()), f"DECIMAL({kind.precision}, {kind.scale})"
    if pa.types.is_date(kind):
        return _cast(pa.string()), "DATE"
    if pa.types.is_timestamp(kind):
        return _moments, "DATETIME(6)"
    if pa.types.is_time(kind):
        return _cast(pa.string()), "TIME(6)"
    if pa.types.is_duration(kind):
        return _durations, "BIGINT"
    if pa.types.is_binary(kind):
        return _same, "LONGBLOB"
    return _cast(pa.string()), "LONGTEXT"


def _flag(values: pa.Array) -> pa.Array:
    return pc.cast(values, pa.int8())


def _moments(values: pa.Array) -> pa.Array:
    """Points in time as text; those with a time zone in UTC."""
    return pc.cast(pc.cast(values, pa.timestamp("us")), pa.string())


def _durations(values: pa.Array) -> pa.Array:
    """Durations as microseconds."""
    return pc.cast(pc.cast(values, pa.duration("us")), pa.int64())


def _same(values: pa.Array) -> pa.Array:
    return values


def _cast(kind: pa.DataType) -> Convert:
    return lambda values: pc.cast(values, kind)
