"""Estimates: an expected value, bounds that hold for certain, and a standard error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np

from mottle.typing import BoolArray, Float64Array
from mottle.utils.html import html_table


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
        Standard error. Of a release that states how far its answers are off, it is calibrated: 95 %
        of such answers lie within 1.96 of it. Otherwise it follows from the assumption that gives
        the expected value, and may be far too small.
    doubt : str, optional
        Why the answer is unreliable; empty if it is reliable.

    Examples
    --------
    >>> answer = Estimate(expected=120.25, certain=80, possible=170, error=4.5)
    >>> print(answer)
    120.2 ± 4.5 (between 80 and 170 for certain)
    >>> answer.reliable
    True
    """

    expected: float
    certain: float
    possible: float
    error: float
    doubt: str = field(default="", repr=False, compare=False)

    @property
    def reliable(self) -> bool:
        """Whether the error is known and at most a third of the answer."""
        return not self.doubt

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return an interval that holds the truth as often as ``confidence`` says.

        It is calibrated for 0.95 and follows from the normal distribution for others; it never
        reaches beyond the bounds.

        Parameters
        ----------
        confidence : float, default 0.95
            Between 0 and 1.

        Returns
        -------
        low, high : float
            The ends of the interval.

        Examples
        --------
        >>> low, high = Estimate(expected=100, certain=95, possible=170, error=10).interval()
        >>> low, round(high, 1)
        (95, 119.6)
        """
        reach = NormalDist().inv_cdf((1 + confidence) / 2) * self.error
        return max(self.expected - reach, self.certain), min(self.expected + reach, self.possible)

    def __str__(self) -> str:
        """Return the expected value, its error and the bounds as text."""
        expected, error = with_error(self.expected, self.error)
        return (
            f"{expected} ± {error} (between {self.certain:,.6g} and {self.possible:,.6g}"
            f" for certain){', unreliable: ' if self.doubt else ''}{self.doubt}"
        )

    def _repr_html_(self) -> str:
        """Return the estimate as a small table, for notebooks."""
        expected, error = with_error(self.expected, self.error)
        bounds = f"{self.certain:,.6g} … {self.possible:,.6g}"
        return html_table(
            ("expected", "± standard error", "for certain", "reliable"),
            [(expected, error, bounds, self.doubt or "yes")],
        )


def with_error(value: float, error: float) -> tuple[str, str]:
    """Return a number and its error as text, with the digits that the error allows.

    The error gets two digits, and the number as many decimals. Digits before the decimal point
    stay; without an error the number gets six digits.

    Parameters
    ----------
    value, error : float
        A number and its standard error.

    Returns
    -------
    value, error : str

    Examples
    --------
    >>> with_error(3.85, 0.035), with_error(23463.9, 152.3), with_error(7.0, 0.0)
    (('3.850', '0.035'), ('23,464', '152'), ('7', '0'))
    """
    if not (math.isfinite(value) and math.isfinite(error)) or error <= 0:
        return _six_digits(value), _six_digits(error)
    decimals = min(max(1 - math.floor(math.log10(error)), 0), 12)
    return f"{value:,.{decimals}f}", f"{error:,.{decimals}f}"


def _six_digits(number: float) -> str:
    """A number without an error: whole numbers entirely, others with six digits."""
    is_whole = math.isfinite(number) and number == math.floor(number)
    return f"{number:,.0f}" if is_whole else f"{number:,.6g}"


@dataclass(frozen=True, eq=False)
class Estimates:
    """The answers to many queries, one array per part of an `Estimate`.

    ``len(estimates)`` is the number of queries; ``estimates[i]`` is the `Estimate` of query i.

    Parameters
    ----------
    expected, certain, possible, error : float64[queries]
        The parts of the estimates; see `Estimate`.
    doubts : sequence of str, optional
        Why each is unreliable, empty if it is reliable; by default all are.

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
    doubts: Sequence[str] | None = None

    @property
    def reliable(self) -> BoolArray:
        """[queries]: whether each estimate is reliable; see `Estimate`."""
        if self.doubts is None:
            return np.ones(len(self), np.bool_)
        return np.array([not doubt for doubt in self.doubts], np.bool_)

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self.expected)

    def __getitem__(self, query: int) -> Estimate:
        """Return the estimate of one query."""
        parts = (self.expected, self.certain, self.possible, self.error)
        doubt = "" if self.doubts is None else self.doubts[query]
        expected, certain, possible, error = (float(part[query]) for part in parts)
        return Estimate(expected, certain, possible, error, doubt)
