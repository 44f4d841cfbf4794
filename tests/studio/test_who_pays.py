"""Losses by subgroup from files are those that the run itself measures."""

from __future__ import annotations

import pytest

import mottle
from mottle.report.subgroups import subgroup_losses
from mottle.studio.who_pays import who_pays


@pytest.mark.parametrize("method", ["freeform", "nh", "classic"])
def test_losses_by_subgroup_from_files_are_those_of_the_run(method, tmp_path) -> None:
    table = mottle.datasets.population(200, seed=1).select(["age", "sex", "diagnosis"])
    schema = mottle.Schema.of(quasi_identifying=["age", "sex"], sensitive=["diagnosis"])
    made = mottle.anonymize(table, schema, mottle.KAnonymity(4), method=method, effort=0, seed=1)
    made.save(tmp_path / "out", private=tmp_path / "links.parquet")
    read = mottle.read_release(tmp_path / "out")
    found = who_pays(read, table, tmp_path / "links.parquet")
    assert found == subgroup_losses(made, table)
    assert found
    assert who_pays(read, table.slice(1), tmp_path / "links.parquet") == []
    assert who_pays(read, table, tmp_path / "none.parquet") == []
