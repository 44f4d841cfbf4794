"""The risk of single rows and of households, when a table is a sample of a population.

A combination of quasi-identifiers that f rows of the sample have is that of F people of the
population. F is not known. Benedetti and Franconi (1998) take it, given the sample, for negative
binomial with f successes of probability p = f / F̂, where F̂ is the sum of the survey weights of the
f rows; the individual risk is the expected 1/F. It is what μ-ARGUS and sdcMicro report.
"""

from __future__ import annotations

import numpy as np

from mottle.typing import Float64Array, Int64Array
from mottle.utils.lazy import lazy_module

special = lazy_module("scipy.special")

_LARGE = 30  # frequencies from which on the series below needs few terms
_TERMS = 40  # the last one is below 1e-19


def individual_risk(frequencies: Int64Array, estimated: Float64Array) -> Float64Array:
    """Return the expected 1/F of combinations that are in the sample.

    The expectation Σ C(F−1, f−1) pᶠ (1−p)^(F−f) / F over F ≥ f equals p/f · ₂F₁(1, 1; f+1; 1−p):
    integrate the generating function and apply Euler's transformation. For f = 1 it is
    p/(1−p) · ln(1/p).

    Parameters
    ----------
    frequencies : int64 array
        f, rows of the sample with the combination; at least 1.
    estimated : float64 array
        F̂, the sum of their weights; taken for f where it is smaller.

    Returns
    -------
    float64 array
        A probability; 1/f where the weights say that the sample is the population.

    Examples
    --------
    >>> individual_risk(np.array([1, 1, 4]), np.array([1.0, 100.0, 4.0])).round(4).tolist()
    [1.0, 0.0465, 0.25]
    """
    chance = frequencies / np.maximum(estimated, frequencies)
    factor = np.empty(len(chance))
    large = frequencies >= _LARGE
    factor[large] = _series(frequencies[large], 1.0 - chance[large])
    factor[~large] = special.hyp2f1(1.0, 1.0, frequencies[~large] + 1.0, 1.0 - chance[~large])
    risk = chance / frequencies * factor
    return np.asarray(np.clip(risk, 0.0, 1.0 / frequencies), np.float64)


def _series(frequencies: Int64Array, rest: Float64Array) -> Float64Array:
    """₂F₁(1, 1; f+1; z) for a large f, by its series; SciPy finds no value from f = 170 on."""
    found = np.ones(len(rest))
    term = np.ones(len(rest))
    for number in range(1, _TERMS):
        term *= number / (frequencies + number) * rest
        found += term
    return found


def household_risk(risks: Float64Array, household: Int64Array) -> Float64Array:
    """Return for every row the risk that at least one of its household is identified.

    Parameters
    ----------
    risks : float64 array of shape (rows,)
        Individual risks.
    household : int64 array of shape (rows,)
        The number of every row's household.

    Returns
    -------
    float64 array of shape (rows,)
        1 − Π (1 − risk) over the household: members are identified independently.

    Examples
    --------
    >>> household_risk(np.array([0.5, 0.5, 0.1]), np.array([7, 7, 2])).round(3).tolist()
    [0.75, 0.75, 0.1]
    """
    _, number = np.unique(household, return_inverse=True)
    number = np.ravel(number)
    safe = np.log1p(-np.minimum(risks, 1 - 1e-15))
    return np.asarray(-np.expm1(np.bincount(number, safe))[number], np.float64)
