"""Assign records to bucket slots in blocks larger than a region: at random over the whole block.

A *slot* is one bucket of one table; tables are numbered over the whole run. In memory, a block's
records are distributed to its buckets at random, and buckets are matched cell by cell along the
order; unmatched records are retried in the next larger cell. The largest cell that one chunk holds
is a region. How many records of each value a region gives to each bucket is drawn first, with the
distribution that a random assignment over the whole block would have (a multivariate hypergeometric
draw); which records these are is decided by the region's random order. The records of which a
region has too many in some buckets go to further chunks, where they are matched with those that its
neighbours have left, in equal numbers from every bucket.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import njit

from mottle.methods.buckets.filling import align, fill_plan
from mottle.methods.buckets.partitioned.cuts import pieces_of
from mottle.methods.buckets.plan import BucketPlan
from mottle.typing import Int32Array, Int64Array, UInt32Array
from mottle.utils.csprng import STREAM_WORDS, Purpose, Secret, below, open_stream

_PURPOSE = int(Purpose.NUMBERS)
_NEGLIGIBLE = 1e-18


class Level(NamedTuple):
    """Several adjacent regions, among which the records that each has left over are matched."""

    before: Int64Array  # [buckets]: number of records left over by the regions before this one
    total: Int64Array  # [buckets]: number of records left over by all of the regions
    stay: int  # number of records of each bucket that are matched here; the others go one level up
    chunks: Int64Array  # the chunks of the records that stay, in equal parts along the order
    first_slot: int  # these records form a table of their own, even in a chunk with others

    def place(
        self, bucket: int, rows: Int64Array, chunk: Int64Array, slot: Int64Array
    ) -> Int64Array:
        """Set chunk and slot for the rows of a region that stay; return the others."""
        rank = self.before[bucket] + np.arange(len(rows))
        staying_before = rank * self.stay // max(self.total[bucket], 1)
        stays = (rank + 1) * self.stay // max(self.total[bucket], 1) > staying_before
        part = staying_before[stays] * len(self.chunks) // max(self.stay, 1)
        chunk[rows[stays]] = self.chunks[part]
        slot[rows[stays]] = self.first_slot + bucket
        others: Int64Array = rows[~stays]
        return others


@dataclass(frozen=True)
class Piece:
    """The part of one block that lies in one region."""

    block: int
    tables: list[Int64Array]  # by table, [values, buckets]: number of records in every bucket
    group: Int64Array  # [values]: number of records in the plain group
    levels: list[list[Level]]  # by table


@dataclass(frozen=True)
class SlotAssignment:
    """The bucket slot of every record, and the chunk that it is published in."""

    starts: Int64Array  # [blocks + 1] along the order
    pieces: list[list[Piece]]  # by region
    first_table: Int64Array  # [blocks + 1]: number of a block's first table
    first_slots: Int64Array  # [tables, then levels]: first slot; there is one slot per bucket
    home: Int64Array  # [regions]: chunk of the records that stay in a region
    group_home: Int64Array  # [blocks]: chunk of the plain group
    chunks: int  # number of the last chunk, plus 1

    def of_region(
        self, region: int, begin: int, values: Int32Array, tiebreak: Int64Array
    ) -> tuple[Int64Array, Int64Array]:
        """The chunk and the slot (see `BucketDecision`) of every row of a region, in order.

        ``begin`` is the region's first row, ``values`` are the sensitive values of its rows, and
        ``tiebreak`` is a random order of them.
        """
        chunk = np.full(len(values), self.home[region], np.int64)
        slot = np.full(len(values), -1, np.int64)
        tiebreak_rank = np.argsort(tiebreak)
        place_of = np.arange(len(values))
        segments = pieces_of(self.starts[1:], begin, begin + len(values))
        for (_, first, last), piece in zip(segments, self.pieces[region], strict=True):
            rows = place_of[first - begin : last - begin]
            plan = BucketPlan(piece.tables, piece.group)
            tables, group = fill_plan(rows, values[rows], plan, tiebreak_rank)
            chunk[group], slot[group] = self.group_home[piece.block], -1 - piece.block
            for number, filled in enumerate(tables):
                first_slot = self.first_slots[self.first_table[piece.block] + number]
                buckets = [np.sort(members) for members in filled]
                for bucket, members in enumerate(buckets):
                    slot[members] = first_slot + bucket
                if not piece.levels[number]:
                    continue
                for bucket, left in enumerate(align(buckets, place_of).left):
                    for level in piece.levels[number]:
                        left = level.place(bucket, left, chunk, slot)
        return chunk, slot


def assign_slots(
    starts: Int64Array,
    plans: Sequence[BucketPlan],
    counts: list[list[tuple[int, Int64Array]]],
    secret: Secret,
    largest: int,
    first_chunk: int,
) -> SlotAssignment:
    """Distribute the records of every block over bucket slots and chunks.

    ``counts``: for each region, its blocks and the counts of each value in its part of them.
    ``largest``: most rows of a chunk. ``first_chunk``: the number of the first chunk.
    """
    regions_of: list[list[int]] = [[] for _ in plans]
    for region, blocks in enumerate(counts):
        for block, _ in blocks:
            regions_of[block].append(region)
    drawn = []
    stays = np.zeros(len(counts), np.int64)
    for block, plan in enumerate(plans):
        here = np.array([dict(counts[region])[block] for region in regions_of[block]])
        quotas = np.concatenate([*plan.tables, plan.group[:, None]], axis=1)
        drawn.append(draw_counts(secret.part("seats of block", block), quotas, here))
        widths = np.cumsum([0, *[table.shape[1] for table in plan.tables]])
        for first, last in pairwise(widths):
            sizes = drawn[block][:, :, first:last].sum(axis=1)
            stays[regions_of[block]] += sizes.min(axis=1) * (last - first)
        if len(here) == 1:
            stays[regions_of[block]] += plan.group.sum()
    home = np.where(stays > 0, first_chunk + np.cumsum(stays > 0) - 1, -1)
    packer = _Packer(first_chunk + int((stays > 0).sum()), largest)
    pieces: list[list[Piece]] = [[] for _ in counts]
    group_home = np.empty(len(plans), np.int64)
    slots = _SlotCounter()
    first_table = np.cumsum([0, *[len(plan.tables) for plan in plans]])
    for plan in plans:
        for table in plan.tables:
            slots.take(table.shape[1])
    for block, plan in enumerate(plans):
        levels = _levels(plan, drawn[block], packer, slots)
        for place, region in enumerate(regions_of[block]):
            widths = np.cumsum([table.shape[1] for table in plan.tables])
            *tables, group = np.split(drawn[block][place].astype(np.int64), widths, axis=1)
            pieces[region].append(Piece(block, tables, group[:, 0], levels[place]))
        alone = len(regions_of[block]) == 1
        group_home[block] = (
            home[regions_of[block][0]] if alone else packer.one(int(plan.group.sum()))
        )
    first_slots = np.array(slots.first, np.int64)
    return SlotAssignment(starts, pieces, first_table, first_slots, home, group_home, packer.count)


def _levels(
    plan: BucketPlan, drawn: Int32Array, packer: _Packer, slots: _SlotCounter
) -> list[list[list[Level]]]:
    """By region and table: the levels at which the rows that it has left over are matched.

    First those of two adjacent regions together, then of four regions, and so on, as with cells in
    memory.
    """
    regions = len(drawn)
    found: list[list[list[Level]]] = [[[] for _ in plan.tables] for _ in range(regions)]
    first = 0
    for number, table in enumerate(plan.tables):
        sizes = drawn[:, :, first : first + table.shape[1]].sum(axis=1).astype(np.int64)
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
                first_slot = slots.take(table.shape[1])
                for region, before in enumerate(ends - group, begin):
                    level = Level(before, total, stay, chunks, first_slot)
                    found[region][number].append(level)
                gone = np.diff(ends * stay // np.maximum(total, 1), axis=0, prepend=0)
                left[begin : begin + together] -= gone
    return found


class _SlotCounter:
    """Numbers the slots of all tables."""

    def __init__(self) -> None:
        self.first: list[int] = []  # the first slot of every table
        self._next = 0

    def take(self, buckets: int) -> int:
        """Number the slots of a table with ``buckets`` buckets; return the first."""
        self.first.append(self._next)
        self._next += buckets
        return self.first[-1]


class _Packer:
    """Distributes the rows that are left over into chunks, one after another."""

    def __init__(self, first: int, largest: int) -> None:
        self.count = first
        self._largest = largest
        self._room = 0

    def one(self, rows: int) -> int:
        """The chunk of rows that must stay together."""
        if rows and rows > self._room:
            self.count, self._room = self.count + 1, self._largest
        self._room -= rows
        return self.count - 1

    def parts(self, rows: int, buckets: int) -> Int64Array:
        """The chunks of ``rows`` rows of every bucket, which may be cut into equal parts."""
        count = min(-(-rows * buckets // self._largest), rows)
        return np.array([self.one(-(-rows // count) * buckets) for _ in range(count)], np.int64)


def draw_counts(secret: Secret, quotas: Int64Array, counts: Int64Array) -> Int32Array:
    """Draw how many records of each value every region gives to every place.

    ``quotas`` [values, places] are filled by all regions together, whose ``counts`` [regions,
    values] have the same totals; every way to distribute the records is equally likely. Returns
    [regions, values, places].
    """
    return _draw_counts(secret.words, quotas.astype(np.int64), counts.astype(np.int64))


@njit(cache=True, nogil=True)
def _draw_counts(key: UInt32Array, quotas: Int64Array, counts: Int64Array) -> Int32Array:
    stream = np.empty(STREAM_WORDS, np.uint32)
    open_stream(stream, key, _PURPOSE, 0)
    drawn = np.zeros((counts.shape[0], quotas.shape[0], quotas.shape[1]), np.int32)
    for value in range(quotas.shape[0]):
        for region in range(counts.shape[0]):
            total, sample = quotas[value].sum(), counts[region, value]
            for place in range(quotas.shape[1]):
                quota = quotas[value, place]
                taken = _hypergeometric(stream, quota, total - quota, sample)
                drawn[region, value, place] = taken
                quotas[value, place] -= taken
                total -= quota
                sample -= taken
    return drawn


@njit(cache=True, nogil=True)
def _hypergeometric(stream: UInt32Array, good: int, bad: int, sample: int) -> int:
    """Draw how many of ``sample`` records, drawn at random, are among the ``good``.

    By inversion, outwards from the most likely number; weights are relative to its probability.
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
    """The probability of ``number + step`` divided by that of ``number``."""
    if step > 0:
        above = np.float64(good - number) * np.float64(sample - number)
        return above / (np.float64(number + 1) * np.float64(bad - sample + number + 1))
    above = np.float64(number) * np.float64(bad - sample + number)
    return above / (np.float64(good - number + 1) * np.float64(sample - number + 1))
