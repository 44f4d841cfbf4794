"""Types between PostgreSQL and Arrow: how columns are read, and how a release is stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import DataError
from mottle.io.databases import sql_cell_text
from mottle.io.databases.identifiers import quoted
from mottle.io.databases.table_layout import (
    MAY_BE_MISSING,
    Convert,
    Published,
    Stored,
    StoredColumn,
    in_lists,
    part,
)
from mottle.release.cell_text import PARTS
from mottle.utils.arrow import is_plain

__all__ = ["Arriving", "arriving", "as_decimals", "decimal_type", "stored"]

# Types with a single text form; their values are compared as text.
_AS_TEXT = {
    "uuid",
    "json",
    "jsonb",
    "xml",
    "inet",
    "cidr",
    "macaddr",
    "macaddr8",
    "bit",
    "varbit",
    "timetz",
    "citext",
    "ltree",
    "tid",
    "pg_lsn",
}
_INT64_DIGITS = 18  # decimal digits that always fit into 64 bits


@dataclass(frozen=True)
class Arriving:
    """A column of a result, and how PostgreSQL has to send it."""

    name: str
    form: str  # the SQL expression that is sent, with {} for the column
    decimal: bool  # whether it arrives as text and becomes a decimal or whole number
    size: tuple[int, int] | None  # precision and scale, when the column declares them


def arriving(field: pa.Field) -> Arriving:
    """Decide by its type how a column is read.

    Parameters
    ----------
    field : pyarrow.Field
        The column as the driver describes it.

    Returns
    -------
    Arriving
        How PostgreSQL has to send it.

    Raises
    ------
    DataError
        There is no Arrow type for it; the message has a cast to use.
    """
    metadata = field.metadata or {}
    kind = metadata.get(b"POSTGRESQL:type", b"").decode()
    if kind in _AS_TEXT:
        return Arriving(field.name, "{}::text", False, None)
    if kind == "numeric" or kind == "money":
        modifier = metadata.get(b"POSTGRESQL:typmod")
        size = None if modifier is None or kind == "money" else _precision_and_scale(int(modifier))
        return Arriving(field.name, "{}" if size else "trim_scale({}::numeric)", True, size)
    if kind == "oid":
        return Arriving(field.name, "{}::bigint", False, None)
    is_list = pa.types.is_list(field.type)
    members = field.type.value_type if is_list else field.type
    if isinstance(members, pa.BaseExtensionType) or not is_plain(members):
        shown = "of a type" if kind.startswith("unnamed") else f"of type {kind.lstrip('_')}"
        if is_list:
            shown = f"a list of values {shown}"
        name = quoted(field.name)
        cast = f"{name}::text[]" if is_list else f"{name}::text"
        if kind == "interval":
            cast = f"extract(epoch FROM {name})::float8"
        raise DataError(
            f"Column '{field.name}' is {shown} that mottle does not read.",
            "Leave it out, or turn it into another type:"
            f" --query 'SELECT …, {cast} AS {name} FROM …'.",
        )
    return Arriving(field.name, "{}", False, None)


def _precision_and_scale(modifier: int) -> tuple[int, int] | None:
    """The p and s of numeric(p, s), decoded from the type modifier of the catalogue."""
    if modifier < 4:
        return None
    precision = (modifier - 4) >> 16
    scale = ((modifier - 4) & 0x7FF ^ 1024) - 1024  # eleven bits with a sign
    if scale < 0:
        return precision - scale, 0
    return max(precision, scale), scale


def decimal_type(name: str, precision: int, scale: int) -> pa.DataType:
    """Return the narrowest type for numbers of a given size: integers where the scale is 0.

    Parameters
    ----------
    name : str
        The column, for the message.
    precision : int
        The number of digits.
    scale : int
        The number of digits after the point.

    Returns
    -------
    pyarrow.DataType
        int64 or a decimal type.

    Raises
    ------
    DataError
        There are more than 76 digits.

    Examples
    --------
    >>> decimal_type("age", 3, 0), decimal_type("price", 10, 2)
    (DataType(int64), Decimal128Type(decimal128(10, 2)))
    """
    if scale == 0 and precision <= _INT64_DIGITS:
        return pa.int64()
    if precision <= 38:
        return pa.decimal128(max(precision, 1), scale)
    if precision <= 76:
        return pa.decimal256(precision, scale)
    raise DataError(
        f"Column '{name}' has numbers of {precision} digits; mottle reads up to 76.",
        f"Round them: --query 'SELECT …, {quoted(name)}::numeric(38, 10) AS {quoted(name)} FROM …'",
    )


def as_decimals(texts: pa.Array, kind: pa.DataType, name: str) -> pa.Array:
    """Convert numeric values, which arrive as text, to numbers.

    Parameters
    ----------
    texts : pyarrow.Array
        The values as text.
    kind : pyarrow.DataType
        The type from `decimal_type`.
    name : str
        The column, for the message.

    Returns
    -------
    pyarrow.Array
        The values in that type.

    Raises
    ------
    DataError
        A value is NaN, infinite or has too many digits.
    """
    if isinstance(texts.type, pa.BaseExtensionType):
        texts = texts.storage
    try:
        if pa.types.is_integer(kind):
            return pc.cast(pc.cast(texts, pa.decimal128(_INT64_DIGITS, 0)), kind)
        return pc.cast(texts, kind)
    except pa.ArrowException:
        raise DataError(
            f"Column '{name}' has values that are not ordinary numbers: NaN, infinite, or with more"
            " digits than when they were counted.",
            f"Replace them: --query 'SELECT …, nullif({quoted(name)}, 'NaN') AS {quoted(name)}"
            f" FROM …', or use {quoted(name)}::float8.",
        ) from None


# ------------------------------------------------------------------------------------------ writing


def stored(column: Published) -> Stored:
    """Decide how PostgreSQL stores a published column: as ranges and arrays where it has them.

    Parameters
    ----------
    column : Published
        The column of the release.

    Returns
    -------
    Stored
        The columns that are sent, those that are stored and those of the readable view.
    """
    layout = _PostgresqlLayout()
    return _text_column(column) if column.form is None else column.form.stored_by(layout, column)


class _PostgresqlLayout:
    """What PostgreSQL makes of each form: `mottle.kinds.forms.base.Layout`."""

    def store_text(self, column: Published) -> Stored:
        """One text."""
        return _text_column(column)

    def store_range(self, column: Published) -> Stored:
        """A range type, or two ends."""
        return _range(column)

    def store_list(self, column: Published) -> Stored:
        """An array."""
        return _set(column)

    def store_worlds(self, column: Published) -> Stored:
        """Two arrays and a number."""
        return _worlds(column)


def _text_column(column: Published) -> Stored:
    name = quoted(column.name)
    convert, kind = _fitting(column.type)
    shown = name if column.form is None else sql_cell_text.value(name)
    sent = f"sent{column.place}"
    only = StoredColumn(column.name, kind, f"{sent}::{kind}")
    return Stored({sent: convert}, (only,), {column.name: shown})


def _range(column: Published) -> Stored:
    value_type = column.type.field("lo").type
    convert, kind = _fitting(value_type)
    low, high, missing = (f"sent{column.place}_{end}" for end in ("lo", "hi", "missing"))
    sent = {low: part(0, convert), high: part(1, convert)}
    name = quoted(column.name)
    native = _range_type(column, kind) if column.in_value_order else None
    if native is None:
        ends = tuple(
            StoredColumn(f"{column.name}_{end}", kind, f"{place}::{kind}")
            for end, place in (("lo", low), ("hi", high))
        )
        lowest, highest = (quoted(end.name) for end in ends)
        columns = ends
    else:
        through = "::text::numeric" if pa.types.is_floating(value_type) else f"::{kind}"
        made = f"{native}({low}{through}, {high}{through}, '[]')"
        columns = (
            StoredColumn(column.name, native, f"CASE WHEN {low} IS NOT NULL THEN {made} END"),
        )
        lowest, highest = f"lower({name})", f"upper({name})"
        if native != "numrange":  # these leave out their upper end
            highest = f"({highest} - 1)"
    if column.may_be_missing:
        sent[missing] = part(2, _same)
        flag = StoredColumn(f"{column.name}_{MAY_BE_MISSING}", "boolean NOT NULL", missing)
        columns = (*columns, flag)
    or_missing = quoted(f"{column.name}_{MAY_BE_MISSING}") if column.may_be_missing else None
    low_text, high_text = (_text(end, value_type) for end in (lowest, highest))
    return Stored(
        sent,
        columns,
        {column.name: sql_cell_text.between(low_text, high_text, or_missing, column.tails)},
    )


def _range_type(column: Published, kind: str) -> str | None:
    """PostgreSQL's range type; of whole numbers only where the number after the last exists."""
    if kind in ("smallint", "integer"):
        return "int8range" if column.highest == 2**31 - 1 else "int4range"
    if kind == "bigint":
        return "numrange" if column.highest == 2**63 - 1 else "int8range"
    return "daterange" if kind == "date" else None if kind == "text" else "numrange"


def _set(column: Published) -> Stored:
    convert, kind = _fitting(column.type.value_type)
    name, sent = quoted(column.name), f"sent{column.place}"
    text = _text("member", column.type.value_type)
    shown = sql_cell_text.one_of(
        f"cardinality({name})", _text(f"{name}[1]", column.type.value_type), _joined(name, text)
    )
    only = StoredColumn(column.name, f"{kind}[]", f"{sent}::{kind}[]")
    return Stored({sent: in_lists(convert)}, (only,), {column.name: shown})


def _worlds(column: Published) -> Stored:
    sent, columns = {}, []
    types = ["text[]", "text[]", "integer"]
    endings = [*PARTS]
    if column.may_be_missing:
        types.append("boolean NOT NULL")
        endings.append(MAY_BE_MISSING)
    for place, (ending, kind) in enumerate(zip(endings, types, strict=True)):
        source = f"sent{column.place}_{ending}"
        sent[source] = part(place, _same)
        columns.append(StoredColumn(f"{column.name}_{ending}", kind, source))
    base, uncertain, distance, *flag = (quoted(stored.name) for stored in columns)
    base_text, uncertain_text = sql_cell_text.worlds(
        base,
        _joined(base, sql_cell_text.value("member")),
        _joined(uncertain, sql_cell_text.value("member")),
        flag[0] if flag else None,
    )
    names = (f"{column.name}.{ending}" for ending in PARTS)
    shown = (base_text, uncertain_text, distance)
    return Stored(sent, tuple(columns), dict(zip(names, shown, strict=True)))


def _joined(array: str, text: str) -> str:
    return (
        f"(SELECT string_agg(coalesce({text}, ''), '|' ORDER BY place)"
        f" FROM unnest({array}) WITH ORDINALITY AS members(member, place))"
    )


def _text(value: str, kind: pa.DataType) -> str:
    """A value as text, independent of the session's settings."""
    if pa.types.is_string(kind):
        return sql_cell_text.value(value)
    if pa.types.is_date(kind):
        return f"to_char({value}, 'YYYY-MM-DD')"
    return f"{value}::text"


def _same(values: pa.Array) -> pa.Array:
    return values


def _cast(kind: pa.DataType) -> Convert:
    return lambda values: pc.cast(values, kind)


def _fitting(kind: pa.DataType) -> tuple[Convert, str]:
    """How values of an Arrow type are sent, and the type of their column."""
    if pa.types.is_decimal(kind):
        digits = kind.precision - min(kind.scale, 0)
        return _same, f"numeric({max(digits, kind.scale)}, {max(kind.scale, 0)})"
    if pa.types.is_timestamp(kind):
        zone = "timestamptz" if kind.tz else "timestamp"
        return _cast(pa.timestamp("us", kind.tz)), zone
    if pa.types.is_time(kind):
        return _cast(pa.time64("us")), "time"
    if pa.types.is_duration(kind):
        return _cast(pa.duration("us")), "interval"
    if pa.types.is_null(kind):
        return _cast(pa.string()), "text"
    return next(_FITTING[test] for test in _FITTING if test(kind))


_FITTING: dict[Callable[[pa.DataType], bool], tuple[Convert, str]] = {
    pa.types.is_boolean: (_same, "boolean"),
    pa.types.is_uint64: (_cast(pa.decimal128(20, 0)), "numeric(20, 0)"),
    pa.types.is_int64: (_same, "bigint"),
    pa.types.is_uint32: (_cast(pa.int64()), "bigint"),
    pa.types.is_int32: (_same, "integer"),
    pa.types.is_uint16: (_cast(pa.int32()), "integer"),
    pa.types.is_integer: (_cast(pa.int16()), "smallint"),
    pa.types.is_float32: (_same, "real"),
    pa.types.is_floating: (_same, "double precision"),
    pa.types.is_date: (_cast(pa.date32()), "date"),
    pa.types.is_binary: (_same, "bytea"),
    pa.types.is_string: (_same, "text"),
}
