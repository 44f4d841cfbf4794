"""The owner's links as arrays: every edge of the graph, and which edges are true."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from mottle.audit.containment.coded_columns import offsets_of
from mottle.errors import DataError, UsageError
from mottle.io.link_file import COLUMNS, LinkFile
from mottle.release.links import Links
from mottle.typing import BoolArray, Int32Array, Int64Array

MOST_EDGES = 30_000_000  # that are held at once
UNKNOWN = -1  # the true original of a row without exactly one true link


@dataclass(frozen=True, repr=False)
class Edges:
    """Which originals every published record may stand for; rows of the release and of the input.

    The preimages of a record stand in the order of the graph's layers.
    """

    offsets: Int64Array  # [records + 1]: where each record's preimages begin
    originals: Int32Array  # [edges]
    truth: Int32Array  # [records]: the true original, UNKNOWN unless exactly one link says so
    blocks: Int32Array | None  # [records]: block of the graph; None when the file does not say
    kept: BoolArray | None = (
        None  # [records]: whose edges are here, when there were too many for all
    )

    @property
    def records(self) -> int:
        """Number of published records."""
        return len(self.truth)

    @property
    def degrees(self) -> Int64Array:
        """Preimages of every published record."""
        return np.diff(self.offsets)

    @cached_property
    def published(self) -> Int32Array:
        """The published record of every edge."""
        return np.repeat(np.arange(self.records, dtype=np.int32), self.degrees)

    @cached_property
    def layers(self) -> Int32Array:
        """The layer of every edge: its place among the record's preimages."""
        places = np.arange(len(self.originals)) - np.repeat(self.offsets[:-1], self.degrees)
        return places.astype(np.int32)

    @cached_property
    def matches(self) -> tuple[Int64Array, Int32Array]:
        """The same edges by original: where each one's matches begin, and the records."""
        order = np.argsort(self.originals, kind="stable")
        counts = np.bincount(self.originals, minlength=self.records)
        return offsets_of(counts), self.published[order]

    @cached_property
    def clusters(self) -> Int64Array:
        """By original: its block, or what of the block hangs together when blocks are unknown."""
        if self.blocks is None:
            return self.components
        clusters = np.zeros(self.records, np.int64)
        clusters[self.truth] = self.blocks
        return clusters

    @cached_property
    def components(self) -> Int64Array:
        """By original: a number for all that hangs together."""
        ones = np.ones(len(self.originals), np.int8)
        size = 2 * self.records
        graph = csr_array((ones, (self.originals, self.published + self.records)), (size, size))
        return connected_components(graph, directed=False)[1][: self.records].astype(np.int64)

    def effective_matches(self, known: BoolArray | None = None) -> Int64Array:
        """By original: the edges that lie in some assignment, the links of ``known`` people being
        settled; 0 for these.

        Read an edge from an original to the true original of the record: it lies in an assignment
        exactly if both ends are in one strongly connected component (NH10 Theorem 1).
        """
        heads = self.truth[self.published]
        open_edges = np.ones(len(heads), np.bool_)
        if known is not None:
            open_edges = ~(known[heads] | known[self.originals])
        tails, heads = self.originals[open_edges], heads[open_edges]
        ones = np.ones(len(tails), np.int8)
        arrows = csr_array((ones, (tails, heads)), shape=(self.records, self.records))
        _, component = connected_components(arrows, directed=True, connection="strong")
        inside = component[tails] == component[heads]
        return np.bincount(tails[inside], minlength=self.records).astype(np.int64)


@dataclass(frozen=True, repr=False)
class Part:
    """Edges of some whole blocks, numbered anew; or all of them."""

    edges: Edges
    records: Int64Array  # the published records they are about
    people: Int64Array  # and the originals

    def facts(self, everybody: int) -> dict[str, object]:
        """How many people the links are about, when not about all."""
        if len(self.people) == everybody:
            return {}
        return {"people_with_links": len(self.people)}


def part_of(edges: Edges) -> Part | None:
    """The blocks whose edges are there, by themselves; None if there is none or they are not whole.

    Every record must have its one true original.
    """
    if edges.kept is None:
        everything = np.arange(edges.records)
        return Part(edges, everything, everything)
    return chosen_part(edges, np.flatnonzero(edges.kept))


def chosen_part(edges: Edges, records: Int64Array) -> Part | None:
    """The edges of some records by themselves; None unless they are those of their originals."""
    people = np.sort(edges.truth[records]).astype(np.int64)
    number = np.full(edges.records, -1, np.int32)
    number[people] = np.arange(len(people), dtype=np.int32)
    taken = np.zeros(edges.records, np.bool_)
    taken[records] = True
    originals = number[edges.originals[np.repeat(taken, edges.degrees)]]
    if len(records) == 0 or originals.min(initial=0) < 0:
        return None
    part = Edges(
        offsets=offsets_of(edges.degrees[records]),
        originals=originals,
        truth=number[edges.truth[records]],
        blocks=None if edges.blocks is None else edges.blocks[records],
    )
    return Part(part, records, people)


# ---------------------------------------------------------------------------------------- reading


def edges_of(private: object, rows: int, seed: int = 0) -> Edges:
    """Take the owner's links from a file or from a release that is still in memory.

    When there are more than can be held at once, the edges of some blocks are kept, drawn at
    random; the true links are kept all.
    """
    source: Links | LinkFile
    if isinstance(private, Links):
        source = private
        blocks: Int32Array | None = private.block_of_row.astype(np.int32)
    elif isinstance(private, str | os.PathLike):
        source = LinkFile(Path(private))
        blocks = source.blocks
    else:
        raise UsageError(
            f"A {type(private).__name__} is no private link file.",
            "Give the file that 'mottle anonymize --private FILE' wrote.",
        )
    degrees = _count(source, rows)
    if degrees is None or (blocks is not None and len(blocks) != rows):
        raise DataError(
            "The private link file speaks of rows that the release does not have.",
            "Give the file that was written together with the release.",
        )
    kept = None
    if blocks is not None and degrees.sum() > MOST_EDGES:
        kept = _some_blocks(degrees, blocks, seed)
    return _collect(source, rows, blocks, kept)


def _count(source: Links | LinkFile, rows: int) -> Int64Array | None:
    """How many edges every record has; None when there are rows that the release does not have."""
    degrees = np.zeros(rows, np.int64)
    for batch in source.batches():
        numbers = [batch.column(name).to_numpy() for name in COLUMNS[:2]]
        if any(each.min(initial=0) < 0 or each.max(initial=0) >= rows for each in numbers):
            return None
        degrees += np.bincount(numbers[0], minlength=rows)
    return degrees


def _some_blocks(degrees: Int64Array, blocks: Int32Array, seed: int) -> BoolArray:
    """Records of blocks drawn at random, as many as have few enough edges together."""
    sizes = np.bincount(blocks, degrees)
    order = np.random.default_rng(seed).permutation(len(sizes))
    order = order[sizes[order] <= MOST_EDGES]
    fitting = order[np.cumsum(sizes[order]) <= MOST_EDGES]
    return np.isin(blocks, fitting)


def _collect(
    source: Links | LinkFile, rows: int, blocks: Int32Array | None, kept: BoolArray | None
) -> Edges:
    """All edges of the records to keep, by record, and everybody's true link."""
    truth = np.full(rows, UNKNOWN, np.int32)
    truths = np.zeros(rows, np.int64)
    parts: list[tuple[Int32Array, Int32Array]] = []
    for batch in source.batches():
        published, originals, is_true = (
            batch.column(name).to_numpy(zero_copy_only=False) for name in COLUMNS
        )
        truth[published[is_true]] = originals[is_true]
        truths += np.bincount(published[is_true], minlength=rows)
        here = slice(None) if kept is None else kept[published]
        parts.append((published[here].astype(np.int32), originals[here].astype(np.int32)))
    truth[truths != 1] = UNKNOWN
    published = np.concatenate([part[0] for part in parts] or [np.empty(0, np.int32)])
    originals = np.concatenate([part[1] for part in parts] or [np.empty(0, np.int32)])
    if np.any(published[1:] < published[:-1]):
        order = np.argsort(published, kind="stable")
        published, originals = published[order], originals[order]
    offsets = offsets_of(np.bincount(published, minlength=rows))
    return Edges(offsets, originals, truth, blocks, kept)
