"""What several releases together leave of each person's candidates.

A person's unchanged values are the same in every release, so they link records across releases: a
*signature* is a combination of values in the columns that all releases publish unchanged. A person
can have a signature only if each release that holds the person shows it on a candidate record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from mottle.audit.containment.coded_columns import CodedColumn, offsets_of
from mottle.audit.containment.compact import concatenate_ranges
from mottle.audit.containment.index import build_index
from mottle.audit.links.edges import Edges
from mottle.typing import BoolArray, Float64Array, Int64Array

MOST_PAIRS = 20_000_000  # pairs of a person and a candidate that are held at once


@dataclass(frozen=True)
class Candidates:
    """Which signatures a person's candidate records show in one release, and how often."""

    persons: Int64Array  # [pairs]
    signatures: Int64Array  # [pairs]
    counts: Int64Array  # [pairs]: candidate records of the person with the signature
    kinds: int  # number of signatures

    @property
    def keys(self) -> Int64Array:
        """One number for each pair, ascending."""
        return self.persons * self.kinds + self.signatures

    @classmethod
    def of(
        cls, persons: Int64Array, signatures: Int64Array, counts: Int64Array, kinds: int
    ) -> Candidates:
        """Add up pairs that occur several times."""
        keys, place = np.unique(persons * kinds + signatures, return_inverse=True)
        summed = np.bincount(place.ravel(), counts, len(keys)).astype(np.int64)
        return cls(keys // kinds, keys % kinds, summed, kinds)

    def ordered(self, order: Int64Array) -> Candidates:
        """Return the pairs in another order."""
        return Candidates(
            self.persons[order], self.signatures[order], self.counts[order], self.kinds
        )

    def where(self, kept: BoolArray) -> Candidates:
        """Return some of the pairs."""
        return Candidates(self.persons[kept], self.signatures[kept], self.counts[kept], self.kinds)


def by_containment(
    columns: list[CodedColumn],
    rows: Int64Array,
    persons: Int64Array,
    signatures: Int64Array,
    kinds: int,
) -> Candidates:
    """Find the candidates of some rows: the records that contain their quasi-identifiers.

    ``persons`` are those of ``rows``; ``signatures`` those of the records.
    """
    index = build_index(columns, rows)
    points, boxes = index.pairs()
    shown, place = np.unique(index.box_of * kinds + signatures, return_inverse=True)
    counts = np.bincount(place.ravel(), minlength=len(shown))
    first = np.searchsorted(shown, np.arange(len(index.multiplicities) + 1) * kinds)
    sizes = np.diff(first)[boxes]
    listed = concatenate_ranges(first[boxes], sizes)
    at_points = Candidates.of(
        np.repeat(points, sizes), shown[listed] % kinds, counts[listed], kinds
    )
    begin = np.searchsorted(at_points.persons, np.arange(len(index.weights) + 1))
    place_of = index.place_of
    many = np.diff(begin)[place_of]
    expanded = concatenate_ranges(begin[place_of], many)
    return Candidates.of(
        np.repeat(persons, many), at_points.signatures[expanded], at_points.counts[expanded], kinds
    )


def pairs_of(columns: list[CodedColumn], rows: Int64Array) -> Int64Array:
    """For each of some rows: the number of records that contain it."""
    index = build_index(columns, rows)
    return index.matches_of_points()[index.place_of]


@dataclass(frozen=True)
class Cells:
    """The edges of a release, and which of them are true together.

    Where buckets are permuted, all people of a bucket move to the same other bucket: their edges
    are one *cell*. Elsewhere every edge is a cell.
    """

    persons: Int64Array  # [edges]
    signatures: Int64Array  # [edges]
    cell: Int64Array  # [edges]
    source: Int64Array  # [cells]: the bucket, or the person
    target: Int64Array  # [cells]: where it may have gone: a bucket, or a record
    kinds: int

    @classmethod
    def of(
        cls, edges: Edges, persons: Int64Array, signatures: Int64Array, kinds: int, *, coupled: bool
    ) -> Cells:
        """Group the edges; ``coupled`` says that buckets were permuted."""
        published = edges.published.astype(np.int64)
        original = edges.originals.astype(np.int64)
        source, target = original.copy(), published.copy()
        if coupled and edges.centres is not None and edges.blocks is not None:
            source, target = _buckets(edges, source, target)
        pairs, cell = np.unique(np.stack([source, target], axis=1), axis=0, return_inverse=True)
        return cls(
            persons[original],
            signatures[published],
            cell.ravel(),
            np.unique(pairs[:, 0], return_inverse=True)[1].ravel(),
            np.unique(pairs[:, 1], return_inverse=True)[1].ravel(),
            kinds,
        )

    def strike(self, alive: BoolArray, fitting: BoolArray) -> BoolArray:
        """Strike out cells with an edge that does not fit, then all others of what is settled."""
        alive = alive.copy()
        alive[self.cell[~fitting]] = False
        while True:
            before = np.count_nonzero(alive)
            for one, other in ((self.source, self.target), (self.target, self.source)):
                options = np.bincount(one[alive], minlength=int(one.max()) + 1)
                settled = alive & (options[one] == 1)
                taken = np.bincount(other[settled], minlength=int(other.max()) + 1) > 0
                alive &= settled | ~taken[other]
            if np.count_nonzero(alive) == before:
                return alive

    def candidates(self, alive: BoolArray) -> Candidates:
        """Return what is left of everybody's candidates."""
        kept = alive[self.cell]
        ones = np.ones(int(np.count_nonzero(kept)), np.int64)
        return Candidates.of(self.persons[kept], self.signatures[kept], ones, self.kinds)


def _buckets(edges: Edges, source: Int64Array, target: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Replace people and records by their buckets, in blocks that have some."""
    assert edges.centres is not None
    assert edges.blocks is not None
    layer = np.full(edges.records, -1, np.int64)
    layer[edges.originals] = edges.layers
    fixed = np.ones(int(edges.blocks.max()) + 1, np.bool_)
    block_of_edge = edges.blocks[edges.published]
    fixed[block_of_edge[layer[edges.originals] != edges.layers]] = False
    most = int(edges.degrees.max())
    first = edges.records  # numbers of buckets follow those of people and records
    of_person = first + block_of_edge.astype(np.int64) * most + layer[edges.originals]
    centre = layer[edges.centres[edges.published]]
    of_record = first + block_of_edge.astype(np.int64) * most + centre
    inside = fixed[block_of_edge] & (centre >= 0)
    return np.where(inside, of_person, source), np.where(inside, of_record, target)


def intersect(
    found: Sequence[Candidates],
    present: Sequence[Int64Array],
    holders: Sequence[Int64Array],
    persons: int,
) -> list[BoolArray]:
    """For each release: which pairs are left when all releases are compared.

    ``present`` lists the people of each release; ``holders`` [signatures] says for each release
    whose record a signature singles out in it and in every other release that shows it, else -1.
    Two records that are singled out by one signature are taken for one person's, which is wrong
    where two people have it: whoever concludes something from those is mistaken, so that only
    signatures of one person strike out anything.
    """
    kept = [np.ones(len(each.persons), np.bool_) for each in found]
    for this, own in enumerate(found):
        for that, other in enumerate(found):
            if this == that:
                continue
            there = np.zeros(persons, np.bool_)
            there[present[that]] = True
            shown = are_in(own.keys, other.keys)
            # whoever is not in the other release cannot have a record that is singled out there
            holder = holders[that]
            elsewhere = (holder >= 0) & (holder == holders[this])
            kept[this] &= np.where(there[own.persons], shown, ~elsewhere[own.signatures])
    return kept


def in_some_assignment(pairs: Candidates, own: Int64Array) -> BoolArray:
    """Which pairs lie in some way to give everybody a signature (NH10 Theorem 1).

    ``own`` is everybody's true signature, -1 for people whose candidates are unknown. Where a true
    signature is not among the pairs, nothing is struck out.
    """
    persons = len(own)
    known = np.flatnonzero(own >= 0)
    if not np.all(are_in(known * pairs.kinds + own[known], pairs.keys)):
        return np.ones(len(pairs.persons), np.bool_)
    tails = np.concatenate([pairs.persons, persons + own[known]])
    heads = np.concatenate([persons + pairs.signatures, known])
    size = persons + pairs.kinds
    arrows = csr_array((np.ones(len(tails), np.int8), (tails, heads)), shape=(size, size))
    _, component = connected_components(arrows, directed=True, connection="strong")
    return np.asarray(component[pairs.persons] == component[persons + pairs.signatures])


def are_in(keys: Int64Array, ascending: Int64Array) -> BoolArray:
    """Which keys are among others, which ascend."""
    if len(ascending) == 0:
        return np.zeros(len(keys), np.bool_)
    place = np.minimum(np.searchsorted(ascending, keys), len(ascending) - 1)
    return np.asarray(ascending[place] == keys)


def likeliest(pairs: Candidates, scores: Float64Array) -> tuple[Int64Array, Int64Array]:
    """For each person with candidates: the person, and the pair with the highest score.

    Between equal scores it is a matter of chance, whatever the order of the pairs.
    """
    chance = np.random.default_rng(0).random(len(scores))
    order = np.lexsort((chance, -scores.round(9), pairs.persons))
    persons, first = np.unique(pairs.persons[order], return_index=True)
    return persons, order[first]


def group_starts(persons: Int64Array) -> Int64Array:
    """Where the pairs of each person begin, and where the last ones end; persons ascend."""
    return offsets_of(np.unique(persons, return_counts=True)[1])
