"""The errors that answers state: none where totals determine them, calibrated ones elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mottle.queries.calibration import (
    LARGE_ERROR,
    MANY_COLUMNS,
    NOT_CALIBRATED,
    AnswerKind,
    doubts,
)
from mottle.queries.conditions import Conditions
from mottle.queries.estimate import Estimate
from mottle.queries.fitting.known_totals import TotalsByAtom
from mottle.queries.item_answers import states_errors
from mottle.typing import Float64Array

if TYPE_CHECKING:
    from mottle.queries.aggregates import Summands
    from mottle.queries.engine import Queries


def state_counts(
    queries: Queries, batch: Sequence[Mapping[str, Conditions]], answers: Float64Array
) -> list[str]:
    """Replace the errors of counts by those that hold; return why answers are unreliable.

    The rows of ``answers`` are expected, certain, possible and error, its columns the queries.
    """
    found = [""] * len(batch)
    by_columns: dict[tuple[int, bool], list[int]] = {}
    for query, conditions in enumerate(batch):
        stated = count_by_totals(queries, conditions)
        if stated is not None:
            answers[0, query] = min(max(stated, answers[1, query]), answers[2, query])
            answers[3, query] = 0.0
            continue
        if states_errors(queries, conditions):
            expected, certain, possible, errors = answers[:, query : query + 1]
            errors[:] = _bounded(errors, expected, certain, possible)
            (found[query],) = doubts(expected, errors, certain == possible, "")
            continue
        known = sum(name in queries.generalized for name in conditions)
        by_columns.setdefault((known, known < len(conditions)), []).append(query)
    for (known, with_unchanged), places in by_columns.items():
        own = answers[:, places]
        times = np.array([_factor(queries, batch[place]) for place in places])
        again = None
        if with_unchanged and queries.unlifted is not queries:
            chosen = [batch[place] for place in places]
            again = lambda other, chosen=chosen: other.raw_counts(chosen)[0]  # noqa: E731
        errors, reasons = _errors(
            queries, AnswerKind.COUNT, known, with_unchanged, own, times, again
        )
        answers[3, places] = errors
        for place, reason in zip(places, reasons, strict=True):
            found[place] = reason
    return found


def state_groups(
    queries: Queries,
    columns: Collection[str],
    answers: Float64Array,
    again: Callable[[Queries], Float64Array],
) -> tuple[Float64Array, list[str]]:
    """Return the errors of the counts of all groups, and why these are unreliable.

    ``answers`` are as for `state_counts`; ``again`` computes the expected counts anew.
    """
    known = sum(name in queries.generalized for name in columns)
    times = np.full(answers.shape[1], _factor(queries, columns))
    with_unchanged = known < len(columns)
    return _errors(queries, AnswerKind.COUNT, known, with_unchanged, answers, times, again)


def state_one(
    queries: Queries,
    kind: AnswerKind,
    columns: Collection[str],
    answer: Estimate,
    again: Callable[[Queries], Estimate],
) -> Estimate:
    """Return an answer with the error that holds; ``again`` computes it anew."""
    known = sum(name in queries.generalized for name in columns)
    parts = np.array([[answer.expected], [answer.certain], [answer.possible], [answer.error]])
    errors, reasons = _errors(
        queries,
        kind,
        known,
        known < len(set(columns)),
        parts,
        np.array([_factor(queries, columns, kind)]),
        lambda other: np.array([again(other).expected]),
    )
    return replace(answer, error=float(errors[0]), doubt=reasons[0])


def state_average(average: Estimate, inside: Summands, everyone: Summands) -> Estimate:
    """Return the average of a column that no fit looked at with the error that holds.

    Its values go with quasi-identifiers between cells, as everybody can see. How much they do so
    inside cells is not known: half as much is counted as one standard error.
    """
    if not np.isfinite(average.error) or average.certain == average.possible:
        return average
    error = np.hypot(average.error, inside.carried_over(everyone) / 2)
    return with_error(average, float(error), average.doubt)


def with_error(answer: Estimate, error: float, doubt: str) -> Estimate:
    """Return an answer with another error; a doubt for another reason than its size stays."""
    reason = "" if doubt == LARGE_ERROR else doubt
    expected = np.array([answer.expected])
    bounds = np.array([answer.certain]), np.array([answer.possible])
    errors = _bounded(np.array([error]), expected, *bounds)
    (found,) = doubts(expected, errors, np.array([False]), reason)
    return replace(answer, error=float(errors[0]), doubt=found)


def state_sum(total: Estimate, count: Estimate, average: Estimate) -> Estimate:
    """Return a sum over a column that is published as it is with the error that holds.

    Nothing is known of sums over such columns. But a sum is a count times an average, and the
    errors of both, as they are stated, add up like independent ones.
    """
    if not np.isfinite(average.error) or total.certain == total.possible:
        return total
    error = np.hypot(count.expected * average.error, average.expected * count.error)
    reason = next((one.doubt for one in (total, average) if one.doubt not in ("", LARGE_ERROR)), "")
    return with_error(total, float(error), reason)


def _factor(queries: Queries, columns: Iterable[str], kind: AnswerKind = AnswerKind.COUNT) -> float:
    """What the calibration says about the quasi-identifiers among some columns."""
    if queries.calibration is None:
        return 1.0
    every = list(columns)
    known = [name for name in every if name in queries.generalized]
    return queries.calibration.of_columns(kind, known, with_unchanged=len(known) < len(every))


def _errors(
    queries: Queries,
    kind: AnswerKind,
    known: int,
    with_unchanged: bool,
    answers: Float64Array,
    times: Float64Array,
    again: Callable[[Queries], Float64Array] | None,
) -> tuple[Float64Array, list[str]]:
    """The errors of answers that depend on ``known`` quasi-identifiers, and their doubts."""
    expected, certain, possible, errors = answers
    exact = certain == possible
    calibration, reason = queries.calibration, ""
    if known > 0 and calibration is None:
        reason = NOT_CALIBRATED
    elif known > 0 and calibration is not None:
        shift = None
        if with_unchanged:
            shift = np.zeros(len(expected))
            if again is not None and queries.unlifted is not queries:
                shift = np.abs(expected - again(queries.unlifted))
        errors = calibration.errors(kind, errors, known, times, shift)
        if known > calibration.most_columns:
            reason = MANY_COLUMNS
    # Else sensitive values in a table of their own: within a group they are assigned by lot alone.
    errors = np.where(exact, 0.0, _bounded(errors, expected, certain, possible))
    return errors, doubts(expected, errors, exact, reason)


def _bounded(
    errors: Float64Array, expected: Float64Array, certain: Float64Array, possible: Float64Array
) -> Float64Array:
    """Errors no larger than the distance to the farther bound, where bounds are known."""
    furthest = np.maximum(expected - certain, possible - expected)
    bounded: Float64Array = np.where(np.isnan(furthest), errors, np.minimum(errors, furthest))
    return bounded


# ------------------------------------------------------------------------------------------ totals


def count_by_totals(queries: Queries, conditions: Mapping[str, Conditions]) -> float | None:
    """Return a count that the totals of one column determine; None if they do not."""
    if len(conditions) != 1:
        return None
    ((name, wanted),) = conditions.items()
    totals = queries.totals.get(name)
    if totals is None:
        return None
    atoms = queries.column(name).atoms
    missing = all(atoms.takes_missing(condition) for condition in wanted)
    return totals.count(np.append(atoms.covered(wanted).share, float(missing)))


def totals_of_values(totals: TotalsByAtom, values: int, *, missing: bool) -> Float64Array:
    """[values, and the missing one]: the counts of single values; NaN where not stated."""
    known = totals.group_of if totals.missing else totals.group_of[:-1]
    alone = np.bincount(known, minlength=len(totals.counts)) == 1
    places = np.append(np.arange(values), [len(totals.group_of) - 1] if missing else [])
    groups = totals.group_of[places.astype(np.int64)]
    counts: Float64Array = np.where(alone[groups], totals.counts[groups], np.nan)
    return counts
