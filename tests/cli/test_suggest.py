"""``mottle suggest``, ``--max-loss`` and ``--max-risk`` as their users meet them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from command_line import mottle_command, refused, said

import mottle
from mottle.errors import UsageError
from mottle.release.certificate import Certificate

COLUMNS = ("--qi", "age,sex", "--sensitive", "diagnosis", "--rest", "identifying")


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("people") / "people.parquet"
    pq.write_table(mottle.datasets.population(300, seed=1), file)
    return file


def test_suggest_prints_the_command_that_runs_its_advice(people: Path):
    result = mottle_command("suggest", people, *COLUMNS, "--max-loss", "0.05")
    assert result.exit_code == 0, result.output
    found = json.loads(
        mottle_command("suggest", people, *COLUMNS, "--max-loss=0.05", "--json").output
    )
    k = found["guarantee"]["k"]
    assert f"--k {k} -o released" in said(result)
    assert "--max-loss" not in said(result).split("mottle anonymize")[1]


def test_advice_on_values_says_that_it_depends_on_both(people: Path):
    result = mottle_command("suggest", people, *COLUMNS, "--vary", "l", "--max-loss", "0.5")
    assert "depends on quasi-identifiers and sensitive values together" in said(result)


def test_anonymize_chooses_k_within_the_budget_and_says_so(people: Path, tmp_path: Path):
    out = tmp_path / "out"
    result = mottle_command("anonymize", people, *COLUMNS, "--max-loss", "0.05", "-o", out)
    assert result.exit_code == 0, result.output
    certificate = Certificate.from_json((out / "certificate.json").read_text("utf-8"))
    assert certificate.loss <= 0.05
    assert any("was chosen as the strongest" in note for note in certificate.notes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--max-loss", "0.05", "--l", "2"), "chooses k only"),
        (("--max-loss", "0.05", "--k", "3"), "chooses k, so that"),
        (("--max-loss", "2"), "share above 0"),
        (("--max-loss", "0.05", "--memory", "1GB"), "--max-loss needs the whole table"),
        (("--max-risk", "0.09", "--k", "3"), "say the same thing"),
        (("--max-risk", "0.7"), "at most 0.5"),
    ],
)
def test_budgets_and_risks_that_contradict_other_options_are_refused(
    people: Path, tmp_path: Path, options: tuple[str, ...], message: str
):
    result = mottle_command("anonymize", people, *COLUMNS, *options, "-o", tmp_path / "out")
    refused(result, UsageError.exit_code, message)


def test_a_highest_risk_gives_the_least_k_and_says_why_not_one_less(people: Path, tmp_path: Path):
    out = tmp_path / "out"
    result = mottle_command(
        "anonymize", people, *COLUMNS, "--max-risk", "0.09", "--seconds", "0", "-o", out
    )
    assert "k = 12, not 11" in said(result)
    certificate = Certificate.from_json((out / "certificate.json").read_text("utf-8"))
    assert certificate.degree.min == 12
