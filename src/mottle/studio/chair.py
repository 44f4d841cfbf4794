"""The attacker's chair: what somebody who looks for one person finds in the release.

The figures are those of `mottle.audit`: which published records may be a person's, and how values
are distributed among them. All of it is for the owner alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.audit.containment.coded_columns import quasi_identifiers
from mottle.audit.containment.index import build_index
from mottle.audit.links.edges import Edges, read_edges
from mottle.audit.sensitive.published_values import (
    SensitiveAttribute,
    sensitive_values_by_record,
)
from mottle.audit.view import View, build_view_and_evidence
from mottle.errors import UsageError
from mottle.guarantees.from_certificate import guarantee_on
from mottle.pipeline.release import Release
from mottle.release.per_person import original_of
from mottle.schema.model import Schema
from mottle.typing import Int32Array, Int64Array
from mottle.utils.arrow import as_text

_SHOWN = 12  # records and values that are shown
_FOUND = 10  # people that a search lists


@dataclass(frozen=True)
class Chosen:
    """Whom the owner attacks, and what is known."""

    person: int | None = None
    known: tuple[str, ...] = ()  # empty: all columns
    people: int = 0
    found: tuple[int, ...] = ()  # by the last search


@dataclass(frozen=True)
class Belief:
    """What is believed about one value, before and after the release is seen."""

    value: str
    before: float  # its share in the whole table
    after: float  # its share among the records that may be hers
    cap: float | None  # the largest share that is promised; None: nothing is promised
    own: bool  # whether it is her value


@dataclass(frozen=True)
class Attack:
    """One person as an adversary sees her."""

    person: int
    row: list[tuple[str, str, bool]]  # column, her value, whether it is known
    matches: int  # records that contain what is known
    candidates: int  # records left, with the graph and some people known
    known_people: int
    most_known: int  # how many people can be assumed to be known
    along_graph: bool  # whether candidates are those of the method's graph
    headings: list[str]
    records: list[list[str]]  # some of the candidates
    beliefs: list[tuple[str, list[Belief]]]  # by sensitive column


@dataclass(frozen=True)
class Chair:
    """A release, its original and the owner's links, prepared for attacks on single people."""

    view: View
    original: pa.Table
    own: tuple[np.ndarray, ...]  # everybody's own codes of `View.sensitive`
    edges: Edges | None

    @classmethod
    def of(cls, release: Release, table: pa.Table, schema: Schema, links: Path) -> Chair:
        """Read what an adversary sees, and what judges him."""
        table, schema_of_rows = original_of(table, release.certified, schema)
        certified = release.certified
        claim = None if certified is None else certified.guarantee.to_dict()
        promised, _ = guarantee_on({"guarantee": claim})
        edges = read_edges(links, release.table.num_rows, 0) if links.is_file() else None
        view, evidence = build_view_and_evidence(
            table,
            release,
            schema=schema_of_rows,
            guarantee=promised,
            edges=edges,
            insider_bound=None,
            replay=None,
            sample=table.num_rows,
            seed=0,
        )
        return cls(view, table, evidence.own_codes, evidence.one_to_one_edges).prepare()

    def prepare(self) -> Chair:
        """Do what takes long, so that pages answer quickly."""
        assert self.exposed is not None
        assert self._texts is not None
        return self

    @property
    def columns(self) -> list[str]:
        """What the adversary may know of everybody."""
        return [column.name for column in quasi_identifiers(self.view.release)]

    @property
    def people(self) -> int:
        """The number of rows of the original."""
        return int(self.original.num_rows)

    @cached_property
    def exposed(self) -> int:
        """The row with the fewest records that contain it."""
        index = self.view.index
        return int(np.argmin(index.matches_of_points()[index.place_of]))

    @cached_property
    def _texts(self) -> list[tuple[Int32Array, pa.Array]]:
        """By column, the code of every cell and the texts of codes, for searches."""
        found = []
        for name in self.original.column_names:
            column = self.original.column(name)
            if not pa.types.is_nested(column.type):
                texts = pc.utf8_lower(as_text(column, name)).combine_chunks()
                coded = pc.dictionary_encode(texts)
                codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
                found.append((codes, coded.dictionary))
        return found

    def search(self, text: str) -> list[int]:
        """The first rows with a cell that is this text, in any column."""
        wanted = text.strip().casefold()
        if not wanted:
            return []
        found = np.zeros(self.people, np.bool_)
        for codes, texts in self._texts:
            place = pc.index(texts, wanted).as_py()
            if place >= 0:
                found |= codes == place
        return [int(row) for row in np.flatnonzero(found)[:_FOUND]]

    def label(self, person: int) -> str:
        """A row in a list: her quasi-identifiers."""
        row = self.original.select(self.columns).slice(person, 1).to_pylist()[0]
        return ", ".join(_text(value) for value in row.values())

    def attack(self, person: int, known: Sequence[str], people: int) -> Attack:
        """Play an adversary who knows some columns of everybody, and some true records.

        Parameters
        ----------
        person : int
            Her row in the original.
        known : sequence of str
            The columns that are known; at least one.
        people : int
            Of how many of those behind her records the true record is known.

        Returns
        -------
        Attack
            Her row, the records that may be hers, and the beliefs that follow.
        """
        if not 0 <= person < self.people or not known or set(known) - set(self.columns):
            raise UsageError("There is no such person or column.", "Choose again.")
        asked = person, tuple(known), people
        found = self._last.get(asked)
        if found is None:  # else the page is loaded again
            found = self._attack(*asked)
            self._last.clear()
            self._last[asked] = found
        return found

    @cached_property
    def _last(self) -> dict[tuple[int, tuple[str, ...], int], Attack]:
        """The last attack."""
        return {}

    def _attack(self, person: int, known: Sequence[str], people: int) -> Attack:
        columns = [
            coded
            for name, coded in zip(self.columns, self.view.columns, strict=True)
            if name in known
        ]
        index = build_index(columns, np.array([person]))
        boxes = index.pairs()[1]
        matches = np.flatnonzero(np.isin(index.box_of, boxes))
        candidates, along = matches, False
        if self.edges is not None and len(known) == len(self.columns):
            starts, records = self.edges.matches
            candidates = np.sort(records[starts[person] : starts[person + 1]]).astype(np.int64)
            along = True
        others = self._known_records(candidates, person)
        people = max(0, min(people, len(others)))
        left = np.setdiff1d(candidates, others[:people])
        headings, shown = self._records(left)
        return Attack(
            person=person,
            row=self._row(person, known),
            matches=len(matches),
            candidates=len(left),
            known_people=people,
            most_known=len(others),
            along_graph=along,
            headings=headings,
            records=shown,
            beliefs=[
                (attribute.name, self._beliefs(attribute, own[person], left))
                for attribute, own in zip(self.view.sensitive, self.own, strict=True)
            ],
        )

    def possible(
        self, person: int, known: Sequence[str]
    ) -> tuple[int, dict[str, dict[str, float]]]:
        """The records that contain what is known, and the shares of sensitive values among them.

        Parameters
        ----------
        person : int
            Her row in the original.
        known : sequence of str
            The columns that are known; those that this release does not have are left out.

        Returns
        -------
        tuple of int and dict
            The number of records, and by sensitive column the share of every value that is left.
        """
        columns = [
            coded
            for name, coded in zip(self.columns, self.view.columns, strict=True)
            if name in known
        ]
        if not columns or not 0 <= person < self.people:
            raise UsageError("The releases have no known column in common.", "Choose another.")
        index = build_index(columns, np.array([person]))
        records = np.flatnonzero(np.isin(index.box_of, index.pairs()[1]))
        found = {}
        for attribute in self.view.sensitive:
            sums: np.ndarray = np.asarray(attribute.mixtures[records].sum(axis=0)).ravel()
            shares = sums / max(len(records), 1)
            found[attribute.name] = {
                self._value(attribute, int(code)): float(shares[code])
                for code in np.flatnonzero(shares > 0)
            }
        return len(records), found

    def _known_records(self, candidates: Int64Array, person: int) -> Int64Array:
        """Records that are truly somebody else's, in a fixed random order."""
        if self.edges is None:
            return np.zeros(0, np.int64)
        others = candidates[self.edges.truth[candidates] != person]
        return np.random.default_rng(person).permutation(others)

    def _row(self, person: int, known: Sequence[str]) -> list[tuple[str, str, bool]]:
        row = self.original.slice(person, 1).to_pylist()[0]
        names = [*self.columns, *(each for it in self.view.sensitive for each in it.columns)]
        return [
            (name, _text(row.get(name)), name in known)
            for name in dict.fromkeys(names)
            if name in row
        ]

    def _records(self, records: Int64Array) -> tuple[list[str], list[list[str]]]:
        release = self.view.release
        text = release.text_of(release.table.take(pa.array(records[:_SHOWN])))
        rows = [[_text(value) for value in row.values()] for row in text.to_pylist()]
        return text.column_names, rows

    def _beliefs(
        self, attribute: SensitiveAttribute, own: int, records: Int64Array
    ) -> list[Belief]:
        shares = np.asarray(attribute.mixtures[records].sum(axis=0)).ravel() / max(len(records), 1)
        reference = attribute.reference
        order = np.lexsort((-reference.overall, -shares))
        shown = [int(code) for code in order[:_SHOWN] if shares[code] > 0]
        if int(own) not in shown:
            shown.append(int(own))
        return [
            Belief(
                self._value(attribute, code),
                float(reference.overall[code]),
                float(shares[code]),
                float(reference.caps[code]) if attribute.capped else None,
                code == int(own),
            )
            for code in shown
        ]

    def _value(self, attribute: SensitiveAttribute, code: int) -> str:
        """A value as it is published: that of any record that has it."""
        places = np.flatnonzero(attribute.sensitive_codes == code)
        if not len(places):
            return "a value that is not published"
        row = self._published.slice(int(places[0]), 1).to_pylist()[0]
        return " × ".join(_text(row.get(name)) for name in attribute.columns)

    @cached_property
    def _published(self) -> pa.Table:
        return sensitive_values_by_record(self.view.release)[0]


def _text(value: object) -> str:
    return "missing" if value is None else str(value)
