"""Quantiles of Student's t distribution, without importing SciPy for a few of them."""

from __future__ import annotations

import math
from statistics import NormalDist

__all__ = ["t_quantile"]

_PRECISION = 1e-14
_MOST_STEPS = 500
_MANY_DEGREES = 1e8  # from which on the distribution is normal


def t_quantile(degrees: float, probability: float) -> float:
    """Return the number that a t-distributed one is below with a probability.

    Parameters
    ----------
    degrees : float
        Degrees of freedom, at least 1; infinite for the normal distribution.
    probability : float
        Between 0 and 1.

    Returns
    -------
    float
        The quantile.

    Examples
    --------
    >>> round(t_quantile(4.0, 0.975), 6), round(t_quantile(math.inf, 0.975), 6)
    (2.776445, 1.959964)
    """
    if probability == 0.5:
        return 0.0
    if probability < 0.5:
        return -t_quantile(degrees, 1 - probability)
    if degrees >= _MANY_DEGREES:
        return NormalDist().inv_cdf(probability)
    low, high, number = 0.0, math.inf, NormalDist().inv_cdf(probability)
    for _ in range(_MOST_STEPS):  # Newton's steps, inside the ends that are known
        too_much = _above(degrees, number) - (1 - probability)
        if too_much > 0:
            low = number
        else:
            high = number
        better = number + too_much / _density(degrees, number)
        if not low < better < high:
            better = 2 * low if math.isinf(high) else (low + high) / 2
        if abs(better - number) <= _PRECISION * number:
            break
        number = better
    return number


def _density(degrees: float, number: float) -> float:
    logarithm = math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)
    logarithm -= (degrees + 1) / 2 * math.log1p(number * number / degrees)
    return math.exp(logarithm) / math.sqrt(degrees * math.pi)


def _above(degrees: float, number: float) -> float:
    """The probability of a t-distributed number above a positive one."""
    square = number * number
    x = degrees / (degrees + square)
    a, b = degrees / 2, 0.5
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(logarithm + a * math.log(x) + b * math.log(square / (degrees + square)))
    if x < (a + 1) / (a + b + 2):
        return front * _continued_fraction(a, b, x) / a / 2
    return (1 - front * _continued_fraction(b, a, 1 - x) / b) / 2


def _continued_fraction(a: float, b: float, x: float) -> float:
    """That of the incomplete beta function, by Lentz's method."""
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    found = d
    for step in range(1, _MOST_STEPS):
        for numerator in (
            step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step)),
            -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1)),
        ):
            d = 1 / (1 + numerator * d)
            c = 1 + numerator / c
            found *= c * d
        if abs(c * d - 1) < _PRECISION:
            break
    return found
