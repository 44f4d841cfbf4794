"""Seats in buckets for blocks that are larger than a region: dealt by lot over the whole block.

In memory, a block's records are dealt to its buckets by lot, and buckets are matched cell by cell
along the order; what finds no company in a cell looks for it in larger ones. The largest cell
that one chunk holds is a region. How many records of each value a region deals to each bucket is
drawn first, as dealing over the whole block would have it (a multivariate hypergeometric draw);
which ones, the region's lots say. What a region has too many of in some buckets goes to further
chunks, where it meets what its neighbours have left, in equal numbers from every bucket.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import njit

from mottle.methods.buckets.filling import align, deal
from mottle.methods.buckets.partitioned.cuts import pieces_of
from mottle.methods.buckets.plan import BucketPlan
from mottle.typing import Int32Array, Int64Array, UInt32Array
from mottle.utils.csprng import STREAM_WORDS, Purpose, Secret, below, open_stream

_PURPOSE = int(Purpose.NUMBERS)
_NEGLIGIBLE = 1e-18


class Level(NamedTuple):
    """Neighbouring regions together: what each has left over finds company among all of them."""

    before: Int64Array  # [buckets]: left over by those of the regions that come before
    total: Int64Array  # [buckets]: by all of them
    stay: int  # of each bucket; the others go to the next level
    chunks: Int64Array  # where those that stay are worked on, in equal parts along the order
    first_seat: int  # a table of their own, even in a chunk with others

    def place(
        self, bucket: int, rows: Int64Array, chunk: Int64Array, seat: Int64Array
    ) -> Int64Array:
        """Give chunk and seat to the rows of a region that stay; return the others."""
        rank = self.before[bucket] + np.arange(len(rows))
        staying_before = rank * self.stay // max(self.total[bucket], 1)
        stays = (rank + 1) * self.stay // max(self.total[bucket], 1) > staying_before
        part = staying_before[stays] * len(self.chunks) // max(self.stay, 1)
        chunk[rows[stays]] = self.chunks[part]
        seat[rows[stays]] = self.first_seat + bucket
        others: Int64Array = rows[~stays]
        return others


@dataclass(frozen=True)
class Piece:
    """What one region has of one block."""

    block: int
    tables: list[Int64Array]  # of every table, [values, buckets]: how many records go where
    group: Int64Array  # [values]: how many go to the plain group
    levels: list[list[Level]]  # of every table


@dataclass(frozen=True)
class Seating:
    """Which records of a region sit where, and in which chunk they are worked on."""

    starts: Int64Array  # [blocks + 1] along the order
    pieces: list[list[Piece]]  # by region
    first_table: Int64Array  # [blocks + 1]: number of a block's first table
    first_seats: Int64Array  # [tables, then levels]: each has as many seats as buckets
    home: Int64Array  # [regions]: chunk of what stays in a region
    group_home: Int64Array  # [blocks]: chunk of the plain group
    chunks: int

    def seats(
        self, region: int, begin: int, values: Int32Array, tiebreak: Int64Array
    ) -> tuple[Int64Array, Int64Array]:
        """The chunk and the seat (see `BucketDecision`) of every row of a region, in order."""
        chunk = np.full(len(values), self.home[region], np.int64)
        seat = np.full(len(values), -1, np.int64)
        lot_of = np.argsort(tiebreak)
        place_of = np.arange(len(values))
        segments = pieces_of(self.starts[1:], begin, begin + len(values))
        for (_, first, last), share in zip(segments, self.pieces[region], strict=True):
            rows = place_of[first - begin : last - begin]
            tables, group = deal(rows, values[rows], BucketPlan(share.tables, share.group), lot_of)
            chunk[group], seat[group] = self.group_home[share.block], -1 - share.block
            for number, dealt in enumerate(tables):
                first_seat = self.first_seats[self.first_table[share.block] + number]
                piles = [np.sort(pile) for pile in dealt]
                for bucket, pile in enumerate(piles):
                    seat[pile] = first_seat + bucket
                if not share.levels[number]:
                    continue
                for bucket, left in enumerate(align(piles, place_of).left):
                    for level in share.levels[number]:
                        left = level.place(bucket, left, chunk, seat)
        return chunk, seat


def seat(
    starts: Int64Array,
    plans: Sequence[BucketPlan],
    counts: list[list[tuple[int, Int64Array]]],
    secret: Secret,
    largest: int,
    first_chunk: int,
) -> Seating:
    """Deal out the records of every block.

    ``counts``: for each region, its blocks and how often each value occurs in its part of them.
    ``largest``: rows of a chunk. ``first_chunk``: the number of the first chunk.
    """
    regions_of: list[list[int]] = [[] for _ in plans]
    for region, blocks in enumerate(counts):
        for block, _ in blocks:
            regions_of[block].append(region)
    dealt = []
    stays = np.zeros(len(counts), np.int64)
    for block, plan in enumerate(plans):
        here = np.array([dict(counts[region])[block] for region in regions_of[block]])
        quotas = np.concatenate([*plan.tables, plan.group[:, None]], axis=1)
        dealt.append(deal_out(secret.part("seats of block", block), quotas, here))
        widths = np.cumsum([0, *[table.shape[1] for table in plan.tables]])
        for first, last in pairwise(widths):
            sizes = dealt[block][:, :, first:last].sum(axis=1)
            stays[regions_of[block]] += sizes.min(axis=1) * (last - first)
        if len(here) == 1:
            stays[regions_of[block]] += plan.group.sum()
    home = np.where(stays > 0, first_chunk + np.cumsum(stays > 0) - 1, -1)
    packer = _Packer(first_chunk + int((stays > 0).sum()), largest)
    pieces: list[list[Piece]] = [[] for _ in counts]
    group_home = np.empty(len(plans), np.int64)
    numbers = _Seats()
    first_table = np.cumsum([0, *[len(plan.tables) for plan in plans]])
    for plan in plans:
        for table in plan.tables:
            numbers.take(table.shape[1])
    for block, plan in enumerate(plans):
        levels = _levels(plan, dealt[block], packer, numbers)
        for place, region in enumerate(regions_of[block]):
            widths = np.cumsum([table.shape[1] for table in plan.tables])
            *tables, group = np.split(dealt[block][place].astype(np.int64), widths, axis=1)
            pieces[region].append(Piece(block, tables, group[:, 0], levels[place]))
        alone = len(regions_of[block]) == 1
        group_home[block] = (
            home[regions_of[block][0]] if alone else packer.one(int(plan.group.sum()))
        )
    first_seats = np.array(numbers.first, np.int64)
    return Seating(starts, pieces, first_table, first_seats, home, group_home, packer.count)


def _levels(
    plan: BucketPlan, dealt: Int32Array, packer: _Packer, numbers: _Seats
) -> list[list[list[Level]]]:
    """By region and table: with whom the rows that it has left over find company.

    First with those of the neighbouring region, then of four regions together, and so on, as cells
    do in memory.
    """
    regions = len(dealt)
    found: list[list[list[Level]]] = [[[] for _ in plan.tables] for _ in range(regions)]
    first = 0
    for number, table in enumerate(plan.tables):
        sizes = dealt[:, :, first : first + table.shape[1]].sum(axis=1).astype(np.int64)
        first += table.shape[1]
        left = sizes - sizes.min(axis=1, keepdims=True)
        together = 1
        while together < regions:
            together *= 2
            for begin in range(0, regions, together):
                group = left[begin : begin + together]
                total = group.sum(axis=0)
                stay = int(total.min())
                ends = np.cumsum(group, axis=0)
                chunks = packer.parts(stay, table.shape[1])
                first_seat = numbers.take(table.shape[1])
                for region, before in enumerate(ends - group, begin):
                    level = Level(before, total, stay, chunks, first_seat)
                    found[region][number].append(level)
                gone = np.diff(ends * stay // np.maximum(total, 1), axis=0, prepend=0)
                left[begin : begin + together] -= gone
    return found


class _Seats:
    """Numbers seats."""

    def __init__(self) -> None:
        self.first: list[int] = []  # of every table
        self._next = 0

    def take(self, buckets: int) -> int:
        """The first seat of a table of so many buckets."""
        self.first.append(self._next)
        self._next += buckets
        return self.first[-1]


class _Packer:
    """Puts what is left over into chunks, one after the other."""

    def __init__(self, first: int, largest: int) -> None:
        self.count = first
        self._largest = largest
        self._room = 0

    def one(self, rows: int) -> int:
        """The chunk of rows that have to stay together."""
        if rows and rows > self._room:
            self.count, self._room = self.count + 1, self._largest
        self._room -= rows
        return self.count - 1

    def parts(self, rows: int, buckets: int) -> Int64Array:
        """The chunks of so many rows of every bucket, which may be cut into equal parts."""
        count = min(-(-rows * buckets // self._largest), rows)
        return np.array([self.one(-(-rows // count) * buckets) for _ in range(count)], np.int64)


def deal_out(secret: Secret, quotas: Int64Array, counts: Int64Array) -> Int32Array:
    """How many records of each value every region gives to every place, [regions, values, places].

    ``quotas`` [values, places] are filled by all regions together, whose ``counts`` [regions,
    values] add up to as many; every way to deal the records is equally likely.
    """
    return _deal_out(secret.words, quotas.astype(np.int64), counts.astype(np.int64))


@njit(cache=True, nogil=True)
def _deal_out(key: UInt32Array, quotas: Int64Array, counts: Int64Array) -> Int32Array:
    stream = np.empty(STREAM_WORDS, np.uint32)
    open_stream(stream, key, _PURPOSE, 0)
    dealt = np.zeros((counts.shape[0], quotas.shape[0], quotas.shape[1]), np.int32)
    for value in range(quotas.shape[0]):
        for region in range(counts.shape[0]):
            total, sample = quotas[value].sum(), counts[region, value]
            for place in range(quotas.shape[1]):
                quota = quotas[value, place]
                taken = _hypergeometric(stream, quota, total - quota, sample)
                dealt[region, value, place] = taken
                quotas[value, place] -= taken
                total -= quota
                sample -= taken
    return dealt


@njit(cache=True, nogil=True)
def _hypergeometric(stream: UInt32Array, good: int, bad: int, sample: int) -> int:
    """How many of ``sample`` records drawn at random are among the ``good``.

    Outwards from the likeliest number, with the weights of the others in relation to it.
    """
    low, high = max(0, sample - bad), min(good, sample)
    if low >= high:
        return low
    likeliest = min(max((sample + 1) * (good + 1) // (good + bad + 2), low), high)
    uniform = (np.float64(below(stream, 1 << 26)) * (1 << 27) + below(stream, 1 << 27)) / 2.0**53
    whole = 1.0
    for step in (1, -1):
        weight, number = 1.0, likeliest
        while weight > _NEGLIGIBLE and low <= number + step <= high:
            weight *= _ratio(number, step, good, bad, sample)
            number += step
            whole += weight
    left = uniform * whole - 1.0
    if left < 0:
        return likeliest
    for step in (1, -1):
        weight, number = 1.0, likeliest
        while weight > _NEGLIGIBLE and low <= number + step <= high:
            weight *= _ratio(number, step, good, bad, sample)
            number += step
            left -= weight
            if left < 0:
                return number
    return likeliest


@njit(cache=True, nogil=True)
def _ratio(number: int, step: int, good: int, bad: int, sample: int) -> float:
    """How much likelier ``number + step`` is than ``number``."""
    if step > 0:
        above = np.float64(good - number) * np.float64(sample - number)
        return above / (np.float64(number + 1) * np.float64(bad - sample + number + 1))
    above = np.float64(number) * np.float64(bad - sample + number)
    return above / (np.float64(good - number + 1) * np.float64(sample - number + 1))
