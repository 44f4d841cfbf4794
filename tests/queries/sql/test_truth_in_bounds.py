"""What DuckDB answers on the original lies within the bounds that the release gives."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
import pytest

import mottle
from mottle.errors import UsageError

REGIONS = pa.table(
    {
        "place": ["Italy", "Germany", "Mexico", "nowhere", None],
        "region": ["Europe", "Europe", "America", "x", "y"],
        "factor": [2, 3, 5, 7, 11],
    }
)
QUERIES = [
    "SELECT count(*) AS n FROM release WHERE age < 30 OR diagnosis <> 'none'",
    "SELECT sum(age * 12 - 5) AS n FROM release WHERE sex = 'female' OR NOT age BETWEEN 30 AND 60",
    "SELECT avg(age / 10) AS n FROM release WHERE diagnosis = 'none' OR age > 70",
    "SELECT median(age) AS n FROM release WHERE sex = 'male' OR age < 40",
    "SELECT quantile_cont(age, 0.9) AS n FROM release",
    "SELECT stddev(age) AS n FROM release WHERE sex = 'male'",
    "SELECT var_pop(age) AS n FROM release WHERE age > 30 OR sex = 'male'",
    "SELECT count(DISTINCT age) AS n FROM release WHERE sex = 'male'",
    "SELECT count(DISTINCT diagnosis) AS n FROM release WHERE age > 80 OR age < 20",
    "SELECT count(*) AS n FROM release LEFT JOIN regions ON origin = place"
    " WHERE region IS NULL OR sex = 'male'",
    "SELECT sum(factor) AS n FROM release JOIN regions r ON r.place = origin WHERE age < 50",
    "SELECT CASE WHEN age < 30 THEN 'young' WHEN age < 60 THEN 'middle' ELSE 'old' END AS g,"
    " count(*) AS n FROM release WHERE sex = 'female' OR diagnosis = 'none' GROUP BY g",
    "SELECT region AS g, sum(CASE WHEN sex = 'male' THEN age ELSE 0 END) AS n FROM release"
    " JOIN regions ON origin = place GROUP BY g",
    "SELECT diagnosis AS g, median(age) AS n FROM release GROUP BY g",
]


@pytest.fixture(scope="module")
def original() -> pa.Table:
    people = mottle.datasets.population(250, seed=4)
    return people.select(["age", "sex", "origin", "diagnosis"])


@pytest.fixture(scope="module")
def releases(original: pa.Table) -> dict[str, mottle.Release]:
    schema = mottle.Schema.of(quasi_identifying=["age", "sex", "origin"], sensitive=["diagnosis"])
    two = mottle.LDiversity(2)
    return {
        "cells": mottle.anonymize(original, schema, mottle.KAnonymity(4), seed=1),
        "two tables": mottle.anonymize(original, schema, two, method="anatomy", seed=1),
    }


def truth(original: pa.Table, sql: str) -> list[dict[str, Any]]:
    with duckdb.connect() as connection:
        connection.register("release", original)
        connection.register("regions", REGIONS)
        return connection.sql(sql).to_arrow_table().to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("kind", ["cells", "two tables"])
def test_truth_lies_within_the_bounds(
    original: pa.Table, releases: dict[str, mottle.Release], kind: str
) -> None:
    for sql in QUERIES:
        answer = releases[kind].query(sql, tables={"regions": REGIONS}).to_pylist()
        found = {row.get("g"): row for row in answer}
        for row in truth(original, sql):
            bounds = found[row.get("g")]
            assert bounds["n_low"] - 1e-6 <= float(row["n"]) <= bounds["n_high"] + 1e-6, sql
            assert bounds["n_low"] <= bounds["n"] <= bounds["n_high"], sql


def test_having_compares_expected_values_or_named_bounds(
    releases: dict[str, mottle.Release],
) -> None:
    release = releases["cells"]
    every = release.query("SELECT diagnosis, count(*) AS n FROM release GROUP BY diagnosis")
    counts = {row["diagnosis"]: row for row in every.to_pylist()}
    middle = sorted(row["n"] for row in counts.values())[len(counts) // 2]

    def kept(having: str) -> set[str]:
        sql = f"SELECT diagnosis, count(*) AS n FROM release GROUP BY diagnosis HAVING {having}"
        return set(release.query(sql).column("diagnosis").to_pylist())

    assert kept(f"count(*) > {middle}") == {one for one in counts if counts[one]["n"] > middle}
    assert kept(f"n >= {middle} OR diagnosis = 'none'") == {
        one for one in counts if counts[one]["n"] >= middle or one == "none"
    }
    certain = release.query(
        "SELECT diagnosis, count(*) AS n FROM release GROUP BY diagnosis"
        " HAVING avg(age) > 1 AND n_low > 0 AND n_error < 1"
    )
    assert certain.num_rows == sum(row["n_low"] > 0 for row in counts.values())
    endings = ("", "_low", "_high", "_error", "_reliable")
    assert certain.column_names == ["diagnosis", *(f"n{ending}" for ending in endings)]


def test_distinct_lists_what_may_occur(releases: dict[str, mottle.Release]) -> None:
    release = releases["cells"]
    answer = release.query(
        "SELECT DISTINCT sex, CASE WHEN age < 40 THEN 1 ELSE 2 END half FROM release"
    )
    endings = ("", "_low", "_high", "_error", "_reliable")
    assert answer.column_names == ["sex", "half", *(f"count{ending}" for ending in endings)]
    assert sum(answer.column("count").to_pylist()) == pytest.approx(250)


def test_code_lists_are_checked(releases: dict[str, mottle.Release]) -> None:
    release = releases["cells"]
    sql = "SELECT count(*) FROM release JOIN codes ON sex = code"
    twice = pa.table({"code": ["male", "male"], "word": ["a", "b"]})
    with pytest.raises(UsageError, match="lists a value twice"):
        release.query(sql, tables={"codes": twice})
    with pytest.raises(UsageError, match="type int64"):
        release.query(
            "SELECT count(*) FROM release JOIN codes ON age = code",
            tables={"codes": twice.slice(0, 1)},
        )
    with pytest.raises(UsageError, match="several tables"):
        release.query(
            "SELECT sex, count(*) FROM release JOIN codes ON age = code GROUP BY sex",
            tables={"codes": pa.table({"code": [1], "sex": ["x"]})},
        )
    with pytest.raises(UsageError, match="another name"):
        release.query(sql, tables={"release": twice})
    with pytest.raises(UsageError, match="one equality"):
        release.query(
            "SELECT count(*) FROM release JOIN codes ON sex > code", tables={"codes": twice}
        )


def test_conditions_on_items_join_with_other_columns() -> None:
    people = mottle.datasets.with_diagnoses(mottle.datasets.population(120, seed=2), seed=2)
    people = people.select(["age", "diagnoses"])
    schema = mottle.Schema.of(quasi_identifying=["age", "diagnoses"])
    release = mottle.anonymize(people, schema, mottle.KAnonymity(3), seed=1)
    sets = people.column("diagnoses").to_pylist()
    item = next(one for held in sets for one in held or ())
    where = f"diagnoses = '{item}' OR age < 30"
    row = release.query(f"SELECT count(*) AS n FROM release WHERE {where}").to_pylist()[0]
    ages = people.column("age").to_pylist()
    count = sum(
        item in (held or ()) or (age is not None and age < 30)
        for held, age in zip(sets, ages, strict=True)
    )
    assert row["n_low"] <= count <= row["n_high"]
