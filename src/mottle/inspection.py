"""Inspection of a table: proposed roles and kinds, and how identifying its columns are."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mottle.encoding.encode import encode_column, kind_of
from mottle.encoding.sensitive import MANY_VALUES
from mottle.errors import DataError
from mottle.orderings import lexicographic
from mottle.release.unchanged import unchanged_of, warnings_about
from mottle.schema.model import Column, Kind, Representation, Role, Schema

_NAMES_A_PERSON = re.compile(
    r"(^|[^a-z])(id|ids|uuid|guid|name|names|surname|ssn|bsn|nhs|mrn|e-?mail|phone|mobile|address"
    r"|street|iban|passport|licen[cs]e|account|login|user)($|[^a-z])"
)
_SOUNDS_SENSITIVE = re.compile(
    r"diagnos|disease|disorder|illness|(^|[^a-z])icd|symptom|treatment|medication|drug|hiv|cancer"
    r"|income|salary|wage|debt|religio|politic|vote|crime|sentence|ethnic|sexual"
)
_FEW_ROWS = 20  # below this, all-distinct says nothing
_LONG_TEXT = 40  # mean characters from which on a text column is free text


@dataclass(frozen=True)
class InspectedColumn:
    """Facts about one column, and the proposed role and kind."""

    name: str
    type: str
    distinct: int  # different values, not counting the missing one
    nulls: int  # missing values
    unique_share: float  # share of rows whose value in this column occurs once
    role: Role
    kind: Kind | None
    why: str  # the reason for the proposed role
    why_kind: str = ""  # the reason for the proposed kind, unless it is that of the type

    @property
    def advice(self) -> str:
        """How similar values are protected together; empty unless the column needs it."""
        if self.role is not Role.SENSITIVE or self.distinct <= MANY_VALUES:
            return ""
        begin = f"'{self.name}' has many values, and similar ones are not protected together"
        if self.kind is Kind.NUMBER:
            return f"{begin} unless it is binned: bins = 10 or breaks = [20000, 50000]."
        return (
            f'{begin} unless it has a hierarchy (hierarchy = "f.csv") or groups (groups.NAME ='
            f' ["value", …]) and a cap for these: --group-cap {self.name}=0.5.'
        )


@dataclass(frozen=True)
class Inspection:
    """The proposed schema of a table and what an adversary could do without anonymization."""

    rows: int
    columns: tuple[InspectedColumn, ...]
    unique_share: float  # share of rows with a unique combination of proposed quasi-identifiers
    below_five_share: float  # share of rows whose combination occurs fewer than five times
    warnings: tuple[str, ...] = ()  # about columns that would be published as they are; no values

    @property
    def quasi_identifiers(self) -> list[str]:
        """Names of the proposed quasi-identifiers."""
        return [c.name for c in self.columns if c.role is Role.QUASI_IDENTIFYING]

    def schema(self) -> Schema:
        """Return the proposal as a schema.

        Returns
        -------
        Schema
            Every column with its proposed role; quasi-identifiers with their proposed kind.
        """
        return Schema(
            columns=tuple(
                Column(
                    name=column.name,
                    role=column.role,
                    kind=column.kind if column.role is Role.QUASI_IDENTIFYING else None,
                )
                for column in self.columns
            )
        )

    def to_toml(self) -> str:
        """Return the proposal as a commented ``mottle.toml`` to edit.

        Returns
        -------
        str
            The text of the file. Comments state the facts and the reason of each proposal; they
            contain no value of the table.
        """
        comments = {
            column.name: (
                f"{column.type}: {column.distinct:,} distinct values, {column.nulls:,} missing;"
                f" alone it singles out {column.unique_share:.1%} of the rows\n"
                f"proposed because {column.why}{_kind_comment(column)}"
                f"\n{textwrap.fill(column.advice, 96)}"
            )
            for column in self.columns
        }
        summary = (
            f"# Proposed by 'mottle inspect' from {self.rows:,} rows. Check every role!\n"
            f"# The quasi-identifiers together single out {self.unique_share:.1%} of the rows;"
            f" {self.below_five_share:.1%} share theirs with fewer than four others.\n"
            f"{''.join(f'# {warning}' + chr(10) for warning in self.warnings)}#\n"
        )
        return summary + self.schema().to_toml(comments)


def inspect(table: pa.Table) -> Inspection:
    """Propose a role and a kind for every column of a table and measure how identifying it is.

    Proposals are based on names and counts and err on the side of caution: what is not clearly
    something else is a quasi-identifier.

    Parameters
    ----------
    table : pyarrow.Table
        The table that is to be anonymized.

    Returns
    -------
    Inspection
        The proposals, and how many rows the proposed quasi-identifiers single out.

    Raises
    ------
    DataError
        The table has no rows.

    Examples
    --------
    >>> import mottle
    >>> found = inspect(mottle.datasets.population(1000, seed=1))
    >>> [(c.name, str(c.role)) for c in found.columns][:2], found.columns[-1].role.value
    ([('person_id', 'identifying'), ('age', 'quasi-identifying')], 'sensitive')
    """
    if table.num_rows == 0:
        raise DataError("The table has no rows.", "Give a table with data.")
    reports, codes, sizes = [], [], []
    for name in table.column_names:
        report, column_codes, size = _look_at(name, table.column(name))
        reports.append(report)
        if report.role is Role.QUASI_IDENTIFYING:
            codes.append(column_codes)
            sizes.append(size)
    groups = _group_sizes(codes, sizes, table.num_rows)
    proposed = Schema(columns=tuple(Column(name=c.name, role=c.role) for c in reports))
    unchanged = unchanged_of(table, proposed)
    return Inspection(
        rows=table.num_rows,
        columns=tuple(reports),
        unique_share=float((groups == 1).sum() / table.num_rows),
        below_five_share=float(groups[groups < 5].sum() / table.num_rows),
        warnings=() if unchanged is None else tuple(warnings_about(unchanged)),
    )


def _look_at(name: str, values: pa.ChunkedArray) -> tuple[InspectedColumn, NDArray[np.int32], int]:
    column = Column(name=name, role=Role.QUASI_IDENTIFYING)
    kind, why_kind = _propose_kind(name, values)
    is_set = kind.form.has_items
    if pa.types.is_nested(values.type) and not is_set:
        report = InspectedColumn(
            name,
            str(values.type),
            0,
            values.null_count,
            0.0,
            Role.IDENTIFYING,
            None,
            "structures cannot be generalized",
        )
        return report, np.empty(0, np.int32), 0
    kind = kind_of(values.type, column.model_copy(update={"kind": kind}))
    as_values = column.model_copy(update={"kind": kind if is_set else Kind.CATEGORY})
    domain, codes = encode_column(values, as_values, Representation.SET)
    counts = np.bincount(codes, minlength=domain.size)
    nulls = int(counts[domain.missing]) if domain.missing >= 0 else 0
    distinct = domain.size - (domain.missing >= 0)
    role, why = _propose_role(name, values, distinct, nulls)
    if is_set and not _NAMES_A_PERSON.search(_lowered(name)):
        role, why = Role.QUASI_IDENTIFYING, "an adversary may know some of the items"
    report = InspectedColumn(
        name=name,
        type=str(values.type),
        distinct=distinct,
        nulls=nulls,
        unique_share=float((counts == 1).sum() / len(codes)),
        role=role,
        kind=kind,
        why=why,
        why_kind=why_kind,
    )
    return report, codes, domain.size


def _propose_kind(name: str, values: pa.ChunkedArray) -> tuple[Kind, str]:
    """The kind that finds a reason in the values, or else that of their type."""
    for kind in Kind:
        reason = kind.proposal(name, values)
        if reason is not None:
            return kind, reason
    return Kind.of_type(values.type), ""


def _kind_comment(column: InspectedColumn) -> str:
    """A line about the proposed kind, for a mottle.toml."""
    if not column.why_kind or column.role is not Role.QUASI_IDENTIFYING:
        return ""
    return f"\nkind {column.kind} because {column.why_kind}"


def _lowered(name: str) -> str:
    return name.lower().replace("_", " ")


def _propose_role(
    name: str, values: pa.ChunkedArray, distinct: int, nulls: int
) -> tuple[Role, str]:
    lowered = _lowered(name)
    is_text = pa.types.is_string(values.type)
    filled = len(values) - nulls
    may_be_number_of_person = is_text or pa.types.is_integer(values.type)
    if _NAMES_A_PERSON.search(lowered):
        return Role.IDENTIFYING, "its name suggests that it names a person"
    if may_be_number_of_person and filled >= _FEW_ROWS and distinct == filled:
        return Role.IDENTIFYING, "no two rows have the same value"
    if is_text and filled and (pc.mean(pc.utf8_length(values)).as_py() or 0) > _LONG_TEXT:
        return Role.IDENTIFYING, "it looks like free text, which may name people"
    if _SOUNDS_SENSITIVE.search(lowered):
        return Role.SENSITIVE, "its name suggests that it is what an adversary wants to learn"
    if distinct + (nulls > 0) <= 1:
        return Role.INSENSITIVE, "all rows have the same value"
    return Role.QUASI_IDENTIFYING, "an adversary may know it"


def _group_sizes(codes: list[NDArray[np.int32]], sizes: list[int], rows: int) -> NDArray[np.int64]:
    """The number of rows with each combination of codes that occurs."""
    if not codes:
        return np.array([rows])
    matrix = np.column_stack(codes)
    ordered = matrix[lexicographic(matrix, np.array(sizes), np.arange(len(sizes)))]
    starts = np.flatnonzero(np.any(ordered[1:] != ordered[:-1], axis=1)) + 1
    return np.diff(np.concatenate([[0], starts, [rows]]))
