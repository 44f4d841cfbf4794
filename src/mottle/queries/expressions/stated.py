"""The errors that answers about expressions state, by what was calibrated for them.

The owner calibrates counts, and sums and averages of columns. A sum of constants, such as
``sum(CASE WHEN … THEN 1 ELSE 0 END)``, is a count in units of these constants. A quantile is as
far off as the count of records below it makes it. A sum or average of
columns that are published as they are is made of parts, one for each formula that records may have:
each part adds a count times an average, both of which have errors that are known. Everything else
about generalized columns has the error of a sum or average of as many columns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mottle.queries.aggregates import Summands
from mottle.queries.calibration import AnswerKind
from mottle.queries.engine import Queries
from mottle.queries.estimate import Estimate
from mottle.queries.expressions.polynomial import Polynomial
from mottle.queries.expressions.quantile import QuantileError
from mottle.queries.stated_errors import state_average, state_one, with_error

DISTINCT = "counts of distinct values were not calibrated"
_KINDS = {"count": AnswerKind.COUNT, "sum": AnswerKind.SUM}


@dataclass(frozen=True, eq=False)
class Part:
    """The records that have the same formula, such as ``2 * income`` in one branch of a CASE."""

    formula: Polynomial
    inside: Summands  # those that count
    everyone: Summands | None  # all for which the formula has a value, if it is about a column
    # that is published as it is


@dataclass(frozen=True, eq=False)
class Answer:
    """An answer with the error that follows from cells alone, and what it is made of."""

    kind: str  # of the aggregate
    distinct: bool
    estimate: Estimate
    quantile: QuantileError | None = None
    parts: Sequence[Part] = ()  # of sums and averages

    def part(self, formula: Polynomial) -> Part:
        """Return the part that has a formula."""
        return next(one for one in self.parts if one.formula == formula)


def state(
    queries: Queries,
    columns: Collection[str],
    conditions: Collection[str],
    answer: Answer,
    again: Callable[[Queries], Answer],
) -> Estimate:
    """Return an answer with the error that holds.

    Parameters
    ----------
    queries : Queries
        What is asked.
    columns : collection of str
        All columns that the answer depends on.
    conditions : collection of str
        Those that say which records count, and which formula they have.
    answer : Answer
        The answer by cells.
    again : callable
        Computes it anew, of other queries.
    """
    estimate = answer.estimate
    if answer.distinct:
        stated = state_one(
            queries, AnswerKind.COUNT, columns, estimate, lambda other: again(other).estimate
        )
        return stated if stated.certain == stated.possible else replace(stated, doubt=DISTINCT)
    if estimate.error == 0.0 and len(columns) == 1:  # as totals say
        return estimate
    kind = _KINDS.get(answer.kind, AnswerKind.AVERAGE)
    stated = state_one(queries, kind, columns, estimate, lambda other: again(other).estimate)
    if answer.quantile is not None:
        return _of_quantile(queries, columns, stated, answer.quantile, again)
    unit = _unit(answer)
    if unit is not None:
        return _of_constants(queries, columns, answer, stated, unit, again)
    known = queries.calibration is not None and not queries.generalized.isdisjoint(columns)
    unchanged = any(_unchanged(queries, part) for part in answer.parts)
    if not known or not unchanged or stated.certain == stated.possible:
        return stated
    return _of_parts(queries, conditions, answer, stated, again)


def _of_constants(
    queries: Queries,
    columns: Collection[str],
    answer: Answer,
    stated: Estimate,
    unit: float,
    again: Callable[[Queries], Answer],
) -> Estimate:
    """The error of a count of such units; of several constants at least that of such an answer."""
    count = state_one(
        queries,
        AnswerKind.COUNT,
        columns,
        _divided(answer.estimate, unit),
        lambda other: _divided(again(other).estimate, unit),
    )
    if answer.kind == "sum" and sum(part.formula.constant != 0 for part in answer.parts) == 1:
        return replace(stated, error=count.error * unit, doubt=count.doubt)
    return with_error(stated, max(count.error * unit, stated.error), stated.doubt)


def _of_quantile(
    queries: Queries,
    columns: Collection[str],
    stated: Estimate,
    error: QuantileError,
    again: Callable[[Queries], Answer],
) -> Estimate:
    """The error that follows from that of the count of records below it; at least a mean's."""

    def below(other: Queries) -> Estimate:
        same = again(other).quantile
        expected = error.count.expected if same is None else same.count_below(error.found)
        return replace(error.count, expected=expected)

    if stated.certain == stated.possible:
        return stated
    count = state_one(queries, AnswerKind.COUNT, columns, error.count, below)
    return with_error(stated, max(error.of_count(count.error), stated.error), stated.doubt)


def _of_parts(
    queries: Queries,
    conditions: Collection[str],
    answer: Answer,
    stated: Estimate,
    again: Callable[[Queries], Answer],
) -> Estimate:
    """The errors of counts and averages of all parts, added up like independent ones.

    An average moves with the number of records of a part by how far the part's average is from it.
    """
    if not np.isfinite(stated.expected):
        return stated
    is_sum = answer.kind == "sum"
    centre = 0.0 if is_sum else stated.expected
    squares = 0.0
    for part in answer.parts:
        count = state_one(
            queries,
            AnswerKind.COUNT,
            conditions,
            part.inside.count(),
            lambda other, part=part: again(other).part(part.formula).inside.count(),  # type: ignore[misc]
        )
        average = part.inside.average()
        if part.formula.columns:
            average = state_one(
                queries,
                AnswerKind.AVERAGE,
                {*conditions, *part.formula.columns},
                average,
                lambda other, part=part: again(other).part(part.formula).inside.average(),  # type: ignore[misc]
            )
            if part.everyone is not None and not _unchanged(queries, part) <= queries.fitted_to:
                average = state_average(average, part.inside, part.everyone)
        if np.isfinite(average.expected):
            squares += (count.expected * average.error) ** 2
            squares += ((average.expected - centre) * count.error) ** 2
    error = float(np.sqrt(squares))
    if not is_sum:
        error /= sum(float(part.inside.likely.sum()) for part in answer.parts)
    return with_error(stated, error, stated.doubt)


def _unchanged(queries: Queries, part: Part) -> frozenset[str]:
    """The columns of a part's formula that are published as they are."""
    return queries.unchanged.intersection(part.formula.columns)


def _unit(answer: Answer) -> float | None:
    """How large the constants are that a sum or average is made of; None if there are others."""
    if answer.kind not in ("sum", "avg") or not answer.parts:
        return None
    if any(part.formula.columns for part in answer.parts):
        return None
    constants = np.array([float(part.formula.constant) for part in answer.parts])
    records = np.array([float(part.inside.likely.sum()) for part in answer.parts])
    if answer.kind == "sum":
        size = np.abs(constants)
        weight = float(size @ records)
        return float(size**2 @ records) / weight if weight > 0 else None
    if records.sum() <= 0:
        return None
    mean = float(constants @ records) / float(records.sum())
    farthest = float(np.abs(constants - mean)[records > 0].max())
    return farthest / float(records.sum()) if farthest > 0 else None


def _divided(answer: Estimate, unit: float) -> Estimate:
    return Estimate(
        answer.expected / unit, answer.certain / unit, answer.possible / unit, answer.error / unit
    )
