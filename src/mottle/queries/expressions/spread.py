"""Variances and standard deviations of numbers, with bounds.

For every number c, the squares of the deviations from the mean add up to no more than those of the
deviations from c. A deviation from c is at most that of the farther end of a record's range, and at
least that of its nearest point. Records that only may count can add to the sum of squares, and to
the number of records. This gives bounds that always hold; the upper one is optimized over c.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from mottle.queries.aggregates import Summands, standard_error
from mottle.queries.estimate import Estimate
from mottle.typing import Float64Array

_STEPS = 40  # of the search for the best centre
_GOLDEN = (np.sqrt(5) - 1) / 2


class Spread(StrEnum):
    """A measure of spread, as SQL calls it."""

    STDDEV_SAMP = "stddev_samp"
    STDDEV_POP = "stddev_pop"
    VAR_SAMP = "var_samp"
    VAR_POP = "var_pop"

    @property
    def lost(self) -> int:
        """What the divisor is less than the number of records."""
        return 1 if self.value.endswith("samp") else 0

    @property
    def is_root(self) -> bool:
        """Whether it is a standard deviation."""
        return self.value.startswith("stddev")


def spread(summands: Summands, wanted: Spread) -> Estimate:
    """Estimate a variance or standard deviation."""
    records = float(summands.likely.sum())
    if len(summands.likely) <= wanted.lost or records == 0:
        return Estimate(np.nan, np.nan, np.nan, np.nan)
    mean = float(summands.first.sum()) / records
    squares = summands.second - 2 * mean * summands.first + mean**2 * summands.likely
    divisor = records - wanted.lost if records > wanted.lost else records
    variance = max(float(squares.sum()), 0.0) / divisor
    least, most = _smallest(summands, wanted.lost), _largest(summands, wanted.lost)
    variance = min(max(variance, least), most)
    farthest = np.maximum((summands.lowest - mean) ** 2, (summands.highest - mean) ** 2)
    # The mean fourth power is at most the mean square times the largest square.
    fourth = np.maximum(squares, 0.0) * (farthest - 2 * variance) + variance**2 * summands.likely
    drift = squares - variance * summands.likely
    error = standard_error(fourth - drift**2, farthest**2) / records
    if not wanted.is_root:
        return Estimate(variance, least, most, error)
    root = float(np.sqrt(variance))
    error = error / (2 * root) if root > 0 else float(np.sqrt(most))
    return Estimate(root, float(np.sqrt(least)), float(np.sqrt(most)), error)


def _smallest(summands: Summands, lost: int) -> float:
    """A variance that is reached or exceeded whatever the numbers are."""
    low, high = summands.lowest[summands.certain], summands.highest[summands.certain]
    if len(low) == 0:
        return 0.0

    def squares(centre: float) -> float:
        away = np.maximum(np.maximum(low - centre, centre - high), 0.0)
        return float((away**2).sum())

    # Convex in the centre, and flat at its smallest value, which halving finds.
    begin, end = float(low.min()), float(high.max())
    for _ in range(2 * _STEPS):
        middle = (begin + end) / 2
        slope = float(np.maximum(middle - high, 0.0).sum() - np.maximum(low - middle, 0.0).sum())
        begin, end = (begin, middle) if slope > 0 else (middle, end)
    smallest = min(squares(begin), squares(end))
    rounded = 1e-12 * float(high.max() - low.min()) ** 2
    return max(smallest * (1 - 1e-9) - rounded, 0.0) / max(len(summands.likely) - lost, 1)


def _largest(summands: Summands, lost: int) -> float:
    """A variance that is never exceeded."""

    def bound(centre: float) -> float:
        away = np.maximum((summands.lowest - centre) ** 2, (summands.highest - centre) ** 2)
        certain = float(away[summands.certain].sum())
        others = np.sort(away[~summands.certain])[::-1]
        return _largest_ratio(certain, int(summands.certain.sum()), others, lost)

    begin, end = float(summands.lowest.min()), float(summands.highest.max())
    best = min(bound(begin), bound(end))
    for _ in range(_STEPS):  # the bound is convex in the centre, and each of its values is valid
        left, right = end - _GOLDEN * (end - begin), begin + _GOLDEN * (end - begin)
        at_left, at_right = bound(left), bound(right)
        best = min(best, at_left, at_right)
        begin, end = (begin, right) if at_left <= at_right else (left, end)
    return best


def _largest_ratio(certain: float, count: int, others: Float64Array, lost: int) -> float:
    """The largest sum of squares by its divisor, over how many uncertain records count."""
    sums = certain + np.concatenate([[0.0], np.cumsum(others)])
    divisors = count + np.arange(len(others) + 1) - lost
    return float((sums[divisors > 0] / divisors[divisors > 0]).max())
