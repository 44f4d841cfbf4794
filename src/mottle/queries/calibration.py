"""Standard errors that hold: what cells suggest, times what the owner measured.

A count over quasi-identifiers has no error of the draw: every original stands behind as many
records as its group says. What is wrong with an answer is systematic: columns are taken as
independent inside cells, and values inside a cell as the fit says. The owner asks random questions
whose answers he knows, and publishes by which factor the truth was farther away than the error
that cells suggest (`mottle.evaluation.calibration`). Here these factors are applied.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from mottle.typing import BoolArray, Float64Array

if TYPE_CHECKING:
    from mottle.release.certificate import CalibrationFacts

STEP = 0.25  # a count is whole: half a record, over the 1.96 errors of a 95 % interval
TOO_LARGE = 1 / 3  # an error above this share of the answer makes it unreliable
NOT_CALIBRATED = "the release does not state how far its answers are off"
LARGE_ERROR = "the error exceeds a third of the answer"
MANY_COLUMNS = "the answer depends on more columns than were calibrated"


class AnswerKind(StrEnum):
    """What an answer is, as far as its error is concerned."""

    COUNT = "count"
    SUM = "sum"
    AVERAGE = "average"


@dataclass(frozen=True)
class Calibration:
    """The factors of a release."""

    facts: CalibrationFacts

    def errors(
        self,
        answered: AnswerKind,
        expected: Float64Array,
        error: Float64Array,
        columns: int,
        shift: Float64Array | None,
    ) -> Float64Array:
        """Return the standard errors of answers, such that 95 % lie within 1.96 of them.

        ``columns`` is the number of quasi-identifiers that the answers depend on. ``shift`` is
        given where they also depend on columns that are published as they are: by how much the fit
        to sensitive values changed the answers.
        """
        factor = self._factors(answered, expected, columns + (shift is not None))
        if shift is not None:
            factor = np.maximum(factor, 1.0)
            stated = np.hypot(factor * error, shift / 2)
        else:
            stated = factor * error
        return stated + STEP if answered is AnswerKind.COUNT else stated

    def _factors(self, answered: AnswerKind, expected: Float64Array, columns: int) -> Float64Array:
        """The factor of each answer."""
        place = max(columns, 1) - 1

        def of(factors: tuple[float, ...]) -> float:
            # Beyond what was asked: the largest.
            return factors[place] if place < len(factors) else max(factors)

        if answered is AnswerKind.SUM:
            return np.full(len(expected), of(self.facts.sums))
        if answered is AnswerKind.AVERAGE:
            return np.full(len(expected), of(self.facts.averages))
        small = expected < self.facts.small_count
        return np.where(small, of(self.facts.small_counts), of(self.facts.counts))

    @property
    def most_columns(self) -> int:
        """The largest number of columns for which questions were asked."""
        return len(self.facts.counts)


def doubts(
    expected: Float64Array, error: Float64Array, exact: BoolArray, reason: str = ""
) -> list[str]:
    """Return why each answer is unreliable; an empty text if it is reliable.

    ``reason`` is one that all answers share but those that are ``exact``.

    >>> doubts(np.array([7.0, 7.0]), np.array([0.0, 3.0]), np.array([True, False]))
    ['', 'the error exceeds a third of the answer']
    """
    with np.errstate(invalid="ignore"):
        large = ~(error <= TOO_LARGE * np.abs(expected))
    reasons = np.where(exact, "", reason or np.where(large, LARGE_ERROR, ""))
    found: list[str] = reasons.tolist()
    return found
