"""Distribute sensitive values over buckets: HET's Algorithms 1 and 3 as printed, and ours in caps.

This module works on counts only and never sees individual records: ``counts[v]`` records carry
value v, and a *fill* is a table [values, buckets] that says how many of them each bucket holds. All
buckets of a fill have the same size.

HET's Algorithm 1 may split a value over two buckets although its cap allows only one, and relies on
never matching such records with each other. That is enough for the preimages of a published record,
but not for the values published on an individual's matches: these come from one record of every
bucket, whatever was matched, and two of them may carry the split value. Algorithm 3 splits values
as well, and both need dummies when the number of buckets does not divide the number of records.
`fills_within_caps` does what is sound: a value lies in no more buckets than its cap allows for that
number of buckets, and what does not fit is filled into buckets again, until the last few records
become one plain group.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from mottle.guarantees.demand import ROUNDING, allowed
from mottle.typing import Float64Array, Int64Array
from mottle.utils.compiled import inner_kernel, kernel

# Shares of the surplus that are left out in proportion before filling; the rest overflows.
_LEFT_OUT_FIRST = (1.0, 0.5, 0.0)
_NOT_FAR: Float64Array = np.empty((0, 0))


# ------------------------------------------------------------------------------ as in the paper


def diverse_fill(counts: Int64Array, diversity: int) -> Int64Array:
    """Algorithm 1: ℓ buckets, each started with one of the ℓ most frequent values, then filled up.

    The next most frequent value goes to the emptiest bucket, as much of it as fits, then to the
    next emptiest. Requires an eligible table whose size is a multiple of ℓ.

    >>> diverse_fill(np.array([3, 3, 2, 2, 2]), 4).T.tolist()  # aaa bbb cce dde
    [[3, 0, 0, 0, 0], [0, 3, 0, 0, 0], [0, 0, 2, 0, 1], [0, 0, 0, 2, 1]]
    """
    size = int(counts.sum()) // diversity
    by_frequency = np.argsort(-counts, kind="stable")
    fill = np.zeros((len(counts), diversity), np.int64)
    fill[by_frequency[:diversity], np.arange(diversity)] = counts[by_frequency[:diversity]]
    for value in by_frequency[diversity:]:
        left = int(counts[value])
        while left > 0:
            load = fill.sum(axis=0)
            bucket = int(np.argmin(load))
            placed = min(left, size - int(load[bucket]))
            fill[value, bucket] += placed
            left -= placed
    return fill


def diversity_for_likeness(counts: Int64Array, beta: float | Float64Array) -> int | None:
    """Theorem 4: the ℓ whose ℓ-diversity implies β-likeness, or None if there is none.

    ℓ ≥ 1 / ((1 + β)·φ_m) covers the rarest value. The theorem requires β ≥ φ_M / φ_m - 1; because ℓ
    is a whole number, we require what that is meant to ensure: the most frequent value has a share
    of at most 1/ℓ.

    >>> diversity_for_likeness(np.array([24, 26, 25, 25]), 0.4)
    3
    >>> diversity_for_likeness(np.array([10, 40, 25, 25]), 0.4) is None
    True
    """
    records = int(counts.sum())
    diversity = math.ceil(float((records / ((1 + beta) * counts)).max()) - ROUNDING)
    return diversity if int(counts.max()) * diversity <= records else None


def likeness_fill(counts: Int64Array, size: int) -> Int64Array:
    """Algorithm 3 for buckets of a given size, filled one by one; the last may not be full.

    Values that fill buckets exactly come first, then the others by ascending frequency. (The text
    says descending, but Tables 7 and 8, and the β they reach, are those of the ascending order.)

    >>> likeness_fill(np.array([6, 7, 12]), 4).T.tolist()  # Table 7, without its dummies
    [[0, 0, 4], [0, 0, 4], [0, 0, 4], [4, 0, 0], [2, 2, 0], [0, 4, 0], [0, 1, 0]]
    """
    order, ends = _in_sequence(counts, size)
    fill = np.zeros((len(counts), -(-int(counts.sum()) // size)), np.int64)
    edges = np.arange(fill.shape[1] + 1) * size
    for value, end in zip(order, ends, strict=True):
        within = np.clip(edges, end - counts[value], end)
        fill[value] = np.diff(within)
    return fill


def attainable_beta(counts: Int64Array, size: int) -> Float64Array:
    """The least β that Algorithm 3 attains with buckets of this size, for each value (eq. 7).

    β ≥ c / (n_i / |B_i|) - 1; the paper uses the maximum over values.

    >>> [round(float(attainable_beta(np.array([6, 7, 12]), size).max()), 2) for size in (4, 5, 6)]
    [0.71, 0.67, 0.71]
    """
    order, ends = _in_sequence(counts, size)
    first, last = (ends - counts[order]) // size, (ends - 1) // size
    buckets = np.empty(len(counts), np.int64)
    buckets[order] = last - first + 1
    return size * buckets / counts - 1


def largest_bucket_size(counts: Int64Array, beta: float | Float64Array) -> int:
    """The search of Algorithm 3: from the highest count down until β is attainable.

    ``beta`` may differ by value (enhanced β-likeness). With the greatest common divisor of the
    counts as size, every bucket holds a single value and β = 0 is attained.

    >>> largest_bucket_size(np.array([6, 7, 12]), 0.7), largest_bucket_size(np.array([6, 9]), 0)
    (5, 3)
    """
    purest = int(np.gcd.reduce(counts))
    for size in range(int(counts.max()), purest, -1):
        if np.all(attainable_beta(counts, size) <= beta + ROUNDING):
            return size
    return purest


def _in_sequence(counts: Int64Array, size: int) -> tuple[Int64Array, Int64Array]:
    """Values in the order in which Algorithm 3 places them, and where each of them ends."""
    order = np.lexsort((counts, counts % size != 0))
    return order, np.cumsum(counts[order])


# ---------------------------------------------------------------------------------- within caps


def fills_within_caps(
    counts: Int64Array, caps: Float64Array, least: int, distance: Float64Array | None = None
) -> list[Int64Array]:
    """Fills that hold all records, every value in no more buckets than its cap allows.

    With μ buckets, value v may lie in ``caps[v]`` · μ of them. μ is at least ``least`` and as small
    as possible without leaving many records over; those left over, themselves within the caps, are
    filled in turn. The last fill may have buckets of one record: a plain group. ``counts`` must be
    within the caps; `guarantees` has checked that.

    With ``distance`` [values, values], a value goes to the bucket with the most distant values that
    has room for it (HET's threshold mode), instead of to the emptiest.

    >>> [fill.tolist() for fill in fills_within_caps(np.array([3, 3, 2]), np.full(3, 0.5), 2)]
    [[[3, 0], [0, 2], [0, 1]], [[0, 0], [1, 0], [0, 1]]]
    """
    far = _NOT_FAR if distance is None or not distance.any() else distance
    fills = []
    left = counts.astype(np.int64)
    while left.any():
        fill = good_fill(left, caps, least, far)
        fills.append(fill)
        left = left - fill.sum(axis=1)
    return fills


def good_fill(
    counts: Int64Array, caps: Float64Array, least: int, distance: Float64Array = _NOT_FAR
) -> Int64Array:
    """The fill with the least expected loss; few buckets and few records left over both help."""
    records = int(counts.sum())
    fewest = max(least, math.ceil(1 / caps[counts > 0].min() - ROUNDING))
    best, least_loss = None, np.inf
    for buckets in _numbers_of_buckets(counts, fewest):
        if records * expected_loss(buckets, records) >= least_loss:
            break  # even a fill without remainder would not be better
        fill = largest_fill(counts, caps, buckets, least, distance)
        if fill is None:
            continue
        parts = (int(fill.sum()), records - int(fill.sum()))
        loss = sum(part * expected_loss(buckets, part) for part in parts)
        if loss < least_loss:
            best, least_loss = fill, loss
    assert best is not None  # one record per bucket always fits
    return best


def expected_loss(buckets: int, records: int) -> float:
    """Rough estimate of the loss of a box of μ out of N records: 1 / (1 + 2.6·N^0.4 / μ^0.86).

    Fitted to ADULT and CENSUS.
    """
    return 1 / (1 + 2.6 * math.pow(records, 0.4) / math.pow(max(buckets, 1), 0.86))


def _numbers_of_buckets(counts: Int64Array, fewest: int) -> Iterator[int]:
    """Numbers of buckets to try, ascending: not all if there are many, but those sure to work."""
    records = int(counts.sum())
    pure = records // int(np.gcd.reduce(counts))
    buckets = min(fewest, records)
    while buckets < records:
        following = buckets + max(buckets // 200, 1)
        yield buckets
        if buckets < pure < following:
            yield pure
        buckets = following
    yield records


def largest_fill(
    counts: Int64Array,
    caps: Float64Array,
    buckets: int,
    least: int,
    distance: Float64Array = _NOT_FAR,
) -> Int64Array | None:
    """The fill of ``buckets`` buckets that leaves fewest records over, or None if there is none.

    Smaller buckets leave more records over, and a larger remainder is easier to keep within the
    caps, so a binary search finds the largest size, or nearly so.
    """
    budget = allowed(caps, buckets)
    if np.minimum(budget, counts).sum() < buckets:
        return None
    filled = partial(_filled, counts, caps, least, budget, buckets, distance)
    largest = int(counts.sum()) // buckets
    high, low, drop = largest + 1, largest, 1  # too large; next to try; next decrease
    best = filled(low)
    while best is None and low > 1:
        high, low = low, max(low - drop, 1)
        drop *= 2
        best = filled(low)
    while best is not None and high - low > 1:
        middle = (low + high) // 2
        better = filled(middle)
        if better is None:
            high = middle
        else:
            best, low = better, middle
    return best


@kernel
def _filled(
    counts: Int64Array,
    caps: Float64Array,
    least: int,
    budget: Int64Array,
    buckets: int,
    distance: Float64Array,
    size: int,
) -> Int64Array | None:
    """Buckets of size ``size``; None if not all get full or the remainder breaks a cap."""
    rest = counts.sum() - buckets * size
    if 0 < rest < least:
        return None
    spare = np.minimum(np.floor(caps * rest + ROUNDING).astype(np.int64), counts)
    if spare.sum() < rest:
        return None
    for share in _LEFT_OUT_FIRST:
        left_out = in_proportion(spare, int(share * rest))
        fill = _fill(counts - left_out, budget, spare - left_out, size, buckets, distance)
        if fill is not None:
            return fill
    return None


@inner_kernel
def _fill(
    counts: Int64Array,
    budget: Int64Array,
    spare: Int64Array,
    size: int,
    buckets: int,
    distance: Float64Array,
) -> Int64Array | None:
    """Fill buckets as Algorithms 1 and 3 do, no value into more than its ``budget`` of them.

    First come the values that fill whole buckets; then what is left of each value, the largest
    first, goes to the emptiest bucket, undivided if it fits or if the budget allows no further
    bucket. So a bucket may get more than ``size``; the surplus is taken out again, at most
    ``spare`` records of a value. None if that is not possible.
    """
    by_frequency = np.argsort(-counts, kind="mergesort")
    fill = np.zeros((len(counts), buckets), np.int64)
    left, budget = counts.copy(), budget.copy()
    first = 0
    for value in by_frequency:
        whole = min(counts[value] // size, budget[value], buckets - first)
        fill[value, first : first + whole] = size
        left[value] -= size * whole
        budget[value] -= whole
        first += whole
    order = np.argsort(-left, kind="mergesort")
    splits = budget[order] > 1
    order = np.append(order[~splits], order[splits])  # values that cannot be split are placed first
    fits = _place_the_rest(order[left[order] > 0], left, budget, size, distance, fill)
    return fill if fits and _take_surplus(fill, size, spare.copy()) else None


@inner_kernel
def _place_the_rest(
    order: Int64Array,
    left: Int64Array,
    budget: Int64Array,
    size: int,
    distance: Float64Array,
    fill: Int64Array,
) -> bool:
    """Put what is left of every value into ``fill``; return whether all buckets are full.

    ``budget`` is the number of further buckets that each value may be put into.
    """
    values, buckets = fill.shape
    load = np.zeros(buckets, np.int64)
    latest = np.zeros(values, np.int64)  # by value: the last bucket that got some of it
    for value in range(values):
        for bucket in range(buckets):
            if fill[value, bucket] > 0:
                load[bucket] += fill[value, bucket]
                latest[value] = bucket
    for value in order:
        amount, chances = left[value], budget[value]
        while amount > 0:
            bucket = latest[value]
            if chances > 0:
                bucket = _bucket_for(value, amount, size, fill, load, distance)
                chances -= 1
            room = size - load[bucket]
            placed = room if 0 < room < amount and chances > 0 else amount
            fill[value, bucket] += placed
            load[bucket] += placed
            amount -= placed
            latest[value] = bucket
    return bool(load.min() >= size)


@inner_kernel
def _bucket_for(
    value: int, amount: int, size: int, fill: Int64Array, load: Int64Array, distance: Float64Array
) -> int:
    """The emptiest bucket; or, with ``distance``, the one with room whose values are farthest."""
    emptiest = 0
    for bucket in range(load.size):
        if load[bucket] < load[emptiest]:
            emptiest = bucket
    if distance.size == 0 or load[emptiest] == 0 or load[emptiest] + amount > size:
        return emptiest
    best, farthest = emptiest, -1.0
    for bucket in range(load.size):
        if load[bucket] + amount > size:
            continue
        far = 0.0
        for other in range(fill.shape[0]):
            far += fill[other, bucket] * distance[value, other]
        if far / load[bucket] > farthest:
            best, farthest = bucket, far / load[bucket]
    return best


@inner_kernel
def _take_surplus(fill: Int64Array, size: int, spare: Int64Array) -> bool:
    """Remove what is above ``size`` from every bucket, from its values in proportion.

    ``spare[v]`` is the number of records of v that may be removed in total; it is used up.
    """
    values, buckets = fill.shape
    free = np.empty(values, np.int64)
    for bucket in range(buckets):
        surplus, total = -size, 0
        for value in range(values):
            surplus += fill[value, bucket]
            free[value] = min(fill[value, bucket], spare[value])
            total += free[value]
        if total < surplus:
            return False
        before = 0  # rounding the running sum makes the shares add up exactly
        for value in range(values if surplus > 0 else 0):
            after = before + free[value]
            taken = after * surplus // total - before * surplus // total
            before = after
            fill[value, bucket] -= taken
            spare[value] -= taken
    return True


@kernel
def in_proportion(available: Int64Array, wanted: int) -> Int64Array:
    """How much to take of each, ``wanted`` in total, in proportion to what is available."""
    total = max(available.sum(), 1)
    taken = np.empty_like(available)
    running, before = 0, 0
    for each in range(len(available)):
        running += available[each]
        after = _share(running, wanted, total)
        taken[each] = after - before
        before = after
    return taken


@kernel
def _share(part: int, wanted: int, total: int) -> int:
    """``part * wanted // total``, 20 bits at a time: products of billions exceed 64 bits."""
    quotient, rest = 0, 0
    for shift in (40, 20, 0):
        rest = (rest << 20) + part * ((wanted >> shift) & 0xFFFFF)
        quotient = (quotient << 20) + rest // total
        rest %= total
    return quotient
