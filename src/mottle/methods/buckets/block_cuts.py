"""Into how many blocks `buckets` cuts a table, and where (step 1): one decision for all of it.

The rule is here once, for tables in memory and for those that come in regions
(`mottle.methods.buckets.partitioned.cuts`), which differ only in who counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
from numba import njit

from mottle.guarantees.demand import ROUNDING, Demand
from mottle.methods.buckets.plan import Values, make_plan
from mottle.typing import Float64Array, Int32Array, Int64Array

_SMALLEST_BLOCK = 500  # records: smaller blocks leave less choice …
_SMALLEST_BUCKET = 8  # … and smaller buckets more remainder
_SMALLER, _LARGER = 0.65, 1.5  # times the mean that blocks may have so that cuts fall on borders
_WHOLE_BUCKETS = 20  # buckets' records that a block needs for its cuts to move to whole ones
_TRIED_BLOCKS = 16
_LARGEST_BUCKET = 170  # records: larger buckets are less alike …
_LARGER_LOSS = 0.5  # … and lose more, by this power of their size
_FEW_BLOCKS = 0.15  # more is lost by one block than by many, since these are cut at borders
_AS_GOOD = 1.02  # times the loss of equal blocks: no need to try fewer
_BEST_PLANS = 0.8  # times the loss of one block: better plans of blocks have not been seen

Chosen = TypeVar("Chosen")


class Way(IntEnum):
    """How a number of blocks is cut; the first usually loses least, the others may keep caps."""

    BORDERS = 0
    NEARBY = 1  # at borders not far from where even cuts would be
    WHOLE_BUCKETS = 2
    EVENLY = 3

    @property
    def more_loss(self) -> float:
        """Times the loss of the first."""
        return (1.0, 1.05, 1.1, 1.1)[self]


class Borders(NamedTuple):
    """Places along the order where a record differs from the one before, by depth.

    The depth of a border is how much the two have in common: between the men and the women it is 0.
    """

    places: Int64Array  # ascending within each depth
    firsts: Int64Array  # [depths + 1] into places

    @classmethod
    def of(cls, depths: Int32Array, places: Int64Array | None = None) -> Borders:
        """From the depths of all places, or of some.

        >>> Borders.of(np.array([0, 1, 0, 1]))
        Borders(places=array([2, 1, 3]), firsts=array([0, 1, 3]))
        """
        if places is None:
            places, depths = np.arange(1, len(depths)), depths[1:]
        order = np.lexsort((places, depths))
        firsts = np.searchsorted(depths[order], np.arange(int(depths.max(initial=-1)) + 2))
        return cls(places[order], firsts)


class Trial(NamedTuple):
    """What a way to cut would do."""

    kept: Callable[[], bool]  # whether all blocks keep the caps
    loss: Callable[[], float]  # that plans promise, as a multiple of what one block promises


def best(
    records: int, count: int, trials: Callable[[int], Iterator[tuple[Chosen, Trial]]]
) -> Chosen | None:
    """The cut that promises least loss of those that keep the caps; None for a single block.

    The most blocks are tried first, and taken if they lose next to nothing; fewer, until their
    buckets are too large to be better.
    """
    chosen, least = None, _unlike(records, 1, count)
    blocks = most_blocks(records, count)
    while blocks > 1 and _BEST_PLANS * _unlike(records, blocks, count) < least:
        cut, trial = next(((c, t) for c, t in trials(blocks) if t.kept()), (None, None))
        if trial is not None:
            loss = trial.loss() * _unlike(records, blocks, count)
            if loss < least:
                chosen, least = cut, loss
            if loss <= _AS_GOOD:
                break
        blocks = fewer(blocks, eligible=trial is not None)
    return chosen


def _unlike(records: int, blocks: int, count: int) -> float:
    """How much more is lost by so many blocks because their buckets are not alike.

    A guess from CENSUS and generated people, 2 to 150 buckets.
    """
    bucket = records / (blocks * count)
    larger = max(bucket / _LARGEST_BUCKET, 1.0) ** _LARGER_LOSS
    return float(larger * (1 + _FEW_BLOCKS / blocks**2))


def fewer(blocks: int, *, eligible: bool = False) -> int:
    """The next number of blocks to try; a great step where caps were kept."""
    return blocks - max(blocks // (4 if eligible else 40), 1)


def best_cut(
    demand: Demand, order: Int64Array, count: int, borders: Int32Array | None = None
) -> Int64Array:
    """Starts of the blocks along the order that promise least loss, and the end.

    Counts of values per block decide, once for the whole table. ``borders``: how much each record
    has in common with the one before.
    """
    marks = demand.sensitive_codes[order]
    values = demand.values[order]
    judge = Judge(demand, np.bincount(values), count)
    known = None if borders is None else Borders.of(borders)

    def counts(starts: Int64Array) -> list[Int64Array]:
        return [
            np.bincount(values[starts[block] : starts[block + 1]])
            for block in tried_blocks(len(starts) - 1)
        ]

    def trials(blocks: int) -> Iterator[tuple[Int64Array, Trial]]:
        for way in Way:
            if known is None and way <= Way.NEARBY:
                continue
            starts = cut_by(way, len(order), blocks, count, known)
            more = 1.0 if known is None else way.more_loss
            yield (
                starts,
                Trial(
                    partial(keeps_caps, marks, starts, demand.caps),
                    lambda: judge.loss(counts(starts), blocks) * more,  # noqa: B023 - at once
                ),
            )

    found = best(len(order), count, trials)
    return np.array([0, len(order)], np.int64) if found is None else found


def cut_by(way: Way, records: int, blocks: int, count: int, borders: Borders | None) -> Int64Array:
    """Starts of so many blocks, cut in one of the ways, and the end."""
    if way <= Way.NEARBY:
        assert borders is not None
        cut = cut_at_borders if way is Way.BORDERS else cut_near_borders
        starts = cut(records, blocks, borders.places, borders.firsts)
    else:
        starts = np.arange(blocks + 1) * records // blocks
    return starts if way is Way.EVENLY else to_whole_buckets(starts, count)


@njit(cache=True, nogil=True)
def cut_at_borders(records: int, blocks: int, places: Int64Array, firsts: Int64Array) -> Int64Array:
    """Starts of blocks of nearly the same size, cut at the deepest borders, and the end.

    Depth by depth, cuts move to the nearest border where that leaves all blocks of about the same
    size; the others are then spread evenly between the ones that have found theirs.

    >>> borders = Borders.of(np.where(np.arange(1001) == 380, 0, 1))
    >>> cut_at_borders(1001, 4, *borders)
    array([   0,  190,  380,  690, 1001])
    """
    smallest, largest = _SMALLER * records / blocks, _LARGER * records / blocks
    ends, numbers = np.array([0, records]), np.array([0, blocks])  # blocks before every end
    for depth in range(len(firsts) - 1):
        here = places[firsts[depth] : firsts[depth + 1]]
        if len(here) == 0:
            continue
        new_ends, new_numbers = np.zeros(blocks + 1, np.int64), np.zeros(blocks + 1, np.int64)
        found = 1
        for part in range(len(ends) - 1):
            last, most = ends[part + 1], numbers[part + 1]
            number = numbers[part] + 1
            while number < most:
                first, before = new_ends[found - 1], new_numbers[found - 1]
                size = (last - first) / (most - before)
                wanted = first + size * (number - before)
                place = _nearest(here, wanted)
                left = (place - first) / (number - before)
                right = (last - place) / (most - number)
                is_next = abs(place - wanted) <= size / 2 + 1
                if is_next and min(left, right) >= smallest and max(left, right) <= largest:
                    new_ends[found], new_numbers[found] = place, number
                    found += 1
                number += 1
            new_ends[found], new_numbers[found] = last, most
            found += 1
        ends, numbers = new_ends[:found], new_numbers[:found]
    starts = np.empty(blocks + 1, np.int64)
    starts[0] = 0
    for part in range(len(ends) - 1):
        width, inside = ends[part + 1] - ends[part], numbers[part + 1] - numbers[part]
        for block in range(inside):
            starts[numbers[part] + block + 1] = ends[part] + width * (block + 1) // inside
    return starts


@njit(cache=True, nogil=True)
def cut_near_borders(
    records: int, blocks: int, places: Int64Array, firsts: Int64Array
) -> Int64Array:
    """Starts of blocks of nearly the same size, each at the deepest border nearby, and the end.

    >>> borders = Borders.of(np.where(np.arange(1001) == 467, 0, 1))
    >>> cut_near_borders(1001, 4, *borders)
    array([   0,  250,  467,  750, 1001])
    """
    starts = np.arange(blocks + 1) * records // blocks
    for block in range(1, blocks):
        for depth in range(len(firsts) - 1):
            here = places[firsts[depth] : firsts[depth + 1]]
            if len(here) == 0:
                continue
            place = _nearest(here, starts[block])
            if abs(place - starts[block]) <= records // blocks // 4:
                starts[block] = place
                break
    return starts


@njit(cache=True, nogil=True)
def _nearest(places: Int64Array, wanted: float) -> int:
    """The place, of ascending ones, that is nearest to the one wanted."""
    after = min(int(np.searchsorted(places, wanted)), len(places) - 1)
    before = max(after - 1, 0)
    is_before = wanted - places[before] <= places[after] - wanted
    return int(places[before] if is_before else places[after])


def to_whole_buckets(starts: Int64Array, count: int) -> Int64Array:
    """Move cuts back to whole buckets, if blocks are so large that this is close."""
    if count * _WHOLE_BUCKETS <= starts[-1] // (len(starts) - 1):
        starts[1:-1] -= starts[1:-1] % count
    return starts


def most_blocks(records: int, count: int) -> int:
    """How many blocks of so many records there may be at most, with ``count`` buckets each."""
    return max(records // max(_SMALLEST_BLOCK, _SMALLEST_BUCKET * count), 1)


def tried_blocks(blocks: int) -> Int64Array:
    """A few of so many blocks by which to judge a cut."""
    return np.unique(np.linspace(0, blocks - 1, _TRIED_BLOCKS).astype(np.int64))


class Judge:
    """Judges cuts of records by the plans of a few blocks."""

    def __init__(self, demand: Demand, counts: Int64Array, buckets: int) -> None:
        """``counts``: how often each (joint) value occurs among the records."""
        self.values = values_of(demand)
        self.buckets = buckets
        self.whole = self._planned(counts, 1)

    def loss(self, blocks: Sequence[Int64Array], number: int) -> float:
        """What plans promise, as a multiple of one block's loss, from counts of some blocks."""
        return float(np.mean([self._planned(counts, number) for counts in blocks]) / self.whole)

    def _planned(self, counts: Int64Array, number: int) -> float:
        """The loss of a record in one of so many blocks."""
        counts = np.pad(counts, (0, len(self.values.sensitive_codes) - len(counts)))
        plan = make_plan(counts, self.values, self.buckets)
        return plan.loss_among(number) / max(int(counts.sum()), 1)


def values_of(demand: Demand, profiles: Float64Array | None = None) -> Values:
    """The sensitive values of a table, and what is known of them."""
    marks = marks_of_values(demand)
    known = np.empty((len(marks), 0)) if profiles is None else profiles[: len(marks)]
    return Values(marks, demand.caps, known, demand.degree)


def marks_of_values(demand: Demand) -> Int32Array:
    """The marks of every (joint) sensitive value, [values, attributes]."""
    marks = np.zeros(
        (int(demand.sensitive_codes[:, 0].max()) + 1, demand.sensitive_codes.shape[1]), np.int32
    )
    marks[demand.sensitive_codes[:, 0]] = demand.sensitive_codes
    return marks


@njit(cache=True, nogil=True)
def keeps_caps(marks: Int32Array, starts: Int64Array, caps: Float64Array) -> bool:
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
