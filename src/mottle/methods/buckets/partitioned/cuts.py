"""Cutting blocks for a table that is read region by region; in memory this is one function call.

The rule is `mottle.methods.buckets.block_cuts.best`. Regions are sections of the order of
quasi-identifiers, as many as the memory requires. If a number of blocks gives every region many
blocks, each region cuts its own; fewer blocks are cut where the whole table would cut them, across
regions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from mottle.encoding.domain import Codes
from mottle.guarantees.demand import Demand, allowed
from mottle.methods.buckets.block_cuts import (
    Borders,
    CutRule,
    Judge,
    Trial,
    best,
    cut_by,
    fewer,
    keeps_caps,
    tried_blocks,
)
from mottle.methods.buckets.profiles import Gathered, block_features, gather_by_block
from mottle.methods.buckets.records import TableRecords, agreeing, in_ranks
from mottle.typing import Float64Array, Int32Array, Int64Array

OWN_BLOCKS = 64  # a region with at least this many blocks cuts them itself
_TRIED_AT_ONCE = 24  # numbers of blocks that are tried in one pass over all regions
_LARGEST_COUNTS = 2 * 10**7  # most entries of the array of counts between cuts
_KNOWN_BORDERS = 16 * OWN_BLOCKS  # borders of a region that are known to cuts across regions

Result = TypeVar("Result")


class RegionRows(NamedTuple):
    """The rows of a region, or of several adjacent ones, in order."""

    number: int
    codes: Codes
    sensitive_codes: Int32Array  # [n, attributes]

    @property
    def borders(self) -> Int32Array:
        """The depth of the border before each row; for the first row, the number of columns."""
        found = TableRecords(self.codes).borders(np.arange(len(self.sensitive_codes)))
        found[:1] = self.codes.matrix.shape[1]
        return found


class OrderedPartitions(Protocol):
    """All rows along the order; regions are processed one at a time, here or on other machines."""

    @property
    def cuts(self) -> Int64Array:
        """First row of every region, and the end."""

    def over(self, work: Callable[[RegionRows], Result]) -> list[Result]:
        """Call ``work`` for every region; return the results in the order of the regions."""


@dataclass(frozen=True)
class RowShare:
    """The rows of one part of a table: a tier, or its pilot records."""

    counts: Int64Array  # [regions, values, parts]: number of rows by region, value and part
    part: int
    regions_per_section: int = 1  # number of adjacent regions that are processed as one section

    @property
    def cuts(self) -> Int64Array:
        """First row of every section of regions, and the end."""
        ends = np.cumsum(self.counts[:, :, self.part].sum(axis=1))
        return np.append(np.concatenate([[0], ends[:-1]])[:: self.regions_per_section], ends[-1])

    @property
    def is_everything(self) -> bool:
        """Whether all rows of the table belong to this part."""
        return bool(self.cuts[-1] == self.counts.sum())

    @property
    def values(self) -> Int64Array:
        """Number of rows of each value in this part."""
        return np.asarray(self.counts[:, :, self.part].sum(axis=0))

    def regions(self, section: int) -> range:
        """The regions of a section."""
        first = section * self.regions_per_section
        return range(first, min(first + self.regions_per_section, len(self.counts)))

    def within(self, largest: int) -> RowShare:
        """The same rows in the fewest sections that have at most ``largest`` rows each.

        Sections are merged two by two, as cells are in memory.
        """
        share = self
        while share.regions_per_section < len(self.counts):
            wider = replace(share, regions_per_section=2 * share.regions_per_section)
            if np.diff(wider.cuts).max() > largest:
                break
            share = wider
        return share


@dataclass(frozen=True)
class Cut:
    """The decision: the number of blocks and how they are cut."""

    blocks: int
    rule: CutRule
    starts: Int64Array | None  # first row of every block and the end; None: each region cuts itself

    def of_region(self, region: RegionRows, cuts: Int64Array, count: int) -> Int64Array:
        """Starts of the blocks of a region that cuts itself, and its end."""
        offsets = _offsets(self.blocks, cuts)
        blocks = int(offsets[region.number + 1] - offsets[region.number])
        return _cut_region(region, self.rule, blocks, count)


def decide_cut(line: OrderedPartitions, demand: Demand, counts: Int64Array, count: int) -> Cut:
    """Cut with the least expected loss.

    ``demand`` has the sensitive codes of all combinations of values; ``counts``: number of rows of
    each of these in ``line``; ``count``: number of buckets.
    """
    rows = int(line.cuts[-1])
    table = _Trials(line, demand, counts, count)
    found = best(rows, count, table.of)
    return Cut(1, CutRule.EVENLY, np.array([0, rows], np.int64)) if found is None else found


class _Trials:
    """Passes over all regions, each for several numbers of blocks that may be needed next."""

    def __init__(
        self, line: OrderedPartitions, demand: Demand, counts: Int64Array, count: int
    ) -> None:
        self.line, self.demand, self.count = line, demand, count
        self.number = len(counts)  # number of values
        self.judge = Judge(demand, counts, count)
        self.own = OWN_BLOCKS * (len(line.cuts) - 1)
        self.known: dict[int, list[tuple[Cut, Trial]]] = {}

    def of(self, blocks: int) -> Iterator[tuple[Cut, Trial]]:
        if blocks not in self.known:
            own = blocks >= self.own
            tried = {blocks}
            for eligible in (True, False):  # the numbers that follow in either case
                number = blocks
                for _ in range(_TRIED_AT_ONCE // 2):
                    number = fewer(number, eligible=eligible)
                    tried.add(number)
            wanted = [n for n in sorted(tried, reverse=True) if n > 1 and (n >= self.own) == own]
            (self._try_own if own else self._try_across)(wanted)
        yield from self.known[blocks]

    @cached_property
    def borders(self) -> Borders:
        """The borders that cuts across regions may fall on."""
        return _borders_of(self.line)

    def _try_own(self, tried: list[int]) -> None:
        look = partial(
            _look_at_own, tried, self.line.cuts, self.count, self.demand.caps, self.number
        )
        found = self.line.over(look)
        for place, blocks in enumerate(tried):
            self.known[blocks] = []
            for rule in CutRule:
                seen = [region[place][rule] for region in found]
                kept = all(counts is not None for counts in seen)
                counts = [block for counts in seen for block in counts or []]
                self.known[blocks].append(
                    (
                        Cut(blocks, rule, None),
                        Trial(partial(bool, kept), self._loss(counts, blocks, rule)),
                    )
                )

    def _try_across(self, tried: list[int]) -> None:
        rows = int(self.line.cuts[-1])
        budget = _LARGEST_COUNTS // (len(CutRule) * len(self.demand.caps))
        within = max(int(np.searchsorted(np.cumsum(tried), budget)), 1)
        tried = tried[:within]
        starts = [
            [cut_by(rule, rows, blocks, self.count, self.borders) for rule in CutRule]
            for blocks in tried
        ]
        places = np.unique(np.concatenate([cut[1:] for cuts in starts for cut in cuts]))
        before = np.concatenate(
            [
                np.zeros((1, len(self.demand.caps)), np.int64),
                np.cumsum(counts_between(self.line, places, len(self.demand.caps)), axis=0),
            ]
        )
        for blocks, cuts in zip(tried, starts, strict=True):
            self.known[blocks] = []
            for rule, cut in zip(CutRule, cuts, strict=True):
                counts = np.diff(before[np.searchsorted(places, cut[1:]) + 1], axis=0, prepend=0)
                self.known[blocks].append((Cut(blocks, rule, cut), self._trial(cut, counts, rule)))

    def _trial(self, starts: Int64Array, counts: Int64Array, rule: CutRule) -> Trial:
        def kept() -> bool:
            most = allowed(self.demand.caps, np.diff(starts)[:, None])  # type: ignore[arg-type]
            return bool(np.all(counts <= most))

        values = counts[tried_blocks(len(counts)), : self.number]
        return Trial(kept, self._loss(list(values), len(counts), rule))

    def _loss(self, counts: list[Int64Array], blocks: int, rule: CutRule) -> Callable[[], float]:
        return lambda: self.judge.loss(counts, blocks) * rule.more_loss


# ------------------------------------------------------------------ regions that cut themselves


def _offsets(blocks: int, cuts: Int64Array) -> Int64Array:
    """Number of the first block of every region, and the number of all blocks."""
    shares = np.diff(cuts * blocks // cuts[-1])
    return np.concatenate([[0], np.cumsum(np.maximum(shares, 1))])


def _cut_region(region: RegionRows, rule: CutRule, blocks: int, count: int) -> Int64Array:
    borders = Borders.of(region.borders) if rule <= CutRule.NEARBY else None
    return cut_by(rule, len(region.sensitive_codes), blocks, count, borders)


def _look_at_own(
    tried: list[int],
    cuts: Int64Array,
    count: int,
    caps: Float64Array,
    values: int,
    region: RegionRows,
) -> list[list[list[Int64Array] | None]]:
    """For every number of blocks and rule: counts of the blocks to judge by; None if caps break."""
    borders = Borders.of(region.borders)
    found: list[list[list[Int64Array] | None]] = []
    for number in tried:
        offsets = _offsets(number, cuts)
        first, last = offsets[region.number], offsets[region.number + 1]
        judged = tried_blocks(int(offsets[-1]))
        judged = judged[(judged >= first) & (judged < last)] - first
        by_rule: list[list[Int64Array] | None] = []
        for rule in CutRule:
            starts = cut_by(rule, len(region.sensitive_codes), int(last - first), count, borders)
            if not keeps_caps(region.sensitive_codes, starts, caps):
                by_rule.append(None)
                continue
            by_rule.append(
                [
                    np.bincount(
                        region.sensitive_codes[starts[b] : starts[b + 1], 0], minlength=values
                    )
                    for b in judged
                ]
            )
        found.append(by_rule)
    return found


# ------------------------------------------------------------------ blocks across regions


def _borders_of(line: OrderedPartitions) -> Borders:
    """The deepest border of every short section of all regions, and those between regions."""
    found = line.over(_look_for_borders)
    places = [cut + inside for cut, (inside, _, _) in zip(line.cuts[:-1], found, strict=True)]
    depths = [depths for _, depths, _ in found]
    ends = [
        (cut, ends) for cut, (_, _, ends) in zip(line.cuts[:-1], found, strict=True) if len(ends)
    ]
    for (_, before), (cut, after) in pairwise(ends):
        places.append(np.array([cut]))
        depths.append(agreeing(np.stack([before[1], after[0]]))[1:])
    return Borders.of(np.concatenate(depths), np.concatenate(places))


def _look_for_borders(region: RegionRows) -> tuple[Int64Array, Int32Array, Int32Array]:
    """Places and depths of a region's borders, one for every short section; first and last row."""
    length = max(-(-len(region.sensitive_codes) // _KNOWN_BORDERS), 1)
    depths = region.borders
    depths = np.pad(depths, (0, -len(depths) % length), mode="edge").reshape(-1, length)
    places = np.arange(len(depths)) * length + np.argmin(depths, axis=1)
    inside = places > 0
    rows = len(region.sensitive_codes)
    ends = in_ranks(region.codes, np.array([0, rows - 1] if rows else [], np.int64))
    return places[inside], depths.min(axis=1)[inside], ends


def counts_between(line: OrderedPartitions, ends: Int64Array, codes: int) -> Int64Array:
    """[ends, codes]: counts of sensitive codes in the sections that the ascending ``ends`` end."""
    total = np.zeros((len(ends), codes), np.int64)
    for first, counts in line.over(partial(_count_between, ends, line.cuts, codes)):
        total[first : first + len(counts)] += counts
    return total


def _count_between(
    ends: Int64Array, cuts: Int64Array, codes: int, region: RegionRows
) -> tuple[int, Int64Array]:
    begin = cuts[region.number]
    segments = pieces_of(ends, begin, begin + len(region.sensitive_codes))
    counts = [
        np.bincount(region.sensitive_codes[first - begin : last - begin].ravel(), minlength=codes)
        for _, first, last in segments
    ]
    return segments[0][0] if segments else 0, np.array(counts, np.int64).reshape(-1, codes)


def pieces_of(ends: Int64Array, begin: int, end: int) -> list[tuple[int, int, int]]:
    """Sections that end at ``ends``, clipped to ``begin .. end``, as (number, first, last).

    >>> pieces_of(np.array([4, 10, 20]), 5, 12)
    [(1, 5, 10), (2, 10, 12)]
    """
    inside = ends[(ends > begin) & (ends < end)]
    borders = [int(begin), *inside.tolist(), int(end)]
    number = int(np.searchsorted(ends, begin, side="right"))
    return [
        (number + place, first, last)
        for place, (first, last) in enumerate(pairwise(borders))
        if last > first
    ]


# ------------------------------------------------------------------ profiles from blocks


def gathered_of(line: OrderedPartitions, cut: Cut, count: int, values: int) -> Gathered:
    """Sums of features by sensitive value, from how often each occurs in each block."""
    if cut.starts is None:
        return Gathered.total(line.over(partial(_gather_own, cut, line.cuts, count, values)))
    parts = line.over(partial(_gather_across, cut.starts, line.cuts, values))
    blocks = len(cut.starts) - 1
    counts = np.zeros((blocks, values), np.int64)
    totals = np.zeros((blocks, parts[0][0][1].shape[0]))
    for region in parts:
        for block, features, found in region:
            totals[block] += features
            counts[block] += found
    lengths = np.diff(cut.starts)
    features = totals / lengths[:, None]
    return Gathered(counts.T @ features, counts.sum(axis=0), totals.sum(axis=0), lengths.sum())


def _gather_own(
    cut: Cut, cuts: Int64Array, count: int, values: int, region: RegionRows
) -> Gathered:
    starts = cut.of_region(region, cuts, count)
    rows = np.arange(len(region.sensitive_codes))
    return gather_by_block(region.codes, region.sensitive_codes[:, 0], rows, starts, values)


def _gather_across(
    starts: Int64Array, cuts: Int64Array, values: int, region: RegionRows
) -> list[tuple[int, Float64Array, Int64Array]]:
    begin = cuts[region.number]
    segments = pieces_of(starts[1:], begin, begin + len(region.sensitive_codes))
    local = np.array([first - begin for _, first, _ in segments] + [len(region.sensitive_codes)])
    means = block_features(region.codes, np.arange(len(region.sensitive_codes)), local)
    return [
        (
            block,
            means[place] * (last - first),
            np.bincount(region.sensitive_codes[first - begin : last - begin, 0], minlength=values),
        )
        for place, (block, first, last) in enumerate(segments)
    ]
