"""The commands evaluate and draw-values."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest
from command_line import mottle_command, refused, said

import mottle
from mottle.datasets.sensitive_values import zipf_shares
from mottle.encoding.encode import encode
from mottle.io.link_history import links_of_file
from mottle.loss.graph_measures import measure_graph
from mottle.schema.model import Representation

SCHEMA = mottle.Schema.of(quasi_identifying=["age", "sex"], sensitive=["diagnosis"])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, mottle.Release]]:
    """A table, and rings and groups over the same partitions with their links."""
    folder = tmp_path_factory.mktemp("made")
    people = mottle.datasets.population(200, seed=2).select(["age", "sex", "diagnosis"])
    pa.csv.write_csv(people, folder / "people.csv")
    releases = {}
    for method in ("nh", "hp"):
        release = mottle.anonymize(people, SCHEMA, mottle.KAnonymity(4), method=method, seed=1)
        release.save(folder / method, private=folder / f"{method}.links")
        releases[method] = release
    return folder, releases


def measured(folder: Path, *options: object) -> dict[str, object]:
    result = mottle_command("evaluate", folder / "people.csv", folder / "nh", *options, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def test_measures_from_files_are_those_of_the_graph(made):
    folder, releases = made
    found = measured(
        folder, "--private", folder / "nh.links", "--class", "diagnosis", "--queries", 20
    )
    people = pa.csv.read_csv(folder / "people.csv")
    codes = encode(people, SCHEMA, Representation.RANGE)
    graph = releases["nh"].links.graph
    expected = measure_graph(graph, codes, 4, people["diagnosis"])
    assert found["discernibility"] == expected.discernibility == 800
    assert found["average_class_size"] == pytest.approx(expected.average_class_size)
    assert found["entropy"] == pytest.approx(expected.entropy)
    assert found["classification"] == pytest.approx(expected.classification)
    assert found["gcp"] == pytest.approx(releases["nh"].gcp)


def test_definition_3_the_cube_and_prefix_counts_from_the_command_line(made):
    folder, _ = made
    found = measured(
        folder,
        *("--private", folder / "nh.links"),
        *("--against", folder / "hp", "--against-private", folder / "hp.links"),
        *("--cube", 1, "--prefix", "age", "--singles", "sex", "--queries", 20, "--fit", "uniform"),
    )
    assert found["ordering"] == "better"
    assert found["better"] > 0
    assert found["worse"] == 0
    assert found["divergence"] > 0
    assert found["prefix_error"] >= 0
    shown = mottle_command("evaluate", folder / "people.csv", folder / "nh", "--queries", 20)
    assert "random counts" in said(shown)
    assert "DM" not in said(shown)


def test_what_needs_links_says_so(made):
    folder, _ = made
    place = folder / "people.csv", folder / "nh"
    refused(mottle_command("evaluate", *place, "--class", "sex"), 2, "--private")
    refused(mottle_command("evaluate", *place, "--against", folder / "hp"), 2, "link files of both")
    refused(mottle_command("evaluate", *place, "--singles", "sex"), 2, "--prefix")
    refused(mottle_command("evaluate", *place, "--cube", 9), 2, "no level 9")


def test_links_are_restored_from_any_link_file(made):
    folder, releases = made
    for method, release in releases.items():
        links = links_of_file(folder / f"{method}.links")
        assert links.original_of_row.tolist() == release.links.original_of_row.tolist()
        edges, restored = (
            pa.Table.from_batches(each.batches()).sort_by(
                [("published", "ascending"), ("original", "ascending")]
            )
            for each in (release.links, links)
        )
        assert edges.equals(restored)


def test_drawn_values_follow_zipf_and_replace_the_column(made, tmp_path: Path):
    folder, _ = made
    out = tmp_path / "zipf.csv"
    typed = ("draw-values", folder / "people.csv", "--column", "diagnosis", "--values", 3)
    result = mottle_command(*typed, "--distribution", "zipf", "--theta", 1, "-o", out)
    assert result.exit_code == 0, result.output
    table = pa.csv.read_csv(out)
    assert table.column_names == ["age", "sex", "diagnosis"]
    found = table["diagnosis"].value_counts().to_pylist()
    counts = {each["values"]: each["counts"] for each in found}
    for rank, share in enumerate(zipf_shares(3, 1.0), start=1):
        assert counts[f"v{rank}"] / 200 == pytest.approx(share, abs=0.12)
    refused(mottle_command(*typed, "-o", out), 5, "zipf.csv")
    refused(mottle_command(*typed, "-o", tmp_path / "values.xlsx"), 2, ".csv or .parquet")
    refused(
        mottle_command(*typed, "--distribution", "normal", "-o", tmp_path / "a.csv"), 2, "normal"
    )
