"""What is published of the calibration depends on cells and quasi-identifiers alone."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mottle
from mottle import KAnonymity, LDiversity, Release, Schema
from mottle.encoding.cover import cover
from mottle.encoding.domain import Codes
from mottle.encoding.encode import encode
from mottle.graph.model import Graph, with_edges
from mottle.pipeline import calibration_sample, streaming
from mottle.pipeline.calibration_sample import CalibrationSample
from mottle.pipeline.chunked import chunk
from mottle.release.certificate import CalibrationFacts
from mottle.release.links import Links
from mottle.release.publish import publish
from mottle.utils.csprng import Secret

KNOWN = ["age", "sex", "origin"]
SECRET = Secret.draw(1)


def people(rows: int = 240, seed: int = 3) -> tuple[pa.Table, Schema]:
    table = mottle.datasets.population(rows, seed=seed).select([*KNOWN, "diagnosis"])
    return table, Schema.of(quasi_identifying=KNOWN, sensitive=["diagnosis"])


def figures(
    release: Release,
    table: pa.Table,
    schema: Schema,
    links: Links,
    codes: Codes,
    most: int = 10_000,
) -> CalibrationFacts | None:
    """The calibration of a release whose assignment and row order are those of ``links``."""
    published, columns, _ = publish(table, schema, codes, cover(links.graph, codes), links, 5)
    drawn = CalibrationSample.of(
        published.select(KNOWN), links.graph, links.position_of_row, codes.matrix, most, SECRET
    )
    return drawn.calibrate(release.certificate, columns, codes.domains)


@pytest.mark.parametrize(
    ("guarantee", "method"),
    [(KAnonymity(5), "freeform"), (KAnonymity(5), "nh"), (LDiversity(2), "buckets")],
)
def test_another_assignment_another_order_and_other_values_give_the_same_figures(
    guarantee: mottle.guarantees.base.Guarantee, method: str
) -> None:
    table, schema = people()
    release = mottle.anonymize(table, schema, guarantee, method=method, effort=0.1, seed=1)
    stated = release.certificate.calibration
    assert stated is not None
    assert release.links is not None
    graph = release.links.graph
    codes = encode(table, schema.covering(table.column_names), "mixed")
    random = np.random.default_rng(1)
    for layer in (0, 1):
        truth = np.concatenate(
            [
                start
                + with_edges(graph).edges[first : first + size * degree].reshape(size, -1)[:, layer]
                for start, first, size, degree in zip(
                    graph.starts[:-1],
                    with_edges(graph).edge_starts[:-1],
                    graph.sizes,
                    graph.degrees,
                    strict=True,
                )
            ]
        ).astype(np.int32)
        links = Links(graph, random.permutation(len(truth)), truth)
        other = table.set_column(
            3, "diagnosis", pa.array(random.permutation(table.column("diagnosis").to_pylist()))
        )
        schema_of_all = schema.covering(table.column_names)
        assert figures(release, other, schema_of_all, links, codes) == stated


def test_all_assignments_of_a_small_graph_give_the_same_figures() -> None:
    """240 people in blocks of 3: all six assignments within each block, in all blocks at once."""
    table, schema = people()
    schema = schema.covering(table.column_names)
    release = mottle.anonymize(table, schema, KAnonymity(3), effort=0, seed=1)
    codes = encode(table, schema, "mixed")
    starts = np.arange(0, 241, 3)
    members = np.argsort(codes.matrix[:, 0], kind="stable").astype(np.int32)
    graph = Graph.rings(members, starts, np.full(80, 3, np.int32))
    found = set()
    for order in permutations(range(3)):
        truth = (np.repeat(starts[:-1], 3) + np.tile(order, 80)).astype(np.int32)
        links = Links(graph, np.random.default_rng(7).permutation(240), truth)
        calibrated = figures(release, table, schema, links, codes)
        assert calibrated is not None
        found.add(str(calibrated))
    assert len(found) == 1


def test_the_numbering_of_the_graph_makes_no_difference() -> None:
    table, schema = people()
    schema = schema.covering(table.column_names)
    release = mottle.anonymize(table, schema, KAnonymity(4), effort=0, seed=1)
    codes = encode(table, schema, "mixed")
    order = np.argsort(codes.matrix[:, 0], kind="stable").astype(np.int32).reshape(60, 4)
    found = []
    for members in (order, order[::-1, ::-1], order[np.random.default_rng(2).permutation(60)]):
        graph = Graph.rings(members.ravel(), np.arange(0, 241, 4), np.full(60, 4, np.int32))
        links = Links(graph, np.arange(240), np.arange(240, dtype=np.int32))
        found.append(figures(release, table, schema, links, codes))
    assert found[0] is not None
    assert found[0] == found[1] == found[2]


def test_a_sample_of_the_records_does_not_look_at_the_assignment_either() -> None:
    table, schema = people(600)
    release = mottle.anonymize(table, schema, KAnonymity(4), effort=0, seed=1)
    schema = schema.covering(table.column_names)
    codes = encode(table, schema, "mixed")
    assert release.links is not None
    graph, order = release.links.graph, release.links.position_of_row
    start_of = np.repeat(graph.starts[:-1], graph.sizes)
    edges = with_edges(graph)
    first = np.repeat(edges.edge_starts[:-1], graph.sizes) + (
        np.arange(600) - start_of
    ) * np.repeat(graph.degrees, graph.sizes)
    found = [
        figures(
            release,
            table,
            schema,
            Links(graph, order, (start_of + edges.edges[first + layer]).astype(np.int32)),
            codes,
            most=150,
        )
        for layer in (0, 1)
    ]
    assert found[0] is not None
    assert found[0].records == 150
    assert found[0] == found[1]


def test_a_sample_as_text_is_the_same_sample() -> None:
    table, schema = people(600)
    release = mottle.anonymize(table, schema, KAnonymity(4), effort=0, seed=1)
    codes = encode(table, schema.covering(table.column_names), "mixed")
    assert release.links is not None
    drawn = CalibrationSample.of(
        release.table.select(KNOWN),
        release.links.graph,
        release.links.position_of_row,
        codes.matrix,
        200,
        SECRET,
    )
    again = CalibrationSample.from_text(drawn.to_text())
    assert again.cells.equals(drawn.cells)
    assert again.degrees == drawn.degrees
    assert np.array_equal(again.codes, drawn.codes)
    assert np.array_equal(again.weights, drawn.weights)
    assert drawn.weights.sum() == pytest.approx(200)
    assert sum(drawn.degrees.values()) == 200


def test_without_totals_or_with_few_records_nothing_is_calibrated() -> None:
    table, schema = people()
    silent = mottle.anonymize(table, schema, KAnonymity(4), effort=0, seed=1, totals=False)
    assert silent.certificate.calibration is None
    assert "calibration" not in silent.certificate.to_dict()
    few = mottle.anonymize(table.slice(0, 99), schema, KAnonymity(4), effort=0, seed=1)
    assert few.certificate.calibration is None
    answer = few.count({"age": (30, 40), "sex": "female"})
    assert not answer.reliable
    assert "does not state" in answer.doubt


def test_the_same_seed_gives_the_same_figures() -> None:
    table, schema = people()
    one, two = (
        mottle.anonymize(table, schema, KAnonymity(4), effort=0, seed=7).certificate.calibration
        for _ in range(2)
    )
    assert one is not None
    assert one == two


@pytest.mark.parametrize("most", [10_000, 200])
def test_a_release_in_chunks_is_calibrated_on_records_of_all_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(chunk, "MOST_RECORDS", most)
    table, schema = people(900)
    pq.write_table(table, tmp_path / "people.parquet")
    streaming.anonymize(
        tmp_path / "people.parquet",
        schema,
        KAnonymity(4),
        tmp_path / "out",
        chunk_rows=300,
        seed=1,
        effort=0,
    )
    release = mottle.read_release(tmp_path / "out")
    stated = release.certificate.calibration
    assert stated is not None
    assert min(most, 900) <= stated.records <= min(most, 900) + 5
    assert "does not state" not in release.count({"age": (30, 50), "sex": "female"}).doubt


def test_originals_weigh_as_much_as_the_drawn_records_that_may_stand_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(calibration_sample, "_MOST_EDGES", 20)  # several parts
    random = np.random.default_rng(1)
    starts = np.array([0, 4, 11, 20])
    codes = np.arange(20, dtype=np.int32)[:, None]  # all are different
    rings = Graph.rings(random.permutation(20).astype(np.int32), starts, np.array([3, 7, 5]))
    rows = random.permutation(20)
    cells = pa.table({"cell": rows})  # by which the drawn records are known
    for graph in (rings, with_edges(rings)):
        drawn = CalibrationSample.of(cells, graph, rows, codes, 12, SECRET)
        expected = np.zeros(20)
        for position in drawn.cells.column("cell").to_pylist():
            preimages = graph.preimages(position)
            expected[graph.members[preimages]] += 1 / len(preimages)
        weights = dict(zip(drawn.codes[:, 0].tolist(), drawn.weights.tolist(), strict=True))
        assert np.allclose([weights.get(original, 0.0) for original in range(20)], expected)
        assert sum(drawn.degrees.values()) == 12
