"""The cut of `buckets` for a table that comes in regions: what is in memory one function call.

The rule is `methods._block_cuts.deepest`. Regions are stretches of the order of quasi-identifiers,
as many as memory asks for. Numbers of blocks that give every region many blocks are cut by each
region for itself; fewer blocks are cut where the whole table would cut them, across regions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from mottle.coding import Codes, Float64s
from mottle.graph import Int32s, Int64s
from mottle.guarantees import Demand, allowed
from mottle.methods._block_cuts import (
    Trial,
    Way,
    cut_by,
    deepest,
    fewer,
    fills_buckets,
    keeps_caps,
    marks_of_values,
    reach,
    to_whole_buckets,
    tried_blocks,
)
from mottle.methods._bucket_records import TableRecords
from mottle.methods._profiles import Gathered, block_features, gather_by_block

OWN_BLOCKS = 64  # blocks of a region from which it cuts itself
_TRIED_AT_ONCE = 24  # numbers of blocks that one look over all regions tries
_LARGEST_COUNTS = 2 * 10**7  # numbers that counts between cuts may take

Result = TypeVar("Result")


class Region(NamedTuple):
    """Some rows, next to each other along the order, and in it."""

    number: int
    codes: Codes
    marks: Int32s  # [n, systems]

    @property
    def borders(self) -> Int32s:
        """How much each row has in common with the one before; the first one's is not known."""
        found = TableRecords(self.codes).borders(np.arange(len(self.marks)))
        found[:1] = self.codes.matrix.shape[1]
        return found


class Line(Protocol):
    """All rows along the order, of which a region is seen at a time, here or elsewhere."""

    @property
    def cuts(self) -> Int64s:
        """First row of every region, and the end."""

    def over(self, work: Callable[[Region], Result]) -> list[Result]:
        """What ``work`` says about every region, in their order."""


@dataclass(frozen=True)
class Share:
    """The rows of one part of a table: of a tier, or of its scouts."""

    counts: Int64s  # [regions, values, parts]: how many rows of each value every region has in each
    part: int
    together: int = 1  # neighbouring regions that are seen as one

    @property
    def cuts(self) -> Int64s:
        """First row of every stretch of regions seen as one, and the end."""
        ends = np.cumsum(self.counts[:, :, self.part].sum(axis=1))
        return np.append(np.concatenate([[0], ends[:-1]])[:: self.together], ends[-1])

    @property
    def is_everything(self) -> bool:
        """Whether all rows belong to it."""
        return bool(self.cuts[-1] == self.counts.sum())

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
    starts: Int64s | None  # first row of every block and the end; None: regions cut themselves

    def of_region(self, region: Region, cuts: Int64s, count: int) -> Int64s:
        """Where a region that cuts itself does so, and its end."""
        offsets = _offsets(self.blocks, cuts)
        blocks = int(offsets[region.number + 1] - offsets[region.number])
        return _cut_region(region, self.way, blocks, count)


def decide_cut(line: Line, demand: Demand, count: int) -> Cut:
    """The most blocks that can be had; ``demand`` has the marks of all combinations of values."""
    rows = int(line.cuts[-1])
    table = _Trials(line, demand, count)
    found = deepest(rows, count, table.of)
    return Cut(1, Way.EVENLY, np.array([0, rows], np.int64)) if found is None else found


class _Trials:
    """Looks over all regions, each for several numbers of blocks ahead of the question."""

    def __init__(self, line: Line, demand: Demand, count: int) -> None:
        self.line, self.demand, self.count = line, demand, count
        self.marks = marks_of_values(demand)
        self.own = OWN_BLOCKS * (len(line.cuts) - 1)
        self.known: dict[int, list[tuple[Cut, Trial]]] = {}

    def of(self, blocks: int) -> Iterator[tuple[Cut, Trial]]:
        if blocks not in self.known:
            own = blocks >= self.own
            tried = [blocks]
            while len(tried) < _TRIED_AT_ONCE and tried[-1] > 1:
                tried.append(fewer(tried[-1]))
            tried = [number for number in tried if number > 1 and (number >= self.own) == own]
            (self._try_own if own else self._try_across)(tried)
        yield from self.known[blocks]

    def _filled(self, counts: list[Int64s]) -> bool:
        return fills_buckets(self.marks, self.demand, counts, self.count)

    def _try_own(self, tried: list[int]) -> None:
        look = partial(
            _look_at_own, tried, self.line.cuts, self.count, self.demand.caps, len(self.marks)
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
                        Trial(partial(bool, kept), partial(self._filled, counts)),
                    )
                )

    def _try_across(self, tried: list[int]) -> None:
        rows = int(self.line.cuts[-1])
        budget = _LARGEST_COUNTS // (3 * len(self.demand.caps))
        within = max(int(np.searchsorted(np.cumsum(tried), budget)), 1)
        tried = tried[:within]
        starts = self._starts_across(rows, tried)
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
                self.known[blocks].append((Cut(blocks, way, cut), self._trial(cut, counts)))

    def _trial(self, starts: Int64s, counts: Int64s) -> Trial:
        def kept() -> bool:
            most = allowed(self.demand.caps, np.diff(starts)[:, None])  # type: ignore[arg-type]
            return bool(np.all(counts <= most))

        values = counts[tried_blocks(len(counts)), : len(self.marks)]
        return Trial(kept, partial(self._filled, list(values)))

    def _starts_across(self, rows: int, tried: list[int]) -> list[list[Int64s]]:
        """Starts by number of blocks and way."""
        even = [np.arange(blocks + 1) * rows // blocks for blocks in tried]
        wanted = np.concatenate([starts[1:-1] for starts in even])
        far = np.repeat([reach(rows, blocks) for blocks in tried], [b - 1 for b in tried])
        moved = _deepest_borders(self.line, wanted, far)
        found, first = [], 0
        for blocks, starts in zip(tried, even, strict=True):
            at_borders = starts.copy()
            at_borders[1:-1] = moved[first : first + blocks - 1]
            first += blocks - 1
            found.append(
                [
                    to_whole_buckets(at_borders, self.count),
                    to_whole_buckets(starts.copy(), self.count),
                    starts,
                ]
            )
        return found


# ------------------------------------------------------------------ blocks that regions cut


def _offsets(blocks: int, cuts: Int64s) -> Int64s:
    """Number of the first block of every region, and of all blocks."""
    shares = np.diff(cuts * blocks // cuts[-1])
    return np.concatenate([[0], np.cumsum(np.maximum(shares, 1))])


def _cut_region(region: Region, way: Way, blocks: int, count: int) -> Int64s:
    borders = region.borders if way is Way.BORDERS else None
    return cut_by(way, len(region.marks), blocks, count, borders)


def _look_at_own(
    tried: list[int], cuts: Int64s, count: int, caps: Float64s, values: int, region: Region
) -> list[list[list[Int64s] | None]]:
    """For every number of blocks and way: counts of the blocks to judge by, None if caps break."""
    borders = region.borders
    found: list[list[list[Int64s] | None]] = []
    for number in tried:
        offsets = _offsets(number, cuts)
        first, last = offsets[region.number], offsets[region.number + 1]
        judged = tried_blocks(int(offsets[-1]))
        judged = judged[(judged >= first) & (judged < last)] - first
        ways: list[list[Int64s] | None] = []
        for way in Way:
            starts = cut_by(way, len(region.marks), int(last - first), count, borders)
            if not keeps_caps(region.marks, starts, caps):
                ways.append(None)
                continue
            ways.append(
                [
                    np.bincount(region.marks[starts[b] : starts[b + 1], 0], minlength=values)
                    for b in judged
                ]
            )
        found.append(ways)
    return found


# ------------------------------------------------------------------ blocks across regions


def _deepest_borders(line: Line, wanted: Int64s, far: Int64s) -> Int64s:
    """For every wanted cut the deepest border within reach, the nearest of equal ones."""
    best = np.tile([1 << 20, 0], (len(wanted), 1))
    for which, found in line.over(partial(_look_for_borders, wanted, far, line.cuts)):
        known = best[which]
        better = _rank(found, wanted[which]) < _rank(known, wanted[which])
        best[which[better]] = found[better]
    return best[:, 1]


def _rank(found: Int64s, wanted: Int64s) -> Int64s:
    """Depth, distance, and earlier before later, as one number that compares."""
    away = found[:, 1] - wanted
    rank: Int64s = found[:, 0] * (1 << 42) + np.abs(away) * 2 + (away > 0)
    return rank


def _look_for_borders(
    wanted: Int64s, far: Int64s, cuts: Int64s, region: Region
) -> tuple[Int64s, Int64s]:
    """Which cuts could lie in a region, and depth and place of the best border for each."""
    first, last = cuts[region.number], cuts[region.number + 1]
    low, high = np.maximum(wanted - far, first), np.minimum(wanted + far + 1, last)
    which = np.flatnonzero(low < high)
    borders = region.borders
    found = np.zeros((len(which), 2), np.int64)
    for place, cut in enumerate(which):
        window = borders[low[cut] - first : high[cut] - first]
        depth = window.min()
        places = np.flatnonzero(window == depth) + low[cut]
        found[place] = depth, places[np.argmin(np.abs(places - wanted[cut]))]
    return which, found


def counts_between(line: Line, ends: Int64s, marks: int) -> Int64s:
    """How often each mark occurs in the rows before each of the ascending ``ends``."""
    total = np.zeros((len(ends), marks), np.int64)
    for first, counts in line.over(partial(_count_between, ends, line.cuts, marks)):
        total[first : first + len(counts)] += counts
    return total


def _count_between(ends: Int64s, cuts: Int64s, marks: int, region: Region) -> tuple[int, Int64s]:
    begin = cuts[region.number]
    segments = pieces_of(ends, begin, begin + len(region.marks))
    counts = [
        np.bincount(region.marks[first - begin : last - begin].ravel(), minlength=marks)
        for _, first, last in segments
    ]
    return segments[0][0] if segments else 0, np.array(counts, np.int64).reshape(-1, marks)


def pieces_of(ends: Int64s, begin: int, end: int) -> list[tuple[int, int, int]]:
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


def gathered_of(line: Line, cut: Cut, count: int, values: int) -> Gathered:
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


def _gather_own(cut: Cut, cuts: Int64s, count: int, values: int, region: Region) -> Gathered:
    starts = cut.of_region(region, cuts, count)
    rows = np.arange(len(region.marks))
    return gather_by_block(region.codes, region.marks[:, 0], rows, starts, values)


def _gather_across(
    starts: Int64s, cuts: Int64s, values: int, region: Region
) -> list[tuple[int, Float64s, Int64s]]:
    begin = cuts[region.number]
    segments = pieces_of(starts[1:], begin, begin + len(region.marks))
    local = np.array([first - begin for _, first, _ in segments] + [len(region.marks)])
    means = block_features(region.codes, np.arange(len(region.marks)), local)
    return [
        (
            block,
            means[place] * (last - first),
            np.bincount(region.marks[first - begin : last - begin, 0], minlength=values),
        )
        for place, (block, first, last) in enumerate(segments)
    ]
