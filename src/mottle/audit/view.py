"""What adversaries see, and what only the owner knows and uses to judge them.

An adversary works from the `View`: the release, and the quasi-identifiers of everybody. The
`Evidence` holds what only the owner has: everybody's own sensitive values, the guarantee, and the
links.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from mottle.audit.containment.coded_columns import CodedColumn, code_columns, quasi_identifiers
from mottle.audit.containment.index import ContainmentIndex, build_index
from mottle.audit.decisions import Replay
from mottle.audit.earlier import Series
from mottle.audit.links.edges import Edges, Subgraph, kept_subgraph
from mottle.audit.sensitive.published_values import SensitiveAttribute, read_sensitive_attributes
from mottle.errors import DataError
from mottle.guarantees.base import Guarantee
from mottle.release.data import ReleaseData
from mottle.schema.model import Schema
from mottle.typing import Int32Array, Int64Array
from mottle.utils.person_names import person_names

_NEIGHBOURS = 50  # people counted together when the size of blocks is unknown


@dataclass(frozen=True, repr=False)
class View:
    """The release and everybody's quasi-identifiers: what every adversary starts from."""

    release: ReleaseData
    people: pa.Table  # quasi-identifiers, rows as in the original
    sensitive: tuple[SensitiveAttribute, ...]
    sample: int  # the maximum number of individuals to examine
    seed: int  # seed for choosing them
    # By row of the original: whose it is, as a code, if a column says so. Adversaries who count
    # people are assumed to know which rows belong together.
    whose: Int32Array | None = None

    @property
    def records(self) -> int:
        """The number of published records."""
        return int(self.release.table.num_rows)

    @property
    def draw(self) -> str:
        """How the true assignment was drawn, as the certificate says; empty when unknown."""
        certified = self.release.certified
        return "" if certified is None else certified.parameters.draw

    @property
    def dropped(self) -> int:
        """The number of people whose record was not published."""
        return int(self.people.num_rows) - self.records

    @cached_property
    def examined(self) -> Int64Array:
        """The people to examine: all of them, or a sample drawn uniformly."""
        everybody = np.arange(self.people.num_rows)
        if len(everybody) <= self.sample:
            return everybody
        generator = np.random.default_rng(self.seed)
        return np.sort(generator.choice(everybody, self.sample, replace=False))

    @property
    def is_complete(self) -> bool:
        """Whether everybody is examined."""
        return len(self.examined) == int(self.people.num_rows)

    @cached_property
    def columns(self) -> list[CodedColumn]:
        """Originals and published cells in common codes."""
        return code_columns(self.people, self.release)

    @cached_property
    def index(self) -> ContainmentIndex:
        """The people examined, joined with all published records by containment."""
        return build_index(self.columns, None if self.is_complete else self.examined)

    @cached_property
    def full_index(self) -> ContainmentIndex:
        """Like `index`, but with all people even when only a sample of them is examined."""
        return self.index if self.is_complete else build_index(self.columns)

    @cached_property
    def neighbourhoods(self) -> Int64Array:
        """For each person examined, the number of a neighbourhood about the size of a block.

        Draws are made by block; outsiders do not know the blocks, only that blocks are local.
        """
        blocks = next(iter(self._block_counts()), None)
        size = _NEIGHBOURS if blocks is None else max(self.records // max(blocks, 1), 1)
        rank = np.empty(len(self.examined), np.int64)
        rank[np.argsort(self.index.place_of, kind="stable")] = np.arange(len(rank))
        return rank * int(self.people.num_rows) // len(rank) // size

    def _block_counts(self) -> Iterator[int]:
        for check in () if self.release.certified is None else self.release.certified.checks:
            if check.measured.blocks is not None:
                yield check.measured.blocks

    def sampling_facts(self) -> dict[str, object]:
        """How many individuals were examined, and what that says about the others."""
        facts: dict[str, object] = {"individuals": self.people.num_rows}
        if not self.is_complete:
            facts["examined"] = len(self.examined)
            facts["confidence"] = (
                "A property that no examined individual shows applies, with 95 % confidence, to at"
                f" most {3 / len(self.examined):.2g} of all individuals."
            )
        return facts


@dataclass(frozen=True, repr=False)
class Evidence:
    """What only the owner of the data has."""

    original: pa.Table
    guarantee: Guarantee | None
    own_codes: tuple[Int32Array, ...]  # for each of `View.sensitive`: everybody's own value
    edges: Edges | None
    insider_bound: int | None = None  # others whose value one known record may reveal
    replay: Replay | None = None  # repeats the method's decisions on other worlds
    no_replay: str = ""  # why there is none
    series: Series | None = None  # this release with earlier ones, if there are any

    @property
    def k(self) -> int | None:
        """The number of matches that the guarantee promises everybody."""
        return None if self.guarantee is None else self.guarantee.degree

    @cached_property
    def one_to_one_edges(self) -> Edges | None:
        """The edges, if every published record has exactly one true original and vice versa."""
        edges = self.edges
        if edges is None or edges.truth.min() < 0 or len(np.unique(edges.truth)) < edges.records:
            return None
        return edges

    @cached_property
    def subgraph(self) -> Subgraph | None:
        """The edges as a separate graph: all of them, or those of the blocks that were kept."""
        return None if self.one_to_one_edges is None else kept_subgraph(self.one_to_one_edges)


def _whose(original: pa.Table, release: ReleaseData, schema: Schema | None) -> Int32Array | None:
    """Whose row each row of the original is, by the schema or else by the certificate."""
    column = None if schema is None else schema.person
    unit = None if release.certified is None else release.certified.unit
    if column is None and unit is not None and unit.per_person is None:
        column = unit.column
    if column is None or column not in original.column_names:
        return None
    texts = person_names(original.column(column), column, "--person").combine_chunks()
    codes = texts.dictionary_encode(null_encoding="encode").indices
    return np.asarray(codes.to_numpy(zero_copy_only=False), np.int32)


def build_view_and_evidence(
    original: pa.Table,
    release: ReleaseData,
    *,
    schema: Schema | None,
    guarantee: Guarantee | None,
    edges: Edges | None,
    insider_bound: int | None,
    replay: Replay | str | None,
    sample: int,
    seed: int,
    series: Series | None = None,
) -> tuple[View, Evidence]:
    """Separate what adversaries know from what only the owner knows."""
    group_column = [] if release.sensitive is None else [release.sensitive.column_names[0]]
    for column in release.columns:
        if column.name not in [*original.column_names, *group_column]:
            raise DataError(
                f"The original has no column '{column.name}', which the release has.",
                "Give the table the release was made from.",
            )
    known = [column.name for column in quasi_identifiers(release)]
    attributes, own_codes = read_sensitive_attributes(original, release, schema, guarantee)
    whose = _whose(original, release, schema)
    view = View(release, original.select(known), attributes, sample, seed, whose)
    repeated, why = (None, replay) if isinstance(replay, str) else (replay, "")
    return view, Evidence(
        original, guarantee, own_codes, edges, insider_bound, repeated, why, series
    )
