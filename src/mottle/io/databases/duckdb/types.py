"""Types between DuckDB and Arrow: structs and lists hold ranges and sets as they are."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import DataError
from mottle.io.databases import sql_cell_text
from mottle.io.databases.identifiers import quoted
from mottle.io.databases.table_layout import Published, Stored, StoredColumn
from mottle.release.cell_text import PARTS
from mottle.utils.arrow import is_plain

__all__ = ["AS_TEXT", "check_readable", "stored"]

AS_TEXT = ("BIT", "TIME WITH TIME ZONE", "BIGNUM", "UUID")  # types that are read as text
_MOST_DIGITS = 38  # of DuckDB's decimals


def check_readable(field: pa.Field, kind: str) -> None:
    """Refuse a column of a type that mottle does not read.

    Parameters
    ----------
    field : pyarrow.Field
        The column as DuckDB would send it.
    kind : str
        DuckDB's name of its type.

    Raises
    ------
    DataError
        With a cast that makes the column readable.
    """
    members = field.type.value_type if pa.types.is_list(field.type) else field.type
    if isinstance(members, pa.BaseExtensionType) or not is_plain(members):
        name = quoted(field.name)
        cast = f"epoch({name})" if kind == "INTERVAL" else f"{name}::VARCHAR"
        raise DataError(
            f"Column '{field.name}' is of type {kind}, which mottle does not read.",
            "Leave it out, or turn it into another type:"
            f" --query 'SELECT …, {cast} AS {name} FROM …'.",
        )


# ------------------------------------------------------------------------------------------ writing


def stored(column: Published) -> Stored:
    """Decide how DuckDB stores a published column: as it is, in structs and lists.

    Parameters
    ----------
    column : Published
        The column of the release.

    Returns
    -------
    Stored
        The column that is sent and stored, and the columns of the readable view.
    """
    convert = _text_of_wide if _is_wide(column.type) else _same
    sent = f"sent{column.place}"
    value = f"{sent}::VARCHAR" if pa.types.is_null(column.type) else sent
    only = StoredColumn(column.name, "", value)
    return Stored({sent: convert}, (only,), _readable(column))


def _readable(column: Published) -> dict[str, str]:
    """The view's columns: SQL over the stored one."""
    if column.form is None:
        return {column.name: quoted(column.name)}
    return column.form.stored_by(_ReadableLayout(), column)


class _ReadableLayout:
    """How the view shows each form: `mottle.kinds.forms.base.Layout`."""

    def store_text(self, column: Published) -> dict[str, str]:
        """One text."""
        return {column.name: sql_cell_text.value(quoted(column.name))}

    def store_range(self, column: Published) -> dict[str, str]:
        """A struct of two ends."""
        name = quoted(column.name)
        value_type = column.type.field("lo").type
        low, high = (_text(f"{name}.{end}", value_type) for end in ("lo", "hi"))
        or_missing = f"{name}.missing" if column.may_be_missing else None
        return {column.name: sql_cell_text.between(low, high, or_missing, column.tails)}

    def store_list(self, column: Published) -> dict[str, str]:
        """A list."""
        name = quoted(column.name)
        kind = column.type.value_type
        joined = _joined(name, _text("member", kind))
        shown = sql_cell_text.one_of(f"len({name})", _text(f"{name}[1]", kind), joined)
        return {column.name: shown}

    def store_worlds(self, column: Published) -> dict[str, str]:
        """A struct of two lists and a number."""
        name = quoted(column.name)
        base, uncertain, distance = (f"{name}.{part}" for part in PARTS)
        base_text, uncertain_text = sql_cell_text.worlds(
            base,
            _joined(base, sql_cell_text.value("member")),
            _joined(uncertain, sql_cell_text.value("member")),
            f"{name}.missing" if column.may_be_missing else None,
        )
        shown = (base_text, uncertain_text, distance)
        names = (f"{column.name}.{part}" for part in PARTS)
        return dict(zip(names, shown, strict=True))


def _joined(members: str, text: str) -> str:
    return f"array_to_string([coalesce({text}, '') FOR member IN {members}], '|')"


def _text(value: str, kind: pa.DataType) -> str:
    return sql_cell_text.value(value) if pa.types.is_string(kind) else f"CAST({value} AS VARCHAR)"


def _is_wide(kind: pa.DataType) -> bool:
    """Whether DuckDB's decimals are too narrow."""
    return bool(pa.types.is_decimal(kind) and kind.precision > _MOST_DIGITS)


def _text_of_wide(values: pa.Array) -> pa.Array:
    return pc.cast(values, pa.string())


def _same(values: pa.Array) -> pa.Array:
    return values
