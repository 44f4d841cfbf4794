"""The generalization graph: which originals each published record may stand for.

Records are in *block order*: position p holds original ``members[p]``, and published record p is
the one generalized around it. A block is a range of consecutive positions; every edge stays inside
its block. Within a block every published record has the same number of preimages (its degree), and
in a valid graph every original has that many matches too: the block is regular.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mottle.errors import PrivacyError
from mottle.typing import BoolArray, Int32Array, Int64Array
from mottle.utils import parallel
from mottle.utils.compiled import kernel


class Graph(NamedTuple):
    """Blocks of records and the edges between originals and published records.

    A *ring* graph stores no edges: the preimages of the published record at place j of its block
    are the originals at places j, j + 1, …, j + degree - 1, around the block (NH10 §5.1). With
    degree = block size that is the complete block of a homogeneous generalization.
    """

    members: Int32Array  # [n]: the original row at every position
    starts: Int64Array  # [blocks + 1]: first position of every block, then n
    degrees: Int32Array  # [blocks]: preimages per published record
    edges: Int32Array  # places inside the block, record after record; empty for rings
    edge_starts: Int64Array  # [blocks + 1]: where each block's edges begin; zeros for rings

    @classmethod
    def rings(cls, members: Int32Array, starts: Int64Array, degrees: Int32Array) -> Graph:
        """Make every block a ring of its own degree."""
        return cls(
            np.ascontiguousarray(members, np.int32),
            np.ascontiguousarray(starts, np.int64),
            np.ascontiguousarray(degrees, np.int32),
            np.empty(0, np.int32),
            np.zeros(len(starts), np.int64),
        )

    @classmethod
    def explicit(
        cls, members: Int32Array, starts: Int64Array, degrees: Int32Array, edges: Int32Array
    ) -> Graph:
        """Make a graph from all its edges, by block and then by published record."""
        return cls(
            np.ascontiguousarray(members, np.int32),
            np.ascontiguousarray(starts, np.int64),
            np.ascontiguousarray(degrees, np.int32),
            np.ascontiguousarray(edges, np.int32).ravel(),
            _edge_starts(starts, degrees),
        )

    @property
    def records(self) -> int:
        """Number of originals, which is also the number of published records."""
        return len(self.members)

    @property
    def sizes(self) -> Int64Array:
        """Number of records in each block."""
        return np.diff(self.starts)

    def preimages(self, position: int) -> Int32Array:
        """Positions of the originals that published record ``position`` may stand for."""
        block = int(np.searchsorted(self.starts, position, side="right")) - 1
        start = int(self.starts[block])
        places = [
            preimage(self, block, position - start, layer)
            for layer in range(int(self.degrees[block]))
        ]
        return np.array([start + place for place in places], np.int32)

    def check_regular(self, least: int) -> tuple[int, int]:
        """Check invariant 1: blocks are regular, with distinct preimages and degree ≥ ``least``.

        Returns the smallest and the largest degree, or raises `PrivacyError`.
        """
        covers = len(self.starts) > 1 and self.starts[0] == 0 and self.starts[-1] == self.records
        if self.records == 0 or not covers:
            raise PrivacyError("Invariant 1: the blocks do not cover the table.")
        if np.any(self.sizes <= 0) or len(self.degrees) != len(self.sizes):
            raise PrivacyError("Invariant 1: a block is empty or has no degree.")
        if not is_order(self.members):
            raise PrivacyError("Invariant 1: an original stands in no block or in several.")
        if np.any(self.degrees < least) or np.any(self.degrees > self.sizes):
            raise PrivacyError(
                f"Invariant 1: a block has a degree below {least} or above its size."
            )
        if self.edges.size and self.edges.size != int((self.sizes * self.degrees).sum()):
            raise PrivacyError("Invariant 1: there are more or fewer edges than degrees say.")
        if self.edges.size and not np.array_equal(
            self.edge_starts, _edge_starts(self.starts, self.degrees)
        ):
            raise PrivacyError("Invariant 1: a block's edges begin elsewhere than degrees say.")
        irregular = parallel.over_blocks(
            lambda first, last: _irregular_blocks(self, first, last), self.starts
        )
        if sum(irregular):
            raise PrivacyError(f"Invariant 1: {sum(irregular)} blocks are not regular.")
        return int(self.degrees.min()), int(self.degrees.max())


def join(graphs: Sequence[Graph]) -> Graph:
    """Join explicit graphs over different rows of one table, block after block."""
    ends = np.cumsum([0, *[graph.records for graph in graphs]])
    starts = [graph.starts[1:] + end for graph, end in zip(graphs, ends[:-1], strict=True)]
    return Graph.explicit(
        np.concatenate([graph.members for graph in graphs]),
        np.concatenate([[0], *starts]).astype(np.int64),
        np.concatenate([graph.degrees for graph in graphs]),
        np.concatenate([graph.edges for graph in graphs]),
    )


def with_edges(graph: Graph) -> Graph:
    """Return the same graph with all its edges, also if it consists of rings.

    >>> ring = Graph.rings(np.arange(3), np.array([0, 3]), np.array([2]))
    >>> with_edges(ring).edges.tolist()
    [0, 1, 1, 2, 2, 0]
    """
    if graph.edges.size:
        return graph
    parts = [
        (np.arange(size)[:, None] + np.arange(degree)[None, :]).ravel() % size
        for size, degree in zip(graph.sizes.tolist(), graph.degrees.tolist(), strict=True)
    ]
    return Graph.explicit(graph.members, graph.starts, graph.degrees, np.concatenate(parts))


def restricted(graph: Graph, kept: BoolArray) -> tuple[Graph, Int64Array]:
    """Return some of the blocks with all their edges, and the positions that they had, ascending.

    >>> rings = Graph.rings(np.array([4, 2, 0, 1, 3]), np.array([0, 2, 5]), np.array([2, 2]))
    >>> graph, positions = restricted(rings, np.array([False, True]))
    >>> graph.members.tolist(), positions.tolist()
    ([0, 1, 3], [2, 3, 4])
    """
    explicit = with_edges(graph)
    positions = np.flatnonzero(np.repeat(kept, graph.sizes))
    starts = np.concatenate([[0], np.cumsum(graph.sizes[kept])]).astype(np.int64)
    edges = explicit.edges[np.repeat(kept, graph.sizes * graph.degrees)]
    part = Graph.explicit(graph.members[positions], starts, graph.degrees[kept], edges)
    return part, positions


def _edge_starts(starts: Int64Array, degrees: Int32Array) -> Int64Array:
    """Where each block's edges begin in a graph with explicit edges."""
    return np.concatenate([[0], np.cumsum(np.diff(starts) * degrees)]).astype(np.int64)


def rows_of(graph: Graph) -> tuple[Int32Array, Int32Array, Int32Array]:
    """Rows of a cover: one for a complete block, whose records are all alike, else one per record.

    Returns the row of every published record, and the block and the place of every row.
    """
    sizes = graph.sizes
    complete = graph.degrees == sizes
    rows_in_block = np.where(complete, 1, sizes)
    first_row = np.concatenate([[0], np.cumsum(rows_in_block)])
    block_of_record = np.repeat(np.arange(len(sizes)), sizes)
    place = np.arange(graph.records) - graph.starts[block_of_record]
    row_of = first_row[block_of_record] + np.where(complete[block_of_record], 0, place)
    block_of = np.repeat(np.arange(len(sizes)), rows_in_block)
    place_of = np.arange(first_row[-1]) - first_row[block_of]
    return row_of.astype(np.int32), block_of.astype(np.int32), place_of.astype(np.int32)


def is_order(items: Int32Array | Int64Array) -> bool:
    """Whether ``items`` contains each of 0 .. len - 1 exactly once.

    >>> is_order(np.array([2, 0, 1])), is_order(np.array([0, -1])), is_order(np.array([0, 0]))
    (True, False, False)
    """
    if len(items) == 0 or items.min() < 0 or items.max() >= len(items):
        return len(items) == 0
    return bool(np.all(np.bincount(items, minlength=len(items)) == 1))


@kernel
def preimage(graph: Graph, block: int, place: int, layer: int) -> np.int64:
    """Place of the original in layer ``layer`` of the published record at ``place``."""
    if graph.edges.size == 0:
        size = graph.starts[block + 1] - graph.starts[block]
        around = place + layer
        return np.int64(around - size if around >= size else around)
    return np.int64(graph.edges[graph.edge_starts[block] + place * graph.degrees[block] + layer])


@kernel
def is_complete(graph: Graph, block: int) -> bool:
    """Whether every published record of the block may stand for every original in it."""
    return bool(graph.degrees[block] == graph.starts[block + 1] - graph.starts[block])


@kernel
def _irregular_blocks(graph: Graph, first: int, last: int) -> int:
    """Count blocks where a preimage repeats or an original does not have ``degree`` matches."""
    irregular = 0
    for block in range(first, last):
        size = graph.starts[block + 1] - graph.starts[block]
        degree = np.int64(graph.degrees[block])
        if graph.edges.size == 0 and degree == size:
            continue  # a complete ring: every record is a preimage of every record exactly once
        matches = np.zeros(size, np.int64)
        seen_by = np.zeros(size, np.int64)  # by original: 1 + the last record that has it
        regular = True
        for place in range(size):
            for layer in range(degree):
                original = preimage(graph, block, place, layer)
                if original < 0 or original >= size or seen_by[original] == place + 1:
                    regular = False
                    break
                seen_by[original] = place + 1
                matches[original] += 1
        for place in range(size):  # of originals
            regular &= matches[place] == degree
        if not regular:
            irregular += 1
    return irregular
