"""Which sensitive values share a bucket: a plan made from how often each value occurs, no more.

A block of records becomes one or more *tables* of μ buckets of equal size, in which no mark lies
in more buckets than its cap allows, perhaps a few with more buckets, which hold what had no room,
and at the end one *plain group*, small, in which every mark is within its cap. A plan says how
many records of each value go where; which ones is drawn by lot. Because a plan depends on the
block's counts alone, it is the same in every world in which the block's sensitive values are dealt
out otherwise: it tells an adversary nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numba import njit

from mottle.guarantees.demand import ROUNDING, allowed
from mottle.methods.buckets.bucketization import expected_loss, largest_fill
from mottle.typing import Float64Array, Int32Array, Int64Array

_SWAPPED_VALUES = 48  # the most frequent values, whose places are improved by moves and swaps
_SWAPPED_BUCKETS = 24
_TRUST = (1.0, 0.5, 0.0)  # how much profiles count against sizes; less when too little is placed …
_ENOUGH = 0.9  # … of the records
_LITTLE = 0.03  # share of the records that may be left over without trying more buckets
_MORE_BUCKETS = 1.25  # times as many are tried next for what is left over


class Values(NamedTuple):
    """The sensitive values of a table: their marks and what is publicly known of each."""

    sensitive_codes: Int32Array  # [values, attributes]
    caps: Float64Array  # by mark
    profiles: Float64Array  # [values, features]: where among quasi-identifiers a value lies
    least: int = 1  # records that a plain group must have at least


class BucketPlan(NamedTuple):
    """How many records of each value go where."""

    tables: list[Int64Array]  # each [values, buckets]; all buckets of a table hold equally many
    group: Int64Array  # [values]: the plain group at the end; may be empty

    @property
    def loss(self) -> float:
        """What may be expected to be lost by all records together."""
        return self.loss_among(1)

    def loss_among(self, blocks: int) -> float:
        """The same for one of so many blocks, whose records are so much closer together."""
        parts = [(table.shape[1], int(table.sum())) for table in self.tables]
        parts.append((int(self.group.sum()), int(self.group.sum())))
        return sum(records * expected_loss(buckets, records * blocks) for buckets, records in parts)


def is_group(counts: Int64Array, values: Values) -> bool:
    """Whether records of these counts can be a plain group: all caps kept, and not too few."""
    total = int(counts.sum())
    kept = np.all(by_mark(counts, values) <= allowed(values.caps, total))
    return total == 0 or bool(total >= values.least and kept)


def make_plan(counts: Int64Array, values: Values, buckets: int) -> BucketPlan:
    """Plan a block that is itself within caps.

    What does not fit a table is planned again by itself, as long as that promises less loss than
    a plain group. Tables have ``buckets`` or, where that leaves too much over, more.
    """
    return _plan_by(_best_table, counts, values, buckets)


def _plan_by(
    next_table: Callable[[Int64Array, Values, int], Int64Array | None],
    counts: Int64Array,
    values: Values,
    buckets: int,
) -> BucketPlan:
    """One table after the other, each for what is left over; None ends it."""
    tables = []
    rest = counts.astype(np.int64)
    while rest.sum() >= 2 * buckets:
        table = next_table(rest, values, buckets)
        if table is None:
            break
        tables.append(table)
        rest = rest - table.sum(axis=1)
    return BucketPlan(tables, rest)


def _best_table(counts: Int64Array, values: Values, fewest: int) -> Int64Array | None:
    """The table that promises least loss, what it leaves over included; None for a plain group."""
    records = int(counts.sum())
    best, least = None, records * expected_loss(records, records)
    buckets = fewest
    while 2 * buckets <= records:
        if records * expected_loss(buckets, records) >= least:
            break  # not even if it placed all
        table = _one_table(counts, values, buckets)
        if table is not None:
            left = counts - table.sum(axis=1)
            others = _plan_by(_one_table, left, values, fewest)
            loss = BucketPlan([table, *others.tables], others.group).loss
            if loss < least:
                best, least = table, loss
            if left.sum() <= _LITTLE * records:
                break
        buckets = _wider(buckets)
    return best


def _wider(buckets: int) -> int:
    return max(buckets + 1, round(buckets * _MORE_BUCKETS))


def _one_table(counts: Int64Array, values: Values, buckets: int) -> Int64Array | None:
    """A table that places most records and leaves a remainder within caps; None for none."""
    present = np.flatnonzero(counts)
    best: Int64Array | None = None
    for filled in _tables(counts[present], values, present, buckets):
        if filled is not None and (best is None or filled.sum() > best.sum()):
            best = filled
        if best is not None and best.sum() >= _ENOUGH * counts.sum():
            break
    if best is None:
        return None
    whole = np.zeros((len(counts), buckets), np.int64)
    whole[present] = best
    return whole


def _tables(
    counts: Int64Array, values: Values, present: Int64Array, buckets: int
) -> Iterator[Int64Array | None]:
    """Ways to fill the buckets: by profiles, by sizes, and to the brim."""
    for trust in _TRUST if values.profiles.size else (0.0,):
        profiles = values.profiles[present] * trust if trust else np.empty((len(present), 0))
        here = Values(values.sensitive_codes[present], values.caps, profiles, values.least)
        filled = _spread(counts, here, buckets)
        yield _largest_safe(counts, filled, here.sensitive_codes, here.caps, here.least)
    if values.sensitive_codes.shape[1] == 1:
        caps = values.caps[values.sensitive_codes[present, 0]]
        yield largest_fill(counts, caps, buckets, values.least)


@njit(cache=True, nogil=True)
def _largest_safe(
    counts: Int64Array, filled: Int64Array, marks: Int32Array, caps: Float64Array, least: int
) -> Int64Array | None:
    """Trim buckets to one size, the largest that leaves a remainder within caps."""
    size = counts.sum()
    for bucket in range(filled.shape[1]):
        size = min(size, filled[:, bucket].sum())
    while size > 0:
        table = filled.copy()
        left = counts.sum() - size * filled.shape[1]
        limit = np.floor(caps * left + ROUNDING).astype(np.int64)
        used = _marks_left(counts, table, marks, len(caps))
        _take_out(table, marks, limit, used, size)
        if left == 0 or (left >= least and np.all(used <= limit)):
            return table
        size -= max(size // 20, 1)
    return None


@njit(cache=True, nogil=True)
def _marks_left(
    counts: Int64Array, table: Int64Array, marks: Int32Array, number: int
) -> Int64Array:
    """How often each mark occurs among the records that are in no bucket."""
    used = np.zeros(number, np.int64)
    for value in range(len(counts)):
        left = counts[value] - table[value].sum()
        for mark in marks[value]:
            used[mark] += left
    return used


def _spread(counts: Int64Array, values: Values, buckets: int) -> Int64Array:
    """Deal values to buckets, the most frequent first, each to as few buckets as it needs.

    A piece of a value goes to the bucket that so becomes most like the average bucket, in size
    and in where its values lie: that is the emptiest one when nothing is known of the values.
    """
    weight = np.concatenate([np.ones((len(counts), 1)), values.profiles], axis=1)
    target = counts @ weight / buckets
    filled = np.zeros((len(counts), buckets), np.int64)
    order = np.argsort(-counts, kind="stable")
    _deal_values(
        order, counts, values.sensitive_codes, allowed(values.caps, buckets), weight, target, filled
    )
    if values.sensitive_codes.shape[1] == 1 and buckets <= _SWAPPED_BUCKETS:
        _improve(filled, weight, target)
    return filled


@njit(cache=True, nogil=True)
def _deal_values(
    order: Int64Array,
    counts: Int64Array,
    marks: Int32Array,
    limit: Int64Array,  # buckets that may hold each mark
    weight: Float64Array,  # [values, features]: of one record
    target: Float64Array,  # the sum of weights that every bucket should have
    filled: Int64Array,
) -> None:
    """Fill [values, buckets], one value after the other; what finds no bucket stays out."""
    buckets = filled.shape[1]
    capacity = target[0]
    largest = np.int64(np.ceil(capacity))
    spans = np.zeros(len(limit), np.int64)  # buckets that hold each mark
    holds = np.zeros((buckets, len(limit)), np.bool_)
    excess = np.empty((buckets, len(target)))
    excess[:] = -target
    for value in order:
        left = counts[value]
        while left > 0:
            best, least = -1, np.inf
            for bucket in range(buckets):
                is_open = excess[bucket, 0] < 0 and filled[value, bucket] == 0
                for mark in marks[value]:
                    is_open &= holds[bucket, mark] or spans[mark] < limit[mark]
                if is_open:
                    change = 0.0
                    for feature in range(len(target)):
                        change += excess[bucket, feature] * weight[value, feature]
                    if change < least:
                        best, least = bucket, change
            if best < 0:
                break
            piece = min(left, largest)
            filled[value, best] = piece
            for feature in range(len(target)):
                excess[best, feature] += piece * weight[value, feature]
            for mark in marks[value]:
                spans[mark] += not holds[best, mark]
                holds[best, mark] = True
            left -= piece


def _improve(filled: Int64Array, weight: Float64Array, target: Float64Array) -> None:
    """Move or swap whole values between buckets while buckets become more alike."""
    single = np.flatnonzero((filled > 0).sum(axis=1) == 1)
    frequent = single[np.argsort(-filled[single].sum(axis=1), kind="stable")][:_SWAPPED_VALUES]
    if len(frequent) < 2 or weight.shape[1] == 1:
        return
    home = filled[frequent].argmax(axis=1)
    steps = filled[frequent].sum(axis=1)[:, None] * weight[frequent]
    load = filled.T @ weight
    squares = (steps**2).sum(axis=1)
    apart = squares[:, None] + squares[None, :] - 2 * steps @ steps.T
    for _ in range(20 * len(frequent)):
        excess = load - target
        along = steps @ excess.T  # [values, buckets]
        here = along[np.arange(len(home)), home]
        moves = 2 * (along - here[:, None] + squares[:, None])
        moves[np.arange(len(home)), home] = 0.0
        to_theirs = along[:, home]  # [value, other]: along the bucket of the other
        gains = to_theirs - here[:, None]
        swaps = 2 * (gains + gains.T + apart)
        swaps[home[:, None] == home[None, :]] = 0.0
        best_move, best_swap = moves.min(), swaps.min()
        if min(best_move, best_swap) >= -1e-9:
            break
        if best_move <= best_swap:
            value, bucket = np.unravel_index(int(moves.argmin()), moves.shape)
            pairs = [(int(value), int(bucket))]
        else:
            first, second = np.unravel_index(int(swaps.argmin()), swaps.shape)
            pairs = [(int(first), int(home[second])), (int(second), int(home[first]))]
        for moved, to in pairs:
            load[home[moved]] -= steps[moved]
            load[to] += steps[moved]
            filled[frequent[moved], to] = filled[frequent[moved], home[moved]]
            filled[frequent[moved], home[moved]] = 0
            home[moved] = to


@njit(cache=True, nogil=True)
def _take_out(
    table: Int64Array, marks: Int32Array, limit: Int64Array, used: Int64Array, size: int
) -> None:
    """Trim every bucket to ``size``, each time the value with the most room in what is left.

    ``used``: how often each mark occurs in what is left, of ``limit`` that it may; is kept so.
    """
    for bucket in range(table.shape[1]):
        surplus = table[:, bucket].sum() - size
        while surplus > 0:
            value, most, second = -1, 0, 0  # a runner-up without room does not count
            for other in range(table.shape[0]):
                if table[other, bucket] == 0:
                    continue
                room = limit[marks[other, 0]] - used[marks[other, 0]]
                for system in range(1, marks.shape[1]):
                    mark = marks[other, system]
                    room = min(room, limit[mark] - used[mark])
                if value < 0 or room > most:
                    second = max(second, most) if value >= 0 else second
                    value, most = other, room
                else:
                    second = max(second, room)
            taken = min(max(most - second, 1), surplus, table[value, bucket])
            table[value, bucket] -= taken
            for system in range(marks.shape[1]):
                used[marks[value, system]] += taken
            surplus -= taken


def by_mark(counts: Int64Array, values: Values) -> Int64Array:
    """How often each mark occurs."""
    totals = np.zeros(len(values.caps), np.int64)
    for system in range(values.sensitive_codes.shape[1]):
        np.add.at(totals, values.sensitive_codes[:, system], counts)
    return totals
