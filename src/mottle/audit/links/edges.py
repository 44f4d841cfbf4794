"""The owner's links as arrays: every edge of the graph, and which edges are true."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from mottle.audit.containment.coded_columns import offsets_of
from mottle.errors import UsageError
from mottle.io.link_file import COLUMNS, LinkFile, other_release
from mottle.release.links import Links
from mottle.typing import BoolArray, Int32Array, Int64Array

MOST_EDGES = 30_000_000  # edges that are held in memory at once
UNKNOWN = -1  # stands for the true original of a row that does not have exactly one true link


@dataclass(frozen=True, repr=False)
class Edges:
    """The originals that each published record may stand for, by row number.

    Rows are numbered as in the release and in the input. The preimages of a record are in the order
    of the graph's layers.
    """

    offsets: Int64Array  # [records + 1]: where each record's preimages begin
    originals: Int32Array  # [edges]
    truth: Int32Array  # [records]: the true original, UNKNOWN unless there is exactly one true link
    blocks: Int32Array | None  # [records]: block of the graph; None if the file does not state it
    # [records]: whether the record's edges were kept; None if those of all records were
    kept: BoolArray | None = None
    # [records]: the original around which the record was generalized; None if the file lacks it
    centres: Int32Array | None = None

    @property
    def records(self) -> int:
        """Number of published records."""
        return len(self.truth)

    @property
    def degrees(self) -> Int64Array:
        """The number of preimages of each published record."""
        return np.diff(self.offsets)

    @cached_property
    def published(self) -> Int32Array:
        """The published record of each edge."""
        return np.repeat(np.arange(self.records, dtype=np.int32), self.degrees)

    @cached_property
    def layers(self) -> Int32Array:
        """The layer of each edge: its position among the record's preimages."""
        places = np.arange(len(self.originals)) - np.repeat(self.offsets[:-1], self.degrees)
        return places.astype(np.int32)

    @cached_property
    def matches(self) -> tuple[Int64Array, Int32Array]:
        """The same edges by original: where the matches of each begin, and the records."""
        order = np.argsort(self.originals, kind="stable")
        counts = np.bincount(self.originals, minlength=self.records)
        return offsets_of(counts), self.published[order]

    @cached_property
    def clusters(self) -> Int64Array:
        """For each original: its block, or its connected component when blocks are unknown."""
        if self.blocks is None:
            return self.components
        clusters = np.zeros(self.records, np.int64)
        clusters[self.truth] = self.blocks
        return clusters

    @cached_property
    def components(self) -> Int64Array:
        """For each original: the number of its connected component."""
        ones = np.ones(len(self.originals), np.int8)
        size = 2 * self.records
        graph = csr_array((ones, (self.originals, self.published + self.records)), (size, size))
        return connected_components(graph, directed=False)[1][: self.records].astype(np.int64)

    def effective_matches(self, known: BoolArray | None = None) -> Int64Array:
        """For each original: the number of edges that lie in some assignment.

        The links of ``known`` people are fixed; their own count is 0. Read an edge as leading from
        an original to the true original of the record: it lies in an assignment exactly if both
        ends are in one strongly connected component (NH10 Theorem 1).
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
class Subgraph:
    """The edges of some whole blocks, renumbered; or all edges."""

    edges: Edges
    records: Int64Array  # the published records of the subgraph
    people: Int64Array  # the originals of the subgraph

    def facts(self, total: int) -> dict[str, object]:
        """The number of people the links cover, when these are not all people."""
        if len(self.people) == total:
            return {}
        return {"people_with_links": len(self.people)}


def kept_subgraph(edges: Edges) -> Subgraph | None:
    """The subgraph of the blocks whose edges were kept; None if there is none or it is not whole.

    Every record must have exactly one true original.
    """
    if edges.kept is None:
        everything = np.arange(edges.records)
        return Subgraph(edges, everything, everything)
    return subgraph_of_records(edges, np.flatnonzero(edges.kept))


def subgraph_of_records(edges: Edges, records: Int64Array) -> Subgraph | None:
    """The subgraph of some records; None if an edge leads outside their true originals."""
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
        centres=None if edges.centres is None else number[edges.centres[records]],
    )
    return Subgraph(part, records, people)


# ---------------------------------------------------------------------------------------- reading


def read_edges(private: object, rows: int, seed: int = 0) -> Edges:
    """Read the owner's links from a file or from a release that is still in memory.

    When there are more than can be held at once, the edges of some randomly drawn blocks are kept;
    all true links are kept.
    """
    source: Links | LinkFile
    if isinstance(private, Links):
        source = private
        blocks: Int32Array | None = private.block_of_row.astype(np.int32)
        centres: Int32Array | None = private.centre_of_row
    elif isinstance(private, str | os.PathLike):
        source = LinkFile(Path(private))
        blocks, centres = source.blocks, source.centres
    else:
        raise UsageError(
            f"A {type(private).__name__} is not a private link file.",
            "Give the file that 'mottle anonymize --private FILE' wrote.",
        )
    degrees = _count(source, rows)
    strange = any(part is not None and len(part) != rows for part in (blocks, centres))
    for part in (blocks, centres):
        if part is not None and not strange:
            strange = bool(np.any((part < 0) | (part >= rows)))
    if degrees is None or strange:
        raise other_release()
    kept = None
    if blocks is not None and degrees.sum() > MOST_EDGES:
        kept = _sample_blocks(degrees, blocks, seed)
    return replace(_collect(source, rows, blocks, kept), centres=centres)


def _count(source: Links | LinkFile, rows: int) -> Int64Array | None:
    """The number of edges of each record; None if rows are named that the release lacks."""
    degrees = np.zeros(rows, np.int64)
    for batch in source.batches():
        numbers = [batch.column(name).to_numpy() for name in COLUMNS[:2]]
        if any(each.min(initial=0) < 0 or each.max(initial=0) >= rows for each in numbers):
            return None
        degrees += np.bincount(numbers[0], minlength=rows)
    return degrees


def _sample_blocks(degrees: Int64Array, blocks: Int32Array, seed: int) -> BoolArray:
    """Select records of randomly drawn blocks that together do not exceed the limit of edges."""
    sizes = np.bincount(blocks, degrees)
    order = np.random.default_rng(seed).permutation(len(sizes))
    order = order[sizes[order] <= MOST_EDGES]
    fitting = order[np.cumsum(sizes[order]) <= MOST_EDGES]
    return np.isin(blocks, fitting)


def _collect(
    source: Links | LinkFile, rows: int, blocks: Int32Array | None, kept: BoolArray | None
) -> Edges:
    """Collect all edges of the records to keep, by record, and everybody's true link."""
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
