"""Columns that are published as they are: what they say about quasi-identifiers, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from mottle.release.certificate import UnchangedColumns
from mottle.schema.model import Role, Schema
from mottle.utils.dependence import ColumnDependence, Dependence, Determined, measure_dependence

MANY = 0.05  # share of rows from which on it is worth a warning that they are singled out


def measure_unchanged(
    table: pa.Table, roles: Mapping[str, Role], known: Sequence[str]
) -> Dependence:
    """Measure what unchanged columns say about others, and how many rows they single out.

    Parameters
    ----------
    table : pa.Table
        The original.
    roles : mapping of str to Role
        The columns that are published unchanged.
    known : sequence of str
        The quasi-identifiers.

    Returns
    -------
    Dependence
        For the owner. Only how many rows are singled out follows from the release as well.
    """
    insensitive = [name for name, role in roles.items() if role is not Role.SENSITIVE]
    return measure_dependence(table, list(roles), known, insensitive)


def unchanged_of(table: pa.Table, schema: Schema, *, two_tables: bool = False) -> Dependence | None:
    """Measure the unchanged columns of a schema; None if there are none.

    Of two tables, the sensitive one is published apart, and quasi-identifiers exactly.
    """
    published = (Role.INSENSITIVE, Role.SHIFTED, *(() if two_tables else (Role.SENSITIVE,)))
    roles = {column.name: column.role for column in schema.columns if column.role in published}
    known = () if two_tables else schema.with_role(Role.QUASI_IDENTIFYING)
    if not roles:
        return None
    return measure_unchanged(table, roles, [column.name for column in known])


def certified(found: Dependence) -> UnchangedColumns:
    """Return the part that anybody can find in the release, for the certificate."""
    return UnchangedColumns(
        rows=found.rows,
        singles_out={one.columns[0]: round(one.singles_out, 4) for one in found.single},
        together=None if found.together is None else round(found.together.singles_out, 4),
    )


def warnings_about(
    found: Dependence, survey_weight: str | None = None, shifted: Sequence[str] = ()
) -> list[str]:
    """Say in plain words, for the owner, which unchanged columns give others away; no values.

    ``survey_weight`` is the column of sampling weights, for which there are further ways out. The
    values of ``shifted`` columns are known to nobody, so none is singled out by one of them.
    """
    texts = [
        _determines(f"Column '{one.columns[0]}'", told)
        for one in found.single
        for told in one.determines
        if told.is_strong
    ]
    known = {told.column for one in found.single for told in one.determines if told.is_strong}
    if found.together is not None:
        texts += [
            _determines("The insensitive columns together", told)
            for told in found.together.determines
            if told.is_strong and told.column not in known
        ]
    texts += [
        _singled_out(one)
        for one in found.single
        if one.singles_out >= MANY and one.columns[0] not in shifted
    ]
    joint = found.together
    if joint is not None and joint.singles_out >= MANY:
        alone = max(one.singles_out for one in found.single)
        texts += [_singled_out(joint)] if joint.singles_out > alone else []
    if any(text.startswith(f"Column '{survey_weight}' ") for text in texts):
        texts.append(
            f"'{survey_weight}' is the survey weight: round it, publish ranges of it (--qi"
            f" {survey_weight}), or remove it (--id {survey_weight})."
        )
    return texts


def _determines(columns: str, told: Determined) -> str:
    name, more = told.column, ""
    if told.information is not None:
        more = f" and {told.information:.0%} of what is unknown about it is told"
    verb = "determine" if columns.startswith("The") else "determines"
    return (
        f"{columns} largely {verb} '{name}': guesses are right in {told.right:.0%} of the rows,"
        f" {told.by_chance:.0%} without{more}. Whoever sees this can undo the generalization of"
        f" '{name}'. Remove or coarsen the column, or make it quasi-identifying."
    )


def _singled_out(one: ColumnDependence) -> str:
    if len(one.columns) == 1:
        return (
            f"Column '{one.columns[0]}' is published as it is, and {one.singles_out:.1%} of the"
            " rows have a value of their own: whoever knows it finds the record. Make it"
            " quasi-identifying if others may know it."
        )
    return (
        f"The {len(one.columns)} columns that are published as they are single out"
        f" {one.singles_out:.1%} of the rows together: whoever knows them finds the record. Make"
        " those quasi-identifying that others may know, or remove them."
    )
