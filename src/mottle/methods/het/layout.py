"""Assign records to buckets, once a fill says how many of every sensitive value each one gets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mottle.encoding.domain import Codes
from mottle.guarantees.demand import Demand
from mottle.methods.base import MethodContext
from mottle.methods.buckets.plan import SensitiveValues, is_group, values_of
from mottle.orderings import by_cardinality, lexicographic
from mottle.typing import Float64Array, Int32Array, Int64Array


class SensitiveRecords(NamedTuple):
    """The sensitive values of records, and the orders that break ties."""

    values: Int32Array  # [n]: the joint one, if there are several columns
    sensitive: SensitiveValues  # the codes of every value, and their caps
    tiebreak: Int64Array  # [n]: place in a secret random order
    rank: Int64Array  # [n]: place in the lexicographic order of quasi-identifiers, ties at random
    bucket_tiebreak: Int64Array  # [n]: an independent secret random order, of up to n buckets

    @classmethod
    def of(cls, codes: Codes, demand: Demand, context: MethodContext) -> SensitiveRecords:
        """The records of a table."""
        n = codes.records
        place = np.argsort(context.tiebreak(2 * n))  # its halves are ordered independently
        shuffled = np.argsort(place[:n])
        by_rank = lexicographic(codes.matrix[shuffled], codes.sizes, by_cardinality(codes.sizes))
        rank = np.empty(n, np.int64)
        rank[shuffled[by_rank]] = np.arange(n)
        return cls(demand.values, values_of(demand), place[:n], rank, place[n:])

    @property
    def caps(self) -> Float64Array:
        """The cap of every value, if there is one column."""
        return self.sensitive.caps

    def counts(self, rows: Int64Array) -> Int64Array:
        """Number of ``rows`` with each value."""
        number = len(self.sensitive.sensitive_codes)
        return np.bincount(self.values[rows], minlength=number).astype(np.int64)


# (records, rows, table [values that occur, buckets]) -> the rows sorted by value, and those of one
# value in the order in which the buckets take them.
InTurn = Callable[[SensitiveRecords, Int64Array, Int64Array], Int64Array]


def by_tiebreak(records: SensitiveRecords, rows: Int64Array, table: Int64Array) -> Int64Array:
    """Records with equal values in random order, so that their buckets depend on nothing else."""
    return rows[np.lexsort((records.tiebreak[rows], records.values[rows]))]


class FilledBlocks(NamedTuple):
    """Blocks of buckets of equal size, in the form that `Graph.explicit` and the matching take."""

    members: Int32Array  # [n]: rows by bucket, and by rank within a bucket
    starts: Int64Array  # [blocks + 1]
    degrees: Int32Array  # [blocks]: number of buckets in each


def lay_out(
    records: SensitiveRecords,
    parts: Iterable[tuple[Int64Array, Sequence[Int64Array]]],
    in_turn: InTurn = by_tiebreak,
) -> FilledBlocks:
    """Put every part's rows into the buckets of its fills; every fill becomes a block.

    A fill [values, buckets] has a row for each value that occurs in the part, in ascending order.
    Buckets are put into a random order, because they are matched in that order, and it must not
    reveal their values.
    """
    members, sizes, degrees = [], [], []
    buckets = 0
    for rows, fills in parts:
        drawn = []
        for fill in fills:
            tiebreak = records.bucket_tiebreak[buckets : buckets + fill.shape[1]]
            drawn.append(fill[:, np.argsort(tiebreak)])
            buckets += fill.shape[1]
            sizes.append(int(fill.sum()))
            degrees.append(fill.shape[1])
        table = np.hstack(drawn)
        taken = in_turn(records, rows, table)
        bucket_of = np.repeat(np.tile(np.arange(table.shape[1]), len(table)), table.ravel())
        members.append(taken[np.lexsort((records.rank[taken], bucket_of))])
    return FilledBlocks(
        np.concatenate(members).astype(np.int32),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.array(degrees, np.int32),
    )


def eligible_parts(records: SensitiveRecords, least: int, size: int) -> Iterator[Int64Array]:
    """Cut rows along the lexicographic order into parts that are themselves within the caps.

    A part has about ``size`` records, or as many more as it takes; the last one may have to be
    merged with those before it.
    """
    order = np.argsort(records.rank)
    parts: list[Int64Array] = []
    pending = order[:0]
    for rows in np.array_split(order, max(len(order) // size, 1)):
        pending = np.concatenate([pending, rows])
        if _eligible(records, pending, least):
            parts.append(pending)
            pending = order[:0]
    while len(pending):
        pending = np.concatenate([parts.pop(), pending])
        if _eligible(records, pending, least):
            parts.append(pending)
            pending = order[:0]
    yield from parts


def _eligible(records: SensitiveRecords, rows: Int64Array, least: int) -> bool:
    return len(rows) >= least and is_group(records.counts(rows), records.sensitive)
