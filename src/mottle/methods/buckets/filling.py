"""Filling buckets by lot, and laying their records out so that equal places lie close together."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mottle.methods.buckets.plan import BucketPlan, Values, make_plan
from mottle.typing import Int32Array, Int64Array

MATCHED_TOGETHER = 400  # records of one bucket that are matched with those of another at a time


class Layout(NamedTuple):
    """Records bucket after bucket, table after table; the plain groups at the end.

    All tables have as many buckets.
    """

    buckets: int
    members: Int32Array  # [n]: the row at every position
    tables: Int64Array  # [tables + 1]: first position of every table of buckets
    groups: Int64Array  # [groups + 1]: first position of every plain group
    pieces: (
        Int64Array  # where in a bucket pieces to be matched begin, and its end; table after table
    )
    piece_starts: Int64Array  # [tables + 1]: where in ``pieces`` each table begins

    @property
    def in_buckets(self) -> int:
        """How many records lie in buckets."""
        return int(self.tables[-1])

    @property
    def piles(self) -> Int64Array:
        """First position of every bucket, and the end."""
        sizes = np.repeat(np.diff(self.tables) // self.buckets, self.buckets)
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def fill_blocks(
    order: Int64Array,
    starts: Int64Array,
    tiebreak: Int64Array,
    sensitive: Int32Array,
    values: Values,
    count: int,
) -> list[Layout]:
    """Deal the records of every block of ``order`` to buckets and a plain group by lot.

    A layout for each number of buckets that plans have come to.
    """
    lot_of = np.argsort(tiebreak)
    place_of = np.full(len(tiebreak), -1, np.int64)
    place_of[order] = np.arange(len(order))
    tables: list[list[Int64Array]] = []
    groups: list[Int64Array] = []
    for first, last in pairwise(starts):
        rows = order[first:last]
        counts = np.bincount(sensitive[rows], minlength=len(values.sensitive_codes)).astype(
            np.int64
        )
        dealt, group = deal(rows, sensitive[rows], make_plan(counts, values, count), lot_of)
        tables += dealt
        groups += [group] if len(group) else []
    return _laid_out(tables, groups, place_of)


def seat_records(seats: Int64Array, first_seats: Int64Array) -> list[Layout]:
    """Records in their order whose buckets were decided before, see `BucketDecision`."""
    by_seat = np.argsort(seats, kind="stable")
    found, first = np.unique(seats[by_seat], return_index=True)
    tables: dict[int, list[Int64Array]] = {}
    groups: list[Int64Array] = []
    for seat, rows in zip(found.tolist(), np.split(by_seat, first[1:]), strict=True):
        table = int(np.searchsorted(first_seats, seat, side="right")) - 1
        (groups if seat < 0 else tables.setdefault(table, [])).append(rows)
    return _laid_out(list(tables.values()), groups, np.arange(len(seats)))


def _laid_out(
    dealt: list[list[Int64Array]], groups: list[Int64Array], place_of: Int64Array
) -> list[Layout]:
    """By number of buckets, every table with its buckets numbered and aligned; then the groups.

    A bucket's number has to follow from its records, not from the values that it was filled with;
    lots that dealt them would tell of these. So places are shuffled, in a way known to everybody,
    and the bucket with the first record is the first.
    """
    by_buckets: dict[int, list[Aligned]] = {}
    shuffled = np.random.default_rng(0).permutation(len(place_of))
    for piles in dealt:
        numbered = sorted(piles, key=lambda pile: int(shuffled[place_of[pile]].min()))
        aligned = align([pile[np.argsort(place_of[pile])] for pile in numbered], place_of)
        by_buckets.setdefault(len(piles), []).append(aligned)
    layouts = [_layout(tables, []) for _, tables in sorted(by_buckets.items())]
    return [*layouts, _layout([], groups)] if groups else layouts


def _layout(aligned: list[Aligned], groups: list[Int64Array]) -> Layout:
    """Tables of as many buckets, and groups."""
    tables = [np.concatenate(table.piles) for table in aligned]
    bucketed = sum(len(table) for table in tables)
    return Layout(
        len(aligned[0].piles) if aligned else 1,
        np.concatenate([*tables, *groups]).astype(np.int32),
        _starts(tables),
        bucketed + _starts(groups),
        np.concatenate([*[table.starts for table in aligned], np.empty(0, np.int64)]),
        _starts([table.starts for table in aligned]),
    )


def _starts(arrays: list[Int64Array]) -> Int64Array:
    return np.cumsum([0, *[len(array) for array in arrays]]).astype(np.int64)


def deal(
    rows: Int64Array, sensitive: Int32Array, plan: BucketPlan, lot_of: Int64Array
) -> tuple[list[list[Int64Array]], Int64Array]:
    """The rows of every bucket of every table, and those of the plain group."""
    by_value = np.lexsort((lot_of[rows], sensitive))
    dealt = rows[by_value]
    heads = np.searchsorted(sensitive[by_value], np.arange(len(plan.group)))

    def take(counts: Int64Array) -> Int64Array:
        inside = np.flatnonzero(counts)
        taken = [dealt[heads[value] : heads[value] + counts[value]] for value in inside]
        heads[inside] += counts[inside]
        return np.concatenate([*taken, np.empty(0, np.int64)])

    tables = [[take(table[:, bucket]) for bucket in range(table.shape[1])] for table in plan.tables]
    return tables, take(plan.group)


class Aligned(NamedTuple):
    """Piles whose equal stretches lie in the same region."""

    piles: list[Int64Array]  # equally long
    starts: Int64Array  # where stretches begin, and the end; none is longer than `MATCHED_TOGETHER`
    left: list[Int64Array]  # of each pile what the shortest one has no company for


def align(piles: list[Int64Array], place_of: Int64Array) -> Aligned:
    """Order piles so that the same stretch of each lies in the same region.

    The order of the quasi-identifiers is cut into cells, and two by two into larger ones. In each
    cell as many records of every pile stay as the pile with the fewest has; the others look for
    company in the next larger cell. Piles play no different parts in this.
    """
    length = max(min(map(len, piles)), 1)
    everything = np.sort(np.concatenate([place_of[pile] for pile in piles]))
    cells = 1 << max(int(np.ceil(np.log2(length / MATCHED_TOGETHER))), 0)
    bounds = everything[np.linspace(0, len(everything) - 1, cells + 1).astype(np.int64)[1:-1]]
    left = [(pile, np.searchsorted(bounds, place_of[pile], side="right")) for pile in piles]
    stretches: list[list[Int64Array]] = []
    while cells:
        fewest = np.min([np.bincount(cell, minlength=cells) for _, cell in left], axis=0)
        stay = [_spread(cell, fewest) for _, cell in left]
        ends = np.cumsum(fewest)
        staying = [pile[keep] for (pile, _), keep in zip(left, stay, strict=True)]
        for cell in np.flatnonzero(fewest):
            begin = int(ends[cell] - fewest[cell])
            stretches += _cut([pile[begin : ends[cell]] for pile in staying])
        left = [
            (pile[~keep], cell[~keep] // 2) for (pile, cell), keep in zip(left, stay, strict=True)
        ]
        cells = cells // 2
    ordered = [
        np.concatenate([np.empty(0, np.int64), *[stretch[pile] for stretch in stretches]])
        for pile in range(len(piles))
    ]
    starts = np.cumsum([0, *[len(stretch[0]) for stretch in stretches]]).astype(np.int64)
    return Aligned(ordered, starts, [pile for pile, _ in left])


def _spread(cell: Int64Array, wanted: Int64Array) -> NDArray[np.bool_]:
    """Choose ``wanted[c]`` of the records of each cell c (ascending), evenly along the order."""
    counts = np.bincount(cell, minlength=len(wanted))
    rank = np.arange(len(cell)) - (np.cumsum(counts) - counts)[cell]
    share, total = wanted[cell], counts[cell]
    return (rank + 1) * share // total > rank * share // total


def _cut(piles: list[Int64Array]) -> list[list[Int64Array]]:
    """Cut a long stretch into shorter ones."""
    parts = -(-len(piles[0]) // MATCHED_TOGETHER)
    cuts = [np.array_split(pile, parts) for pile in piles]
    return [[pile[part] for pile in cuts] for part in range(parts)]
