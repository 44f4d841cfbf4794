"""Weighted counts, totals and averages agree with every world that a release allows."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle.errors import UsageError
from mottle.queries.aggregates import WeightedSummands
from mottle.queries.cells.cells import Moments
from mottle.queries.engine import Queries

PEOPLE = pa.table(
    {
        "age": [20, 21, 22, 40, 41, 42],
        "pw": [10.0, 20.0, 10.0, 40.0, 50.0, 40.0],
        "income": [1, 2, 3, 4, 5, 9],
    }
)


def made(**roles: object) -> mottle.Release:
    schema = mottle.Schema.of(rest="insensitive", survey_weight="pw", **roles)
    return mottle.anonymize(PEOPLE, schema, mottle.KAnonymity(3), seed=1, method="mondrian")


def test_weights_published_as_they_are_give_exact_totals_of_unchanged_columns():
    release = made(quasi_identifying=["age"])
    assert release.survey_weight == "pw"
    assert release.count(weight="pw").expected == 170
    exact = float(np.dot(PEOPLE["pw"], PEOPLE["income"]))
    assert release.total("income", weight="pw") == mottle.Estimate(exact, exact, exact, 0.0)
    assert release.average("income", weight="pw").expected == pytest.approx(exact / 170)
    row = release.query(
        "SELECT weighted_count(*), weighted_sum(income), weighted_avg(income) AS mean, count(*)"
        " FROM release WHERE age < 30 ORDER BY weighted_count(*)"
    ).to_pylist()[0]
    assert (row["weighted_count"], row["weighted_sum_income"], row["count"]) == (40, 80, 3)
    assert row["mean"] == 2.0


def test_groups_can_be_weighted():
    release = made(quasi_identifying=["age"])
    answer = release.query("SELECT income, weighted_count(*) AS n FROM release GROUP BY income")
    found = dict(zip(answer["income"].to_pylist(), answer["n"].to_pylist(), strict=True))
    assert found == dict(zip([1, 2, 3, 4, 5, 9], PEOPLE["pw"].to_pylist(), strict=True))


def test_generalized_weights_bound_the_weighted_count():
    release = made(quasi_identifying=["age", "pw"])
    found = release.count({"income": [1, 2, 3]}, weight="pw", fit="uniform")
    assert (found.certain, found.possible) == (30, 60)
    assert found.certain <= found.expected <= found.possible


def worlds(cells: list[tuple[list[tuple[float, float]], bool]]) -> list[list[tuple[float, float]]]:
    """Every way to choose a number and a weight for each record; uncertain ones may be out."""
    choices = [
        [[(number, weight)] for number, weight in pairs] + ([] if certain else [[]])
        for pairs, certain in cells
    ]
    return [[pair for record in world for pair in record] for world in product(*choices)]


def test_bounds_and_expectations_are_those_of_all_worlds():
    """Two equally likely numbers and weights per record, and a record that may be out."""
    numbers = [(1.0, 4.0), (-2.0, 3.0), (5.0, 5.0)]
    weights = [(1.0, 2.0), (0.5, 3.0), (2.0, 2.0)]
    likely = np.array([1.0, 0.25, 1.0])

    def moments(pairs: list[tuple[float, float]]) -> Moments:
        low, high = np.array(pairs).T
        return Moments(np.ones(3), (low + high) / 2, (low**2 + high**2) / 2, low, high)

    found = WeightedSummands.of(likely, moments(numbers), moments(weights))
    every = worlds(
        [
            (list(product(pair, weight)), chance == 1.0)
            for pair, weight, chance in zip(numbers, weights, likely, strict=True)
        ]
    )
    totals = [sum(number * weight for number, weight in world) for world in every]
    total, mean = found.total(), found.average()
    assert (total.certain, total.possible) == (min(totals), max(totals))
    means = [np.average([n for n, _ in world], weights=[w for _, w in world]) for world in every]
    assert (mean.certain, mean.possible) == pytest.approx((min(means), max(means)))
    expected = 2.5 * 1.5 + 0.25 * 0.5 * 1.75 + 10
    assert total.expected == pytest.approx(expected)
    variance = (8.5 * 2.5 - 3.75**2) + (0.25 * 6.5 * 4.625 - (0.25 * 0.5 * 1.75) ** 2)
    assert total.error == pytest.approx(np.sqrt(variance))
    assert mean.expected == pytest.approx(expected / (1.5 + 0.25 * 1.75 + 2))


def test_what_cannot_be_weighted_is_refused_by_name():
    queries = Queries.of(pa.table({"a": [1, -1], "w": [1.0, 2.0], "t": ["x", "y"]}))
    with pytest.raises(UsageError, match="negative"):
        queries.total("w", weight="a")
    with pytest.raises(UsageError, match="itself"):
        queries.average("w", weight="w")
    with pytest.raises(UsageError, match="'t'"):
        queries.count(weight="t")
    removed = made(quasi_identifying=["age"], identifying=["pw"])
    assert removed.survey_weight is None
    assert removed.certificate.survey_weight == "pw"
    with pytest.raises(UsageError, match="no survey weight"):
        removed.query("SELECT weighted_count(*) FROM release")


def test_weights_that_are_not_numbers_of_people_are_refused():
    schema = mottle.Schema.of(quasi_identifying=["age"], survey_weight="pw")
    for values, message in (([1.0, -1.0], "negative"), (["a", "b"], "not numbers")):
        with pytest.raises(mottle.DataError, match=message):
            mottle.anonymize(
                pa.table({"age": [1, 2], "pw": values}), schema, mottle.KAnonymity(2), seed=1
            )
