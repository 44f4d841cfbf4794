"""Tests whether guesses are right significantly more often than the guarantee allows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc

from mottle.typing import BoolArray, Float64Array, Int64Array

_CHANCE = 0.00135  # probability that a sound release fails: three standard deviations
_ROUNDING = 1e-9  # tolerance for floating-point error


@dataclass(frozen=True)
class GuessAccuracy:
    """How often guesses were right, and how often they are allowed to be."""

    guesses: int
    right: float  # share of right guesses
    allowed: float  # mean of the probabilities allowed for each guess
    sigma: float  # standard deviation of ``right`` if guesses are right as often as allowed
    trials: int = 1  # number of guessing strategies of which this is the best

    @property
    def proves(self) -> bool:
        """Whether it would be significant for all guesses to be right."""
        return self._chance_of(1.0) < _CHANCE

    @property
    def passed(self) -> bool | None:
        """Whether the guesses stay within 3 σ of what is allowed; None when they prove nothing.

        They prove nothing if it would not even be significant for all of them to be right. The tail
        is that of a binomial distribution with this σ, so that small numbers of guesses are judged
        correctly as well.
        """
        if self.right <= self.allowed + _ROUNDING:
            return True if self.proves else None
        return self._chance_of(self.right) >= _CHANCE

    def _chance_of(self, right: float) -> float:
        """The probability of this share of right guesses or more, if each is right as allowed."""
        if self.guesses == 0 or self.allowed >= 1:
            return 1.0
        if self.allowed <= 0 or self.sigma < _ROUNDING:
            return 0.0 if right > self.allowed + _ROUNDING else 1.0
        # the number of independent guesses that would have the same variance
        independent = self.allowed * (1 - self.allowed) / self.sigma**2
        hits = right * independent
        return float(betainc(hits, independent - hits + 1, self.allowed)) * self.trials

    def facts(self) -> dict[str, float]:
        """The figures for a report."""
        return {
            "guesses": self.guesses,
            "right": self.right,
            "allowed": self.allowed,
            "sigma": self.sigma,
        }


def judge(right: BoolArray, allowed: Float64Array, clusters: Int64Array) -> GuessAccuracy:
    """Judge guesses of which each may be right with probability ``allowed``.

    People of one cluster share a draw, so their guesses may be right or wrong together. The
    variance is therefore taken from the sums over clusters, if that is larger than the variance of
    independent guesses.
    """
    if len(right) == 0:
        return GuessAccuracy(0, 0.0, 0.0, 0.0)
    excess = right - allowed
    sums = _sums(clusters, excess - excess.mean())
    independent = float((allowed * (1 - allowed)).sum())
    return _accuracy(right, allowed, max(independent, float((sums**2).sum())), 1)


def judge_shared(
    right: BoolArray, allowed: Float64Array, clusters: Int64Array, trials: int = 1
) -> GuessAccuracy:
    """As `judge`, for guesses that may all be right or all be wrong within each cluster."""
    if len(right) == 0:
        return GuessAccuracy(0, 0.0, 0.0, 0.0)
    sums = _sums(clusters, np.sqrt(allowed * (1 - allowed)))
    return _accuracy(right, allowed, float((sums**2).sum()), trials)


def judge_seen(
    right: BoolArray,
    unseen: BoolArray,
    caps: Float64Array,
    clusters: Int64Array,
    *,
    combined: float,
    trials: int = 1,
) -> GuessAccuracy:
    """Judge guesses about people whose records were seen by those about people who were not.

    ``unseen`` says whether the guess without the person's record was right. Allowed is the largest
    of three: what the caps allow, the accuracy without the records, and ``combined``, what both
    give together.

    The variance is that of the difference, person by person, so that what makes people of a block
    easy to guess counts on both sides, and at least that of guesses that are right by chance: of a
    few people all may be guessed whose records were seen, and none of the others.
    """
    by_caps = judge(right, caps, clusters)
    by_others = judge(right, np.full(len(right), unseen.mean()), clusters)
    spread = judge(right, unseen.astype(np.float64), clusters).sigma
    allowed = max(by_caps.allowed, by_others.allowed, combined)
    independent = (allowed * (1 - allowed) / len(right)) ** 0.5
    by_chance = by_caps.sigma if allowed == by_caps.allowed else independent
    sigma = max(by_chance, spread, by_others.sigma)
    return GuessAccuracy(len(right), float(right.mean()), allowed, sigma, trials)


def _accuracy(
    right: BoolArray, allowed: Float64Array, variance: float, trials: int
) -> GuessAccuracy:
    count = len(right)
    return GuessAccuracy(
        count, float(right.mean()), float(allowed.mean()), variance**0.5 / count, trials
    )


def _sums(clusters: Int64Array, values: Float64Array) -> Float64Array:
    return np.bincount(np.unique(clusters, return_inverse=True)[1].ravel(), values).astype(float)
