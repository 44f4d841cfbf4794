"""NH10 §6: from ℓ-diverse partitions to rings in which equal sensitive values are far apart.

Partitions are given as places in the lexicographic order, sorted by partition, with the index at
which each partition begins, and the sensitive ``values`` by place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mottle.typing import Int32Array, Int64Array
from mottle.utils.compiled import inner_kernel, kernel

HUGE = 4  # times the degree: partitions this large are split, because a ring would be too wide
_UNSEEN = -1


class Partitions(NamedTuple):
    """Places in the lexicographic order, sorted by partition."""

    places: Int64Array  # [n]
    starts: Int64Array  # [partitions + 1]

    @property
    def sizes(self) -> Int64Array:
        """Number of records in each partition."""
        return np.diff(self.starts)

    def in_order(self) -> Partitions:
        """The same partitions by the first place of each."""
        first = np.minimum.reduceat(self.places, self.starts[:-1])
        by_first = np.argsort(first)
        parts = np.split(self.places, self.starts[1:-1])
        starts = np.concatenate([[0], np.cumsum(self.sizes[by_first])]).astype(np.int64)
        return Partitions(np.concatenate([parts[part] for part in by_first]), starts)

    @property
    def partition_of(self) -> Int64Array:
        """[n]: the partition of every place."""
        return np.repeat(np.arange(len(self.starts) - 1), self.sizes)


# -------------------------------------------------------------------- splitting large partitions


def split_huge(
    partitions: Partitions, values: Int32Array, diversity: int, degree: int
) -> Partitions:
    """Split large partitions into diverse pieces whose records are close in the order.

    If possible, every value occurs at most once in a piece, as in the paper.
    """
    kinds = int(values.max()) + 1
    places, starts = [], [np.zeros(1, np.int64)]
    for first, last in zip(partitions.starts[:-1], partitions.starts[1:], strict=True):
        part = partitions.places[first:last]
        pieces = 1
        if last - first >= HUGE * degree:
            part = np.sort(part)
            most = int(np.bincount(values[part]).max())
            pieces = number_of_pieces(last - first, most, diversity, degree)
        if pieces > 1:
            times = (last - first) // pieces // diversity
            order, cuts = split(values[part], kinds, pieces, times)
            part = part[order]
            starts.append(first + cuts[1:])
        else:
            starts.append(np.array([last]))
        places.append(part)
    return Partitions(np.concatenate(places), np.concatenate(starts))


def split_arbitrarily(
    partitions: Partitions, values: Int32Array, tiebreak: Int64Array, largest: int, degree: int
) -> Partitions:
    """Split partitions of more than ``largest`` records so that no piece has a value twice.

    As NH10 §6 says: arbitrarily, here at random (``tiebreak`` [n], by place), into as few pieces as
    possible. Pieces of fewer than ``degree`` records are not made; the partition then stays whole.
    """
    places, starts = [], [np.zeros(1, np.int64)]
    for first, last in zip(partitions.starts[:-1], partitions.starts[1:], strict=True):
        part = partitions.places[first:last]
        pieces = int(np.bincount(values[part]).max())
        if last - first > largest and (last - first) // pieces >= degree:
            dealt = part[np.lexsort((tiebreak[part], values[part]))]
            piece_of = np.arange(last - first) % pieces  # equal values go to different pieces
            part = dealt[np.argsort(piece_of, kind="stable")]
            starts.append(first + np.cumsum(np.bincount(piece_of)))
        else:
            starts.append(np.array([last]))
        places.append(part)
    return Partitions(np.concatenate(places), np.concatenate(starts))


def number_of_pieces(size: int, most: int, diversity: int, degree: int) -> int:
    """The most pieces of at least ``degree`` records into which a diverse partition can be split.

    A piece of s records may hold ⌊s/ℓ⌋ records of each value. One piece is always possible.

    >>> number_of_pieces(100, 20, 5, 5), number_of_pieces(100, 21, 4, 5)
    (20, 12)
    """
    pieces = max(size // max(degree, diversity), 1)
    while most > pieces * (size // pieces // diversity):
        pieces -= 1
    return pieces


@kernel
def split(values: Int32Array, kinds: int, pieces: int, times: int) -> tuple[Int64Array, Int64Array]:
    """Split a partition into ``pieces`` in each of which no value occurs more than ``times`` times.

    ``values`` [n] are the sensitive values along the lexicographic order, codes below ``kinds``,
    none more frequent than ``pieces`` · ``times``; every piece gets n // pieces records or more.
    Returns places, sorted by piece and then along the order, and where the pieces begin.

    The partition is halved recursively, as close to the order as possible: g pieces are split into
    h and g - h. The first side gets S = ⌊n·h/g⌋ records and x_v of value v, with
    n_v - (g - h)·t ≤ x_v ≤ h·t, so that both sides can be split further. Such x_v exist: the
    n_v·h/g lie within these bounds and add up to n·h/g, and the bounds are whole numbers. We start
    with x_v = the number of records of v before place S, clip it to the bounds, and then correct
    the sum by the records nearest to place S.
    """
    n = values.size
    places, aside = np.arange(n), np.empty(n, np.int64)
    total, before = np.zeros(kinds, np.int64), np.zeros(kinds, np.int64)
    first_side = np.full(kinds, _UNSEEN, np.int64)
    starts = np.zeros(pieces + 1, np.int64)
    starts[pieces] = n
    pending = [(0, n, 0, pieces)]
    while len(pending) > 0:
        first, last, piece, count = pending.pop()
        starts[piece] = first
        if count == 1:
            continue
        half = count // 2
        share = (last - first) * half // count
        _share_out(
            values,
            places[first:last],
            share,
            half * times,
            (count - half) * times,
            total,
            before,
            first_side,
        )
        left, right = first, 0
        for place in range(first, last):
            record = places[place]
            value = values[record]
            if before[value] < first_side[value]:
                places[left] = record
                left += 1
            else:
                aside[right] = record
                right += 1
            before[value] += 1
        for place in range(right):
            places[left + place] = aside[place]
        for place in range(first, last):
            value = values[places[place]]
            total[value], before[value], first_side[value] = 0, 0, _UNSEEN
        pending.append((first, left, piece, half))
        pending.append((left, last, piece + half, count - half))
    return places, starts


@inner_kernel
def _share_out(
    values: Int32Array,
    places: Int64Array,
    share: int,
    here: int,
    beyond: int,
    total: Int64Array,
    before: Int64Array,
    first_side: Int64Array,
) -> None:
    """Set ``first_side[v]`` to x_v.

    The first side gets ``share`` records in total, at most ``here`` of a value; the other side gets
    at most ``beyond`` of a value. ``total`` and ``before`` are scratch space, zero at the start;
    ``before`` is zero again at the end.
    """
    size = places.size
    for place in range(size):
        value = values[places[place]]
        total[value] += 1
        before[value] += place < share
    missing = share
    for place in range(size):
        value = values[places[place]]
        if first_side[value] == _UNSEEN:
            least = max(total[value] - beyond, 0)
            first_side[value] = min(max(before[value], least), total[value], here)
            missing -= first_side[value]
    for place in range(share, size):
        value = values[places[place]]
        is_next = before[value] == first_side[value] < min(total[value], here)
        if missing > 0 and is_next:
            first_side[value] += 1
            missing -= 1
        before[value] += 1
    for place in range(size - 1, -1, -1):
        value = values[places[place]]
        before[value] -= 1
        is_last = before[value] == first_side[value] - 1 >= max(total[value] - beyond, 0)
        if missing < 0 and place < share and is_last:
            first_side[value] -= 1
            missing += 1


# ------------------------------------------------------------------------- order around the ring


class Rings(NamedTuple):
    """Partitions in ring order."""

    places: Int64Array  # [n]
    starts: Int64Array  # [rings + 1]
    degrees: Int32Array  # [rings]


def order_rings(
    partitions: Partitions, values: Int32Array, tiebreak: Int64Array, diversity: int, least: int
) -> Rings:
    """Order partitions so that any ``degree`` consecutive records around the ring are ℓ-diverse.

    A partition of different values keeps the lexicographic order. Otherwise equal values must have
    a distance of at least a = m / ⌊m/ℓ⌋ for degree m. Take the records by descending frequency of
    their value and distribute them to g = n // a runs in turn, record t to run t mod g; the ring is
    run after run, each of a records or more. A value has at most g records. Two consecutive ones go
    to neighbouring runs at the same depth, or to the last run and, one deeper, to the first: their
    distance is the length of a run, or one more. From the last one of a value around to its first:
    if it has fewer than g records, at least one whole run lies between; if it has g, it is among
    the most frequent, so it takes up one depth of all runs, and the distance is the length of a run
    again.

    Which record of a value takes which place is drawn at random (``tiebreak`` [n], by place): if it
    depended on quasi-identifiers, the rotation of the ring would be visible.
    """
    sizes, partition_of = partitions.sizes, partitions.partition_of
    carried = values[partitions.places]
    counts = _counts_in_partition(partition_of, carried)
    most = np.maximum.reduceat(counts, partitions.starts[:-1])
    degrees = ring_degrees(sizes, most, diversity, least)
    runs = np.where(degrees < sizes, sizes // spacing(degrees, diversity), 1)
    runs[most == 1] = 1
    dealt = (runs > 1)[partition_of]
    by_frequency = np.lexsort(
        (
            np.where(dealt, tiebreak[partitions.places], np.arange(len(dealt))),
            np.where(dealt, carried, 0),
            np.where(dealt, -counts, 0),
            partition_of,
        )
    )
    turn = np.arange(len(dealt)) - partitions.starts[partition_of]
    depth, run = np.divmod(turn, runs[partition_of])
    length, longer = np.divmod(sizes, runs)
    place = partitions.starts[partition_of] + depth
    place += run * length[partition_of] + np.minimum(run, longer[partition_of])
    ring = np.empty_like(partitions.places)
    ring[place] = partitions.places[by_frequency]
    return Rings(ring, partitions.starts, degrees.astype(np.int32))


def _counts_in_partition(partition_of: Int64Array, carried: Int32Array) -> Int64Array:
    """For each record, the number of records of its partition with the same value."""
    key = partition_of * (int(carried.max()) + 1) + carried
    _, which, counts = np.unique(key, return_inverse=True, return_counts=True)
    return np.asarray(counts[which.ravel()], np.int64)


def ring_degrees(sizes: Int64Array, most: Int64Array, diversity: int, least: int) -> Int64Array:
    """The smallest degrees from ``least`` on that rings can have.

    ``most`` is the number of records with the most frequent value of each ring, at most 1/ℓ of its
    size. Every multiple of ℓ is possible, and so is the size of the whole ring.

    >>> ring_degrees(np.array([12, 20, 5]), np.array([4, 4, 1]), 3, 4)
    array([6, 4, 4])
    """
    lowest = max(least, diversity)
    degrees = sizes.copy()
    for degree in range(-(-lowest // diversity) * diversity, lowest - 1, -1):
        fits = (degree <= sizes) & (most <= sizes // spacing(degree, diversity))
        degrees[fits] = degree
    return degrees


def spacing(degree: Int64Array | int, diversity: int) -> Int64Array | int:
    """Least distance of equal values such that ``degree`` consecutive records are ℓ-diverse."""
    return -(-degree // (degree // diversity))
