"""The values of a column in a few parts, which are drawn first; values inside a part follow.

Parts are runs of neighbouring atoms (`mottle.queries.cells.atoms`), so that the values of a cell
that lie in one part are neighbours too. A comparison of a rule is true for all values of a part or
for none: intervals that it divides are divided first.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa

from mottle.errors import DataError
from mottle.queries.cells.atoms import Atoms
from mottle.queries.cells.cells import CellDistribution, Occurs
from mottle.queries.cells.interval_atoms import DiscreteIntervals, RealIntervals
from mottle.queries.conditions import Condition
from mottle.typing import BoolArray, Float32Array, Float64Array, Int64Array
from mottle.utils.compiled import inner_kernel, kernel

MOST_RUNS = 500  # parts into which rules may divide a column
# The least chance of a part that a cell holds, so that a rule can always choose it.
_LEAST_CHANCE = 1e-9


@dataclass(frozen=True, eq=False)
class ColumnParts:
    """The parts of one column; the missing value is the last part."""

    cells: CellDistribution  # with intervals divided where comparisons divide them
    cuts: Int64Array  # [parts]: the first atom of each part of known values, and the end
    truths: BoolArray  # [comparisons, parts]: for which parts each is true

    @property
    def count(self) -> int:
        """The number of parts, the missing value included."""
        return len(self.cuts)

    @classmethod
    def of(
        cls, cells: CellDistribution, comparisons: Sequence[Condition], most: int
    ) -> ColumnParts:
        """Divide a column into at most ``most`` parts, or as many as comparisons need."""
        cells = _divided(cells, comparisons)
        covered = [cells.atoms.covered((condition,)).full for condition in comparisons]
        atoms = len(cells.atoms.measure)
        changes = np.zeros(max(atoms - 1, 0), np.bool_)
        for full in covered:
            changes |= full[1:] != full[:-1]
        runs = np.concatenate([[0], np.flatnonzero(changes) + 1, [atoms]]).astype(np.int64)
        if len(runs) > MOST_RUNS:
            raise DataError(
                f"The rules divide column '{cells.name}' into more than {MOST_RUNS} parts."
            )
        cuts = _cut_evenly(_expected(cells), runs, most) if atoms else np.zeros(1, np.int64)
        truths = np.zeros((len(comparisons), len(cuts)), np.bool_)
        for place, condition in enumerate(comparisons):
            truths[place, :-1] = covered[place][cuts[:-1]]
            truths[place, -1] = cells.atoms.takes_missing(condition)
        return cls(cells, cuts, truths)

    def chances(self, rows: Int64Array) -> Float32Array:
        """[rows, parts]: how likely the value of each record is in each part; 0 if it cannot be."""
        cells, of_row = np.unique(self.cells.of_row[rows].astype(np.int64), return_inverse=True)
        source = self.cells
        bounds = self._bounds(cells)
        sums = self._sums
        within = np.maximum(sums[bounds[:, 1:]] - sums[bounds[:, :-1]], 0.0)
        sizes = np.diff(bounds, axis=1)
        chances = np.zeros((len(cells), self.count))
        chances[:, :-1] = (source.free / source.mass)[cells][:, None] * within
        chances[:, :-1] += source.fixed[cells][:, None] * self._occurring(cells, bounds)
        chances[:, -1] = source.chance_of_missing[cells]
        possible = np.column_stack([sizes > 0, source.missing[cells]])
        chances = np.where(possible, np.maximum(chances, _LEAST_CHANCE), 0.0)
        chances /= np.maximum(chances.sum(axis=1, keepdims=True), _LEAST_CHANCE)
        return chances.astype(np.float32)[of_row.ravel()]

    def draw(self, rows: Int64Array, parts: Int64Array, random: np.random.Generator) -> pa.Array:
        """Draw a value of every record in the part that is given; null for missing."""
        source, missing = self.cells, parts == self.count - 1
        cells = source.of_row[rows[~missing]].astype(np.int64)
        known = parts[~missing]
        first, last = _run(source.slots, source.first[cells], source.last[cells], self.cuts, known)
        sums = self._sums
        weight = (source.free / source.mass)[cells]
        by_weight = weight * np.maximum(sums[last] - sums[first], 0.0)
        values = self._count_occurring(cells, first, last)
        by_occurring = source.fixed[cells] * values
        position = random.random(len(cells)) * (by_weight + by_occurring)
        inside = np.where(weight > 0, position / np.maximum(weight, 1e-300), 0.0)
        slots = np.searchsorted(sums, sums[first] + inside, side="right") - 1
        slots = np.clip(slots, first, np.maximum(last - 1, first))
        fixed = position >= by_weight
        place = (random.random(len(cells)) * values).astype(np.int64)
        if source.occurs is Occurs.ENDS:
            has_first = first == source.first[cells]
            end = np.where(has_first & (place == 0), first, last - 1)
            slots = np.where(fixed & (values > 0), end, slots)
        elif source.occurs is Occurs.EVERY:
            slots = np.where(fixed & (values > 0), first + place, slots)
        atoms = slots if source.slots is None else source.slots[slots]
        found = source.atoms.draw(atoms, random)
        return found.take(pa.array(np.cumsum(~missing) - 1, mask=missing))

    @cached_property
    def _sums(self) -> Float64Array:
        return np.concatenate([[0.0], np.cumsum(self.cells.slot_weights)])

    def _bounds(self, cells: Int64Array) -> Int64Array:
        """[cells, parts]: where the slots of each part begin in each cell, and the end."""
        source = self.cells
        first, last = source.first[cells], source.last[cells]
        if source.slots is None:
            bounds: Int64Array = np.clip(self.cuts[None, :], first[:, None], last[:, None])
            return bounds
        return _slot_bounds(source.slots, first, last, self.cuts)

    def _occurring(self, cells: Int64Array, bounds: Int64Array) -> Int64Array:
        """[cells, parts]: how many values of each part are known to occur."""
        return self._count_occurring(cells[:, None], bounds[:, :-1], bounds[:, 1:])

    def _count_occurring(
        self, cells: Int64Array, first: Int64Array, last: Int64Array
    ) -> Int64Array:
        source = self.cells
        sizes: Int64Array = last - first
        if source.occurs is Occurs.EVERY:
            return sizes
        if source.occurs is Occurs.NONE:
            return np.zeros_like(sizes)
        begin, end = source.first[cells], source.last[cells]
        some = sizes > 0
        held: Int64Array = (some & (first == begin)).astype(np.int64)
        held += (some & (last == end) & (end - begin > 1)).astype(np.int64)
        return held


def _run(
    slots: Int64Array | None,
    first: Int64Array,
    last: Int64Array,
    cuts: Int64Array,
    parts: Int64Array,
) -> tuple[Int64Array, Int64Array]:
    """The slots of each cell that lie in its part."""
    if slots is None:
        return np.maximum(first, cuts[parts]), np.minimum(last, cuts[parts + 1])
    return _part_bounds(slots, first, last, cuts, parts)


def _expected(cells: CellDistribution) -> Float64Array:
    """[atoms]: about how many records have each."""
    rows = np.bincount(cells.of_row, minlength=len(cells.first)) / cells.mass
    slots = len(cells.slot_weights)
    steps = np.bincount(cells.first, rows, minlength=slots + 1)
    steps -= np.bincount(cells.last, rows, minlength=slots + 1)
    by_slot = np.maximum(np.cumsum(steps)[:slots], 0.0) * cells.slot_weights
    if cells.slots is None:
        return by_slot
    summed = np.bincount(cells.slots, by_slot, minlength=len(cells.atoms.measure))
    return summed.astype(np.float64)


def _cut_evenly(expected: Float64Array, runs: Int64Array, most: int) -> Int64Array:
    """Cut runs of atoms until there are ``most`` parts: always the one with most records.

    >>> _cut_evenly(np.array([1.0, 9.0, 1.0, 1.0]), np.array([0, 4]), 3)
    array([0, 1, 2, 4])
    """
    upto = np.concatenate([[0.0], np.cumsum(expected)])
    heap = [(-(upto[b] - upto[a]), a, b) for a, b in pairwise(runs.tolist())]
    heapq.heapify(heap)
    done: list[int] = []
    while heap and len(heap) + len(done) < most:
        _, first, last = heapq.heappop(heap)
        if last - first < 2:
            done.append(first)
            continue
        middle = (upto[first] + upto[last]) / 2
        after = int(np.searchsorted(upto, middle, side="left"))
        # the cut that leaves the halves most alike
        if after > first and upto[after] - middle > middle - upto[after - 1]:
            after -= 1
        cut = min(max(after, first + 1), last - 1)
        for begin, end in ((first, cut), (cut, last)):
            heapq.heappush(heap, (-(upto[end] - upto[begin]), begin, end))
    starts = sorted([*done, *(first for _, first, _ in heap)])
    return np.array([*starts, len(expected)], np.int64)


# ------------------------------------------------------------------- intervals that are divided


def _divided(cells: CellDistribution, comparisons: Sequence[Condition]) -> CellDistribution:
    """Return the cells with every interval divided where a comparison changes inside it."""
    atoms = cells.atoms
    if not comparisons or not isinstance(atoms, DiscreteIntervals | RealIntervals):
        return cells
    finer, begin = atoms.divided(tuple(comparisons))
    slots = np.arange(len(begin) - 1) if cells.slots is None else cells.slots
    pieces = np.diff(begin)[slots]
    offsets = np.concatenate([[0], np.cumsum(pieces)]).astype(np.int64)
    of_piece = np.repeat(np.arange(len(slots)), pieces)
    atom = begin[slots][of_piece] + np.arange(offsets[-1]) - offsets[of_piece]
    share = _shares(finer, atom, np.diff(begin)[slots][of_piece], offsets)
    return replace(
        cells,
        atoms=finer,
        slots=None if cells.slots is None else atom,
        slot_weights=cells.slot_weights[of_piece] * share,
        first=offsets[cells.first],
        last=offsets[cells.last],
        before=None,
        before_of=None,
    )


def _shares(
    finer: Atoms, atom: Int64Array, pieces: Int64Array, offsets: Int64Array
) -> Float64Array:
    """The share of its interval that each piece is."""
    measure = finer.measure[atom]
    whole = np.add.reduceat(measure, offsets[:-1]) if len(atom) else measure
    total = np.repeat(whole, np.diff(offsets))
    share: Float64Array = np.where(pieces == 1, 1.0, measure / np.where(total > 0, total, 1.0))
    return share


# ----------------------------------------------------------------------------------------- kernels


@inner_kernel
def _lower_bound(slots: Int64Array, first: int, last: int, atom: int) -> int:
    """The first slot of ``first .. last - 1`` whose atom is not below ``atom``."""
    while first < last:
        middle = (first + last) // 2
        if slots[middle] < atom:
            first = middle + 1
        else:
            last = middle
    return first


@kernel
def _slot_bounds(
    slots: Int64Array, first: Int64Array, last: Int64Array, cuts: Int64Array
) -> Int64Array:
    """[cells, cuts]: the first slot of each cell whose atom is not below each cut."""
    bounds = np.empty((len(first), len(cuts)), np.int64)
    for cell in range(len(first)):
        for place in range(len(cuts)):
            bounds[cell, place] = _lower_bound(slots, first[cell], last[cell], cuts[place])
    return bounds


@kernel
def _part_bounds(
    slots: Int64Array,
    first: Int64Array,
    last: Int64Array,
    cuts: Int64Array,
    parts: Int64Array,
) -> tuple[Int64Array, Int64Array]:
    """The slots of each cell that lie in its part, from the first to before the last."""
    begin, end = np.empty(len(first), np.int64), np.empty(len(first), np.int64)
    for cell in range(len(first)):
        begin[cell] = _lower_bound(slots, first[cell], last[cell], cuts[parts[cell]])
        end[cell] = _lower_bound(slots, first[cell], last[cell], cuts[parts[cell] + 1])
    return begin, end
