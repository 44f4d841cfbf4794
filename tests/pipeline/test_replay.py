"""Replays: the decisions of a run again, from the certificate alone; secret orders do not count."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle import LDiversity, Schema, anonymize
from mottle.audit.decisions import Decision, signature_of_groups
from mottle.pipeline.replay import replay_of

PEOPLE = mottle.datasets.population(200, seed=2).select(["age", "sex", "education"])


@pytest.fixture(scope="module")
def table() -> pa.Table:
    drawn = np.random.default_rng(1).integers(0, 5, PEOPLE.num_rows)
    return PEOPLE.append_column("ill", pa.array([f"illness {value}" for value in drawn]))


@pytest.fixture(scope="module")
def schema(table: pa.Table) -> Schema:
    levels = sorted(set(table.column("education").to_pylist()), reverse=True)
    return Schema.of(
        quasi_identifying=["age", "sex", "education"],
        sensitive=["ill"],
        orders={"education": levels},
        importance={"age": 3.0},
    )


def groups_of(release: mottle.Release) -> bytes:
    graph = release.links.graph
    block = np.empty(graph.records, np.int64)
    block[graph.members] = np.repeat(np.arange(len(graph.sizes)), graph.sizes)
    return signature_of_groups(block, graph.degrees[block])


@pytest.mark.parametrize("method", ["mondrian", "nh", "hilbert", "idistance"])
def test_the_certificate_is_enough_to_make_the_same_groups(table, schema, method, tmp_path: Path):
    """Orders and weights of columns included, and with other secret orders than the run's."""
    release = anonymize(table, schema, LDiversity(2), method=method, seed=7)
    release.save(tmp_path / "out", report=False)
    read = mottle.read_release(tmp_path / "out")
    everybody = np.arange(table.num_rows)
    for replay in (replay_of(table, read), replay_of(table, release, schema=schema)):
        found = replay(everybody)
        assert isinstance(found, Decision)
        assert found.groups == groups_of(release)


def test_worlds_with_equal_values_are_decided_alike_and_others_may_not_be(table, schema):
    release = anonymize(table, schema, LDiversity(2), method="hilbert", seed=7)
    replay = replay_of(table, release)
    everybody = np.arange(table.num_rows)
    ill = table.column("ill").to_pylist()
    same = [row for row, value in enumerate(ill) if value == ill[0]][:2]
    swapped = everybody.copy()
    swapped[same] = same[::-1]
    assert replay(swapped) == replay(everybody)
    assert replay(np.random.default_rng(0).permutation(everybody)) != replay(everybody)


def test_what_depends_on_secret_orders_is_left_out(table, schema):
    release = anonymize(table, schema, LDiversity(2), method="buckets", effort=0, seed=7)
    found = replay_of(table, release)(np.arange(table.num_rows))
    assert found.groups == b""
    assert b"tiers" in found.facts


def test_a_table_that_does_not_fit_is_a_reason(table, schema):
    release = anonymize(table, schema, LDiversity(2), method="mondrian", seed=7)
    assert "cannot be repeated" in replay_of(table.drop_columns(["sex"]), release)
