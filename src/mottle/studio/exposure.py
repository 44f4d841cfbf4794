"""What is known about columns in their present roles: who is singled out, and what depends on what.

Both are measured when the page is shown, and kept for the last few combinations of roles.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from mottle.inspection.singling_out import KnownColumns, singled_out
from mottle.release.unchanged import unchanged_of, warnings_about
from mottle.schema.model import Role, Schema
from mottle.typing import Int32Array

Roles = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Exposure:
    """The figures of one combination of roles."""

    known: tuple[KnownColumns, ...]  # for 1, 2, 3 … quasi-identifiers
    warnings: tuple[str, ...]  # columns published as they are that give others away


def roles_of(schema: Schema) -> Roles:
    """By which a combination of roles is recognized."""
    return tuple((column.name, str(column.role)) for column in schema.columns)


def measure_exposure(table: pa.Table, schema: Schema) -> Exposure:
    """Measure a table with the roles of a schema.

    Parameters
    ----------
    table : pyarrow.Table
        The original.
    schema : Schema
        Covers all columns.

    Returns
    -------
    Exposure
        For the owner.
    """
    codes = {
        column.name: _codes(table.column(column.name))
        for column in schema.with_role(Role.QUASI_IDENTIFYING)
        if not pa.types.is_nested(table.schema.field(column.name).type)
    }
    known = singled_out(codes, table.num_rows) if codes else ()
    found = unchanged_of(table, schema)
    shifted = [column.name for column in schema.with_role(Role.SHIFTED)]
    warnings = [] if found is None else warnings_about(found, schema.survey_weight, shifted)
    return Exposure(known, tuple(warnings))


def _codes(column: pa.ChunkedArray) -> Int32Array:
    """Numbers for the values of a column; missing ones are a value."""
    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    coded = pc.dictionary_encode(column, null_encoding="encode").combine_chunks()
    found: Int32Array = coded.indices.to_numpy(zero_copy_only=False)
    return found


def curve(known: tuple[KnownColumns, ...], width: float, height: float) -> dict[str, str]:
    """The shares of rows that are singled out, as points of two lines.

    Parameters
    ----------
    known : tuple of KnownColumns
        For 1, 2, 3 … columns.
    width, height : float
        Of the drawing.

    Returns
    -------
    dict of str to str
        Points of SVG, by ``average`` and ``worst``.
    """
    last = max(known[-1].columns - 1, 1) if known else 1
    lines: dict[str, list[str]] = {"average": [], "worst": []}
    for each in known:
        x = width * (each.columns - 1) / last
        worst = max((share for _, share in each.worst), default=each.average)
        for name, share in (("average", each.average), ("worst", worst)):
            lines[name].append(f"{x:.1f},{height * (1 - share):.1f}")
    return {name: " ".join(points) for name, points in lines.items()}
