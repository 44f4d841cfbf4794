"""Quantiles of a column over records that may satisfy conditions.

The bounds are exact for records that are independent of each other: the lowest possible quantile of
so many records is reached when all have their lowest number and those of the uncertain records
count whose lowest numbers are the lowest. The best of all numbers of uncertain records is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mottle.queries.aggregates import Summands, standard_error
from mottle.queries.cells.cells import CellDistribution
from mottle.queries.conditions import Condition
from mottle.queries.estimate import Estimate
from mottle.queries.expressions.value_classes import ValueClass
from mottle.typing import Float64Array, Int64Array

_HALVINGS = 60  # of the range in which a quantile is searched
_REACH = 1.96  # standard errors of a 95 % interval


@dataclass(frozen=True, eq=False)
class MixturePart:
    """The values of one class of a column, weighted by the records that may have them."""

    cells: CellDistribution
    values: ValueClass
    weights: Float64Array  # [cells]: sum over records of how likely everything else fits
    squares: Float64Array  # [cells]: the sum of the squares

    def below(self, number: float) -> Float64Array:
        """[cells]: how likely a value of the class is in the cell and not above a number."""
        return np.maximum(self.values.shares(self.cells, (Condition(high=number),)), 0.0)


@dataclass(frozen=True, eq=False)
class Mixture:
    """How the numbers of a column are distributed over the records that may count."""

    parts: Sequence[MixturePart]

    def share_below(self, number: float, records: float) -> float:
        """The expected share of records whose number is not above a given one."""
        return float(sum(part.weights @ part.below(number) for part in self.parts)) / records

    def quantile(self, share: float, records: float, low: float, high: float) -> float:
        """The lowest number that the given share of records is expected not to exceed."""
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if not low < middle < high:
                break
            if self.share_below(middle, records) >= share:
                high = middle
            else:
                low = middle
        return high

    def error_of_share(self, number: float, share: float, records: float) -> float:
        """The standard error of the share of records whose number is not above a given one."""
        variances, squares = [], []
        for part in self.parts:
            below = part.below(number)
            within = np.maximum(self._all(part), below)
            square = part.weights * (below * (1 - share) ** 2 + (within - below) * share**2)
            squares.append(square)
            variances.append(square - part.squares * (below - share * within) ** 2)
        return standard_error(np.concatenate(variances), np.concatenate(squares)) / records

    @staticmethod
    def _all(part: MixturePart) -> Float64Array:
        return np.maximum(part.values.shares(part.cells), 0.0)


@dataclass(frozen=True, eq=False)
class QuantileError:
    """How far a quantile is off, given how far the share of records is off that lie below it."""

    mixture: Mixture
    share: float
    records: float
    found: float
    ends: tuple[float, float]

    @property
    def count(self) -> Estimate:
        """How many records have no larger number, with the error that follows from cells."""
        error = self.mixture.error_of_share(self.found, self.share, self.records) * self.records
        return Estimate(self.count_below(self.found), 0.0, self.records, error)

    def count_below(self, number: float) -> float:
        """Return how many records are expected not to exceed a number."""
        return self.mixture.share_below(number, self.records) * self.records

    def of_count(self, error: float) -> float:
        """Return the standard error of the quantile, given that of `count`.

        Values are often few: an interval of one standard error would lie within a single one. So it
        is that of 95 %, to the side where it reaches farther.
        """
        reach = error / self.records
        if not reach > 0:
            return 0.0
        low, high = (
            self.mixture.quantile(
                min(max(self.share + side * _REACH * reach, 0.0), 1.0), self.records, *self.ends
            )
            for side in (-1, 1)
        )
        return max(high - self.found, self.found - low) / _REACH


def quantile(
    summands: Summands, mixture: Mixture, share: float
) -> tuple[Estimate, QuantileError | None]:
    """Estimate the number below which a share of the records lies, interpolated between two."""
    records = float(summands.likely.sum())
    if len(summands.likely) == 0 or records == 0:
        return Estimate(np.nan, np.nan, np.nan, np.nan), None
    least = _lowest(summands, share)
    most = -_lowest(
        Summands(
            summands.likely,
            summands.first,
            summands.second,
            -summands.highest,
            -summands.lowest,
            summands.certain,
        ),
        1 - share,
    )
    ends = float(summands.lowest.min()), float(summands.highest.max())
    found = mixture.quantile(share, records, *ends)
    how = QuantileError(mixture, share, records, found, ends)
    error = how.of_count(how.count.error) if least < most else 0.0
    return Estimate(min(max(found, least), most), least, most, error), how


def _lowest(summands: Summands, share: float) -> float:
    """The lowest possible quantile."""
    certain = np.sort(summands.lowest[summands.certain])
    others = np.sort(summands.lowest[~summands.certain])
    added = np.arange(len(others) + 1)
    added = added[len(certain) + added > 0]
    position = share * (len(certain) + added - 1)
    below = np.floor(position).astype(np.int64)
    above = np.minimum(below + 1, len(certain) + added - 1)
    low, high = (_ranked(certain, others, added, rank) for rank in (below, above))
    return float((low + (position - below) * (high - low)).min())


def _ranked(
    first: Float64Array, second: Float64Array, added: Int64Array, rank: Int64Array
) -> Float64Array:
    """The number of a rank (from 0) among all of ``first`` and the ``added`` first of ``second``.

    Both are sorted; one answer for every element of ``added`` and ``rank``.

    >>> _ranked(np.array([1.0, 5.0]), np.array([2.0, 3.0]), np.array([1, 2]), np.array([2, 2]))
    array([5., 3.])
    """
    taken = rank + 1
    low, high = np.maximum(taken - added, 0), np.minimum(taken, len(first))
    padded_first = np.concatenate([first, [np.inf]])
    padded_second = np.concatenate([[-np.inf], second])
    while (low < high).any():  # how many of `first` are among the `taken` lowest
        middle = (low + high) // 2
        more = (low < high) & (padded_first[middle] < padded_second[taken - middle])
        low, high = np.where(more, middle + 1, low), np.where(more, high, middle)
        high = np.maximum(low, high)
    of_first = np.concatenate([[-np.inf], first])[low]
    ranked: Float64Array = np.maximum(of_first, padded_second[taken - low])
    return ranked
