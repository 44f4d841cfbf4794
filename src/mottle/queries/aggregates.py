"""Sums and averages of a number column, with bounds and a standard error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mottle.queries.cells.cells import Moments
from mottle.queries.estimate import Estimate
from mottle.typing import BoolArray, Float64Array

_ROUNDING = 1e-12  # a variance below this share of the squares it comes from is rounding error


def standard_error(variances: Float64Array, squares: Float64Array) -> float:
    """Return the standard error of a sum of independent summands with the given variances.

    A variance that is tiny compared with the square it was computed from is rounding error.

    >>> standard_error(np.array([9.0, 16.0, 1e-20]), np.ones(3))
    5.0
    """
    return float(np.sqrt(variances[variances > _ROUNDING * squares].sum()))


@dataclass(frozen=True, eq=False)
class Summands:
    """What every record that may satisfy the conditions adds to a sum, as a random variable."""

    likely: Float64Array  # [records]: probability that the record adds its number at all
    first: Float64Array  # [records]: expected summand
    second: Float64Array  # [records]: expected square of the summand
    lowest: Float64Array  # [records]: lowest possible number, if the record adds it
    highest: Float64Array  # [records]: highest possible number, if the record adds it
    certain: BoolArray  # [records]: whether the record adds its number for certain

    @classmethod
    def of(cls, others: Float64Array, numbers: Moments) -> Summands:
        """Combine the likelihoods by the other columns with the numbers that match, by record."""
        rows = (others >= 0) & (numbers.share >= 0)
        likely = others[rows]
        return cls(
            likely=likely * numbers.share[rows],
            first=likely * numbers.first[rows],
            second=likely * numbers.second[rows],
            lowest=numbers.lowest[rows],
            highest=numbers.highest[rows],
            certain=(likely == 1.0) & (numbers.share[rows] == 1.0),
        )

    def count(self) -> Estimate:
        """Return the number of records that add a number."""
        least, most = float(self.certain.sum()), float(len(self.likely))
        expected = min(max(float(self.likely.sum()), least), most)  # outside only by rounding
        error = standard_error(self.likely * (1 - self.likely), np.ones(len(self.likely)))
        return Estimate(expected, least, most, error)

    def total(self) -> Estimate:
        """Return the sum; a record that does not certainly add its number may add nothing."""
        least = np.where(self.certain, self.lowest, np.minimum(self.lowest, 0.0)).sum()
        most = np.where(self.certain, self.highest, np.maximum(self.highest, 0.0)).sum()
        error = standard_error(self.second - self.first**2, self.second)
        expected = min(max(self.first.sum(), least), most)  # outside only by rounding
        return Estimate(float(expected), float(least), float(most), error)

    def average(self) -> Estimate:
        """Return the sum divided by the number of records, its error by linearization."""
        records = self.likely.sum()
        if len(self.likely) == 0 or records == 0:
            return Estimate(np.nan, np.nan, np.nan, np.nan)
        least, most = -self._largest_mean(-self.lowest), self._largest_mean(self.highest)
        mean = self.first.sum() / records
        deviation = self.first - mean * self.likely
        square = self.second - 2 * mean * self.first + mean**2 * self.likely
        error = standard_error(square - deviation**2, self.second + mean**2) / float(records)
        return Estimate(float(min(max(mean, least), most)), least, most, error)

    def _largest_mean(self, numbers: Float64Array) -> float:
        """The largest mean: the certain records plus those others that raise it the most."""
        certain, others = numbers[self.certain], np.sort(numbers[~self.certain])[::-1]
        sums = certain.sum() + np.concatenate([[0.0], np.cumsum(others)])
        counts = len(certain) + np.arange(len(others) + 1)
        return float((sums[counts > 0] / counts[counts > 0]).max())
