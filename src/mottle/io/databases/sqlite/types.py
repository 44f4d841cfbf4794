"""Types between SQLite and Arrow: what a column's values are, and how a release is stored.

SQLite has integers, floating-point numbers, text and bytes. Ranges are stored as two columns, sets
as JSON arrays; days and timestamps are text in ISO form, which SQLite's own date functions use.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import DataError
from mottle.io.databases import sql_cell_text
from mottle.io.databases.identifiers import quoted
from mottle.io.databases.json_cells import EXACT_DIGITS, json_arrays
from mottle.io.databases.table_layout import MAY_BE_MISSING, Convert, Published, Stored, part
from mottle.release.cell_text import PARTS

__all__ = ["Seen", "shown_as", "stored"]

_DAY = "-".join(["[0-9]" * 4, "[0-9]" * 2, "[0-9]" * 2])
_CLOCK = ":".join(["[0-9]" * 2] * 3)
_LIKE_A_DAY = re.compile(_DAY)


@dataclass(frozen=True)
class Seen:
    """What the rows of a column hold."""

    name: str
    declared: str  # the type in CREATE TABLE, in upper case
    types: frozenset[str]  # SQLite's types of the values that are not missing
    lowest: Any  # of all values, by SQLite's order
    highest: Any  # of all values, by SQLite's order

    @classmethod
    def of(cls, name: str, declared: str, types: str | None, lowest: Any, highest: Any) -> Seen:
        """Build from the values of the three `expressions`.

        Parameters
        ----------
        name : str
            The column.
        declared : str
            The type in CREATE TABLE, in upper case.
        types : str or None
            SQLite's types of the values, separated by commas.
        lowest, highest : object
            The smallest and the largest value.

        Returns
        -------
        Seen
            What the rows hold.
        """
        found = frozenset((types or "").split(",")) - {"null", ""}
        return cls(name, declared, found, lowest, highest)

    @staticmethod
    def expressions(name: str) -> list[str]:
        """Return the SQL expressions that summarize all rows.

        Parameters
        ----------
        name : str
            The column.

        Returns
        -------
        list of str
            Three aggregates, whose values `of` takes.
        """
        value = quoted(name)
        return [f"group_concat(DISTINCT typeof({value}))", f"min({value})", f"max({value})"]

    @property
    def finer(self) -> dict[pa.DataType, str]:
        """Types of time that a text column may have, each with SQL that is true for its texts."""
        ends = (str(self.lowest), str(self.highest))
        if self.types != {"text"} or not all(_LIKE_A_DAY.match(end) for end in ends):
            return {}
        value = quoted(self.name)
        moment = (
            f"{value} GLOB '{_DAY}[ T]{_CLOCK}*'"
            f" AND datetime({value}) = replace(substr({value}, 1, 19), 'T', ' ')"
            f" AND (length({value}) = 19 OR (substr({value}, 20, 1) = '.'"
            f" AND substr({value}, 21) NOT GLOB '*[^0-9]*'"
            f" AND length({value}) BETWEEN 21 AND 26))"
        )
        return {
            pa.date32(): f"{value} GLOB '{_DAY}' AND {value} IS date({value})",
            pa.timestamp("us"): moment,
        }

    @property
    def type(self) -> pa.DataType:
        """The one type that holds all values, with days and timestamps taken as text."""
        if not self.types:
            return _declared_type(self.declared)
        if "blob" in self.types:
            if len(self.types) > 1:
                name = quoted(self.name)
                raise DataError(
                    f"Column '{self.name}' holds bytes and other values.",
                    f"Read it as text: --query 'SELECT …, CAST({name} AS TEXT) AS {name} FROM …'.",
                )
            return pa.binary()
        if "text" in self.types:
            return pa.string()
        if "real" in self.types:
            return pa.float64()
        truth = "BOOL" in self.declared and self.lowest >= 0 and self.highest <= 1
        return pa.bool_() if truth else pa.int64()


def _declared_type(declared: str) -> pa.DataType:
    """The type of a column without any value, by SQLite's rules for what was declared."""
    if "INT" in declared:
        return pa.int64()
    if any(word in declared for word in ("REAL", "FLOA", "DOUB")):
        return pa.float64()
    return {"DATE": pa.date32(), "BOOLEAN": pa.bool_()}.get(declared, pa.string())


def shown_as(kind: pa.DataType) -> tuple[str, str]:
    """Return the SQL type for a cast, and a value that announces the type to the driver.

    Parameters
    ----------
    kind : pyarrow.DataType
        The type of the column.

    Returns
    -------
    tuple of str
        The SQL type and a literal of that type.
    """
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return "INTEGER", "0"
    if pa.types.is_floating(kind):
        return "REAL", "0.0"
    return ("BLOB", "x''") if pa.types.is_binary(kind) else ("TEXT", "''")


# ------------------------------------------------------------------------------------------ writing


def stored(column: Published) -> Stored:
    """Decide how SQLite stores a published column.

    Parameters
    ----------
    column : Published
        The column of the release.

    Returns
    -------
    Stored
        The columns that are sent, those that are stored and those of the readable view.
    """
    layout = _SqliteLayout()
    return _plain(column) if column.form is None else column.form.stored_by(layout, column)


class _SqliteLayout:
    """What SQLite makes of each form: `mottle.kinds.forms.base.Layout`."""

    def store_text(self, column: Published) -> Stored:
        """One text."""
        return _plain(column)

    def store_range(self, column: Published) -> Stored:
        """Two columns."""
        return _range(column)

    def store_list(self, column: Published) -> Stored:
        """A JSON array."""
        return _list(column)

    def store_worlds(self, column: Published) -> Stored:
        """Two JSON arrays and a number."""
        return _worlds(column)


def _plain(column: Published) -> Stored:
    convert, kind = _fitting(column.type)
    name = quoted(column.name)
    shown = name if column.form is None else sql_cell_text.value(name)
    return Stored.as_sent({column.name: convert}, [kind], {column.name: shown})


def _list(column: Published) -> Stored:
    kind = column.type.value_type
    name = quoted(column.name)
    first = _text(f"json_extract({name}, '$[0]')", kind)
    shown = sql_cell_text.one_of(
        f"json_array_length({name})", first, _joined(name, _text("value", kind))
    )
    return Stored.as_sent({column.name: json_arrays}, ["TEXT"], {column.name: shown})


def _range(column: Published) -> Stored:
    value_type = column.type.field("lo").type
    convert, kind = _fitting(value_type)
    low, high = f"{column.name}_lo", f"{column.name}_hi"
    sent = {low: part(0, convert), high: part(1, convert)}
    types = [kind, kind]
    or_missing = None
    if column.may_be_missing:
        flag = f"{column.name}_{MAY_BE_MISSING}"
        sent[flag] = part(2, _same)
        types.append("BOOLEAN NOT NULL")
        or_missing = quoted(flag)
    low_text, high_text = (_text(quoted(end), value_type) for end in (low, high))
    return Stored.as_sent(
        sent,
        types,
        {column.name: sql_cell_text.between(low_text, high_text, or_missing, column.tails)},
    )


def _worlds(column: Published) -> Stored:
    names = [f"{column.name}_{ending}" for ending in (*PARTS, MAY_BE_MISSING)]
    converts, types = (
        [json_arrays, json_arrays, _same, _same],
        ["TEXT", "TEXT", "INTEGER", "BOOLEAN NOT NULL"],
    )
    parts = len(names) if column.may_be_missing else len(PARTS)
    sent = {
        name: part(place, convert)
        for place, (name, convert) in enumerate(zip(names[:parts], converts[:parts], strict=True))
    }
    base, uncertain, distance, flag = map(quoted, names)
    base_text, uncertain_text = sql_cell_text.worlds(
        base,
        _joined(base, sql_cell_text.value("value")),
        _joined(uncertain, sql_cell_text.value("value")),
        flag if column.may_be_missing else None,
    )
    shown = (base_text, uncertain_text, distance)
    readable = dict(zip((f"{column.name}.{ending}" for ending in PARTS), shown, strict=True))
    return Stored.as_sent(sent, types[:parts], readable)


def _joined(array: str, text: str) -> str:
    members = f"SELECT coalesce({text}, '') AS member FROM json_each({array}) ORDER BY key"
    return f"(SELECT group_concat(member, '|') FROM ({members}))"


def _text(value: str, kind: pa.DataType) -> str:
    """A value as text that reads back as the same value."""
    if pa.types.is_string(kind):
        return sql_cell_text.value(value)
    if pa.types.is_boolean(kind):
        return f"CASE {value} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END"
    text = f"CAST({value} AS TEXT)"
    if pa.types.is_floating(kind):  # SQLite itself shows fifteen digits
        return (
            f"CASE WHEN {value} IS NULL OR CAST({text} AS REAL) = {value} THEN {text}"
            f" ELSE printf('%!.17g', {value}) END"
        )
    return text


def _fitting(kind: pa.DataType) -> tuple[Convert, str]:
    """How values of an Arrow type are sent, and the declared type of their column."""
    if pa.types.is_boolean(kind):
        return _same, "BOOLEAN"
    if pa.types.is_integer(kind):
        return _cast(pa.int64()), "INTEGER"
    if pa.types.is_floating(kind):
        return _cast(pa.float64()), "REAL"
    if pa.types.is_decimal(kind):
        is_exact = kind.precision <= EXACT_DIGITS
        declared = f"DECIMAL({kind.precision}, {kind.scale})" if is_exact else "TEXT"
        return _cast(pa.string()), declared
    if pa.types.is_date(kind):
        return _cast(pa.string()), "DATE"
    if pa.types.is_timestamp(kind):
        return _cast(pa.string()), "TIMESTAMP"
    return (_same, "BLOB") if pa.types.is_binary(kind) else (_cast(pa.string()), "TEXT")


def _same(values: pa.Array) -> pa.Array:
    return values


def _cast(kind: pa.DataType) -> Convert:
    return lambda values: pc.cast(values, kind)
