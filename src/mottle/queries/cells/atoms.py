"""Atoms: the indivisible pieces of a column's cells, and how much of each a condition covers.

All cells of a column are unions of *atoms*: the values of a category, the leaves of a hierarchy,
or, for numbers and dates, the intervals between the ends of all published ranges
(`mottle.queries.cells.interval_atoms`). A condition may end inside an interval and cover a part of
it; no cell ever ends inside one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import UsageError, did_you_mean
from mottle.hierarchy.tree import Hierarchy
from mottle.queries._literals import as_scalar, check_numeric, is_text
from mottle.queries.conditions import Condition, Conditions
from mottle.typing import BoolArray, Float64Array, Int64Array


class Covered(NamedTuple):
    """How much of every atom satisfies conditions."""

    share: Float64Array  # [atoms]: the share that does, from 0 to 1
    full: BoolArray  # [atoms]: whether the whole atom does
    touched: BoolArray  # [atoms]: whether at least a part of it does


class Numbers(NamedTuple):
    """The numbers in the covered part of every atom; arbitrary where nothing is covered."""

    mean: Float64Array  # [atoms]
    square: Float64Array  # [atoms]: mean of the squares
    lowest: Float64Array  # [atoms]
    highest: Float64Array  # [atoms]


class Atoms(Protocol):
    """The atoms of one column, in ascending order if its values have an order."""

    @property
    def measure(self) -> Float64Array:
        """[atoms]: how likely each is under the uniform assumption, relative to the others."""

    @property
    def prior(self) -> Float64Array:
        """[atoms]: a positive weight of each, with which fitting starts."""

    @property
    def missing_measure(self) -> float:
        """The measure of the missing value on the same scale; 0: half of the cell's measure."""

    def covered(self, conditions: Conditions) -> Covered:
        """Return how much of the atoms satisfies all conditions, for known values."""

    def takes_missing(self, condition: Condition) -> bool:
        """Return whether the missing value satisfies a condition."""

    def numbers(self, conditions: Conditions) -> Numbers:
        """Return the numbers in the covered parts; raise if the values are not numbers."""

    def points(self) -> pa.Array:
        """Return every single value, to group by; raise if there are too many."""

    def draw(self, atoms: Int64Array, random: np.random.Generator) -> pa.Array:
        """Draw a value from each of the given atoms."""


@dataclass(frozen=True)
class Values:
    """Atoms that are single values: categories, ordered values, leaves or exact values."""

    name: str
    values: pa.Array  # [atoms], distinct; sorted, in the declared order, or in tree order
    ordered: bool = False  # whether the position, not the value itself, gives the order
    hierarchy: Hierarchy | None = None

    missing_measure = 1.0

    @property
    def measure(self) -> Float64Array:
        """[atoms]: 1 for every value."""
        return np.ones(len(self.values))

    prior = measure

    def covered(self, conditions: Conditions) -> Covered:
        """Return which values satisfy all conditions; no value does so in part."""
        fits = np.ones(len(self.values), np.bool_)
        for condition in conditions:
            fits &= self._fits(condition)
        return Covered(fits.astype(np.float64), fits, fits)

    def takes_missing(self, condition: Condition) -> bool:
        """Return whether it does: if stated, or if the root of a hierarchy is among the values."""
        root = None if self.hierarchy is None else self.hierarchy.labels[self.hierarchy.root]
        return condition.missing or (root is not None and root in (condition.values or ()))

    def numbers(self, conditions: Conditions) -> Numbers:
        """Return the values themselves."""
        check_numeric(self.name, self.values.type)
        numbers = pc.cast(self.values, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        if self.ordered and (np.diff(numbers) < 0).any():
            raise UsageError(
                f"The declared order of column '{self.name}' is not that of its numbers, which"
                " therefore cannot be added up.",
                "Count them, or group by them.",
            )
        return Numbers(numbers, numbers**2, numbers, numbers)

    def points(self) -> pa.Array:
        """Return the values themselves."""
        return self.values

    def draw(self, atoms: Int64Array, random: np.random.Generator) -> pa.Array:
        """Return the values of the given atoms."""
        return self.values.take(pa.array(atoms))

    def _fits(self, condition: Condition) -> BoolArray:
        fits = np.full(len(self.values), condition.known)
        if pa.types.is_null(self.values.type):
            return fits
        if condition.has_range:
            fits &= self._between(condition)
        if condition.values is not None:
            fits &= self._among(condition.values)
        if condition.excluded:
            fits &= ~self._among(condition.excluded)
        return fits

    def _between(self, condition: Condition) -> BoolArray:
        if self.hierarchy is not None:
            raise UsageError(
                f"Column '{self.name}' has a hierarchy, and its values have no order.",
                "Name values or nodes of the hierarchy instead of a range.",
            )
        if not self.ordered and is_text(self.values.type) and len(self.values):
            raise UsageError(
                f"Column '{self.name}' holds text without an order, which <, > and BETWEEN cannot"
                " compare.",
                "Name the values: IN ('60-69', '70-79'). Give such a column an order before it is"
                " anonymized (kind = 'ordered').",
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
                fits &= compared(compare, values, as_scalar(end, values.type, self.name))
        return fits

    def _place(self, value: object) -> int:
        """The position of a value in the order."""
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
                literal = as_scalar(value, self.values.type, self.name)
                fits |= compared(pc.equal, self.values, literal)
            else:
                fits[place] = True
        return fits

    def strangers(self, wanted: Sequence[object]) -> list[object]:
        """Return those of the wanted values that no cell holds."""
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


_OPERATORS: dict[object, Callable[[Any, Any], bool]] = {
    pc.equal: operator.eq,
    pc.greater: operator.gt,
    pc.greater_equal: operator.ge,
    pc.less: operator.lt,
    pc.less_equal: operator.le,
}


def compared(
    compare: Callable[[pa.Array, pa.Scalar], pa.Array], values: pa.Array, literal: pa.Scalar
) -> BoolArray:
    """Compare values with a literal; exactly, also where Arrow has no type that holds both.

    >>> whole = pa.scalar(2**53 + 1)  # no float
    >>> compared(pc.less, pa.array([2.0**53, 2.0**54]), whole).tolist()
    [True, False]
    """
    try:
        return truth(compare(values, literal))
    except pa.ArrowInvalid:
        holds, wanted = _OPERATORS[compare], literal.as_py()
        numbers = values.to_pylist()  # Python compares numbers of all types exactly
        return np.array([value is not None and holds(value, wanted) for value in numbers], np.bool_)


def truth(flags: pa.Array) -> BoolArray:
    """Convert flags to NumPy; null becomes False."""
    return np.array(pc.fill_null(flags, False).to_numpy(zero_copy_only=False), np.bool_)
