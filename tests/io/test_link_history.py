"""The link file restores graph, assignment and history of a release over time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mottle
from mottle import DataError, KAnonymity, LDiversity, Schema
from mottle.io.link_file import HISTORY
from mottle.io.link_history import read_links

SCHEMA = Schema.of(
    quasi_identifying=["age", "sex"], identifying=["person_id"], sensitive=["diagnosis"]
)


@pytest.fixture(scope="module")
def people():
    return mottle.datasets.population(200, seed=4).select(["person_id", "age", "sex", "diagnosis"])


@pytest.mark.parametrize(
    ("guarantee", "method"),
    [
        (KAnonymity(4), "nh"),
        (KAnonymity(4), "freeform"),
        (KAnonymity(4), "mondrian"),
        (LDiversity(2), "buckets"),
    ],
)
def test_restored_links_are_those_of_the_run(people, tmp_path: Path, guarantee, method) -> None:
    release = mottle.anonymize(people, SCHEMA, guarantee, method=method, same="person_id", seed=1)
    release.save(tmp_path / "release", private=tmp_path / "links", report=False)
    before, after = release.links, read_links(tmp_path / "links")
    assert before is not None
    assert np.array_equal(before.graph.members, after.graph.members)
    assert np.array_equal(before.graph.starts, after.graph.starts)
    assert np.array_equal(before.truth, after.truth)
    assert np.array_equal(before.position_of_row, after.position_of_row)
    for position in range(0, 200, 7):
        assert np.array_equal(before.graph.preimages(position), after.graph.preimages(position))
    assert after.history is not None
    assert after.history.rows.equals(before.history.rows)
    assert np.array_equal(after.history.people, before.history.people)
    assert np.array_equal(after.history.seals, before.history.seals)
    assert dict(after.history.made) == dict(before.history.made)


def test_links_without_a_history_are_refused(people, tmp_path: Path) -> None:
    release = mottle.anonymize(people, SCHEMA, KAnonymity(4), method="nh", seed=1)
    release.save(tmp_path / "release", private=tmp_path / "links", report=False)
    with pytest.raises(DataError, match="does not say who is who"):
        read_links(tmp_path / "links")


def test_a_damaged_history_is_refused(people, tmp_path: Path) -> None:
    release = mottle.anonymize(people, SCHEMA, KAnonymity(4), method="nh", same="person_id", seed=1)
    release.save(tmp_path / "release", private=tmp_path / "links", report=False)
    table = pq.read_table(tmp_path / "links")
    for entry in (HISTORY, HISTORY + b".rows", HISTORY + b".people"):
        broken = table.replace_schema_metadata({**table.schema.metadata, entry: b"nonsense"})
        pq.write_table(broken, tmp_path / "broken")
        with pytest.raises(DataError, match="is not a private link file"):
            read_links(tmp_path / "broken")


def test_links_that_are_no_graph_are_refused(people, tmp_path: Path) -> None:
    """Whatever a link file holds, a further release that continues it gets a named error."""
    release = mottle.anonymize(people, SCHEMA, KAnonymity(4), method="nh", same="person_id", seed=1)
    release.save(tmp_path / "release", private=tmp_path / "links", report=False)
    table = pq.read_table(tmp_path / "links")
    rows = table.to_pydict()
    last = len(people)
    broken = {
        "no rows": {name: [] for name in rows},
        "a record that does not exist": {**rows, "published": [last, *rows["published"][1:]]},
        "an original below 0": {**rows, "original": [-1, *rows["original"][1:]]},
        "nothing is true": {**rows, "true": [False] * len(rows["true"])},
        "everything is true": {**rows, "true": [True] * len(rows["true"])},
        "another order": {**rows, "published": rows["published"][::-1]},
        "an edge less": {name: cells[:-1] for name, cells in rows.items()},
    }
    for what, cells in broken.items():
        pq.write_table(pa.table(cells, schema=table.schema), tmp_path / what)
        with pytest.raises(DataError, match="is not a private link file"):
            read_links(tmp_path / what)
