"""Estimates: an expected value, bounds that hold for certain, and a standard error."""

from __future__ import annotations

from dataclasses import dataclass

from mottle.typing import Float64Array


@dataclass(frozen=True)
class Estimate:
    """The answer to one query.

    Parameters
    ----------
    expected : float
        The expected value, given what the release states (or under the uniform assumption).
    certain : float
        Lower bound: the truth is at least this, whatever the true values are.
    possible : float
        Upper bound: the truth is at most this, whatever the true values are.
    error : float
        Standard error under the assumption that gives the expected value.

    Examples
    --------
    >>> print(Estimate(expected=120.25, certain=80, possible=170, error=4.5))
    120.2 ± 4.5 (between 80 and 170 for certain)
    """

    expected: float
    certain: float
    possible: float
    error: float

    def __str__(self) -> str:
        """Return the expected value, its error and the bounds as text."""
        return (
            f"{self.expected:,.1f} ± {self.error:,.1f}"
            f" (between {self.certain:,.6g} and {self.possible:,.6g} for certain)"
        )


@dataclass(frozen=True, eq=False)
class Estimates:
    """The answers to many queries, one array per part of an `Estimate`.

    ``len(estimates)`` is the number of queries; ``estimates[i]`` is the `Estimate` of query i.

    Parameters
    ----------
    expected, certain, possible, error : float64[queries]
        The parts of the estimates; see `Estimate`.

    Examples
    --------
    >>> import numpy as np
    >>> Estimates(*np.array([[2.5, 7.0], [1, 7], [4, 7], [0.5, 0]]))[0]
    Estimate(expected=2.5, certain=1.0, possible=4.0, error=0.5)
    """

    expected: Float64Array
    certain: Float64Array
    possible: Float64Array
    error: Float64Array

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self.expected)

    def __getitem__(self, query: int) -> Estimate:
        """Return the estimate of one query."""
        parts = (self.expected, self.certain, self.possible, self.error)
        return Estimate(*(float(part[query]) for part in parts))
