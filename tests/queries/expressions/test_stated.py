"""Errors of SQL expressions are those of the same answers asked otherwise, or flagged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle import KAnonymity, Release, Schema
from mottle.queries import Queries
from mottle.queries.conditions import Condition
from mottle.queries.expressions.stated import DISTINCT
from mottle.queries.sql.answer import doubts_of

KNOWN = ["age", "sex", "origin", "workclass", "education"]


@pytest.fixture(scope="module")
def people() -> pa.Table:
    return mottle.datasets.population(2000, seed=6).select([*KNOWN, "diagnosis", "income"])


@pytest.fixture(scope="module")
def release(people: pa.Table) -> Release:
    schema = Schema.of(quasi_identifying=KNOWN, sensitive=["diagnosis"], insensitive=["income"])
    return mottle.anonymize(people, schema, KAnonymity(10), method="nh", seed=1)


def asked(release: Release, value: str, where: str = "true", fit: str = "fitted") -> dict[str, Any]:
    sql = f"SELECT {value} AS n FROM release WHERE {where}"
    (row,) = release.query(sql, fit=fit).to_pylist()
    return dict(row)


WHERE = "age BETWEEN 20 AND 60 AND sex = 'female'"
CONDITIONS = {"age": (20, 60), "sex": "female"}


def test_a_sum_of_ones_is_a_count(release: Release) -> None:
    count = release.count(CONDITIONS)
    assert count.error > 0
    for one, by in ((1, 1.0), (-7, 7.0), (0.5, 0.5)):
        row = asked(release, f"sum(CASE WHEN {WHERE} THEN {one} ELSE 0 END)")
        assert row["n"] == pytest.approx(count.expected * one)
        assert row["n_error"] == pytest.approx(count.error * by)
        assert row["n_reliable"] == count.reliable
    share = asked(release, f"avg(CASE WHEN {WHERE} THEN 1 ELSE 0 END)")
    assert share["n"] == pytest.approx(count.expected / release.num_rows)
    assert share["n_error"] >= 0.5 * count.error / release.num_rows


def test_calculating_with_an_unchanged_column_keeps_its_error(release: Release) -> None:
    total, average = release.total("income", CONDITIONS), release.average("income", CONDITIONS)
    tripled = asked(release, "sum(income * 3)", WHERE)
    assert tripled["n"] == pytest.approx(3 * total.expected)
    assert tripled["n_error"] == pytest.approx(3 * total.error, rel=0.05)  # some incomes miss
    monthly = asked(release, "avg(income / 12)", WHERE)
    assert monthly["n_error"] == pytest.approx(average.error / 12)
    chosen = asked(release, f"sum(CASE WHEN {WHERE} THEN income ELSE 0 END)")
    assert chosen["n_error"] == pytest.approx(tripled["n_error"] / 3)
    assert asked(release, "sum(income * 2 + 1)", "income IS NOT NULL")["n_error"] == 0.0


def test_parts_of_a_case_add_up(release: Release) -> None:
    young, old = "age < 40 AND sex = 'female'", "age >= 40 AND sex = 'female'"
    row = asked(release, f"sum(CASE WHEN {young} THEN income WHEN {old} THEN 2 * income END)")
    parts = [
        asked(release, f"sum(CASE WHEN {young} THEN income ELSE 0 END)")["n_error"],
        asked(release, f"sum(CASE WHEN {old} THEN 2 * income ELSE 0 END)")["n_error"],
    ]
    assert 0.5 * max(parts) < row["n_error"] <= 1.01 * np.hypot(*parts)


def test_an_answer_depends_on_its_own_columns_alone(release: Release) -> None:
    alone = asked(release, "sum(age * 2)", WHERE)
    (row,) = release.query(
        f"SELECT sum(age * 2) AS n, avg(income * 2) AS other FROM release WHERE {WHERE}"
    ).to_pylist()
    assert {name: row[name] for name in alone} == alone
    key = "CASE WHEN age < 40 THEN 'young' ELSE 'old' END"
    apart, together = (
        {
            group["g"]: (group["n"], group["n_error"])
            for group in release.query(
                f"SELECT {key} AS g, sum(age * 2) AS n{more} FROM release GROUP BY g"
            ).to_pylist()
        }
        for more in ("", ", avg(income * 2) AS other, count(DISTINCT diagnosis) AS d")
    )
    assert apart == together


def test_quantiles_are_off_as_counts_below_them(people: pa.Table, release: Release) -> None:
    truth = Queries.of(people)
    held = number = 0
    for workclass in ("retired", "student", "public employee", "private employee"):
        for share in (0.1, 0.25, 0.5, 0.75, 0.9):
            where = f"workclass = '{workclass}' AND sex = 'male'"
            row = asked(release, f"quantile_cont(age, {share})", where)
            conditions = {"workclass": workclass, "sex": "male"}
            below = truth.count({**conditions, "age": (None, row["n"] + 1.96 * row["n_error"])})
            above = truth.count(
                {**conditions, "age": Condition(low=row["n"] - 1.96 * row["n_error"])}
            )
            every = truth.count(conditions).expected
            number += 1
            held += below.expected >= share * (every - 1) and above.expected >= (1 - share) * (
                every - 1
            )
            assert row["n_low"] <= row["n"] <= row["n_high"]
    assert held / number >= 0.85


def test_what_is_not_calibrated_is_flagged(release: Release) -> None:
    distinct = asked(release, "count(DISTINCT origin)", WHERE)
    assert distinct["n_low"] < distinct["n_high"]
    assert distinct["n_reliable"] is False
    assert asked(release, "count(DISTINCT diagnosis)")["n_reliable"] is True
    answer = release.query(
        f"SELECT count(DISTINCT origin) AS n, sum(age * 2) AS s FROM release WHERE {WHERE}"
    )
    assert doubts_of(answer) == [f"n: {DISTINCT}"]
    for value in ("sum(age * 2)", "sum(CASE WHEN age < 40 THEN 1 ELSE 0 END)", "median(age)"):
        assert asked(release, value, WHERE)["n_reliable"] is True
        assert asked(release, value, WHERE, fit="uniform")["n_reliable"] is False


def test_groups_say_why_they_are_unreliable(release: Release) -> None:
    sql = "SELECT origin, education, count(*) AS n FROM release GROUP BY origin, education"
    for more in ("", " HAVING n > 20", " ORDER BY n LIMIT 3"):
        answer = release.query(sql + more)
        flags = answer.column("n_reliable").to_pylist()
        wanted = [] if all(flags) else ["n: the error exceeds a third of the answer"]
        assert doubts_of(answer) == wanted
    assert "does not state" in doubts_of(release.query(sql, fit="uniform"))[0]
