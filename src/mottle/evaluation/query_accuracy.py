"""How well questions are answered: random counts, asked of the release and of the original."""

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

QUESTIONS = 100
CONDITIONS = (1, 2, 3)  # on quasi-identifiers
MOST_ROWS = 100_000  # to take the questions' values from
MOST_ASKED = 1 << 18  # rows of which questions are asked; of more, a random sample
SELECTIVITY = 0.1  # of a uniformly distributed table


@dataclass(frozen=True)
class QueryAccuracy:
    """Random questions of one kind; None what only the original could tell."""

    question: str  # its kind, for instance "2 conditions"
    asked: int
    expected: float  # median answer
    certain: float  # medians of the bounds
    possible: float
    standard_error: float  # median of error / expected, as the release itself tells
    true_error: float | None = None  # median of |expected - true| / true
    true_error_90: float | None = None  # nine of ten questions are answered better
    within_bounds: float | None = None  # share of true counts between the bounds


def measure_accuracy(release: ReleaseData, original: Original | None) -> list[QueryAccuracy]:
    """Answer fixed random questions, the same for everybody who has the release.

    Their values are those of one table drawn from the release, so that they tell nothing else.
    A large release answers by a sample of its records; beside the original, by all of them. No
    questions are asked about sets of items.
    """
    release = without_sets(release)
    some = first_rows(release, MOST_ASKED)
    asked = Queries.of(some)
    questions = _questions(some, asked)
    together = [where for wheres in questions.values() for where in wheres]
    true = None
    if original is None or release.num_rows <= MOST_ASKED:
        answers = _scaled(asked.counts(together), release.num_rows / max(asked.records, 1))
    else:
        tables = release.tables(MOST_ASKED)
        answers = _added(Queries.of(part_of(release, table)).counts(together) for table in tables)
    if original is not None:
        true = _added(Queries.of(table).counts(together) for table in original.tables()).expected
    found, first = [], 0
    for conditions, wheres in questions.items():
        here = slice(first, first + len(wheres))
        first += len(wheres)
        words = f"{conditions} condition{'s' if conditions > 1 else ''}"
        found.append(measured(words, _some(answers, here), None if true is None else true[here]))
    return found


def _questions(release: ReleaseData, asked: Queries) -> dict[int, Sequence[Where]]:
    """Random questions by their number of conditions."""
    world = _some_world(release, asked)
    generalized = [
        column.name
        for column in release.columns
        if column.role is Role.QUASI_IDENTIFYING and _has_values(world, column.name)
    ]
    return {
        conditions: random_counts(
            world,
            generalized,
            None,
            conditions=conditions,
            selectivity=SELECTIVITY,
            number=QUESTIONS,
            seed=conditions,
        )
        for conditions in CONDITIONS
        if conditions <= len(generalized)
    }


def _some_world(release: ReleaseData, asked: Queries) -> pa.Table:
    """A table that the release allows; of a large one, of its first rows."""
    if asked.records > MOST_ROWS:
        release = release.slice(0, MOST_ROWS)
        asked = Queries.of(release)
    return sample(asked, release, 1, 0)[0]


def _has_values(world: pa.Table, name: str) -> bool:
    return bool(world.column(name).null_count < world.num_rows)


def _scaled(answers: Estimates, factor: float) -> Estimates:
    """What a sample's answers let expect of all records; variances add up as counts do."""
    if factor == 1:
        return answers
    return Estimates(
        factor * answers.expected,
        factor * answers.certain,
        factor * answers.possible,
        np.sqrt(factor) * answers.error,
    )


def _added(answers: Iterable[Estimates]) -> Estimates:
    """The answers of all parts together."""
    parts = [(one.expected, one.certain, one.possible, one.error**2) for one in answers]
    expected, certain, possible, variance = np.sum(parts, axis=0)
    return Estimates(expected, certain, possible, np.sqrt(variance))


def _some(answers: Estimates, questions: slice) -> Estimates:
    parts = (answers.expected, answers.certain, answers.possible, answers.error)
    return Estimates(*(part[questions] for part in parts))


def measured(question: str, answers: Estimates, true: NDArray[np.float64] | None) -> QueryAccuracy:
    """Sum up the answers to questions of one kind, beside the truth where that is known."""
    likely = answers.expected >= 1
    relative = answers.error[likely] / answers.expected[likely]
    found = QueryAccuracy(
        question=question,
        asked=len(answers),
        expected=float(np.median(answers.expected)),
        certain=float(np.median(answers.certain)),
        possible=float(np.median(answers.possible)),
        standard_error=float(np.median(relative)) if likely.any() else float("nan"),
    )
    if true is None:
        return found
    some = true > 0
    errors = np.abs(answers.expected - true)[some] / true[some]
    within = (answers.certain <= true) & (true <= answers.possible)
    return replace(
        found,
        true_error=float(np.median(errors)) if some.any() else float("nan"),
        true_error_90=float(np.quantile(errors, 0.9)) if some.any() else float("nan"),
        within_bounds=float(within.mean()),
    )
