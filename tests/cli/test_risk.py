"""``mottle risk`` as its users meet it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import mottle_command, refused, said

import mottle
from mottle.errors import UsageError

COLUMNS = ("--qi", "age,sex", "--id", "hh", "--survey-weight", "pw", "--rest", "insensitive")


@pytest.fixture
def case(tmp_path: Path) -> tuple[Path, Path]:
    people = mottle.datasets.population(200, seed=1).select(["age", "sex", "diagnosis"])
    people = people.append_column("pw", pa.array([12.5] * 200))
    people = people.append_column("hh", pa.array([row // 2 for row in range(200)]))
    original, release = tmp_path / "people.parquet", tmp_path / "out"
    pq.write_table(people, original)
    options = ("--k", "3", "--method", "nh", "--seed", "1", "-o", release)
    internal = ("--internal-report", tmp_path / "internal.html")
    assert mottle_command("anonymize", original, *COLUMNS, *options, *internal).exit_code == 0
    return original, release


def test_risks_before_and_after_have_the_names_that_sdcmicro_gives_them(case):
    original, release = case
    result = mottle_command(
        "risk", original, release, "--population", original, "--household", "hh"
    )
    assert result.exit_code == 0, result.output
    for name in ("sample uniques", "individual risk", "hierarchical risk", "k-map", "SUDA", "DIS"):
        assert name in said(result)
    assert "a sample of 2,500 people" in said(result)


def test_json_holds_the_figures_and_values_only_on_request(case):
    original, release = case
    found = json.loads(mottle_command("risk", original, release, "--json").output)
    assert found["figures"]["k"]["after"] >= 3
    assert found["population"] == 2500
    assert "singling_values" not in found
    shown = mottle_command("risk", original, *COLUMNS, "--json", "--show-values")
    assert json.loads(shown.output)["singling_values"]


def test_without_release_or_columns_it_says_what_to_name(case):
    refused(mottle_command("risk", case[0]), UsageError.exit_code, "--qi a,b,c")


def test_the_internal_report_shows_estimates_and_the_published_one_does_not(case):
    original, release = case
    internal = (original.parent / "internal.html").read_text("utf-8")
    assert "expected re-identifications" in internal
    published = (release / "report.html").read_text("utf-8")
    assert "Risk, before and after" in published  # by quasi-identifiers alone
    assert "expected re-identifications" not in published
    assert "weighted_count" in published  # the weight is published
