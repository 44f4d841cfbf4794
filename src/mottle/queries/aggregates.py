"""Sums and averages of a number column, plain and weighted, with bounds and a standard error."""

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

    def carried_over(self, everyone: Summands) -> float:
        """Return by how much the average moves if cells are like the table.

        A record that may or may not be among those that add their number, with probability p and
        1 − p, is one of them the more often the more its number is like theirs. If numbers of those
        differ from the others' by d inside cells as they do between them, the sum is off by
        Σ p·(1 − p)·d.
        """
        inside, records = float(self.likely.sum()), float(everyone.likely.sum())
        if inside <= 0 or records - inside < 1:
            return 0.0
        mean = float(self.first.sum()) / inside
        others = (float(everyone.first.sum()) - float(self.first.sum())) / (records - inside)
        uncertain = float((self.likely * (1 - self.likely)).sum())
        return uncertain * abs(mean - others) / inside

    def _largest_mean(self, numbers: Float64Array) -> float:
        """The largest mean: the certain records plus those others that raise it the most."""
        certain, others = numbers[self.certain], np.sort(numbers[~self.certain])[::-1]
        sums = certain.sum() + np.concatenate([[0.0], np.cumsum(others)])
        counts = len(certain) + np.arange(len(others) + 1)
        return float((sums[counts > 0] / counts[counts > 0]).max())


@dataclass(frozen=True, eq=False)
class WeightedSummands:
    """What every record that may satisfy the conditions adds to a weighted sum.

    A record adds its number times its weight. The number and the weight of a record are independent
    given its cells, as columns are in all queries.
    """

    product: Float64Array  # [records]: expected number times weight
    product_square: Float64Array  # [records]: expected square of it
    weight: Float64Array  # [records]: expected weight, 0 where the record adds nothing
    weight_square: Float64Array  # [records]: expected square of it
    mixed: Float64Array  # [records]: expected number times squared weight
    lowest: Float64Array  # [records]: lowest possible number, if the record adds it
    highest: Float64Array  # [records]: highest possible number, if the record adds it
    lightest: Float64Array  # [records]: lowest possible weight, if the record adds its number
    heaviest: Float64Array  # [records]: highest possible weight, if the record adds its number
    certain: BoolArray  # [records]: whether the record adds its number for certain

    @classmethod
    def of(cls, others: Float64Array, numbers: Moments, weights: Moments) -> WeightedSummands:
        """Combine the likelihoods by the other columns with numbers and weights, by record."""
        rows = (others >= 0) & (numbers.share >= 0) & (weights.share >= 0)
        likely = others[rows]
        number, weight = (Moments(*(part[rows] for part in each)) for each in (numbers, weights))
        return cls(
            product=likely * number.first * weight.first,
            product_square=likely * number.second * weight.second,
            weight=likely * number.share * weight.first,
            weight_square=likely * number.share * weight.second,
            mixed=likely * number.first * weight.second,
            lowest=number.lowest,
            highest=number.highest,
            lightest=weight.lowest,
            heaviest=weight.highest,
            certain=(likely == 1.0) & (number.share == 1.0) & (weight.share == 1.0),
        )

    def total(self) -> Estimate:
        """Return the weighted sum; a record that is not certain may add nothing."""
        low = np.minimum(self.lightest * self.lowest, self.heaviest * self.lowest)
        high = np.maximum(self.lightest * self.highest, self.heaviest * self.highest)
        least = np.where(self.certain, low, np.minimum(low, 0.0)).sum()
        most = np.where(self.certain, high, np.maximum(high, 0.0)).sum()
        variances = self.product_square - self.product**2
        variance = variances[variances > _ROUNDING * self.product_square].sum()
        expected = min(max(self.product.sum(), least), most)  # outside only by rounding
        return Estimate(float(expected), float(least), float(most), float(np.sqrt(variance)))

    def average(self) -> Estimate:
        """Return the weighted sum divided by the sum of weights, its error by linearization."""
        weight = self.weight.sum()
        if len(self.weight) == 0 or weight == 0:
            return Estimate(np.nan, np.nan, np.nan, np.nan)
        least, most = -self._largest_mean(-self.lowest), self._largest_mean(self.highest)
        mean = self.product.sum() / weight
        deviation = self.product - mean * self.weight
        square = self.product_square - 2 * mean * self.mixed + mean**2 * self.weight_square
        variance = np.maximum(square - deviation**2, 0.0)
        scale = self.product_square + mean**2 * self.weight_square
        variance[variance < _ROUNDING * scale] = 0.0
        error = np.sqrt(variance.sum()) / weight
        return Estimate(float(min(max(mean, least), most)), least, most, float(error))

    def _largest_mean(self, numbers: Float64Array) -> float:
        """The largest weighted mean.

        Records above the mean take their highest weight, those below it their lowest one, or none
        if they are not certain: some beginning of the records in descending order is the best.
        """
        order = np.argsort(-numbers, kind="stable")
        numbers = numbers[order]
        light = np.where(self.certain, self.lightest, 0.0)[order]
        added = self.heaviest[order] - light
        sums = (light * numbers).sum() + np.cumsum(np.append(0.0, added * numbers))
        weights = light.sum() + np.cumsum(np.append(0.0, added))
        some = weights > 0
        return float((sums[some] / weights[some]).max())
