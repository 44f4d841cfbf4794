"""Sums and averages of a number column, with bounds and a standard error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mottle.queries.cells.cells import Moments
from mottle.queries.estimate import Estimate
from mottle.typing import BoolArray, Float64Array

_ROUNDING = 1e-12  # differences of squares below this share of them are none


@dataclass(frozen=True, eq=False)
class Summands:
    """What every record that may satisfy the conditions adds to a sum, as a random number."""

    likely: Float64Array  # [records]: that it adds its number at all
    first: Float64Array  # expected addend
    second: Float64Array  # expected square of the addend
    lowest: Float64Array  # of its number, if it adds it
    highest: Float64Array
    certain: BoolArray  # whether it adds its number for certain

    @classmethod
    def of(cls, others: Float64Array, numbers: Moments) -> Summands:
        """Join the likelihoods by other columns with the numbers that fit, by record."""
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

    def total(self) -> Estimate:
        """The sum; a record that need not add its number may add nothing."""
        least = np.where(self.certain, self.lowest, np.minimum(self.lowest, 0.0)).sum()
        most = np.where(self.certain, self.highest, np.maximum(self.highest, 0.0)).sum()
        variances = self.second - self.first**2
        variance = variances[variances > _ROUNDING * self.second].sum()
        expected = min(max(self.first.sum(), least), most)  # rounding apart
        return Estimate(float(expected), float(least), float(most), float(np.sqrt(variance)))

    def average(self) -> Estimate:
        """The sum over the number of records, its error by linearization."""
        records = self.likely.sum()
        if len(self.likely) == 0 or records == 0:
            return Estimate(np.nan, np.nan, np.nan, np.nan)
        least, most = -self._largest(-self.lowest), self._largest(self.highest)
        mean = self.first.sum() / records
        off = self.first - mean * self.likely
        square = self.second - 2 * mean * self.first + mean**2 * self.likely
        variance = np.maximum(square - off**2, 0.0)
        variance[variance < _ROUNDING * (self.second + mean**2)] = 0.0
        error = np.sqrt(variance.sum()) / records
        return Estimate(float(min(max(mean, least), most)), least, most, float(error))

    def _largest(self, ends: Float64Array) -> float:
        """The largest mean: with the certain records, those others that raise it the most."""
        begin, others = ends[self.certain], np.sort(ends[~self.certain])[::-1]
        sums = begin.sum() + np.concatenate([[0.0], np.cumsum(others)])
        counts = len(begin) + np.arange(len(others) + 1)
        return float((sums[counts > 0] / counts[counts > 0]).max())
