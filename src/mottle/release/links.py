"""The owner's secret: which originals a published record may stand for, and which is true."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from mottle.graph.model import Graph, preimage
from mottle.release.history import History
from mottle.typing import Int32Array, Int64Array
from mottle.utils.compiled import kernel
from mottle.utils.table_digest import Fingerprint

_EDGES_PER_BATCH = 1 << 20


@dataclass(frozen=True, repr=False)
class Links:
    """The owner's secret: every edge of the graph and which edges are true."""

    graph: Graph
    position_of_row: Int64Array  # [n]: position of the published record in each row of the release
    truth: Int32Array  # [n]: position of the true original of every published record
    fingerprint: Fingerprint | None = None  # of the table
    history: History | None = None  # for a further release of the same people

    SCHEMA = pa.schema([("published", pa.int64()), ("original", pa.int64()), ("true", pa.bool_())])

    @property
    def original_of_row(self) -> Int32Array:
        """The input row that is the true original of each release row."""
        return self.graph.members[self.truth[self.position_of_row]]

    @property
    def centre_of_row(self) -> Int32Array:
        """The input row around whose place in the graph each release row was generalized."""
        return self.graph.members[self.position_of_row]

    @property
    def block_of_row(self) -> Int64Array:
        """The block of the graph that each release row belongs to."""
        sizes = self.graph.sizes
        return np.repeat(np.arange(len(sizes)), sizes)[self.position_of_row]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Iterate over all edges in batches, ordered by row of the release.

        Yields
        ------
        pyarrow.RecordBatch
            One row per edge, with the columns of `SCHEMA`: row of the release, row of the input,
            and whether the edge is the true one.
        """
        block_of = self.block_of_row
        ends = np.cumsum(self.graph.degrees[block_of], dtype=np.int64)
        first = 0
        while first < len(ends):
            done = ends[first - 1] if first else 0
            last = int(np.searchsorted(ends, done + _EDGES_PER_BATCH)) + 1
            last = min(last, len(ends))
            columns = _edges(
                self.graph,
                block_of,
                self.position_of_row,
                self.truth,
                first,
                last,
                int(ends[last - 1] - done),
            )
            yield pa.RecordBatch.from_arrays(list(columns), schema=self.SCHEMA)
            first = last


@kernel
def _edges(
    graph: Graph,
    block_of: Int64Array,
    position_of_row: Int64Array,
    truth: Int32Array,
    first: int,
    last: int,
    total: int,
) -> tuple[Int64Array, Int64Array, Any]:
    """Edges of release rows ``first .. last - 1``: published row, original row, true or not."""
    published = np.empty(total, np.int64)
    original = np.empty(total, np.int64)
    is_true = np.empty(total, np.bool_)
    edge = 0
    for row in range(first, last):
        block = block_of[row]
        position = position_of_row[row]
        start = graph.starts[block]
        for layer in range(graph.degrees[block]):
            source = start + preimage(graph, block, position - start, layer)
            published[edge] = row
            original[edge] = graph.members[source]
            is_true[edge] = truth[position] == source
            edge += 1
    return published, original, is_true
