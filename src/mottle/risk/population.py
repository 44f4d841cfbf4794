"""How many rows of a sample are unique in its population, by four estimators of the literature.

All answer the same question: of the rows whose combination of quasi-identifiers no other row has,
how many belong to people whose combination nobody else in the population has?
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mottle.risk.keys import Keys
from mottle.typing import Float64Array, Int64Array
from mottle.utils.lazy import lazy_module

optimize = lazy_module("scipy.optimize")
special = lazy_module("scipy.special")


@dataclass(frozen=True)
class PopulationUniques:
    """Expected numbers of rows that are unique in the population, by estimator."""

    by_weights: float  # Benedetti and Franconi (1998): Σ 1/weight over sample uniques
    log_linear: float  # Skinner and Shlomo (2008), main effects
    zayatz: float  # Zayatz (1991)
    pitman: float  # Hoshino (2001)
    # Skinner and Shlomo's τ₂: expected number of right links of sample uniques, the sum of 1/F.
    right_links: float


def population_uniques(keys: Keys, weights: Float64Array) -> PopulationUniques:
    """Estimate how many rows are unique in the population.

    Parameters
    ----------
    keys : Keys
        The combinations of the sample.
    weights : float64 array of shape (rows,)
        How many people each row stands for; 1 or more. They sum up to the population.

    Returns
    -------
    PopulationUniques
        The estimates.
    """
    rows, size = len(weights), float(weights.sum())
    unique = keys.frequencies == 1
    others = main_effects(keys)[unique] * (weights[unique] - 1)  # expected, beyond the sample
    alone = np.exp(-others)
    links = np.divide(1 - alone, others, out=np.ones_like(others), where=others > 0)
    return PopulationUniques(
        by_weights=float((1 / weights[unique]).sum()),
        log_linear=float(alone.sum()),
        zayatz=zayatz(keys.sizes, min(rows / size, 1.0)),
        pitman=pitman(keys.sizes, max(size, rows)),
        right_links=float(links.sum()),
    )


def main_effects(keys: Keys) -> Float64Array:
    """Return the expected sample frequency of every row's combination if columns are independent.

    These are the fitted means of the log-linear model with main effects (Skinner and Shlomo, 2008,
    §3). Where columns depend on each other, it expects too few rows of common combinations, and so
    finds too many uniques.
    """
    rows = keys.codes.shape[1]
    logs = np.log(rows) * (1 - len(keys.codes))
    shares = sum(np.log(np.bincount(codes))[codes] for codes in _with_counts(keys.codes))
    return np.asarray(np.exp(logs + shares), np.float64)


def _with_counts(columns: Int64Array) -> list[Int64Array]:
    """Codes without gaps, so that no count is zero."""
    return [np.ravel(np.unique(codes, return_inverse=True)[1]) for codes in columns]


def zayatz(sizes: Int64Array, fraction: float) -> float:
    """Return the expected uniques by the sizes of classes, as Zayatz (1991) proposed.

    Classes of the population are taken to be as large as those of the sample, and a class of F
    people leaves one row in the sample with probability F·π·(1−π)^(F−1), π being the sampling
    fraction; Bayes' rule gives the chance that a sample unique stems from F = 1.

    Parameters
    ----------
    sizes : int64 array
        Rows of each combination of the sample.
    fraction : float
        The sampling fraction π.

    Returns
    -------
    float
        Expected number of rows that are unique in the population.

    Examples
    --------
    Ten classes of one row and five of two, in a sample of a half:

    >>> round(zayatz(np.array([1] * 10 + [2] * 5), 0.5), 3)
    6.667
    """
    size, classes = np.unique(sizes, return_counts=True)
    if size[0] != 1:
        return 0.0
    single = size * fraction * (1 - fraction) ** (size - 1)
    return float(classes[0] * classes[0] * fraction / (classes * single).sum())


def pitman(sizes: Int64Array, population: float) -> float:
    """Return the expected uniques by Pitman's model of class sizes (Hoshino, 2001).

    The sample is taken for a draw of the random partition with parameters (α, θ), fitted by
    maximum likelihood; the same partition of N people has
    N·Γ(θ+1)·Γ(θ+α+N−1) / (Γ(θ+α)·Γ(θ+N)) classes of one person, a share n/N of which is sampled.

    Parameters
    ----------
    sizes : int64 array
        Rows of each combination of the sample.
    population : float
        Number of people N of the population.

    Returns
    -------
    float
        Expected number of rows that are unique in the population.
    """
    rows = int(sizes.sum())
    if not np.any(sizes == 1):
        return 0.0
    if np.all(sizes == 1):
        return float(rows)  # nothing says that any combination ever repeats
    alpha, theta = fit_pitman(sizes)
    logs = (
        special.gammaln(theta + 1)
        - special.gammaln(theta + alpha)
        + special.gammaln(theta + alpha + population - 1)
        - special.gammaln(theta + population)
    )
    return float(min(rows * np.exp(logs), np.count_nonzero(sizes == 1)))


def fit_pitman(sizes: Int64Array) -> tuple[float, float]:
    """Return the parameters (α, θ) of Pitman's partition under which a sample is likeliest."""
    size, classes = np.unique(sizes, return_counts=True)
    rows, every = float(sizes.sum()), float(len(sizes))

    def surprise(point: Float64Array) -> float:
        alpha = 1 / (1 + np.exp(-point[0]))
        theta = np.exp(point[1])
        ratio = theta / alpha
        likelihood = (
            (every - 1) * np.log(alpha)
            + special.gammaln(ratio + every)
            - special.gammaln(ratio + 1)
            - special.gammaln(theta + rows)
            + special.gammaln(theta + 1)
            + (classes * (special.gammaln(size - alpha) - special.gammaln(1 - alpha))).sum()
        )
        return float(-likelihood)

    starts = [(np.log(share / (1 - share)), np.log(max(every, 1.0))) for share in (0.1, 0.5, 0.9)]
    found = min(
        (optimize.minimize(surprise, start, method="Nelder-Mead") for start in starts),
        key=lambda each: each.fun,
    )
    return float(1 / (1 + np.exp(-found.x[0]))), float(np.exp(found.x[1]))


def correct_matches(sizes: Int64Array, fraction: float) -> float:
    """Return DIS: the chance that a unique match with the sample is right (Skinner, Elliot 2002).

    Parameters
    ----------
    sizes : int64 array
        Rows of each combination of the sample.
    fraction : float
        The sampling fraction π.

    Returns
    -------
    float
        π·s₁ / (π·s₁ + 2·(1−π)·s₂) with s₁ uniques and s₂ pairs; 0 without uniques.

    Examples
    --------
    >>> correct_matches(np.array([1, 1, 2, 5]), 0.5)
    0.5
    """
    ones, pairs = (int(np.count_nonzero(sizes == size)) for size in (1, 2))
    if ones == 0:
        return 0.0
    return fraction * ones / (fraction * ones + 2 * (1 - fraction) * pairs)
