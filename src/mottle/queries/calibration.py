"""Standard errors that hold: what cells suggest, times what the owner measured.

A count over quasi-identifiers has no error of the draw: every original stands behind as many
records as its group says. What is wrong with an answer is systematic: columns are taken as
independent inside cells, and values inside a cell as the fit says. The owner asks random questions
whose answers he knows, and publishes by which factor the truth was farther away than the error
that cells suggest (`mottle.evaluation.calibration`). Here these factors are applied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from math import fsum, sqrt
from typing import TYPE_CHECKING

import numpy as np

from mottle.typing import BoolArray, Float64Array

if TYPE_CHECKING:
    from mottle.release.certificate import CalibrationFacts

STEP = 0.25  # a count is whole: half a record, over the 1.96 errors of a 95 % interval
# Values that are published as they are: how they go with quasi-identifiers inside cells cannot be
# calibrated without looking at both, so errors are larger by this factor than for one more
# quasi-identifier, and at least those of the draw.
_UNCHANGED = 1.1
# Averages of or under such columns: how their values go with quasi-identifiers inside cells is more
# than the fit to sensitive values can tell, so errors are at least so many times those of the draw.
_LEAST_OF_AVERAGES = 1.5
# By how much a count about a quasi-identifier and such a column is farther off than one about two
# quasi-identifiers, where a guarantee is about sensitive values: these are mixed inside cells.
_PROTECTED_PAIR = 1.75
TOO_LARGE = 1 / 3  # an error above this share of the answer makes it unreliable
UNRELIABLE_COLUMN = 0.1  # median relative error of counts from which on a column is unreliable
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
    protects: bool = False  # whether the guarantee is about sensitive values

    def errors(
        self,
        answered: AnswerKind,
        error: Float64Array,
        columns: int,
        times: Float64Array | float,
        shift: Float64Array | None,
    ) -> Float64Array:
        """Return the standard errors of answers, such that 95 % lie within 1.96 of them.

        ``columns`` is the number of quasi-identifiers that the answers depend on, and ``times``
        what `of_columns` says about these. ``shift`` is given where the answers also depend on
        columns that are published as they are: by how much the fit to sensitive values changed
        them.
        """
        place = columns + (shift is not None)
        least = 0.0 if shift is None else 1.0
        stated: Float64Array
        if answered is AnswerKind.COUNT:
            first, second = _of_number(np.array(self.facts.counts), place)
            stated = np.hypot(np.maximum(first * times, least) * error, second * times * error**2)
        else:
            factors = self.facts.sums if answered is AnswerKind.SUM else self.facts.averages
            if answered is AnswerKind.AVERAGE:
                least *= _LEAST_OF_AVERAGES
            stated = np.maximum(_of_number(np.array(factors), place) * times, least) * error
        if shift is not None:
            stated = np.hypot(self._widened(answered, columns) * stated, shift)
        return stated + STEP if answered is AnswerKind.COUNT else stated

    def _widened(self, answered: AnswerKind, columns: int) -> float:
        """By how much errors are larger because an answer also depends on unchanged columns."""
        if answered is not AnswerKind.COUNT or not self.protects:
            return _UNCHANGED
        pairs = columns * (columns - 1) / 2
        return float(np.sqrt((pairs + columns * _PROTECTED_PAIR**2) / (pairs + columns)))

    def of_columns(
        self, answered: AnswerKind, names: Iterable[str], *, with_unchanged: bool = False
    ) -> float:
        """Return the factor of answers that depend on some quasi-identifiers.

        How these go with columns that are published as they are is not known: for sums and averages
        that depend on both, such a pair counts as the root mean square of all pairs that are known.
        """
        factors = self.facts.pair_factors
        if factors:
            known = list(names)
            found = together_in_pairs(factors, known)
            if not with_unchanged or answered is AnswerKind.COUNT:
                return found
            typical = np.mean([one**2 for named in factors.values() for one in named.values()])
            pairs = len(known) * (len(known) - 1) / 2
            squares = pairs * found**2 + len(known) * typical
            return float(np.sqrt(squares / max(pairs + len(known), 1)))
        if answered is not AnswerKind.COUNT:
            return 1.0
        return together([self.facts.column_factors.get(name, 1.0) for name in names])

    @property
    def most_columns(self) -> int:
        """The largest number of columns for which questions were asked."""
        return len(self.facts.counts)


def _of_number(factors: Float64Array, columns: int) -> Float64Array:
    """The factors for a number of columns; beyond what was asked, the largest."""
    place = max(columns, 1) - 1
    found: Float64Array = factors[place] if place < len(factors) else factors.max(axis=0)
    return found


def together(factors: Sequence[float]) -> float:
    """The factor of several columns together, in releases that state none of pairs.

    >>> together([1.0, 7.0]), together([7.0])
    (5.0, 1.0)
    """
    if len(factors) < 2:
        return 1.0
    return float(np.sqrt(np.mean(np.square(factors))))


def together_in_pairs(factors: Mapping[str, Mapping[str, float]], names: Sequence[str]) -> float:
    """Return the factor of several columns: errors of pairs add up like independent ones.

    >>> together_in_pairs({"a": {"b": 7.0}}, ["b", "a"])
    7.0
    """
    pairs = [
        factors.get(first, {}).get(second) or factors.get(second, {}).get(first, 1.0)
        for first, second in combinations(names, 2)
    ]
    return sqrt(fsum(one * one for one in pairs) / len(pairs)) if pairs else 1.0


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
