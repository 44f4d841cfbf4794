"""The pieces that the cells of a column are made of, and how much of each a condition covers.

All cells of a column are unions of *atoms*: the values of a category, the leaves of a hierarchy,
or, for numbers and dates, the stretches between the ends of all published ranges (`stretches`). A
condition may end inside a stretch and cover a part of it; no cell ever ends inside one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import UsageError, did_you_mean
from mottle.hierarchy.tree import Hierarchy
from mottle.queries._literals import as_scalar, check_numbers
from mottle.queries.conditions import Condition, Conditions
from mottle.typing import BoolArray, Float64Array, Int64Array


class Covered(NamedTuple):
    """What conditions cover of every atom."""

    share: Float64Array  # [atoms]: from 0 to 1
    full: BoolArray  # [atoms]: whether all of the atom satisfies them
    touched: BoolArray  # [atoms]: whether a part of it does


class Numbers(NamedTuple):
    """The numbers in the covered part of every atom; arbitrary where nothing is covered."""

    mean: Float64Array
    square: Float64Array  # mean of the squares
    lowest: Float64Array
    highest: Float64Array


class Atoms(Protocol):
    """The atoms of one column, ascending where its values have an order."""

    @property
    def measure(self) -> Float64Array:
        """[atoms]: how likely each is under the uniform assumption, relative to the others."""

    @property
    def prior(self) -> Float64Array:
        """[atoms]: a positive weight of each, from which fitting begins."""

    @property
    def missing_measure(self) -> float:
        """The measure of the missing value, beside these; 0 for half of the cell's measure."""

    def covered(self, conditions: Conditions) -> Covered:
        """What conditions that all have to hold cover, of known values."""

    def takes_missing(self, condition: Condition) -> bool:
        """Whether the missing value satisfies a condition."""

    def numbers(self, conditions: Conditions) -> Numbers:
        """The numbers in the covered parts; raises if these are no numbers."""

    def points(self) -> pa.Array:
        """Every single value, to group by; raises if there are too many."""

    def draw(self, atoms: Int64Array, random: np.random.Generator) -> pa.Array:
        """A value out of each of the atoms given."""


@dataclass(frozen=True)
class Values:
    """Single values: of a category, an order, a hierarchy's leaves, or exact ones."""

    name: str
    values: pa.Array  # [atoms], distinct; by rank, place in the order, or in-order position
    ordered: bool = False  # whether their places here, not the values themselves, are the order
    hierarchy: Hierarchy | None = None

    missing_measure = 1.0

    @property
    def measure(self) -> Float64Array:
        """All alike."""
        return np.ones(len(self.values))

    prior = measure

    def covered(self, conditions: Conditions) -> Covered:
        """Every value satisfies the conditions or does not."""
        fits = np.ones(len(self.values), np.bool_)
        for condition in conditions:
            fits &= self._fits(condition)
        return Covered(fits.astype(np.float64), fits, fits)

    def takes_missing(self, condition: Condition) -> bool:
        """If it says so, or asks for the root of a hierarchy, below which it hangs."""
        root = None if self.hierarchy is None else self.hierarchy.labels[self.hierarchy.root]
        return condition.missing or (root is not None and root in (condition.values or ()))

    def numbers(self, conditions: Conditions) -> Numbers:
        """The values themselves."""
        check_numbers(self.name, self.values.type)
        numbers = pc.cast(self.values, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return Numbers(numbers, numbers**2, numbers, numbers)

    def points(self) -> pa.Array:
        """The values themselves."""
        return self.values

    def draw(self, atoms: Int64Array, random: np.random.Generator) -> pa.Array:
        """The values asked for."""
        return self.values.take(pa.array(atoms))

    def _fits(self, condition: Condition) -> BoolArray:
        fits = np.full(len(self.values), condition.known)
        if pa.types.is_null(self.values.type):
            return fits
        if condition.compares:
            fits &= self._between(condition)
        if condition.values is not None:
            fits &= self._among(condition.values)
        if condition.excluded:
            fits &= ~self._among(condition.excluded)
        return fits

    def _between(self, condition: Condition) -> BoolArray:
        if self.hierarchy is not None:
            raise UsageError(
                f"The values of column '{self.name}' have a hierarchy and no order.",
                "Name values or nodes of the hierarchy instead of a range.",
            )
        values, low, high = self.values, condition.low, condition.high
        if self.ordered:
            values = pa.array(np.arange(len(self.values)))
            low, high = (None if end is None else self._place(end) for end in (low, high))
        fits = np.ones(len(values), np.bool_)
        for end, is_open, closed, opened in (
            (low, condition.low_open, pc.greater_equal, pc.greater),
            (high, condition.high_open, pc.less_equal, pc.less),
        ):
            if end is not None:
                compare = opened if is_open else closed
                fits &= truth(compare(values, as_scalar(end, values.type, self.name)))
        return fits

    def _place(self, value: object) -> int:
        """The place of a value in the order."""
        texts = pc.cast(self.values, pa.string()).to_pylist()
        if str(value) not in texts:
            raise UsageError(
                f"The order of column '{self.name}' has no value '{value}'.",
                did_you_mean(str(value), texts),
            )
        return int(texts.index(str(value)))

    def _among(self, wanted: tuple[object, ...]) -> BoolArray:
        if self.hierarchy is not None:
            return self._below(self.hierarchy, wanted)
        fits = np.zeros(len(self.values), np.bool_)
        for value in wanted:
            place = self._place(value) if self.ordered else self._place_of.get(value)
            if place is None or isinstance(value, bool) != self._is_logical:
                fits |= truth(pc.equal(self.values, as_scalar(value, self.values.type, self.name)))
            else:
                fits[place] = True
        return fits

    def strangers(self, wanted: Sequence[object]) -> list[object]:
        """Those values asked for that no cell holds."""
        return [value for value in wanted if not self._among((value,)).any()]

    @cached_property
    def _place_of(self) -> dict[object, int]:
        return {value: place for place, value in enumerate(self.values.to_pylist())}

    @property
    def _is_logical(self) -> bool:
        return bool(pa.types.is_boolean(self.values.type))

    def _below(self, hierarchy: Hierarchy, wanted: tuple[object, ...]) -> BoolArray:
        fits = np.zeros(len(self.values), np.bool_)
        for label in wanted:
            below = hierarchy.leaf_range(str(label))
            if below is None:
                raise UsageError(
                    f"The hierarchy of column '{self.name}' has no value or node '{label}'.",
                    did_you_mean(str(label), hierarchy.labels),
                )
            first, last = below
            fits[first : last + 1] = True
        return fits


def truth(flags: pa.Array) -> BoolArray:
    """Flags as NumPy; null is false."""
    return np.array(pc.fill_null(flags, False).to_numpy(zero_copy_only=False), np.bool_)
