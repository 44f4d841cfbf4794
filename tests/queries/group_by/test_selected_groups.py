"""Expected counts of selected groups are those of a group-by over all groups."""

from __future__ import annotations

import pyarrow as pa
import pytest

import mottle
from mottle import Release
from mottle.queries import Queries
from mottle.queries.group_by.selected_groups import expected_counts

COLUMNS = ["sex", "size", "diagnosis"]


@pytest.mark.parametrize("fit", ["uniform", "fitted"])
def test_selected_groups_have_the_counts_of_a_group_by(release: Release, fit: str) -> None:
    queries = Queries.of(release, fit)
    table = queries.group_by(COLUMNS)
    chosen = table.take(pa.array(range(table.num_rows - 1, -1, -2)))
    found = expected_counts(queries, chosen.select(COLUMNS))
    assert found == pytest.approx(chosen.column("expected").to_numpy())


def test_groups_with_values_that_do_not_occur_count_nothing(release: Release) -> None:
    groups = pa.table({"diagnosis": ["none such", "flu"], "size": ["M", "M"]})
    found = expected_counts(Queries.of(release), groups)
    assert found[0] == 0
    assert found[1] == pytest.approx(release.count({"diagnosis": "flu", "size": "M"}).expected)


def test_no_groups_have_no_counts(release: Release) -> None:
    queries = Queries.of(release)
    nothing = queries.group_by(["sex"]).slice(0, 0).select(["sex"])
    assert len(expected_counts(queries, nothing)) == 0


def test_selected_groups_of_two_tables_have_the_counts_of_a_group_by() -> None:
    people = mottle.datasets.population(200, seed=3).select(["age", "sex", "diagnosis"])
    schema = mottle.Schema.of(quasi_identifying=["age", "sex"], sensitive=["diagnosis"])
    release = mottle.anonymize(people, schema, mottle.LDiversity(2), method="anatomy", seed=1)
    queries = Queries.of(release)
    table = queries.group_by(["sex", "diagnosis"])
    found = expected_counts(queries, table.select(["sex", "diagnosis"]))
    assert found == pytest.approx(table.column("expected").to_numpy())
