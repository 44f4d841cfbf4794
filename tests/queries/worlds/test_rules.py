"""Published rules hold in every sampled table; hostile ones end with an error."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle import Hierarchy, KAnonymity, Release, Schema
from mottle.errors import DataError, MottleError, SchemaError
from mottle.queries.worlds.rules import broken
from mottle.schema.rules import rules_of

TREE = Hierarchy.from_rows(
    [(city, land, "*") for land, cities in {"N": "abc", "S": "de"}.items() for city in cities]
)
RULES = {
    "children": "if age < 16 then work is missing and grade in ('low', 'none')",
    "back": "if work is missing then age < 16",
    "north": "if place is 'N' then size <= 2.5",
    "south": "if place is 'S' then size > 2.5",
    "grades": "if grade is 'high' then age between 30 and 60",
}


def people(rows: int = 400) -> pa.Table:
    random = np.random.default_rng(1)
    age = random.integers(5, 61, rows)
    north = random.random(rows) < 0.5
    size = np.where(north, random.random(rows) * 2.5, 2.5 + 0.01 + random.random(rows) * 3)
    grade = np.where(age < 16, random.choice(["none", "low"], rows), random.choice(["low"], rows))
    grade = np.where((age >= 30) & (random.random(rows) < 0.5), "high", grade)
    return pa.table(
        {
            "age": age,
            "work": pa.array(random.choice(["x", "y"], rows), mask=age < 16),
            "grade": grade,
            "place": np.where(north, random.choice(list("abc"), rows), random.choice(["d", "e"])),
            "size": size,
        }
    )


def released(rules: dict[str, str], k: int = 8) -> Release:
    schema = Schema.of(
        quasi_identifying=["age", "work", "grade", "place", "size"],
        orders={"grade": ["none", "low", "high"]},
        kinds={"grade": "ordered", "place": "hierarchy"},
        hierarchies={"place": TREE},
        rules=rules,
    )
    return mottle.anonymize(people(), schema, KAnonymity(k), method="mondrian", seed=1)


@pytest.fixture(scope="module")
def release() -> Release:
    return released(RULES)


def with_rules(release: Release, rules: dict[str, str]) -> Release:
    changed = release.certificate.with_changes(rules=rules_of(rules))
    return replace(release, certified=changed)


@pytest.mark.parametrize("fit", ["fitted", "uniform"])
def test_rules_hold_in_every_table_and_would_not_without_them(release: Release, fit: str) -> None:
    """Ranges that a rule divides, missing values, orders and nodes of hierarchies."""
    described = {column.name: column for column in release.columns}
    rules = release.certificate.rules
    for table in release.sample(3, seed=1, fit=fit):
        assert [len(rows) for rows in broken(rules, table, described)] == [0] * len(rules)
    (table,) = with_rules(release, {}).sample(1, seed=1, fit=fit)
    assert sum(len(rows) for rows in broken(rules, table, described)) > 0


def test_a_seed_repeats_tables_that_obey_rules(release: Release) -> None:
    first = release.sample(1, seed=5)[0]
    assert first.equals(release.sample(2, seed=5)[0])
    assert not first.equals(release.sample(1, seed=6)[0])


def test_columns_that_only_move_together_do_move() -> None:
    """Two rules say that a and b are equal: one column at a time could never change."""
    values = [0, 1] * 20
    table = pa.table({"a": values, "b": values})
    schema = Schema.of(
        quasi_identifying=["a", "b"],
        kinds={"a": "category", "b": "category"},
        rules={"there": "if a = 1 then b = 1", "back": "if b = 1 then a = 1"},
    )
    release = mottle.anonymize(table, schema, KAnonymity(40), seed=1)
    ones = [np.mean(drawn.column("a").to_numpy()) for drawn in release.sample(30, seed=1)]
    assert 0.4 < np.mean(ones) < 0.6
    assert all(drawn.column("a").equals(drawn.column("b")) for drawn in release.sample(3, seed=2))


HOSTILE = {
    "contradiction": {"r": "age < 10", "s": "age > 50"},
    "impossible": {"r": "work = 'nowhere'"},
    "entangled": {
        str(n): f"if age > {n} then (grade = 'low' or size < {n % 5}) and place is not 'N'"
        for n in range(6, 60)
    },
    "long": {
        str(n): " and ".join(f"(age != {v} or size != {v}.5)" for v in range(n, n + 25))
        for n in range(100)
    },
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_rules_end_with_an_error_in_bounded_work(release: Release, name: str) -> None:
    with pytest.raises(DataError):
        with_rules(release, HOSTILE[name]).sample(1, seed=1)


@pytest.mark.parametrize(
    "rules",
    [{"r": "nothing = 1"}, {"r": "age < 'x'"}, {"r": "place is 'W'"}, {"r": "work < 'b'"}],
)
def test_rules_that_do_not_fit_the_columns_are_named(
    release: Release, rules: dict[str, str]
) -> None:
    with pytest.raises(MottleError, match=r"'r'|does not fit its column"):
        with_rules(release, rules).sample(1, seed=1)


def test_a_received_rule_about_another_column_is_refused() -> None:
    table = people(60).append_column("ill", pa.array(["yes", "no"] * 30))
    schema = Schema.of(quasi_identifying=["age"], sensitive=["ill"], rest="identifying")
    release = mottle.anonymize(table, schema, KAnonymity(3), seed=1)
    with pytest.raises(SchemaError, match="sensitive"):
        with_rules(release, {"r": "if age < 30 then ill = 'no'"}).sample(1, seed=1)
