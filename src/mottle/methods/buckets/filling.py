"""Fill buckets at random, and order their records so that equal places hold similar records."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mottle.methods.buckets.plan import BucketPlan, SensitiveValues, make_plan
from mottle.typing import Int32Array, Int64Array

MATCHED_TOGETHER = 600  # most records of one bucket that are matched with another's at a time


class BucketLayout(NamedTuple):
    """Records table by table and bucket by bucket, followed by the plain groups.

    All tables have the same number of buckets.
    """

    buckets: int  # buckets in each table
    members: Int32Array  # [n]: the row at every position
    tables: Int64Array  # [tables + 1]: first position of every table of buckets
    groups: Int64Array  # [groups + 1]: first position of every plain group
    # For every table, where in a bucket the sections that are matched begin, and the bucket's end.
    sections: Int64Array
    section_starts: Int64Array  # [tables + 1]: where in ``sections`` each table begins

    @property
    def in_buckets(self) -> int:
        """Number of records in buckets."""
        return int(self.tables[-1])

    @property
    def bucket_starts(self) -> Int64Array:
        """First position of every bucket, and the end."""
        sizes = np.repeat(np.diff(self.tables) // self.buckets, self.buckets)
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def fill_blocks(
    order: Int64Array,
    starts: Int64Array,
    tiebreak: Int64Array,
    sensitive: Int32Array,
    values: SensitiveValues,
    count: int,
    known_records: int,
) -> list[BucketLayout]:
    """Distribute the records of every block of ``order`` to buckets and a plain group at random.

    ``known_records``: how many others one known record may give away. Returns one layout for each
    number of buckets that occurs in a plan.
    """
    tiebreak_rank = np.argsort(tiebreak)
    place_of = np.full(len(tiebreak), -1, np.int64)
    place_of[order] = np.arange(len(order))
    tables: list[list[Int64Array]] = []
    groups: list[Int64Array] = []
    for first, last in pairwise(starts):
        rows = order[first:last]
        counts = np.bincount(sensitive[rows], minlength=len(values.sensitive_codes)).astype(
            np.int64
        )
        plan = make_plan(counts, values, count).bounded(values, known_records)
        filled, group = fill_plan(rows, sensitive[rows], plan, tiebreak_rank)
        tables += filled
        groups += [group] if len(group) else []
    return _layouts(tables, groups, place_of)


def _layouts(
    filled: list[list[Int64Array]], groups: list[Int64Array], place_of: Int64Array
) -> list[BucketLayout]:
    """One layout by number of buckets, buckets numbered and aligned; then one for the groups.

    The number of a bucket must follow from its records, not from the values that it was filled
    with; the random order that filled it would reveal something about these. So places are
    shuffled, in a way that everybody knows, and the bucket with the first record is number 0.
    """
    by_buckets: dict[int, list[AlignedBuckets]] = {}
    shuffled = np.random.default_rng(0).permutation(len(place_of))
    for buckets in filled:
        numbered = sorted(buckets, key=lambda members: int(shuffled[place_of[members]].min()))
        in_order = [members[np.argsort(place_of[members])] for members in numbered]
        by_buckets.setdefault(len(buckets), []).append(align(in_order, place_of))
    layouts = [_layout(tables, []) for _, tables in sorted(by_buckets.items())]
    return [*layouts, _layout([], groups)] if groups else layouts


def _layout(aligned: list[AlignedBuckets], groups: list[Int64Array]) -> BucketLayout:
    """The layout of tables with the same number of buckets, and of groups."""
    tables = [np.concatenate(table.members) for table in aligned]
    bucketed = sum(len(table) for table in tables)
    return BucketLayout(
        len(aligned[0].members) if aligned else 1,
        np.concatenate([*tables, *groups]).astype(np.int32),
        _starts(tables),
        bucketed + _starts(groups),
        np.concatenate([*[table.starts for table in aligned], np.empty(0, np.int64)]),
        _starts([table.starts for table in aligned]),
    )


def _starts(arrays: list[Int64Array]) -> Int64Array:
    return np.cumsum([0, *[len(array) for array in arrays]]).astype(np.int64)


def fill_plan(
    rows: Int64Array, sensitive: Int32Array, plan: BucketPlan, tiebreak_rank: Int64Array
) -> tuple[list[list[Int64Array]], Int64Array]:
    """The rows of every bucket of every table of a plan, and those of the plain group.

    Rows with the same sensitive value are taken in the random order ``tiebreak_rank``.
    """
    by_value = np.lexsort((tiebreak_rank[rows], sensitive))
    in_turn = rows[by_value]
    heads = np.searchsorted(sensitive[by_value], np.arange(len(plan.group)))

    def take(counts: Int64Array) -> Int64Array:
        inside = np.flatnonzero(counts)
        taken = [in_turn[heads[value] : heads[value] + counts[value]] for value in inside]
        heads[inside] += counts[inside]
        return np.concatenate([*taken, np.empty(0, np.int64)])

    tables = [[take(table[:, bucket]) for bucket in range(table.shape[1])] for table in plan.tables]
    return tables, take(plan.group)


class AlignedBuckets(NamedTuple):
    """The members of buckets, ordered so that equal sections hold similar records."""

    members: list[Int64Array]  # by bucket, all of the same length
    starts: Int64Array  # where sections begin, and the end; none exceeds `MATCHED_TOGETHER`
    left: list[Int64Array]  # by bucket: members without a counterpart in the smallest bucket


def align(buckets: list[Int64Array], place_of: Int64Array) -> AlignedBuckets:
    """Order the members of buckets so that the same section of each covers the same region.

    The order of the quasi-identifiers is cut into cells, and these are merged two by two into
    larger ones. In each cell as many records of every bucket are kept as the bucket with the fewest
    has; the unmatched records are retried in the next larger cell. All buckets are treated alike.
    """
    length = max(min(map(len, buckets)), 1)
    everything = np.sort(np.concatenate([place_of[members] for members in buckets]))
    cells = 1 << max(int(np.ceil(np.log2(length / MATCHED_TOGETHER))), 0)
    bounds = everything[np.linspace(0, len(everything) - 1, cells + 1).astype(np.int64)[1:-1]]
    left = [
        (members, np.searchsorted(bounds, place_of[members], side="right")) for members in buckets
    ]
    sections: list[list[Int64Array]] = []
    while cells:
        fewest = np.min([np.bincount(cell, minlength=cells) for _, cell in left], axis=0)
        kept = [_spread(cell, fewest) for _, cell in left]
        ends = np.cumsum(fewest)
        staying = [members[keep] for (members, _), keep in zip(left, kept, strict=True)]
        for cell in np.flatnonzero(fewest):
            begin = int(ends[cell] - fewest[cell])
            sections += _cut([members[begin : ends[cell]] for members in staying])
        left = [
            (members[~keep], cell[~keep] // 2)
            for (members, cell), keep in zip(left, kept, strict=True)
        ]
        cells = cells // 2
    ordered = [
        np.concatenate([np.empty(0, np.int64), *[section[bucket] for section in sections]])
        for bucket in range(len(buckets))
    ]
    starts = np.cumsum([0, *[len(section[0]) for section in sections]]).astype(np.int64)
    return AlignedBuckets(ordered, starts, [members for members, _ in left])


def _spread(cell: Int64Array, wanted: Int64Array) -> NDArray[np.bool_]:
    """Choose ``wanted[c]`` of the records of each cell c (ascending), evenly along the order."""
    counts = np.bincount(cell, minlength=len(wanted))
    rank = np.arange(len(cell)) - (np.cumsum(counts) - counts)[cell]
    share, total = wanted[cell], counts[cell]
    return (rank + 1) * share // total > rank * share // total


def _cut(section: list[Int64Array]) -> list[list[Int64Array]]:
    """Cut a long section, given as members by bucket, into shorter ones."""
    parts = -(-len(section[0]) // MATCHED_TOGETHER)
    cuts = [np.array_split(members, parts) for members in section]
    return [[members[part] for members in cuts] for part in range(parts)]
