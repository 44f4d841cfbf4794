"""Which sensitive values share a bucket: a plan made from the counts of values only.

A block of records becomes one or more *tables* of μ buckets of equal size, in which no sensitive
code lies in more buckets than its cap allows; possibly a few tables with more buckets, for records
that had no room; and at the end one small *plain group*, in which every code is within its cap. A
plan says how many records of each value go where; which records these are is drawn at random.
Because a plan depends on the block's counts alone, it is the same in every world in which the
block's sensitive values are distributed differently over its records, so it reveals nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mottle.guarantees.demand import ROUNDING, Demand, allowed
from mottle.methods.buckets.bucketization import expected_loss, largest_fill
from mottle.typing import Float64Array, Int32Array, Int64Array
from mottle.utils.compiled import inner_kernel, kernel

_SWAPPED_VALUES = 48  # number of most frequent values whose buckets are improved by moves and swaps
_SWAPPED_BUCKETS = 24  # most buckets for which that is done
_TRUST = (1.0, 0.5, 0.0)  # weights of profiles against sizes, tried until enough records are placed
_ENOUGH = 0.9  # share of the records that is enough
_LITTLE = 0.03  # share of the records that may be left over without trying more buckets
_MORE_BUCKETS = 1.25  # factor to the number of buckets that is tried next


class SensitiveValues(NamedTuple):
    """The sensitive values of a table: their codes and what is publicly known of each."""

    sensitive_codes: Int32Array  # [values, attributes]
    caps: Float64Array  # by sensitive code
    profiles: Float64Array  # [values, features]: where among quasi-identifiers a value lies
    least: int = 1  # fewest records of a plain group


class BucketPlan(NamedTuple):
    """The number of records of each value in every bucket."""

    tables: list[Int64Array]  # each [values, buckets]; all buckets of a table have the same size
    group: Int64Array  # [values]: the plain group at the end; may be empty

    @property
    def loss(self) -> float:
        """Expected total loss of all records."""
        parts = [(table.shape[1], int(table.sum())) for table in self.tables]
        parts.append((int(self.group.sum()), int(self.group.sum())))
        return sum(records * expected_loss(buckets, records) for buckets, records in parts)

    def bounded(self, values: SensitiveValues, known_records: int) -> BucketPlan:
        """The same plan in tables so small that one known record gives away few others.

        Every table is divided into tables with the same values in the same buckets, by counts
        alone; which records go where is drawn at random, as before.
        """
        tables = [part for table in self.tables for part in _divided(table, values, known_records)]
        return BucketPlan(tables, self.group)


def _divided(
    table: Int64Array, values: SensitiveValues, known_records: int
) -> Iterator[Int64Array]:
    """Tables of equally many buckets, none larger than the bound allows, that add up to one."""
    size = int(table[:, 0].sum())
    held = [values.sensitive_codes[filled > 0] for filled in table.T]
    parts = -(-size // largest_bucket(table.shape[1], widest(held), known_records))
    running = np.cumsum(table, axis=0)
    for part in range(parts):
        # Of every bucket's records, one value after the other, each part takes every parts-th.
        yield np.diff((running - part + parts - 1) // parts, axis=0, prepend=0)


def widest(buckets: Sequence[Int32Array] | Int32Array) -> int:
    """The most of some buckets, given by the sensitive codes of their records, that share a code.

    >>> widest([np.array([0, 1]), np.array([1, 2]), np.array([1, 3])])
    3
    """
    held = np.concatenate([np.unique(codes) for codes in buckets])
    return int(np.unique(held, return_counts=True)[1].max(initial=0))


def largest_bucket(buckets: int, spans: int, known_records: int) -> int:
    """The most records of a bucket such that one known record gives away at most so many others.

    Whoever knows where the records of one bucket went knows the others of that bucket. If a code
    lies in so many buckets, ``spans``, that all others may hold it (as in a table of two), the
    other buckets count as known as well.

    >>> largest_bucket(3, 1, 63), largest_bucket(2, 1, 63), largest_bucket(3, 2, 63)
    (64, 32, 21)
    """
    together = 1 if spans < buckets - 1 else buckets
    return max((known_records + 1) // together, 1)


def others_given_away(buckets: int, spans: int, size: int) -> int:
    """How many other records one known record of a table with buckets of ``size`` gives away."""
    return (size if spans < buckets - 1 else buckets * size) - 1


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


def is_group(counts: Int64Array, values: SensitiveValues) -> bool:
    """Whether records with these counts can be a plain group: caps kept, and enough records."""
    total = int(counts.sum())
    kept = np.all(counts_by_code(counts, values) <= allowed(values.caps, total))
    return total == 0 or bool(total >= values.least and kept)


def make_plan(counts: Int64Array, values: SensitiveValues, buckets: int) -> BucketPlan:
    """Plan a block that is itself within the caps.

    What does not fit a table is planned again separately, as long as the expected loss is less than
    that of a plain group. Tables have ``buckets`` buckets, or more if that leaves too much over.
    """
    return _plan_by(_best_table, counts, values, buckets)


def _plan_by(
    next_table: Callable[[Int64Array, SensitiveValues, int], Int64Array | None],
    counts: Int64Array,
    values: SensitiveValues,
    buckets: int,
) -> BucketPlan:
    """One table after another, each for what is left over, until ``next_table`` returns None."""
    tables = []
    rest = counts.astype(np.int64)
    while rest.sum() >= 2 * buckets:
        table = next_table(rest, values, buckets)
        if table is None:
            break
        tables.append(table)
        rest = rest - table.sum(axis=1)
    return BucketPlan(tables, rest)


def _best_table(counts: Int64Array, values: SensitiveValues, fewest: int) -> Int64Array | None:
    """The table with the least expected loss, including what it leaves over; None for a group."""
    records = int(counts.sum())
    best, least = None, records * expected_loss(records, records)
    buckets = fewest
    while 2 * buckets <= records:
        if records * expected_loss(buckets, records) >= least:
            break  # even a table that places all records would not be better
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


def _one_table(counts: Int64Array, values: SensitiveValues, buckets: int) -> Int64Array | None:
    """The table that places most records and leaves a remainder within the caps; None for none."""
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
    counts: Int64Array, values: SensitiveValues, present: Int64Array, buckets: int
) -> Iterator[Int64Array | None]:
    """Ways to fill the buckets: by profiles, by sizes, and as full as possible."""
    for trust in _TRUST if values.profiles.size else (0.0,):
        profiles = values.profiles[present] * trust if trust else np.empty((len(present), 0))
        here = SensitiveValues(values.sensitive_codes[present], values.caps, profiles, values.least)
        filled = _spread(counts, here, buckets)
        yield _largest_safe(counts, filled, here.sensitive_codes, here.caps, here.least)
    if values.sensitive_codes.shape[1] == 1:
        caps = values.caps[values.sensitive_codes[present, 0]]
        yield largest_fill(counts, caps, buckets, values.least)


@kernel
def _largest_safe(
    counts: Int64Array,
    filled: Int64Array,
    sensitive_codes: Int32Array,
    caps: Float64Array,
    least: int,
) -> Int64Array | None:
    """Trim buckets to one size, the largest that leaves a remainder within the caps."""
    size = counts.sum()
    for bucket in range(filled.shape[1]):
        size = min(size, filled[:, bucket].sum())
    while size > 0:
        table = filled.copy()
        left = counts.sum() - size * filled.shape[1]
        limit = np.floor(caps * left + ROUNDING).astype(np.int64)
        used = _codes_left(counts, table, sensitive_codes, len(caps))
        _take_out(table, sensitive_codes, limit, used, size)
        if left == 0 or (left >= least and np.all(used <= limit)):
            return table
        size -= max(size // 20, 1)
    return None


@inner_kernel
def _codes_left(
    counts: Int64Array, table: Int64Array, sensitive_codes: Int32Array, number: int
) -> Int64Array:
    """Number of occurrences of each sensitive code among the records that are in no bucket."""
    used = np.zeros(number, np.int64)
    for value in range(len(counts)):
        left = counts[value] - table[value].sum()
        for code in sensitive_codes[value]:
            used[code] += left
    return used


def _spread(counts: Int64Array, values: SensitiveValues, buckets: int) -> Int64Array:
    """Distribute values to buckets, the most frequent first, each to as few buckets as it needs.

    A piece of a value goes to the bucket that thereby becomes most similar to the average bucket,
    in size and in the profiles of its values: the emptiest one if nothing is known of the values.
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


@kernel
def _deal_values(
    order: Int64Array,
    counts: Int64Array,
    sensitive_codes: Int32Array,
    limit: Int64Array,  # number of buckets that may hold each code
    weight: Float64Array,  # [values, features]: of one record
    target: Float64Array,  # the sum of weights that every bucket should have
    filled: Int64Array,
) -> None:
    """Fill [values, buckets], one value after another; records without a bucket are left out."""
    buckets = filled.shape[1]
    capacity = target[0]
    largest = np.int64(np.ceil(capacity))
    spans = np.zeros(len(limit), np.int64)  # number of buckets that hold each code
    holds = np.zeros((buckets, len(limit)), np.bool_)
    excess = np.empty((buckets, len(target)))
    for bucket in range(buckets):  # by itself: broadcasting would compile its error message as well
        for feature in range(len(target)):
            excess[bucket, feature] = -target[feature]
    for value in order:
        left = counts[value]
        while left > 0:
            best, least = -1, np.inf
            for bucket in range(buckets):
                is_open = excess[bucket, 0] < 0 and filled[value, bucket] == 0
                for code in sensitive_codes[value]:
                    is_open &= holds[bucket, code] or spans[code] < limit[code]
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
            for code in sensitive_codes[value]:
                spans[code] += not holds[best, code]
                holds[best, code] = True
            left -= piece


def _improve(filled: Int64Array, weight: Float64Array, target: Float64Array) -> None:
    """Move or swap whole values between buckets as long as buckets become more similar."""
    single = np.flatnonzero((filled > 0).sum(axis=1) == 1)
    frequent = single[np.argsort(-filled[single].sum(axis=1), kind="stable")][:_SWAPPED_VALUES]
    if len(frequent) < 2 or weight.shape[1] == 1:
        return
    home = filled[frequent].argmax(axis=1)
    steps = filled[frequent].sum(axis=1)[:, None] * weight[frequent]
    load = filled.T @ weight
    squares = (steps**2).sum(axis=1)
    differences = squares[:, None] + squares[None, :] - 2 * steps @ steps.T
    for _ in range(20 * len(frequent)):
        excess = load - target
        along = steps @ excess.T  # [values, buckets]
        here = along[np.arange(len(home)), home]
        moves = 2 * (along - here[:, None] + squares[:, None])
        moves[np.arange(len(home)), home] = 0.0
        to_theirs = along[:, home]  # [value, other]: for the bucket of the other value
        gains = to_theirs - here[:, None]
        swaps = 2 * (gains + gains.T + differences)
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


@inner_kernel
def _take_out(
    table: Int64Array, sensitive_codes: Int32Array, limit: Int64Array, used: Int64Array, size: int
) -> None:
    """Trim every bucket to ``size``, each time by the value with the most room in the remainder.

    ``used``: number of occurrences of each code in the remainder, kept up to date; ``limit``: the
    number that is allowed.
    """
    for bucket in range(table.shape[1]):
        surplus = table[:, bucket].sum() - size
        while surplus > 0:
            value, most, second = -1, 0, 0  # a second best without room does not count
            for other in range(table.shape[0]):
                if table[other, bucket] == 0:
                    continue
                room = limit[sensitive_codes[other, 0]] - used[sensitive_codes[other, 0]]
                for attribute in range(1, sensitive_codes.shape[1]):
                    code = sensitive_codes[other, attribute]
                    room = min(room, limit[code] - used[code])
                if value < 0 or room > most:
                    second = max(second, most) if value >= 0 else second
                    value, most = other, room
                else:
                    second = max(second, room)
            taken = min(max(most - second, 1), surplus, table[value, bucket])
            table[value, bucket] -= taken
            for attribute in range(sensitive_codes.shape[1]):
                used[sensitive_codes[value, attribute]] += taken
            surplus -= taken


def counts_by_code(counts: Int64Array, values: SensitiveValues) -> Int64Array:
    """Number of occurrences of each sensitive code; ``counts`` [values] are numbers of records."""
    totals = np.zeros(len(values.caps), np.int64)
    for attribute in range(values.sensitive_codes.shape[1]):
        np.add.at(totals, values.sensitive_codes[:, attribute], counts)
    return totals
