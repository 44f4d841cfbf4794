"""Distributions of the distinct cells of one column over its atoms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mottle.queries.cells.atoms import Atoms, Covered, Numbers
from mottle.queries.conditions import Conditions
from mottle.typing import BoolArray, Float64Array, Int32Array, Int64Array
from mottle.utils.compiled import kernel

IMPOSSIBLE = -1.0  # the share of a cell that cannot satisfy a condition; 1 means certainty
_BELOW_ONE = np.nextafter(1.0, 0.0)


class Moments(NamedTuple):
    """The numbers of every cell that satisfy conditions."""

    share: Float64Array  # [cells]: `CellDistribution.shares`, for numbers that are not missing
    first: Float64Array  # [cells]: expected number, counted as 0 where the conditions do not hold
    second: Float64Array  # [cells]: the same for its square
    lowest: Float64Array  # [cells]: of the numbers that satisfy the conditions; 0 if there are none
    highest: Float64Array  # [cells]: likewise


class Occurs(StrEnum):
    """Which values of a cell are known to occur among the originals behind it."""

    NONE = "none"  # of a node: none for certain, since some leaves may have no original
    ENDS = "ends"  # of a range: the lowest and the highest value, which made it as wide as it is
    EVERY = "every"  # of a set: all members


@dataclass(frozen=True, eq=False)
class CellDistribution:
    """The distinct cells of one published column.

    A cell is a contiguous run of ascending *slots*, each of which refers to an atom. For ranges,
    nodes and exact values the slots are the atoms themselves; sets have one slot for each member of
    each set.
    """

    name: str
    atoms: Atoms
    slots: Int64Array | None  # [slots]: the atom of each; None if slots are the atoms
    slot_weights: Float64Array  # [slots]: how likely each is, relative to the others of its cell
    first: Int64Array  # [cells]: the first slot
    last: Int64Array  # [cells]: the last slot + 1
    missing: BoolArray  # [cells]: whether the value may be missing
    missing_weights: Float64Array  # [cells]: how likely that is, relative to the slots
    of_row: Int32Array  # [n]: the cell of every record
    occurs: Occurs = Occurs.EVERY  # which values of a cell are known to occur behind it
    # [cells]: the probability of each of these values, in addition to what the weights give.
    occurring: Float64Array | None = None
    # The cells before they were split by properties of their records (degree, sensitive value).
    before: CellDistribution | None = None
    before_of: Int64Array | None = None  # [cells]: the cell of `before` that each was split from

    def shares(self, conditions: Conditions) -> Float64Array:
        """[cells]: how likely each satisfies conditions; 1 for certain, -1 for impossible."""
        with_missing = all(self.atoms.takes_missing(condition) for condition in conditions)
        return self.shares_of(self.atoms.covered(conditions), with_missing=with_missing)

    def shares_of(self, covered: Covered, *, with_missing: bool) -> Float64Array:
        """As `shares`, for the covered parts of the atoms and for the missing value."""
        expected = self._mean(covered.share)
        if with_missing:
            expected += self.chance_of_missing
        certain, possible = self._bounds(covered, with_missing)
        shares = np.clip(expected, 0.0, _BELOW_ONE)
        shares[certain] = 1.0
        shares[~possible] = IMPOSSIBLE
        return shares

    def _bounds(self, covered: Covered, with_missing: bool) -> tuple[BoolArray, BoolArray]:
        """[cells]: whether each satisfies conditions for certain, and whether it may."""
        if self.before is not None:
            certain, possible = self.before._bounds(covered, with_missing)
            return certain[self.before_of], possible[self.before_of]
        touched = full = self._total(self._of_slots(covered.touched))
        if not np.array_equal(covered.full, covered.touched):  # values are covered or not
            full = self._total(self._of_slots(covered.full))
        possible = touched > 0
        certain = full == self.last - self.first
        if with_missing:
            return certain, possible | self.missing
        return certain & ~self.missing, possible

    def moments(self, conditions: Conditions) -> Moments:
        """Return the numbers of the cells that satisfy conditions; a missing value never does."""
        known = tuple(replace(condition, missing=False) for condition in conditions)
        return self.moments_of(self.atoms.covered(known), self.atoms.numbers(known))

    def moments_of(self, covered: Covered, numbers: Numbers) -> Moments:
        """As `moments`, for the covered parts of the atoms and the numbers in these."""
        first, second = (
            self._mean(covered.share * power) for power in (numbers.mean, numbers.square)
        )
        touched = self._of_slots(covered.touched)
        places = np.arange(len(touched))
        following = np.minimum.accumulate(np.where(touched, places, len(places))[::-1])[::-1]
        preceding = np.maximum.accumulate(np.where(touched, places, -1))
        some = self._total(touched) > 0
        lowest, highest = np.zeros((2, len(self.first)))
        lowest[some] = self._of_slots(numbers.lowest)[following[self.first[some]]]
        highest[some] = self._of_slots(numbers.highest)[preceding[self.last[some] - 1]]
        shares = self.shares_of(covered, with_missing=False)
        return Moments(shares, first, second, lowest, highest)

    def fitted(
        self, weights: Float64Array, missing_weight: float, occurring: Float64Array | None
    ) -> CellDistribution:
        """Return the same cells with other weights of the atoms and of the missing value."""
        return replace(
            self,
            slot_weights=weights if self.slots is None else weights[self.slots],
            missing_weights=np.where(self.missing, missing_weight, 0.0),
            occurring=occurring,
        )

    @cached_property
    def fixed(self) -> Float64Array:
        """[cells]: the probability that each value has because it is known to occur."""
        known = self.occurring_values
        if self.occurring is None:
            return np.zeros(len(known))
        return np.where(known > 0, np.minimum(self.occurring, 1 / np.maximum(known, 1)), 0.0)

    @cached_property
    def free(self) -> Float64Array:
        """[cells]: the probability that remains to be distributed by the weights."""
        free: Float64Array = 1.0 - self.fixed * self.occurring_values
        return free

    def chances(self, cell_of: Int64Array, slots: Int64Array) -> Float64Array:
        """Return how likely slots are in their cells."""
        chances = self.free[cell_of] * self.slot_weights[slots] / self.mass[cell_of]
        if self.occurs is Occurs.EVERY:
            chances += self.fixed[cell_of]
        elif self.occurs is Occurs.ENDS:
            is_end = (slots == self.first[cell_of]) | (slots == self.last[cell_of] - 1)
            chances += np.where(is_end, self.fixed[cell_of], 0.0)
        return chances

    def draw(self, random: np.random.Generator) -> pa.Array:
        """Draw a value from every record's cell; null for missing."""
        rows = self.of_row
        first, last = self.first[rows], self.last[rows]
        sums = np.concatenate([[0.0], np.cumsum(self.slot_weights)])
        known = sums[last] - sums[first]
        position = random.random(len(rows)) * (known + self.missing_weights[rows])
        missing = position >= known
        slots = np.searchsorted(sums, sums[first] + position, side="right") - 1
        if self.occurring is not None:
            fixed = random.random(len(rows)) >= self.free[rows]
            place = random.integers(np.maximum(self.occurring_values[rows], 1))
            values = np.minimum(last - first, 2) if self.occurs is Occurs.ENDS else last - first
            missing = np.where(fixed, place >= values, missing)
            farther = (last - 1 - first) * place if self.occurs is Occurs.ENDS else place
            slots = np.where(fixed, first + farther, slots)
        slots = np.clip(slots, first, np.maximum(last - 1, first))[~missing]
        drawn = self.atoms.draw(slots if self.slots is None else self.slots[slots], random)
        return drawn.take(pa.array(np.cumsum(~missing) - 1, mask=missing))

    @cached_property
    def occurring_values(self) -> Int64Array:
        """[cells]: how many values are known to occur among the originals behind each."""
        sizes = self.last - self.first
        if self.occurs is Occurs.NONE:
            return np.zeros(len(sizes), np.int64)
        known = np.minimum(sizes, 2) if self.occurs is Occurs.ENDS else sizes
        return known + self.missing

    @cached_property
    def chance_of_missing(self) -> Float64Array:
        """[cells]: how likely the value is missing."""
        fixed = np.where(self.missing, self.fixed, 0.0)
        chance: Float64Array = self.free * self.missing_weights / self.mass + fixed
        return chance

    def _mean(self, by_atom: Float64Array) -> Float64Array:
        """[cells]: the expected value of ``by_atom`` over the values of each."""
        if self.slots is not None and self.occurring is None:  # no two cells share slots: one pass
            sums = _sums(self.slots, self.slot_weights, self.first, self.last, by_atom)
            return sums / self.mass
        by_slot = self._of_slots(by_atom)
        by_weights = self._total(by_slot * self.slot_weights) / self.mass
        if self.occurring is None:
            return by_weights
        if self.occurs is Occurs.ENDS:
            some, several = self.last > self.first, self.last > self.first + 1
            occurring = np.zeros(len(some))
            occurring[some] = by_slot[self.first[some]]
            occurring[several] += by_slot[self.last[several] - 1]
        else:
            occurring = self._total(by_slot)
        return self.free * by_weights + self.fixed * occurring

    @cached_property
    def mass(self) -> Float64Array:
        """[cells]: the total weight of each, to divide by; 1 instead of 0."""
        mass: Float64Array = self._total(self.slot_weights) + self.missing_weights
        return np.where(mass > 0, mass, 1.0)

    def mass_of(self, weights: Float64Array, missing_weight: float) -> Float64Array:
        """As `mass`, with other weights of the atoms and of the missing value."""
        mass = self._total(self._of_slots(weights))
        mass[self.missing] += missing_weight
        mass[mass <= 0] = 1.0
        return mass

    @property
    def measured(self) -> Float64Array:
        """[cells]: the measure of the known values of each."""
        return self._total(self._of_slots(self.atoms.measure))

    def _of_slots(self, by_atom: NDArray[Any]) -> NDArray[Any]:
        """Per slot what ``by_atom`` gives per atom."""
        return by_atom if self.slots is None else by_atom[self.slots]

    def _total(self, by_slot: NDArray[Any]) -> NDArray[Any]:
        """[cells]: the sum over the slots of each; of flags, how many are set."""
        sums: NDArray[Any]
        if by_slot.dtype == np.bool_:
            sums = np.zeros(len(by_slot) + 1, np.int64)
            by_slot = by_slot.view(np.int8)  # flags would be converted one by one
        else:
            sums = np.zeros(len(by_slot) + 1)
        np.cumsum(by_slot, out=sums[1:])
        return sums[self.last] - sums[self.first]


@kernel
def _sums(
    slots: Int64Array,
    weights: Float64Array,
    first: Int64Array,
    last: Int64Array,
    by_atom: Float64Array,
) -> Float64Array:
    """[cells]: the weighted sum of ``by_atom`` over the slots of each."""
    sums = np.empty(len(first))
    for cell in range(len(first)):
        total = 0.0
        for slot in range(first[cell], last[cell]):
            total += weights[slot] * by_atom[slots[slot]]
        sums[cell] = total
    return sums
