"""Inspection of a table: proposed roles and kinds, and how identifying its columns are."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from mottle.encoding.encode import encode_column
from mottle.encoding.listed_values import listed_words, lists_exact_values
from mottle.encoding.sensitive import MANY_VALUES
from mottle.errors import DataError
from mottle.inspection.notes import notes_on
from mottle.inspection.profile import Profile
from mottle.inspection.reading import read_and_detect
from mottle.inspection.roles import Proposal, choose_person, propose, propose_kind
from mottle.inspection.rules import propose_rules
from mottle.inspection.singling_out import KnownColumns, group_sizes, hashes_of, singled_out
from mottle.kinds.forms.base import Form
from mottle.release.unchanged import unchanged_of, warnings_about
from mottle.schema.model import Column, Kind, Representation, Role, Schema, Unit
from mottle.schema.reading import ReadOptions
from mottle.schema.rules import Rule
from mottle.schema.toml_text import rule_lines
from mottle.typing import Int32Array
from mottle.utils.untrusted.memory import check_work

BYTES_PER_CELL = 30  # the least that codes and hashes of all columns take (benchmarks/hostile.py)
_WIDTH = 96  # of comments in mottle.toml


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
    order: tuple[str, ...] | None = None  # of an ordered column: its values from lowest to highest
    hipaa: str = ""  # which of the identifiers that HIPAA lists it holds
    filled: int = 0  # rows with a value

    @property
    def repeats(self) -> bool:
        """Whether values that could name people occur several times."""
        return self.distinct < self.filled

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
    known: tuple[KnownColumns, ...]  # what is singled out by 1, 2, 3 … quasi-identifiers
    duplicates: int  # rows that are equal to an earlier one in all columns
    reading: ReadOptions  # how the table was read
    unit: Unit | None = None  # what one row is taken for, where identifying columns repeat
    notes: tuple[str, ...] = ()  # what was noticed in the table; no values of identifiers
    warnings: tuple[str, ...] = ()  # about columns that say too much or too little; no values
    rules: tuple[Rule, ...] = ()  # what holds in every row, proposed in comments

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
                    order=column.order if column.role is Role.QUASI_IDENTIFYING else None,
                )
                for column in self.columns
            ),
            unit=self.unit,
            reading=self.reading,
        )

    def to_toml(self) -> str:
        """Return the proposal as a commented ``mottle.toml`` to edit.

        Returns
        -------
        str
            The text of the file. Comments state the facts and the reason of each proposal; they
            contain no value of the table except those that proposed rules name. The order of an
            ordered column lists its values.
        """
        comments = {column.name: "\n".join(_comments(column)) for column in self.columns}
        begin = [
            f"Proposed by 'mottle inspect' from {self.rows:,} rows. Check every role!",
            f"The quasi-identifiers together single out {self.unique_share:.1%} of the rows;"
            f" {self.below_five_share:.1%} share theirs with fewer than four others.",
            *self.notes,
            *self.warnings,
        ]
        summary = "".join(f"# {line}\n" for text in begin for line in textwrap.wrap(text, _WIDTH))
        return f"{summary}#\n{self.schema().to_toml(comments)}{''.join(self._rule_comments())}"

    def _rule_comments(self) -> Iterator[str]:
        """Lines that propose rules."""
        if not self.rules:
            return
        about = (
            "These rules hold in every row. Keep those that hold by nature, not by chance: remove"
            " the '#' of [rules] and of their lines. They are published with the release, and"
            " tables that are sampled from it obey them."
        )
        yield "\n"
        yield from (f"# {line}\n" for line in textwrap.wrap(about, _WIDTH))
        yield from (f"# {line}\n" for line in rule_lines(self.rules)[:-1])

    def to_dict(self) -> dict[str, Any]:
        """Return everything that was found as plain values, for JSON.

        Returns
        -------
        dict
            The fields; reading options as a dictionary.
        """
        rules = {rule.name: rule.text for rule in self.rules}
        return asdict(self) | {"reading": self.reading.given, "rules": rules}


def inspect(data: object, reading: ReadOptions | None = None) -> Inspection:
    """Propose a role and a kind for every column of a table and measure how identifying it is.

    Proposals are based on names and counts and err on the side of caution: what is not clearly
    something else is a quasi-identifier, and what may name a person is removed.

    Parameters
    ----------
    data : table or path
        The table that is to be anonymized: a pyarrow Table, anything with the Arrow stream
        protocol, or the path of a file. Of a text file it is also found out how it is written.
    reading : ReadOptions, optional
        What is known about that.

    Returns
    -------
    Inspection
        The proposals, and how many rows the proposed quasi-identifiers single out.

    Raises
    ------
    UsageError
        The file has a set of items in every line, and no columns.
    DataError
        The table has no rows, or is a release.
    StorageError
        The file cannot be read.

    Examples
    --------
    >>> import mottle
    >>> found = inspect(mottle.datasets.population(1000, seed=1))
    >>> [(c.name, str(c.role)) for c in found.columns][:2], found.columns[-1].role.value
    ([('person_id', 'identifying'), ('age', 'quasi-identifying')], 'sensitive')
    """
    if isinstance(data, pa.Table) and data.num_rows == 0:
        raise DataError("The table has no rows.", "Give a table with data.")
    read = read_and_detect(data, reading or ReadOptions())
    table = read.table
    check_work(
        BYTES_PER_CELL * table.num_rows * table.num_columns,
        table.num_rows,
        "Inspect a part of the rows.",
    )
    profiles = [Profile.of(name, table.column(name)) for name in table.column_names]
    proposals = [None if profile is None else propose(profile) for profile in profiles]
    plain = [place for place, profile in enumerate(profiles) if profile is not None]
    person = choose_person(
        [profile for profile in profiles if profile is not None],
        [proposal for proposal in proposals if proposal is not None],
    )
    whose = None if person is None else plain[person]
    columns, codes = [], {}
    for place, (profile, proposal) in enumerate(zip(profiles, proposals, strict=True)):
        values = table.column(place)
        if profile is None or proposal is None:
            column, found = _lists(table.column_names[place], values)
        else:
            column, found = _described(profile, values, proposal, whose=place == whose)
        columns.append(column)
        codes[column.name] = found
    hashes = hashes_of(codes)
    known = [column.name for column in columns if column.role is Role.QUASI_IDENTIFYING]
    groups = group_sizes([hashes[name] for name in known], table.num_rows)
    everything = group_sizes(list(hashes.values()), table.num_rows)
    proposed = Schema(columns=tuple(Column(name=c.name, role=c.role) for c in columns))
    unchanged = unchanged_of(table, proposed)
    duplicates = table.num_rows - len(everything)
    found_profiles = [profile for profile in profiles if profile is not None]
    roles = {column.name: column.role for column in columns}
    unit, asking = _unit(columns)
    return Inspection(
        rows=table.num_rows,
        columns=tuple(columns),
        unique_share=float((groups == 1).sum() / table.num_rows),
        below_five_share=float(groups[groups < 5].sum() / table.num_rows),
        known=singled_out({name: codes[name] for name in known}, table.num_rows),
        duplicates=duplicates,
        reading=read.options,
        unit=unit,
        notes=(*read.notes, *asking, *notes_on(found_profiles, roles, duplicates)),
        warnings=(
            *(() if unchanged is None else warnings_about(unchanged)),
            *_listed_values(columns, table.num_rows),
        ),
        rules=propose_rules(
            table, [profile for profile in found_profiles if profile.name in set(known)]
        ),
    )


def _listed_values(columns: Sequence[InspectedColumn], rows: int) -> Iterator[str]:
    """Warn of quasi-identifiers whose cells would list exact values of others."""
    for column in columns:
        if column.role is not Role.QUASI_IDENTIFYING or column.kind is None:
            continue
        if column.kind.form is Form.SET and lists_exact_values(column.distinct, rows):
            yield listed_words(column.name, column.distinct, rows)


def _unit(columns: Sequence[InspectedColumn]) -> tuple[Unit | None, list[str]]:
    """What one row is taken for, and what has to be asked.

    Without a person column a run asks about identifying columns that repeat. Where another column
    numbers the rows, or the repeated ones name nobody, every row is taken for a person.
    """
    removed = [column for column in columns if column.role is Role.IDENTIFYING]
    repeated = [column for column in removed if column.repeats]
    if any(column.role is Role.PERSON for column in columns) or not repeated:
        return None, []
    naming = [column.name for column in repeated if column.hipaa]
    if not naming or any(column.hipaa and not column.repeats for column in removed):
        return Unit.PERSON, []
    return None, [
        f"Column '{naming[0]}' repeats. If it says whose row it is, people have several rows: give"
        ' it role = "person". If every row is another person, add unit = "person" at the top of'
        " the file. Until then 'mottle anonymize' asks."
    ]


def _described(
    profile: Profile, values: pa.ChunkedArray, proposal: Proposal, *, whose: bool
) -> tuple[InspectedColumn, Int32Array]:
    """A column of single values, with its codes."""
    kind, why_kind, order = propose_kind(profile, values, proposal)
    role, why = proposal.role, proposal.why
    if whose:
        role = Role.PERSON
        why = (
            f"it names people and repeats, {profile.distinct:,} values in {profile.filled:,} rows:"
            " people have several rows, and k has to count people"
        )
    if kind.form.has_items and not proposal.hipaa:
        role, why = Role.QUASI_IDENTIFYING, "an adversary may know some of the items"
    column = InspectedColumn(
        name=profile.name,
        type=str(values.type),
        distinct=profile.distinct,
        nulls=profile.nulls,
        unique_share=profile.singles / profile.rows,
        role=role,
        kind=kind,
        why=why,
        why_kind=why_kind,
        order=order,
        hipaa=proposal.hipaa,
        filled=profile.filled,
    )
    return column, profile.codes


def _lists(name: str, values: pa.ChunkedArray) -> tuple[InspectedColumn, Int32Array]:
    """A column of lists or structures: sets of items, or what cannot be generalized."""
    kind = Kind.of_type(values.type)
    if not kind.form.has_items:
        why = "structures cannot be generalized"
        column = InspectedColumn(
            name, str(values.type), 0, values.null_count, 0.0, Role.IDENTIFYING, None, why
        )
        return column, np.zeros(len(values), np.int32)
    described = Column(name=name, role=Role.QUASI_IDENTIFYING, kind=kind)
    domain, codes = encode_column(values, described, Representation.SET)
    counts = np.bincount(codes, minlength=domain.size)
    column = InspectedColumn(
        name=name,
        type=str(values.type),
        distinct=domain.size - (domain.missing >= 0),
        nulls=values.null_count,
        unique_share=float((counts == 1).sum() / len(codes)),
        role=Role.QUASI_IDENTIFYING,
        kind=kind,
        why="an adversary may know some of the items",
    )
    return column, codes


def _comments(column: InspectedColumn) -> Iterator[str]:
    """Lines about a column, for a mottle.toml."""
    texts: Sequence[str] = (
        f"{column.type}: {column.distinct:,} distinct values, {column.nulls:,} missing; alone it"
        f" singles out {column.unique_share:.1%} of the rows",
        f"proposed because {column.why}",
        f"kind {column.kind} because {column.why_kind}"
        if column.why_kind and column.role is Role.QUASI_IDENTIFYING
        else "",
        f"HIPAA lists it: {column.hipaa}" if column.hipaa else "",
        column.advice,
    )
    for text in texts:
        yield from textwrap.wrap(text, _WIDTH)
