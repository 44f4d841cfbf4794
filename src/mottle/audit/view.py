"""What adversaries see, and what the owner knows beyond that to judge them by.

An adversary works from the `View`: the release, and the quasi-identifiers of everybody. The
`Evidence` holds what only the owner has: own sensitive values, the guarantee, the links.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from mottle.audit.containment.coded_columns import CodedColumn, code_columns, quasi_identifiers
from mottle.audit.containment.index import ContainmentIndex, build_index
from mottle.audit.links.edges import Edges, Part, part_of
from mottle.audit.sensitive.published_values import Seen, sensitive_values
from mottle.errors import DataError
from mottle.guarantees.base import Guarantee
from mottle.release.data import ReleaseData
from mottle.schema.model import Schema
from mottle.typing import Int32Array, Int64Array

_NEIGHBOURS = 50  # people taken together when the size of blocks is unknown


@dataclass(frozen=True, repr=False)
class View:
    """The release and everybody's quasi-identifiers: what every adversary here starts from."""

    release: ReleaseData
    people: pa.Table  # quasi-identifiers, rows as in the original
    sensitive: tuple[Seen, ...]
    sample: int  # how many individuals are examined at most
    seed: int  # for choosing them

    @property
    def records(self) -> int:
        """Published records."""
        return int(self.release.table.num_rows)

    @property
    def draw(self) -> str:
        """How the true assignment was drawn, as the certificate says; empty when unknown."""
        certified = self.release.certified
        return "" if certified is None else certified.parameters.draw

    @property
    def dropped(self) -> int:
        """People whose record was not published."""
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
    def complete(self) -> bool:
        """Whether everybody is examined."""
        return len(self.examined) == int(self.people.num_rows)

    @cached_property
    def columns(self) -> list[CodedColumn]:
        """Originals and cells in common codes."""
        return code_columns(self.people, self.release)

    @cached_property
    def index(self) -> ContainmentIndex:
        """The people examined, joined with all published records by containment."""
        return build_index(self.columns, None if self.complete else self.examined)

    @cached_property
    def everybody(self) -> ContainmentIndex:
        """As `index`, with all people even when only a sample of them is examined."""
        return self.index if self.complete else build_index(self.columns)

    @cached_property
    def neighbours(self) -> Int64Array:
        """By person examined: a number shared with those nearby, about as many as a block has.

        Draws are made by block; outsiders do not know the blocks, only that they are local.
        """
        blocks = next(iter(self._blocks()), None)
        size = _NEIGHBOURS if blocks is None else max(self.records // max(blocks, 1), 1)
        rank = np.empty(len(self.examined), np.int64)
        rank[np.argsort(self.index.place_of, kind="stable")] = np.arange(len(rank))
        return rank * int(self.people.num_rows) // len(rank) // size

    def _blocks(self) -> Iterator[int]:
        for check in () if self.release.certified is None else self.release.certified.checks:
            if check.measured.blocks is not None:
                yield check.measured.blocks

    def sampling(self) -> dict[str, object]:
        """How many individuals were examined, and what that says about the others."""
        facts: dict[str, object] = {"individuals": self.people.num_rows}
        if not self.complete:
            facts["examined"] = len(self.examined)
            facts["confidence"] = (
                f"What no examined individual shows holds, with 95 % confidence, for at most"
                f" {3 / len(self.examined):.2g} of all."
            )
        return facts


@dataclass(frozen=True, repr=False)
class Evidence:
    """What only the owner of the data has."""

    original: pa.Table
    guarantee: Guarantee | None
    own: tuple[Int32Array, ...]  # by column of `View.sensitive`: everybody's own value
    edges: Edges | None

    @property
    def k(self) -> int | None:
        """How many matches the guarantee gives everybody."""
        return None if self.guarantee is None else self.guarantee.degree

    @cached_property
    def links(self) -> Edges | None:
        """The edges, if every published record has exactly one true original and vice versa."""
        edges = self.edges
        if edges is None or edges.truth.min() < 0 or len(np.unique(edges.truth)) < edges.records:
            return None
        return edges

    @cached_property
    def part(self) -> Part | None:
        """The edges as a graph of its own: all of them, or those of the blocks that were kept."""
        return None if self.links is None else part_of(self.links)


def gather(
    original: pa.Table,
    release: ReleaseData,
    *,
    schema: Schema | None,
    guarantee: Guarantee | None,
    edges: Edges | None,
    sample: int,
    seed: int,
) -> tuple[View, Evidence]:
    """Share out what is known between adversary and owner."""
    apart = [] if release.sensitive is None else [release.sensitive.column_names[0]]
    for column in release.columns:
        if column.name not in [*original.column_names, *apart]:
            raise DataError(
                f"The original has no column '{column.name}', which the release has.",
                "Give the table the release was made from.",
            )
    known = [column.name for column in quasi_identifiers(release)]
    seen, own = sensitive_values(original, release, schema, guarantee)
    view = View(release, original.select(known), seen, sample, seed)
    return view, Evidence(original, guarantee, own, edges)
