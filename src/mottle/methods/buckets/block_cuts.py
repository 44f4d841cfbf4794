"""How many blocks `buckets` cuts a table into, and where (step 1): one decision for all of it.

This module holds the rule for tables in memory and for tables that are read region by region
(`mottle.methods.buckets.partitioned.cuts`); the two differ only in how values are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
from numba import njit

from mottle.guarantees.demand import ROUNDING, Demand
from mottle.methods.buckets.plan import SensitiveValues, make_plan
from mottle.typing import Float64Array, Int32Array, Int64Array

_SMALLEST_BLOCK = 500  # records: smaller blocks leave less choice
_SMALLEST_BUCKET = 8  # records: smaller buckets leave a larger remainder
_SMALLER, _LARGER = (
    0.65,
    1.5,
)  # block sizes, in means, that are allowed so that cuts fall on borders
_WHOLE_BUCKETS = (
    20  # cuts move to multiples of the bucket count in blocks of this many such multiples
)
_TRIED_BLOCKS = 16  # blocks by which a cut is judged
_LARGEST_BUCKET = 170  # records: larger buckets are less alike and lose more
_LARGER_LOSS = 0.5  # exponent by which the loss grows with the size of buckets above the largest
_FEW_BLOCKS = 0.15  # additional loss of a single block, because many blocks are cut at borders
_AS_GOOD = 1.02  # loss, as a multiple of that of equal blocks, at which fewer blocks are not tried
_BEST_PLANS = 0.8  # lowest loss of plans that has been seen, as a multiple of that of one block

Chosen = TypeVar("Chosen")


class CutRule(IntEnum):
    """How a number of blocks is cut; the first usually loses least, the others may keep caps."""

    BORDERS = 0  # at borders, wherever that leaves blocks of about the same size
    NEARBY = 1  # at borders not far from where even cuts would be
    WHOLE_BUCKETS = 2  # evenly, at multiples of the number of buckets
    EVENLY = 3

    @property
    def more_loss(self) -> float:
        """Expected loss as a multiple of that of the first rule."""
        return (1.0, 1.05, 1.1, 1.1)[self]


class Borders(NamedTuple):
    """Places along the order where a record differs from the one before, by depth.

    The depth of a border is the number of leading columns in which the two records agree: between
    the men and the women it is 0.
    """

    places: Int64Array  # ascending within each depth
    firsts: Int64Array  # [depths + 1]: where each depth begins in ``places``

    @classmethod
    def of(cls, depths: Int32Array, places: Int64Array | None = None) -> Borders:
        """Make borders from the depths of all places, or of some.

        >>> Borders.of(np.array([0, 1, 0, 1]))
        Borders(places=array([2, 1, 3]), firsts=array([0, 1, 3]))
        """
        if places is None:
            places, depths = np.arange(1, len(depths)), depths[1:]
        order = np.lexsort((places, depths))
        firsts = np.searchsorted(depths[order], np.arange(int(depths.max(initial=-1)) + 2))
        return cls(places[order], firsts)


class Trial(NamedTuple):
    """The outcome of one cut, evaluated on demand."""

    kept: Callable[[], bool]  # whether all blocks keep the caps
    loss: Callable[[], float]  # loss expected from plans, as a multiple of that of one block


def best(
    records: int, count: int, trials: Callable[[int], Iterator[tuple[Chosen, Trial]]]
) -> Chosen | None:
    """The cut with the least expected loss among those that keep the caps; None for one block.

    The largest number of blocks is tried first, and taken if its expected loss is hardly above the
    optimum; then fewer blocks are tried until their buckets are too large to be better.
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
    """Factor by which the loss grows with this number of blocks because buckets are not alike.

    An estimate from CENSUS and generated people, 2 to 150 buckets.
    """
    bucket = records / (blocks * count)
    larger = max(bucket / _LARGEST_BUCKET, 1.0) ** _LARGER_LOSS
    return float(larger * (1 + _FEW_BLOCKS / blocks**2))


def fewer(blocks: int, *, eligible: bool = False) -> int:
    """The next number of blocks to try; a large step if caps were kept."""
    return blocks - max(blocks // (4 if eligible else 40), 1)


def best_cut(
    demand: Demand, order: Int64Array, count: int, borders: Int32Array | None = None
) -> Int64Array:
    """Starts of the blocks along the order with the least expected loss, and the end.

    The decision uses counts of values per block only, and is made once for the whole table.
    ``borders`` [n]: the depth of the border before each record.
    """
    sensitive_codes = demand.sensitive_codes[order]
    values = demand.values[order]
    judge = Judge(demand, np.bincount(values), count)
    known = None if borders is None else Borders.of(borders)

    def counts(starts: Int64Array) -> list[Int64Array]:
        return [
            np.bincount(values[starts[block] : starts[block + 1]])
            for block in tried_blocks(len(starts) - 1)
        ]

    def trials(blocks: int) -> Iterator[tuple[Int64Array, Trial]]:
        for rule in CutRule:
            if known is None and rule <= CutRule.NEARBY:
                continue
            starts = cut_by(rule, len(order), blocks, count, known)
            more = 1.0 if known is None else rule.more_loss
            yield (
                starts,
                Trial(
                    partial(keeps_caps, sensitive_codes, starts, demand.caps),
                    lambda: judge.loss(counts(starts), blocks) * more,  # noqa: B023 - at once
                ),
            )

    found = best(len(order), count, trials)
    return np.array([0, len(order)], np.int64) if found is None else found


def cut_by(
    rule: CutRule, records: int, blocks: int, count: int, borders: Borders | None
) -> Int64Array:
    """Starts of ``blocks`` blocks, cut by one of the rules, and the end."""
    if rule <= CutRule.NEARBY:
        assert borders is not None
        cut = cut_at_borders if rule is CutRule.BORDERS else cut_near_borders
        starts = cut(records, blocks, borders.places, borders.firsts)
    else:
        starts = np.arange(blocks + 1) * records // blocks
    return starts if rule is CutRule.EVENLY else to_whole_buckets(starts, count)


@njit(cache=True, nogil=True)
def cut_at_borders(records: int, blocks: int, places: Int64Array, firsts: Int64Array) -> Int64Array:
    """Starts of blocks of nearly the same size, cut at the deepest borders, and the end.

    Depth by depth, cuts move to the nearest border if that leaves all blocks of about the same
    size; the remaining cuts are then spread evenly between those that have a border.

    >>> borders = Borders.of(np.where(np.arange(1001) == 380, 0, 1))
    >>> cut_at_borders(1001, 4, *borders)
    array([   0,  190,  380,  690, 1001])
    """
    smallest, largest = _SMALLER * records / blocks, _LARGER * records / blocks
    ends, numbers = np.array([0, records]), np.array([0, blocks])  # places, and blocks before each
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
    """The one of the ascending ``places`` that is nearest to ``wanted``."""
    after = min(int(np.searchsorted(places, wanted)), len(places) - 1)
    before = max(after - 1, 0)
    is_before = wanted - places[before] <= places[after] - wanted
    return int(places[before] if is_before else places[after])


def to_whole_buckets(starts: Int64Array, count: int) -> Int64Array:
    """Move cuts back to multiples of ``count``, if blocks are so large that this hardly matters."""
    if count * _WHOLE_BUCKETS <= starts[-1] // (len(starts) - 1):
        starts[1:-1] -= starts[1:-1] % count
    return starts


def most_blocks(records: int, count: int) -> int:
    """Largest number of blocks for ``records`` records, with ``count`` buckets each."""
    return max(records // max(_SMALLEST_BLOCK, _SMALLEST_BUCKET * count), 1)


def tried_blocks(blocks: int) -> Int64Array:
    """The few of ``blocks`` blocks by which a cut is judged."""
    return np.unique(np.linspace(0, blocks - 1, _TRIED_BLOCKS).astype(np.int64))


class Judge:
    """Rates cuts of records by the plans of a few blocks."""

    def __init__(self, demand: Demand, counts: Int64Array, buckets: int) -> None:
        """``counts``: number of records of each (joint) value."""
        self.values = values_of(demand)
        self.buckets = buckets
        self.whole = self._planned(counts, 1)

    def loss(self, blocks: Sequence[Int64Array], number: int) -> float:
        """Expected loss from plans for some blocks, as a multiple of the loss of one block."""
        return float(np.mean([self._planned(counts, number) for counts in blocks]) / self.whole)

    def _planned(self, counts: Int64Array, number: int) -> float:
        """Expected loss of a record in one of ``number`` blocks."""
        counts = np.pad(counts, (0, len(self.values.sensitive_codes) - len(counts)))
        plan = make_plan(counts, self.values, self.buckets)
        return plan.loss_among(number) / max(int(counts.sum()), 1)


def values_of(demand: Demand, profiles: Float64Array | None = None) -> SensitiveValues:
    """The sensitive values of a table, and what is publicly known of them."""
    codes = codes_by_value(demand)
    known = np.empty((len(codes), 0)) if profiles is None else profiles[: len(codes)]
    return SensitiveValues(codes, demand.caps, known, demand.degree)


def codes_by_value(demand: Demand) -> Int32Array:
    """The sensitive codes of every (joint) sensitive value, [values, attributes]."""
    codes = np.zeros(
        (int(demand.sensitive_codes[:, 0].max()) + 1, demand.sensitive_codes.shape[1]), np.int32
    )
    codes[demand.sensitive_codes[:, 0]] = demand.sensitive_codes
    return codes


@njit(cache=True, nogil=True)
def keeps_caps(sensitive_codes: Int32Array, starts: Int64Array, caps: Float64Array) -> bool:
    """Whether no block has more records of a sensitive code than its cap allows."""
    counts = np.zeros(caps.size, np.int64)
    for block in range(len(starts) - 1):
        size = starts[block + 1] - starts[block]
        for row in range(starts[block], starts[block + 1]):
            for attribute in range(sensitive_codes.shape[1]):
                code = sensitive_codes[row, attribute]
                counts[code] += 1
                if counts[code] > np.floor(caps[code] * size + ROUNDING):
                    return False
        for row in range(starts[block], starts[block + 1]):
            for attribute in range(sensitive_codes.shape[1]):
                counts[sensitive_codes[row, attribute]] = 0
    return True
