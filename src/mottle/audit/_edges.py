"""The owner's links as arrays: every edge of the graph, and which edges are true."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from mottle.audit._columns import Bools, Int32s, Int64s, offsets_of
from mottle.errors import DataError, UsageError
from mottle.io.links import COLUMNS, read_links
from mottle.release import Links

UNKNOWN = -1  # the true original of a row without exactly one true link


@dataclass(frozen=True, repr=False)
class Edges:
    """Which originals every published record may stand for; rows of the release and of the input.

    The preimages of a record stand in the order of the graph's layers.
    """

    offsets: Int64s  # [records + 1]: where each record's preimages begin
    originals: Int32s  # [edges]
    truth: Int32s  # [records]: the true original, UNKNOWN unless exactly one link says so
    blocks: Int32s | None  # [records]: block of the graph; None when the file does not say

    @property
    def records(self) -> int:
        """Number of published records."""
        return len(self.truth)

    @property
    def degrees(self) -> Int64s:
        """Preimages of every published record."""
        return np.diff(self.offsets)

    @cached_property
    def published(self) -> Int32s:
        """The published record of every edge."""
        return np.repeat(np.arange(self.records, dtype=np.int32), self.degrees)

    @cached_property
    def layers(self) -> Int32s:
        """The layer of every edge: its place among the record's preimages."""
        places = np.arange(len(self.originals)) - np.repeat(self.offsets[:-1], self.degrees)
        return places.astype(np.int32)

    @cached_property
    def matches(self) -> tuple[Int64s, Int32s]:
        """The same edges by original: where each one's matches begin, and the records."""
        order = np.argsort(self.originals, kind="stable")
        counts = np.bincount(self.originals, minlength=self.records)
        return offsets_of(counts), self.published[order]

    @cached_property
    def clusters(self) -> Int64s:
        """By original: its block, or what of the block hangs together when blocks are unknown."""
        if self.blocks is None:
            return self.components
        clusters = np.zeros(self.records, np.int64)
        clusters[self.originals] = self.blocks[self.published]
        return clusters

    @cached_property
    def components(self) -> Int64s:
        """By original: a number for all that hangs together."""
        ones = np.ones(len(self.originals), np.int8)
        size = 2 * self.records
        graph = csr_array((ones, (self.originals, self.published + self.records)), (size, size))
        return connected_components(graph, directed=False)[1][: self.records].astype(np.int64)

    def effective_matches(self, known: Bools | None = None) -> Int64s:
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


def edges_of(private: object, rows: int) -> Edges:
    """Take the owner's links from a file or from a release that is still in memory."""
    blocks: Int32s | None
    if isinstance(private, Links):
        table = pa.Table.from_batches(private.batches(), Links.SCHEMA)
        blocks = private.block_of_row.astype(np.int32)
    elif isinstance(private, str | os.PathLike):
        table, blocks = read_links(Path(private))
    else:
        raise UsageError(
            f"A {type(private).__name__} is no private link file.",
            "Give the file that 'mottle anonymize --private FILE' wrote.",
        )
    published, originals, is_true = (table.column(name).to_numpy() for name in COLUMNS)
    strange = [numbers.min(initial=0) < 0 or numbers.max(initial=0) >= rows
               for numbers in (published, originals)]  # fmt: skip
    if any(strange) or (blocks is not None and len(blocks) != rows):
        raise DataError(
            "The private link file speaks of rows that the release does not have.",
            "Give the file that was written together with the release.",
        )
    order = np.argsort(published, kind="stable")
    published, originals, is_true = published[order], originals[order], is_true[order]
    truth = np.full(rows, UNKNOWN, np.int32)
    truth[published[is_true]] = originals[is_true]
    truth[np.bincount(published[is_true], minlength=rows) != 1] = UNKNOWN
    return Edges(
        offsets=offsets_of(np.bincount(published, minlength=rows)),
        originals=originals.astype(np.int32),
        truth=truth,
        blocks=blocks,
    )
