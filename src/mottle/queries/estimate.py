"""Answers: what to expect, between which bounds the truth lies, and a standard error."""

from __future__ import annotations

from dataclasses import dataclass

from mottle.typing import Float64Array


@dataclass(frozen=True)
class Estimate:
    """The answer to one question.

    >>> print(Estimate(expected=120.25, certain=80, possible=170, error=4.5))
    120.2 ± 4.5 (between 80 and 170 for certain)
    """

    expected: float
    certain: float  # the truth is at least this, whatever the true values are
    possible: float  # and at most this
    error: float  # standard error under the assumption that gives the expected value

    def __str__(self) -> str:
        return (
            f"{self.expected:,.1f} ± {self.error:,.1f}"
            f" (between {self.certain:,.6g} and {self.possible:,.6g} for certain)"
        )


@dataclass(frozen=True, eq=False)
class Estimates:
    """The answers to many questions, an array for each part."""

    expected: Float64Array
    certain: Float64Array
    possible: Float64Array
    error: Float64Array

    def __len__(self) -> int:
        return len(self.expected)

    def __getitem__(self, question: int) -> Estimate:
        parts = (self.expected, self.certain, self.possible, self.error)
        return Estimate(*(float(part[question]) for part in parts))
