"""The columns of an exported file: one or several for each column of a release."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from mottle.release.cell_text import text_columns, to_texts
from mottle.release.column import PublishedColumn

__all__ = ["ExportedVariable", "as_text", "is_number", "variables_of"]


@dataclass(frozen=True)
class ExportedVariable:
    """One column of an exported file."""

    name: str
    values: pa.ChunkedArray
    measure: str  # nominal, ordinal or scale
    column: PublishedColumn  # of the release
    part: str = ""  # of a range: lowest, highest, may be missing
    order: tuple[str, ...] | None = None  # of categories


def variables_of(table: pa.Table, column: PublishedColumn) -> list[ExportedVariable]:
    """Return the exported columns of one published column.

    Parameters
    ----------
    table : pyarrow.Table
        The rows of the release.
    column : PublishedColumn
        One of its columns.

    Returns
    -------
    list of ExportedVariable
        One, or two or three for ranges.
    """
    cells = table.column(column.name)
    if column.form is None:
        is_text = pa.types.is_string(cells.type)
        measure = "ordinal" if column.order else "nominal" if is_text else "scale"
        return [ExportedVariable(column.name, cells, measure, column, order=column.order)]
    if column.form.has_intervals and column.order is None and _is_measured(column.value_type):
        low, high, missing = (pc.struct_field(cells, name) for name in ("lo", "hi", "missing"))
        found = [
            ExportedVariable(f"{column.name}_lo", low, "scale", column, "lowest"),
            ExportedVariable(f"{column.name}_hi", high, "scale", column, "highest"),
        ]
        if pc.any(missing).as_py():
            flag = pc.cast(missing, pa.int8())
            name = f"{column.name}_may_be_missing"
            found.append(ExportedVariable(name, flag, "nominal", column, "may be missing"))
        return found
    parts = [to_texts(chunk, column.form) for chunk in cells.chunks]
    return [
        ExportedVariable(
            name, pa.chunked_array([part[place] for part in parts], pa.string()), "nominal", column
        )
        for place, name in enumerate(text_columns(column.name, column.form))
    ]


def _is_measured(kind: pa.DataType) -> bool:
    return is_number(kind) or bool(pa.types.is_decimal(kind) or pa.types.is_date(kind))


def is_number(kind: pa.DataType) -> bool:
    """Return whether values are whole numbers or floats."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def as_text(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values as text."""
    if pa.types.is_list(values.type):
        return pa.chunked_array([[None if one is None else str(one) for one in values.to_pylist()]])
    return pc.cast(values, pa.string())
