"""The accuracy of random count queries on a release, compared with the original if available."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mottle.evaluation.original_rows import Original
from mottle.evaluation.release_rows import first_rows, part_of, without_sets
from mottle.evaluation.workloads import random_counts
from mottle.queries import Estimates, Queries, Where
from mottle.queries.sampling import sample
from mottle.release.data import ReleaseData
from mottle.schema.model import Role

QUERIES = 100  # random queries for each number of conditions
CONDITIONS = (1, 2, 3)  # numbers of conditions, on quasi-identifiers
MOST_QUERIED_ROWS = 1 << 14  # rows up to which all are queried; a random sample above
SELECTIVITY = 0.1  # share of records that a query selects if values are uniformly distributed


@dataclass(frozen=True)
class QueryAccuracy:
    """The accuracy of random queries of one kind.

    The last three measures need the original, and are None without it.
    """

    question: str  # the kind of query, for instance "2 conditions"
    query_count: int
    expected: float  # median answer
    certain: float  # median lower bound
    possible: float  # median upper bound
    standard_error: float  # median of error / expected, as stated by the release itself
    true_error: float | None = None  # median of |expected - true| / true
    true_error_90: float | None = None  # 90 % quantile of the same
    within_bounds: float | None = None  # share of true counts between the bounds


def measure_accuracy(release: ReleaseData, original: Original | None) -> list[QueryAccuracy]:
    """Answer fixed random queries, the same for everybody who has the release.

    Their values are taken from one table drawn from the release, so that they reveal nothing else.
    A large release is queried by a sample of its records; if the original is available, by all of
    them. Columns of item sets are not queried.
    """
    release = without_sets(release)
    sampled = first_rows(release, MOST_QUERIED_ROWS)
    queries = Queries.of(sampled)
    workload = _workload(sampled, queries)
    all_wheres = [where for wheres in workload.values() for where in wheres]
    true = None
    if original is None or release.num_rows <= MOST_QUERIED_ROWS:
        answers = _scale(queries.counts(all_wheres), release.num_rows / max(queries.records, 1))
    else:
        tables = release.tables(MOST_QUERIED_ROWS)
        parts = (part_of(release, table) for table in tables)
        answers = _add(Queries.of(part).counts(all_wheres) for part in parts)
    if original is not None:
        true = _add(Queries.of(table).counts(all_wheres) for table in original.tables()).expected
    found, first = [], 0
    for conditions, wheres in workload.items():
        here = slice(first, first + len(wheres))
        first += len(wheres)
        kind = f"{conditions} condition{'s' if conditions > 1 else ''}"
        true_here = None if true is None else true[here]
        found.append(summarize_answers(kind, _slice(answers, here), true_here))
    return found


def _workload(release: ReleaseData, queries: Queries) -> dict[int, Sequence[Where]]:
    """Random queries by their number of conditions."""
    world = _draw_world(release, queries)
    generalized = [
        column.name
        for column in release.columns
        if column.role is Role.QUASI_IDENTIFYING and _has_values(world, column.name)
    ]
    listed = [
        column.name
        for column in release.columns
        if column.order is not None or column.hierarchy is not None
    ]
    return {
        conditions: random_counts(
            world,
            generalized,
            None,
            conditions=conditions,
            selectivity=SELECTIVITY,
            number=QUERIES,
            seed=conditions,
            listed=listed,
        )
        for conditions in CONDITIONS
        if conditions <= len(generalized)
    }


def _draw_world(release: ReleaseData, queries: Queries) -> pa.Table:
    """Draw a possible world of the release, from which the values of queries are taken."""
    return sample(queries, release, 1, 0, pairs=False)[0]


def _has_values(world: pa.Table, name: str) -> bool:
    return bool(world.column(name).null_count < world.num_rows)


def _scale(answers: Estimates, factor: float) -> Estimates:
    """Extrapolate a sample's answers to all records; variances scale as counts do."""
    if factor == 1:
        return answers
    return Estimates(
        factor * answers.expected,
        factor * answers.certain,
        factor * answers.possible,
        np.sqrt(factor) * answers.error,
    )


def _add(answers: Iterable[Estimates]) -> Estimates:
    """Add up the answers of all parts."""
    parts = [(one.expected, one.certain, one.possible, one.error**2) for one in answers]
    expected, certain, possible, variance = np.sum(parts, axis=0)
    return Estimates(expected, certain, possible, np.sqrt(variance))


def _slice(answers: Estimates, queries: slice) -> Estimates:
    """The answers to some of the queries."""
    parts = (answers.expected, answers.certain, answers.possible, answers.error)
    expected, certain, possible, error = (part[queries] for part in parts)
    return Estimates(expected, certain, possible, error)


def summarize_answers(
    question: str, answers: Estimates, true: NDArray[np.float64] | None
) -> QueryAccuracy:
    """Summarize the answers to queries of one kind, compared with the truth where it is known."""
    likely = answers.expected >= 1
    relative = answers.error[likely] / answers.expected[likely]
    found = QueryAccuracy(
        question=question,
        query_count=len(answers),
        expected=float(np.median(answers.expected)),
        certain=float(np.median(answers.certain)),
        possible=float(np.median(answers.possible)),
        standard_error=float(np.median(relative)) if likely.any() else float("nan"),
    )
    if true is None:
        return found
    nonzero = true > 0
    errors = np.abs(answers.expected - true)[nonzero] / true[nonzero]
    within = (answers.certain <= true) & (true <= answers.possible)
    return replace(
        found,
        true_error=float(np.median(errors)) if nonzero.any() else float("nan"),
        true_error_90=float(np.quantile(errors, 0.9)) if nonzero.any() else float("nan"),
        within_bounds=float(within.mean()),
    )
