"""auto picks by rows, k, distinct rows and time, and says why."""

from __future__ import annotations

import pyarrow as pa
import pytest

import mottle
from mottle.guarantees.k_anonymity import KAnonymity
from mottle.methods.auto import expected_seconds
from mottle.schema.model import Schema


def picked(table: pa.Table, k: int, effort: float | None) -> tuple[str, str]:
    schema = Schema.of(quasi_identifying=["age", "sex"], rest="insensitive")
    release = mottle.anonymize(table, schema, KAnonymity(k), effort=effort)
    method = release.certificate.method
    assert method.name == "auto"
    return method.picked, method.because


@pytest.fixture(scope="module")
def people() -> pa.Table:
    return mottle.datasets.population(3000, seed=1).select(["age", "sex", "income"])


def test_ordinary_tables_get_freeform(people: pa.Table) -> None:
    assert picked(people, 10, 1)[0] == "freeform"


def test_tables_that_are_anonymous_already_get_rings_without_loss() -> None:
    table = pa.table({"age": [30, 40] * 10, "sex": ["f", "m"] * 10})
    method, because = picked(table, 10, None)
    assert method == "nh"
    assert "equals at least 9 others" in because


def test_too_little_time_for_matching_gets_rings(people: pa.Table) -> None:
    method, because = picked(people, 1500, 0.5)
    assert method == "nh"
    assert "0.5 s" in because


def test_effort_zero_asks_for_no_refinement_not_for_rings(people: pa.Table) -> None:
    assert picked(people, 10, 0)[0] == "freeform"


def test_expected_time_grows_linearly_with_rows_and_k() -> None:
    # In smaller tables than these, blocks and the time for an edge grow with k.
    assert expected_seconds(100_000, 10) == pytest.approx(2 * expected_seconds(50_000, 10))
    assert expected_seconds(50_000, 19) == pytest.approx(2 * expected_seconds(50_000, 10))
