"""The command line picks the engine, and refuses what it does not do, before anything is read."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import mottle
from mottle.cli._engine_options import TimeEstimate
from mottle.cli.app import app
from mottle.pipeline.anonymize import Progress

OPTIONS = ["--qi", "age,sex", "--id", "person_id", "--rest", "insensitive", "--k", "5"]


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "people.parquet"
    pq.write_table(mottle.datasets.population(300, seed=2), path)
    return path


def test_memory_picks_streaming(people: Path, tmp_path: Path) -> None:
    folder = str(tmp_path / "out")
    run = ["anonymize", str(people), *OPTIONS, "-o", folder, "--memory", "2GB", "--json"]
    result = CliRunner().invoke(app, run)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["engine"]["name"] == "streaming"
    assert mottle.read_release(folder).table.num_rows == 300


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--memory", "2GB", "--engine", "spark"], "--memory is for"),
        (["--master", "local[2]"], "--engine spark"),
        (["--engine", "steam"], "streaming"),
        (["--memory", "2GB", "--audit", "full"], "mottle audit DATA RELEASE"),
        (["--engine", "spark", "--private", "links.parquet"], "use the engine 'streaming'"),
        (["--memory", "2GB", "--report-examples"], "--internal-report"),
        (["--memory", "2GB", "--method", "mondrian"], "whole table in memory"),
        (["--memory", "lots"], "4GB"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    people: Path, tmp_path: Path, options: list[str], words: str
) -> None:
    run = ["anonymize", str(people), *OPTIONS, "-o", str(tmp_path / "out"), *options]
    result = CliRunner().invoke(app, run)
    assert result.exit_code == 2
    assert words in result.stderr.replace("\n", " ")
    assert not (tmp_path / "out").exists()


def test_an_estimate_counts_only_what_this_run_has_done(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, 30.0])
    monkeypatch.setattr("mottle.cli._engine_options.time.monotonic", lambda: next(now))
    estimate = TimeEstimate()
    assert estimate.of(Progress("chunks", None, 0.5)) == " 50%"
    assert estimate.of(Progress("chunks", None, 0.75)) == " 75%, about 30 s left"
