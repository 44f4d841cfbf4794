"""How well questions are answered: random counts, asked of the release and of the original."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from mottle.release import Release
from mottle.schema import Role
from mottle.utility import Queries
from mottle.utility.workload import random_counts
from mottle.utility.worlds import sample

QUESTIONS = 100
CONDITIONS = (1, 2, 3)  # on quasi-identifiers
MOST_ROWS = 100_000  # to take the questions' values from
SELECTIVITY = 0.1  # of a uniformly distributed table


@dataclass(frozen=True)
class Accuracy:
    """Random questions with so many conditions; None what only the original could tell."""

    conditions: int
    asked: int
    expected: float  # median answer
    standard_error: float  # median of error / expected, as the release itself tells
    true_error: float | None = None  # median of |expected - true| / true
    true_error_90: float | None = None  # nine of ten questions are answered better
    within_bounds: float | None = None  # share of true counts between the bounds


def measure_accuracy(release: Release, asked: Queries, original: Queries | None) -> list[Accuracy]:
    """Answer fixed random questions, the same for everybody who has the release.

    Their values are those of one table drawn from the release, so that they tell nothing else.
    """
    world = _some_world(release, asked)
    generalized = [
        column.name
        for column in release.columns
        if column.role is Role.QUASI_IDENTIFYING and _has_values(world, column.name)
    ]
    return [
        _measure(conditions, world, generalized, asked, original)
        for conditions in CONDITIONS
        if conditions <= len(generalized)
    ]


def _some_world(release: Release, asked: Queries) -> pa.Table:
    """A table that the release allows; of a large one, of its first rows."""
    if asked.records > MOST_ROWS:
        release = release.slice(0, MOST_ROWS)
        asked = Queries.of(release)
    return sample(asked, release, 1, 0)[0]


def _has_values(world: pa.Table, name: str) -> bool:
    return bool(world.column(name).null_count < world.num_rows)


def _measure(
    conditions: int, world: pa.Table, columns: list[str], asked: Queries, original: Queries | None
) -> Accuracy:
    questions = random_counts(
        world,
        columns,
        None,
        conditions=conditions,
        selectivity=SELECTIVITY,
        number=QUESTIONS,
        seed=conditions,
    )
    answers = asked.counts(questions)
    likely = answers.expected >= 1
    relative = answers.error[likely] / answers.expected[likely]
    found = Accuracy(
        conditions=conditions,
        asked=len(answers),
        expected=float(np.median(answers.expected)),
        standard_error=float(np.median(relative)) if likely.any() else float("nan"),
    )
    if original is None:
        return found
    true = original.counts(questions).expected
    some = true > 0
    errors = np.abs(answers.expected - true)[some] / true[some]
    within = (answers.certain <= true) & (true <= answers.possible)
    return Accuracy(
        found.conditions,
        found.asked,
        found.expected,
        found.standard_error,
        true_error=float(np.median(errors)) if some.any() else float("nan"),
        true_error_90=float(np.quantile(errors, 0.9)) if some.any() else float("nan"),
        within_bounds=float(within.mean()),
    )
