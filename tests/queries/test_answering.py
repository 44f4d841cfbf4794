"""Which cells answer: those with the fit to sensitive values only where these are asked about."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle.queries.engine import Queries


@pytest.fixture(scope="module")
def queries() -> Queries:
    """A release whose sensitive values follow its quasi-identifiers."""
    random = np.random.default_rng(4)
    age = random.integers(20, 60, 400)
    town = random.choice(["a", "b", "c", "d", "e"], 400)
    job = np.where(age > 40, "old trade", np.where(town > "c", "young trade", "none"))
    table = pa.table({"age": age, "town": town, "job": job})
    schema = mottle.Schema.of(quasi_identifying=["age", "town"], sensitive=["job"])
    release = mottle.anonymize(table, schema, mottle.KAnonymity(8), method="nh", seed=1)
    return release.queries()


def test_questions_about_generalized_columns_are_those_that_were_calibrated(
    queries: Queries,
) -> None:
    where = {"age": (30, 47), "town": ["a", "d"]}
    plain = queries.unlifted
    assert plain is not queries
    assert queries.count(where) == plain.count(where)
    assert queries.counts([where, where | {"job": "none"}])[0] == plain.count(where)
    assert queries.average("age", {"town": "a"}) == plain.average("age", {"town": "a"})
    ages = {"age": [30, 47]}
    assert queries.group_by(["age", "town"], breaks=ages) == plain.group_by(
        ["age", "town"], breaks=ages
    )


def test_questions_about_sensitive_values_use_the_fit_to_them(queries: Queries) -> None:
    where = {"age": (30, 47), "job": "old trade"}
    lifted, plain = queries.count(where), queries.unlifted.count(where)
    assert lifted.expected != plain.expected
    assert (lifted.certain, lifted.possible) == (plain.certain, plain.possible)
    grouped, without = (
        one.group_by(["age", "job"], breaks={"age": [30, 47]}).column("expected").to_pylist()
        for one in (queries, queries.unlifted)
    )
    assert grouped != without
