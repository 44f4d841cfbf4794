"""The cut of `buckets` for a table that comes in regions: what is in memory one function call.

The rule is `methods._block_cuts.best`. Regions are stretches of the order of quasi-identifiers,
as many as memory asks for. Numbers of blocks that give every region many blocks are cut by each
region for itself; fewer blocks are cut where the whole table would cut them, across regions.
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
    Judge,
    Trial,
    Way,
    best,
    cut_by,
    fewer,
    keeps_caps,
    tried_blocks,
)
from mottle.methods.buckets.profiles import Gathered, block_features, gather_by_block
from mottle.methods.buckets.records import TableRecords, agreeing, in_ranks
from mottle.typing import Float64Array, Int32Array, Int64Array

OWN_BLOCKS = 64  # blocks of a region from which it cuts itself
_TRIED_AT_ONCE = 24  # numbers of blocks that one look over all regions tries
_LARGEST_COUNTS = 2 * 10**7  # numbers that counts between cuts may take
_KNOWN_BORDERS = 16 * OWN_BLOCKS  # of a region, for cuts across regions

Result = TypeVar("Result")


class Region(NamedTuple):
    """Some rows, next to each other along the order, and in it."""

    number: int
    codes: Codes
    sensitive_codes: Int32Array  # [n, attributes]

    @property
    def borders(self) -> Int32Array:
        """How much each row has in common with the one before; the first, as if all."""
        found = TableRecords(self.codes).borders(np.arange(len(self.sensitive_codes)))
        found[:1] = self.codes.matrix.shape[1]
        return found


class OrderedPartitions(Protocol):
    """All rows along the order, of which a region is seen at a time, here or elsewhere."""

    @property
    def cuts(self) -> Int64Array:
        """First row of every region, and the end."""

    def over(self, work: Callable[[Region], Result]) -> list[Result]:
        """What ``work`` says about every region, in their order."""


@dataclass(frozen=True)
class Share:
    """The rows of one part of a table: of a tier, or of its scouts."""

    counts: (
        Int64Array  # [regions, values, parts]: how many rows of each value every region has in each
    )
    part: int
    together: int = 1  # neighbouring regions that are seen as one

    @property
    def cuts(self) -> Int64Array:
        """First row of every stretch of regions seen as one, and the end."""
        ends = np.cumsum(self.counts[:, :, self.part].sum(axis=1))
        return np.append(np.concatenate([[0], ends[:-1]])[:: self.together], ends[-1])

    @property
    def is_everything(self) -> bool:
        """Whether all rows belong to it."""
        return bool(self.cuts[-1] == self.counts.sum())

    @property
    def values(self) -> Int64Array:
        """How often each value occurs in it."""
        return np.asarray(self.counts[:, :, self.part].sum(axis=0))

    def regions(self, stretch: int) -> range:
        """The regions that are seen as one."""
        first = stretch * self.together
        return range(first, min(first + self.together, len(self.counts)))

    def within(self, largest: int) -> Share:
        """The same rows in as few stretches as hold no more than ``largest``.

        Halved again and again, as cells are in memory; see `engines.cut_regions`.
        """
        share = self
        while share.together < len(self.counts):
            wider = replace(share, together=2 * share.together)
            if np.diff(wider.cuts).max() > largest:
                break
            share = wider
        return share


@dataclass(frozen=True)
class Cut:
    """The decision: so many blocks, cut in this way."""

    blocks: int
    way: Way
    starts: Int64Array | None  # first row of every block and the end; None: regions cut themselves

    def of_region(self, region: Region, cuts: Int64Array, count: int) -> Int64Array:
        """Where a region that cuts itself does so, and its end."""
        offsets = _offsets(self.blocks, cuts)
        blocks = int(offsets[region.number + 1] - offsets[region.number])
        return _cut_region(region, self.way, blocks, count)


def decide_cut(line: OrderedPartitions, demand: Demand, counts: Int64Array, count: int) -> Cut:
    """Cut so that least is lost; ``demand`` has the marks of all combinations of values.

    ``counts``: how often each of these occurs in the line; ``count``: of buckets.
    """
    rows = int(line.cuts[-1])
    table = _Trials(line, demand, counts, count)
    found = best(rows, count, table.of)
    return Cut(1, Way.EVENLY, np.array([0, rows], np.int64)) if found is None else found


class _Trials:
    """Looks over all regions, each for several numbers of blocks ahead of the question."""

    def __init__(
        self, line: OrderedPartitions, demand: Demand, counts: Int64Array, count: int
    ) -> None:
        self.line, self.demand, self.count = line, demand, count
        self.number = len(counts)  # of values
        self.judge = Judge(demand, counts, count)
        self.own = OWN_BLOCKS * (len(line.cuts) - 1)
        self.known: dict[int, list[tuple[Cut, Trial]]] = {}

    def of(self, blocks: int) -> Iterator[tuple[Cut, Trial]]:
        if blocks not in self.known:
            own = blocks >= self.own
            tried = {blocks}
            for eligible in (True, False):  # whichever way it goes on
                number = blocks
                for _ in range(_TRIED_AT_ONCE // 2):
                    number = fewer(number, eligible=eligible)
                    tried.add(number)
            wanted = [n for n in sorted(tried, reverse=True) if n > 1 and (n >= self.own) == own]
            (self._try_own if own else self._try_across)(wanted)
        yield from self.known[blocks]

    @cached_property
    def borders(self) -> Borders:
        """Those that cuts across regions may fall on."""
        return _borders_of(self.line)

    def _try_own(self, tried: list[int]) -> None:
        look = partial(
            _look_at_own, tried, self.line.cuts, self.count, self.demand.caps, self.number
        )
        found = self.line.over(look)
        for place, blocks in enumerate(tried):
            self.known[blocks] = []
            for way in Way:
                seen = [region[place][way] for region in found]
                kept = all(counts is not None for counts in seen)
                counts = [block for counts in seen for block in counts or []]
                self.known[blocks].append(
                    (
                        Cut(blocks, way, None),
                        Trial(partial(bool, kept), self._loss(counts, blocks, way)),
                    )
                )

    def _try_across(self, tried: list[int]) -> None:
        rows = int(self.line.cuts[-1])
        budget = _LARGEST_COUNTS // (len(Way) * len(self.demand.caps))
        within = max(int(np.searchsorted(np.cumsum(tried), budget)), 1)
        tried = tried[:within]
        starts = [
            [cut_by(way, rows, blocks, self.count, self.borders) for way in Way] for blocks in tried
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
            for way, cut in zip(Way, cuts, strict=True):
                counts = np.diff(before[np.searchsorted(places, cut[1:]) + 1], axis=0, prepend=0)
                self.known[blocks].append((Cut(blocks, way, cut), self._trial(cut, counts, way)))

    def _trial(self, starts: Int64Array, counts: Int64Array, way: Way) -> Trial:
        def kept() -> bool:
            most = allowed(self.demand.caps, np.diff(starts)[:, None])  # type: ignore[arg-type]
            return bool(np.all(counts <= most))

        values = counts[tried_blocks(len(counts)), : self.number]
        return Trial(kept, self._loss(list(values), len(counts), way))

    def _loss(self, counts: list[Int64Array], blocks: int, way: Way) -> Callable[[], float]:
        return lambda: self.judge.loss(counts, blocks) * way.more_loss


# ------------------------------------------------------------------ blocks that regions cut


def _offsets(blocks: int, cuts: Int64Array) -> Int64Array:
    """Number of the first block of every region, and of all blocks."""
    shares = np.diff(cuts * blocks // cuts[-1])
    return np.concatenate([[0], np.cumsum(np.maximum(shares, 1))])


def _cut_region(region: Region, way: Way, blocks: int, count: int) -> Int64Array:
    borders = Borders.of(region.borders) if way <= Way.NEARBY else None
    return cut_by(way, len(region.sensitive_codes), blocks, count, borders)


def _look_at_own(
    tried: list[int], cuts: Int64Array, count: int, caps: Float64Array, values: int, region: Region
) -> list[list[list[Int64Array] | None]]:
    """For every number of blocks and way: counts of the blocks to judge by, None if caps break."""
    borders = Borders.of(region.borders)
    found: list[list[list[Int64Array] | None]] = []
    for number in tried:
        offsets = _offsets(number, cuts)
        first, last = offsets[region.number], offsets[region.number + 1]
        judged = tried_blocks(int(offsets[-1]))
        judged = judged[(judged >= first) & (judged < last)] - first
        ways: list[list[Int64Array] | None] = []
        for way in Way:
            starts = cut_by(way, len(region.sensitive_codes), int(last - first), count, borders)
            if not keeps_caps(region.sensitive_codes, starts, caps):
                ways.append(None)
                continue
            ways.append(
                [
                    np.bincount(
                        region.sensitive_codes[starts[b] : starts[b + 1], 0], minlength=values
                    )
                    for b in judged
                ]
            )
        found.append(ways)
    return found


# ------------------------------------------------------------------ blocks across regions


def _borders_of(line: OrderedPartitions) -> Borders:
    """The deepest border of every short stretch of all regions, and those between regions."""
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


def _look_for_borders(region: Region) -> tuple[Int64Array, Int32Array, Int32Array]:
    """Places and depths of a region's borders, one for every short stretch; first and last row."""
    stretch = max(-(-len(region.sensitive_codes) // _KNOWN_BORDERS), 1)
    depths = region.borders
    depths = np.pad(depths, (0, -len(depths) % stretch), mode="edge").reshape(-1, stretch)
    places = np.arange(len(depths)) * stretch + np.argmin(depths, axis=1)
    inside = places > 0
    rows = len(region.sensitive_codes)
    ends = in_ranks(region.codes, np.array([0, rows - 1] if rows else [], np.int64))
    return places[inside], depths.min(axis=1)[inside], ends


def counts_between(line: OrderedPartitions, ends: Int64Array, marks: int) -> Int64Array:
    """How often each mark occurs in the rows before each of the ascending ``ends``."""
    total = np.zeros((len(ends), marks), np.int64)
    for first, counts in line.over(partial(_count_between, ends, line.cuts, marks)):
        total[first : first + len(counts)] += counts
    return total


def _count_between(
    ends: Int64Array, cuts: Int64Array, marks: int, region: Region
) -> tuple[int, Int64Array]:
    begin = cuts[region.number]
    segments = pieces_of(ends, begin, begin + len(region.sensitive_codes))
    counts = [
        np.bincount(region.sensitive_codes[first - begin : last - begin].ravel(), minlength=marks)
        for _, first, last in segments
    ]
    return segments[0][0] if segments else 0, np.array(counts, np.int64).reshape(-1, marks)


def pieces_of(ends: Int64Array, begin: int, end: int) -> list[tuple[int, int, int]]:
    """Stretches that end at ``ends``, as far as they lie in ``begin .. end``: number, first, last.

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


# ------------------------------------------------------------------ what blocks tell


def gathered_of(line: OrderedPartitions, cut: Cut, count: int, values: int) -> Gathered:
    """Where sensitive values lie, from how often each occurs in each block."""
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


def _gather_own(cut: Cut, cuts: Int64Array, count: int, values: int, region: Region) -> Gathered:
    starts = cut.of_region(region, cuts, count)
    rows = np.arange(len(region.sensitive_codes))
    return gather_by_block(region.codes, region.sensitive_codes[:, 0], rows, starts, values)


def _gather_across(
    starts: Int64Array, cuts: Int64Array, values: int, region: Region
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
