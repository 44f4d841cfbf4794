"""Atoms of numbers and dates: the intervals between the ends of all published ranges.

Whole numbers, decimals and days lie on a grid, whose steps are counted (`DiscreteIntervals`); other
numbers are measured by length (`RealIntervals`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Context
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mottle.errors import UsageError
from mottle.queries._literals import check_numeric, exact_number
from mottle.queries.cells.atoms import Covered, Numbers
from mottle.queries.conditions import Condition, Conditions
from mottle.typing import BoolArray, Float64Array, Int64Array

MOST_POINTS = 100_000  # single values that can be grouped by
_FARTHEST = 2**62  # grid positions are 64-bit integers


@dataclass(frozen=True)
class DiscreteIntervals:
    """Intervals of a grid: interval i has the steps ``starts[i] .. starts[i + 1] - 1``.

    Step s is the value (origin + s)·unit, computed exactly: numbers near 2^64 stay apart.
    """

    name: str
    value_type: pa.DataType
    unit: Fraction  # the width of a step
    starts: Int64Array  # [atoms + 1]
    origin: int = 0

    missing_measure = 1.0

    @property
    def measure(self) -> Float64Array:
        """[atoms]: the number of steps."""
        return np.diff(self.starts).astype(np.float64)

    prior = measure

    def covered(self, conditions: Conditions) -> Covered:
        """Return the share of each interval's steps that satisfies the conditions."""
        steps = np.diff(self.starts)
        inside = self._inside(conditions)
        return Covered(inside / np.maximum(steps, 1), inside == steps, inside > 0)

    def takes_missing(self, condition: Condition) -> bool:
        """Return whether it does: only if the condition says so."""
        return condition.missing

    def numbers(self, conditions: Conditions) -> Numbers:
        """Return the moments of the steps, from sums over whole intervals less excluded steps."""
        check_numeric(self.name, self.value_type)
        low, high, listed, excluded = self._read(conditions)
        first = np.maximum(self.starts[:-1], low)
        last = np.minimum(self.starts[1:] - 1, high)
        if listed is not None:
            return self._of_listed(listed)
        count = np.maximum(last - first + 1, 0).astype(np.float64)
        first, last = self._numbers(first), self._numbers(last)
        middle = (first + last) / 2
        total = count * middle
        squares = count * (middle**2 + (count**2 - 1) / 12)
        if len(excluded):
            count -= self._tally(excluded)
            total -= self._tally(excluded, self._numbers(excluded))
            squares -= self._tally(excluded, self._numbers(excluded) ** 2)
        unit, count = float(self.unit), np.maximum(count, 1)
        return Numbers(total / count * unit, squares / count * unit**2, first * unit, last * unit)

    def points(self) -> pa.Array:
        """Return every step as a value."""
        if self.starts[-1] - self.starts[0] > MOST_POINTS:
            raise UsageError(
                f"Column '{self.name}' has more than {MOST_POINTS:,} single values to group by.",
                f"Group by ranges: breaks={{'{self.name}': [...]}}.",
            )
        return self._values(np.arange(self.starts[0], self.starts[-1]))

    def draw(self, atoms: Int64Array, random: np.random.Generator) -> pa.Array:
        """Draw a step of each interval, all equally likely."""
        return self._values(random.integers(self.starts[atoms], self.starts[atoms + 1]))

    def divided(self, conditions: Conditions) -> tuple[DiscreteIntervals, Int64Array]:
        """Divide intervals so that each satisfies every condition as a whole or not at all.

        Returns the finer intervals, and for each of the old ones the first new one, and the end.
        """
        cuts = [self.starts]
        for condition in conditions:
            low, high, listed, excluded = self._read((condition,))
            named = excluded if listed is None else listed
            cuts += [np.array([low, high + 1], np.int64), named, named + 1]
        starts = np.unique(np.concatenate(cuts))
        starts = starts[(starts >= self.starts[0]) & (starts <= self.starts[-1])]
        return replace(self, starts=starts), np.searchsorted(starts, self.starts)

    def _numbers(self, steps: Int64Array) -> Float64Array:
        """Convert steps to multiples of the unit, rounded."""
        numbers: Float64Array = steps.astype(np.float64) + float(self.origin)
        return numbers

    def _values(self, steps: Int64Array) -> pa.Array:
        """Convert steps to values of the column."""
        if pa.types.is_decimal(self.value_type):
            scale, exact = self.value_type.scale, Context(prec=80)
            values = [exact.scaleb(self.origin + step, -scale) for step in steps.tolist()]
            return pa.array(values, self.value_type)
        if self.origin:
            return pa.array([self.origin + step for step in steps.tolist()], self.value_type)
        if pa.types.is_date32(self.value_type):
            return pc.cast(pa.array(steps.astype(np.int32)), self.value_type)
        return pc.cast(pa.array(steps), self.value_type, safe=False)  # the nearest float

    def _inside(self, conditions: Conditions) -> Int64Array:
        """[atoms]: how many steps of each interval satisfy the conditions."""
        low, high, listed, excluded = self._read(conditions)
        if listed is not None:
            return self._tally(listed).astype(np.int64)
        first, last = np.maximum(self.starts[:-1], low), np.minimum(self.starts[1:] - 1, high)
        inside: Int64Array = np.maximum(last - first + 1, 0) - self._tally(excluded).astype(
            np.int64
        )
        return inside

    def _read(self, conditions: Conditions) -> tuple[int, int, Int64Array | None, Int64Array]:
        """Conditions in steps: first and last, listed ones (None: no list), excluded ones."""
        low, high = int(self.starts[0]), int(self.starts[-1]) - 1
        listed: set[int] | None = None
        excluded: set[int] = set()
        for condition in conditions:
            if not condition.known:
                high = low - 1
            if condition.low is not None:
                low = max(low, self._first_step(condition.low, condition.low_open))
            if condition.high is not None:
                high = min(high, -self._first_step(condition.high, condition.high_open, -1))
            if condition.values is not None:
                among = self._on_grid(condition.values)
                listed = among if listed is None else listed & among
            excluded |= self._on_grid(condition.excluded)
        within = None
        if listed is not None:
            within = _sorted(step for step in listed - excluded if low <= step <= high)
        return low, high, within, _sorted(step for step in excluded if low <= step <= high)

    def number(self, value: object) -> Fraction | float:
        """Return a literal as an exact number; infinities stay floats."""
        return exact_number(value, self.value_type, self.name)

    def _first_step(self, value: object, is_open: bool, sign: int = 1) -> int:
        """The first step that is not below a value; on the mirrored axis if ``sign`` is -1."""
        exact = self.number(value)
        if isinstance(exact, float):
            return _FARTHEST if sign * exact > 0 else -_FARTHEST
        position = sign * (exact / self.unit - self.origin)
        step = math.floor(position) + 1 if is_open else math.ceil(position)
        return max(-_FARTHEST, min(_FARTHEST, step))

    def _on_grid(self, values: tuple[object, ...]) -> set[int]:
        """The steps of those values that lie on the grid."""
        steps = [
            exact_number(value, self.value_type, self.name) / self.unit - self.origin
            for value in values
        ]
        return {
            int(step)
            for step in steps
            if isinstance(step, Fraction) and step.denominator == 1 and abs(step) < _FARTHEST
        }

    def _tally(self, steps: Int64Array, weights: NDArray[np.number] | None = None) -> Float64Array:
        """[atoms]: how many of the steps (or how much of their weight) lie in each interval."""
        place = np.searchsorted(self.starts, steps, side="right") - 1
        inside = (place >= 0) & (place < len(self.starts) - 1)
        chosen = None if weights is None else weights[inside]
        counted = np.bincount(place[inside], chosen, minlength=len(self.starts) - 1)
        return counted.astype(np.float64)

    def _of_listed(self, listed: Int64Array) -> Numbers:
        """The moments of listed steps."""
        unit = float(self.unit)
        count = np.maximum(self._tally(listed), 1)
        place = np.searchsorted(self.starts, listed, side="right") - 1
        lowest = np.zeros(len(self.starts) - 1)
        highest = np.zeros(len(self.starts) - 1)
        numbers = self._numbers(listed) * unit
        highest[place] = numbers
        lowest[place[::-1]] = numbers[::-1]
        return Numbers(
            self._tally(listed, numbers) / count,
            self._tally(listed, numbers**2) / count,
            lowest,
            highest,
        )


@dataclass(frozen=True)
class RealIntervals:
    """Ends of ranges, each a point, and the open intervals between neighbouring ones.

    Atom 2i is the point ``ends[i]``, atom 2i + 1 the interval up to the next one. Points have no
    length, so they count only in a cell of a single value.
    """

    name: str
    value_type: pa.DataType
    ends: Float64Array  # ascending, distinct
    exact: bool = True  # False: ends are rounded, so that what is near one is certain of nothing

    missing_measure = 0.0  # the missing value has no measure that compares with a length

    @property
    def measure(self) -> Float64Array:
        """[atoms]: the lengths."""
        lengths = np.zeros(max(2 * len(self.ends) - 1, 0))
        lengths[1::2] = np.diff(self.ends)
        return lengths

    @property
    def prior(self) -> Float64Array:
        """[atoms]: half by length, half on the ends, which are values that do occur."""
        weights: Float64Array = self.measure / max(self.measure.sum(), np.finfo(np.float64).tiny)
        weights[::2] = 1 / max(len(self.ends), 1)
        return weights

    def covered(self, conditions: Conditions) -> Covered:
        """Return the share of each interval's length that lies between the conditions' ends."""
        low, high, open_low, open_high, listed, excluded = self._read(conditions)
        share = np.zeros(len(self.measure))
        full, touched = np.zeros((2, len(share)), np.bool_)
        ends, starts, stops = self.ends, self.ends[:-1], self.ends[1:]
        points = (ends > low) if open_low else (ends >= low)
        points &= (ends < high) if open_high else (ends <= high)
        points &= ~np.isin(ends, excluded)
        empty = low > high or (low == high and (open_low or open_high))
        if listed is not None:
            points &= np.isin(ends, listed)
            inside = listed[(listed > low) | ((listed == low) & (not open_low))]
            inside = inside[(inside < high) | ((inside == high) & (not open_high))]
            inside = np.setdiff1d(inside, excluded)
            touched[1::2] = self._holds_one(inside)
        elif not empty:
            overlap = np.minimum(stops, high) - np.maximum(starts, low)
            share[1::2] = np.clip(overlap / (stops - starts), 0.0, 1.0)
            touched[1::2] = (low < stops) & (high > starts)
            full[1::2] = (low <= starts) & (high >= stops) & ~self._holds_one(excluded)
        share[::2] = full[::2] = touched[::2] = points & (not empty)
        if not self.exact:
            self._doubt(full, touched, low, high, listed)
        return Covered(share, full, touched)

    def _doubt(
        self,
        full: BoolArray,
        touched: BoolArray,
        low: float,
        high: float,
        listed: Float64Array | None,
    ) -> None:
        """Make atoms that end next to a rounded number possible and not certain."""
        borders = np.array([low, high] if listed is None else [low, high, *listed])
        below, above = np.nextafter(borders, -np.inf), np.nextafter(borders, np.inf)
        first = np.searchsorted(np.nextafter(self.ends, np.inf), below, side="left")
        last = np.searchsorted(np.nextafter(self.ends, -np.inf), above, side="right")
        for begin, end in zip(first, last, strict=True):
            atoms = slice(max(2 * begin - 1, 0), 2 * end)  # the ends next to it, and what they end
            full[atoms], touched[atoms] = False, True

    def takes_missing(self, condition: Condition) -> bool:
        """Return whether it does: only if the condition says so."""
        return condition.missing

    def numbers(self, conditions: Conditions) -> Numbers:
        """Return the moments of a uniform number in the covered part of each interval."""
        check_numeric(self.name, self.value_type)
        low, high, *_ = self._read(conditions)
        lowest, highest = np.repeat(self.ends[None, :], 2, axis=0).repeat(2, axis=1)[:, :-1]
        highest[1::2] = self.ends[1:]
        lowest, highest = np.maximum(lowest, low), np.minimum(highest, high)
        square = (lowest**2 + lowest * highest + highest**2) / 3
        return Numbers((lowest + highest) / 2, square, lowest, highest)

    def points(self) -> pa.Array:
        """Raise: there are too many."""
        raise UsageError(
            f"The numbers in column '{self.name}' are not whole, so there are no single values to"
            " group by.",
            f"Group by ranges: breaks={{'{self.name}': [...]}}.",
        )

    def draw(self, atoms: Int64Array, random: np.random.Generator) -> pa.Array:
        """Return the point, or draw uniformly from the interval."""
        starts, stops = self.ends[atoms // 2], self.ends[(atoms + 1) // 2]
        drawn = np.clip(starts + random.random(len(atoms)) * (stops - starts), starts, stops)
        return pc.cast(pa.array(drawn), self.value_type, safe=False)

    def divided(self, conditions: Conditions) -> tuple[RealIntervals, Int64Array]:
        """Divide intervals so that each satisfies every condition as a whole or not at all.

        Returns the finer intervals, and for each of the old ones the first new one, and the end.
        """
        cuts = [self.ends]
        for condition in conditions:
            low, high, _, _, listed, excluded = self._read((condition,))
            cuts += [np.array([low, high]), excluded, *([] if listed is None else [listed])]
        ends = np.unique(np.concatenate(cuts))
        ends = ends[(ends >= self.ends[0]) & (ends <= self.ends[-1])]
        points = 2 * np.searchsorted(ends, self.ends)
        begin = np.column_stack([points, points + 1]).ravel()
        return replace(self, ends=ends), begin

    def _holds_one(self, values: Float64Array) -> BoolArray:
        """Which of the open intervals hold at least one of the values."""
        before = np.searchsorted(values, self.ends[:-1], side="right")
        upto = np.searchsorted(values, self.ends[1:], side="left")
        holds: BoolArray = upto > before
        return holds

    def _read(
        self, conditions: Conditions
    ) -> tuple[float, float, bool, bool, Float64Array | None, Float64Array]:
        """Conditions as numbers: low, high, whether these are open, listed and excluded values."""
        low, high, open_low, open_high = -np.inf, np.inf, False, False
        listed: Float64Array | None = None
        excluded = np.empty(0)
        for condition in conditions:
            if not condition.known:
                high = -np.inf
                open_high = True
            if condition.low is not None:
                end = self.number(condition.low)
                if (end, condition.low_open) > (low, open_low):
                    low, open_low = end, condition.low_open
            if condition.high is not None:
                end = self.number(condition.high)
                if (end, not condition.high_open) < (high, not open_high):
                    high, open_high = end, condition.high_open
            if condition.values is not None:
                among = np.unique([self.number(value) for value in condition.values])
                listed = among if listed is None else np.intersect1d(listed, among)
            out = [self.number(value) for value in condition.excluded]
            excluded = np.union1d(excluded, np.array(out, np.float64))
        return low, high, open_low, open_high, listed, excluded

    def number(self, value: object) -> float:
        """Return a literal as a float, rounded to the precision of the column."""
        number = float(exact_number(value, self.value_type, self.name))
        if pa.types.is_float32(self.value_type):
            return float(np.float32(number))  # 0.1 as the column stores it
        return number


def _sorted(steps: Iterable[int]) -> Int64Array:
    return np.array(sorted(steps), np.int64)
