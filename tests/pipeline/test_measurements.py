"""What chunks measured adds up, whether it was kept as text in between or not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import mottle
from mottle import BetaLikeness, KAnonymity, Schema
from mottle.graph.model import Graph
from mottle.guarantees.base import Guarantee
from mottle.pipeline import streaming
from mottle.pipeline.measurements import Measurements


def chunk(sizes: list[int], degrees: list[int]) -> Measurements:
    starts = np.concatenate([[0], np.cumsum(sizes)])
    graph = Graph.rings(np.arange(starts[-1]), starts, np.array(degrees))
    rows = graph.records
    return Measurements.of(
        graph,
        loss_mean=0.5,
        loss_by_column={"q": 0.5},
        degree=(min(degrees), max(degrees)),
        covered={"pairs": 0},
        records=rows,
        within={},
        people={},
        within_caps=True,
        anonymous={},
        draw="closed",
        facts={},
    )


def test_records_by_degree_add_up_over_chunks() -> None:
    parts = [chunk([4, 6, 5], [4, 2, 5]), chunk([7, 9], [2, 9])]
    total = Measurements.total([Measurements.from_json(part.to_json()) for part in parts])
    assert total == Measurements.total(parts)
    assert total.degrees == {4: 4, 2: 6 + 7, 5: 5, 9: 9}
    assert sum(total.degrees.values()) == total.rows == 31
    assert total.degree == (2, 9)


@pytest.mark.parametrize("guarantee", [KAnonymity(6), BetaLikeness(10)])
def test_the_certificate_of_a_release_in_chunks_counts_every_record_once(
    tmp_path: Path, guarantee: Guarantee
) -> None:
    people = mottle.datasets.population(2400, seed=2).select(["age", "sex", "diagnosis"])
    schema = Schema.of(quasi_identifying=["age", "sex"], sensitive=["diagnosis"])
    file = tmp_path / "people.parquet"
    pq.write_table(people, file)
    certificate = streaming.anonymize(
        file, schema, guarantee, tmp_path / "out", chunk_rows=800, seed=1
    ).certificate
    degree = certificate.degree
    assert certificate.engine.chunks > 1
    assert sum(records for _, records in degree.records) == 2400
    assert [listed for listed, _ in degree.records] == sorted(dict(degree.records))
    assert degree.min <= degree.records[0][0]
    assert degree.max == degree.records[-1][0]
