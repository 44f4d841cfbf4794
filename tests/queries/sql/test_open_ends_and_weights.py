"""Expressions neither tell values beyond an open end apart nor forget a survey weight."""

from __future__ import annotations

import pyarrow as pa
import pytest

import mottle
from mottle import Release
from mottle.errors import UsageError


@pytest.fixture(scope="module")
def release() -> Release:
    people = pa.table(
        {
            "age": list(range(20, 100, 2)),
            "sex": ["f", "m"] * 20,
            "income": list(range(40)),
            "pw": [1.0, 2.0] * 20,
        }
    )
    schema = mottle.Schema.of(
        quasi_identifying=["age", "sex"],
        insensitive=["income"],
        survey_weight="pw",
        tops={"age": 90},
    )
    return mottle.anonymize(people, schema, mottle.KAnonymity(2), method="nh", seed=1)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM release WHERE age > 95 OR income > 3",
        "SELECT CASE WHEN age = 94 THEN 1 END AS old, count(*) FROM release GROUP BY old",
        "SELECT sum(age * 2) FROM release",
        "SELECT median(age) FROM release",
        "SELECT stddev(age) FROM release",
    ],
)
def test_values_beyond_an_open_end_are_neither_told_apart_nor_added(
    release: Release, sql: str
) -> None:
    with pytest.raises(UsageError, match="'age'"):
        release.query(sql)


def test_a_code_list_does_not_tell_values_beyond_an_open_end_apart(release: Release) -> None:
    ages = {"ages": pa.table({"age": [20, 94], "name": ["young", "old"]})}
    with pytest.raises(UsageError, match="'age'"):
        release.query(
            "SELECT name, count(*) FROM release JOIN ages USING (age) GROUP BY name",
            tables=ages,
        )


def test_expressions_within_the_limits_are_answered(release: Release) -> None:
    answer = release.query("SELECT count(*) AS n FROM release WHERE age >= 90 OR income < 5")
    (row,) = answer.to_pylist()
    assert row["n_low"] <= 10 <= row["n_high"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT weighted_count(*) FROM release WHERE sex = 'f' OR income > 3",
        "SELECT weighted_sum(income * 2) FROM release",
        "SELECT weighted_count(*), median(income) FROM release",
    ],
)
def test_weights_are_refused_where_they_would_be_ignored(release: Release, sql: str) -> None:
    with pytest.raises(UsageError, match="weighted"):
        release.query(sql)
