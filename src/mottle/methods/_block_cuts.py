"""Into how many blocks `buckets` cuts a table, and where (step 1): one decision for all of it.

The rule is here once, for tables in memory and for those that come in regions
(`mottle.bucket_cuts`), which differ only in who counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple, TypeVar

import numpy as np
from numba import njit

from mottle.bucket_plan import Values, make_plan
from mottle.coding import Float64s, Int32s
from mottle.graph import Int64s
from mottle.guarantees import ROUNDING, Demand

_SMALLEST_BLOCK = 400  # records: smaller blocks leave less choice …
_SMALLEST_BUCKET = 8  # … and smaller buckets more remainder
_LARGEST_REST = 0.03  # share of the records that plans of a few blocks may leave to plain groups
_MORE_LOSS = 0.13  # that these plans may promise
_WHOLE_BUCKETS = 20  # buckets' records that a block needs for its cuts to move to whole ones
_TRIED_BLOCKS = 16

Chosen = TypeVar("Chosen")


class Way(IntEnum):
    """How a number of blocks is cut; the first usually loses least."""

    BORDERS = 0
    WHOLE_BUCKETS = 1
    EVENLY = 2


class Trial(NamedTuple):
    """What a way to cut would do."""

    kept: Callable[[], bool]  # whether all blocks keep the caps
    filled: Callable[[], bool]  # whether buckets find room for most records


def deepest(
    records: int, count: int, trials: Callable[[int], Iterator[tuple[Chosen, Trial]]]
) -> Chosen | None:
    """The first cut, from the most blocks downwards, that keeps caps and fills buckets.

    All blocks have to keep the caps, and buckets must be able to hold most of their records.
    """
    most = most_blocks(records, count)
    while most > 1:
        eligible = False
        for cut, trial in trials(most):
            if trial.kept():
                if trial.filled():
                    return cut
                eligible = True
        most = fewer(most, eligible=eligible)
    return None


def fewer(blocks: int, *, eligible: bool = False) -> int:
    """The next number of blocks to try; a great step where caps were kept but buckets were not."""
    return blocks - max(blocks // (4 if eligible else 40), 1)


def deepest_cut(demand: Demand, order: Int64s, count: int, borders: Int32s | None = None) -> Int64s:
    """Starts of the most blocks along the order that can be had, and the end.

    Counts of values per block decide, once for the whole table.
    """
    marks = demand.marks[order]

    def trials(blocks: int) -> Iterator[tuple[Int64s, Trial]]:
        for way in Way:
            if way is Way.BORDERS and borders is None:
                continue
            starts = cut_by(way, len(order), blocks, count, borders)
            yield (
                starts,
                Trial(
                    lambda: keeps_caps(marks, starts, demand.caps),  # noqa: B023 - called at once
                    lambda: _filled(demand, order, starts, count),  # noqa: B023
                ),
            )

    found = deepest(len(order), count, trials)
    return np.array([0, len(order)], np.int64) if found is None else found


def cut_by(way: Way, records: int, blocks: int, count: int, borders: Int32s | None) -> Int64s:
    """Starts of so many blocks, cut in one of the ways."""
    if way is Way.BORDERS:
        return cut_evenly(records, blocks, count, borders)
    return cut_evenly(records, blocks, count if way is Way.WHOLE_BUCKETS else 1)


def cut_evenly(records: int, blocks: int, count: int, borders: Int32s | None = None) -> Int64s:
    """Starts of blocks of nearly the same size, and the end.

    Where ``borders`` says how much neighbours along the order have in common (the lower the less),
    cuts move to the deepest border nearby. They fall between whole buckets if that is close, so
    that only the last block has records left over.

    >>> cut_evenly(101, 4, 1)
    array([  0,  25,  50,  75, 101])
    >>> cut_evenly(1001, 4, 2, np.where(np.arange(1001) == 467, 0, 1).astype(np.int32))
    array([   0,  250,  466,  750, 1001])
    """
    starts = np.arange(blocks + 1) * records // blocks
    if borders is not None:
        nearest_first = moves_nearest_first(records, blocks)
        nearby = starts[1:-1, None] + nearest_first
        starts[1:-1] += nearest_first[np.argmin(borders[nearby], axis=1)]
    return to_whole_buckets(starts, count)


def reach(records: int, blocks: int) -> int:
    """How far a cut may move to a border."""
    return records // blocks // 4


def moves_nearest_first(records: int, blocks: int) -> Int64s:
    """How far a cut may move, the shortest ways first."""
    away = np.arange(-reach(records, blocks), reach(records, blocks) + 1)
    return away[np.argsort(np.abs(away), kind="stable")]


def to_whole_buckets(starts: Int64s, count: int) -> Int64s:
    """Move cuts back to whole buckets, if blocks are so large that this is close."""
    if count * _WHOLE_BUCKETS <= starts[-1] // (len(starts) - 1):
        starts[1:-1] -= starts[1:-1] % count
    return starts


def most_blocks(records: int, count: int) -> int:
    """How many blocks of so many records there may be at most, with ``count`` buckets each."""
    return max(records // max(_SMALLEST_BLOCK, _SMALLEST_BUCKET * count), 1)


def _filled(demand: Demand, order: Int64s, starts: Int64s, count: int) -> bool:
    """Whether buckets find room for most records of a few blocks."""
    marks = marks_of_values(demand)
    counts = [
        np.bincount(demand.values[order[starts[block] : starts[block + 1]]], minlength=len(marks))
        for block in tried_blocks(len(starts) - 1)
    ]
    return fills_buckets(marks, demand, counts, count)


def tried_blocks(blocks: int) -> Int64s:
    """A few of so many blocks by which to judge a cut."""
    return np.unique(np.linspace(0, blocks - 1, _TRIED_BLOCKS).astype(np.int64))


def fills_buckets(marks: Int32s, demand: Demand, blocks: Sequence[Int64s], count: int) -> bool:
    """Whether plans of some blocks find room for most records, from counts of values by block.

    Few may be left to plain groups, and tables may need few more buckets than if values were as
    frequent in all blocks. ``marks``: of every (joint) value, [values, systems].
    """
    values = Values(marks, demand.caps, np.empty((len(marks), 0)), demand.degree)
    alike = np.rint(np.mean(blocks, axis=0)).astype(np.int64)
    plans = [make_plan(counts, values, count) for counts in blocks]
    left = np.mean([plan.group.sum() for plan in plans])
    loss = np.mean([plan.loss for plan in plans])
    few = left <= _LARGEST_REST * alike.sum()
    return bool(few and loss <= (1 + _MORE_LOSS) * make_plan(alike, values, count).loss)


def marks_of_values(demand: Demand) -> Int32s:
    """The marks of every (joint) sensitive value, [values, systems]."""
    marks = np.zeros((int(demand.marks[:, 0].max()) + 1, demand.marks.shape[1]), np.int32)
    marks[demand.marks[:, 0]] = demand.marks
    return marks


@njit(cache=True, nogil=True)
def keeps_caps(marks: Int32s, starts: Int64s, caps: Float64s) -> bool:
    """Whether no block has more records of a mark than its cap allows."""
    counts = np.zeros(caps.size, np.int64)
    for block in range(len(starts) - 1):
        size = starts[block + 1] - starts[block]
        for row in range(starts[block], starts[block + 1]):
            for system in range(marks.shape[1]):
                mark = marks[row, system]
                counts[mark] += 1
                if counts[mark] > np.floor(caps[mark] * size + ROUNDING):
                    return False
        for row in range(starts[block], starts[block + 1]):
            for system in range(marks.shape[1]):
                counts[marks[row, system]] = 0
    return True
