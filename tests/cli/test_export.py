"""The command ``mottle export``: files of other programs, and databases."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

import mottle
from mottle import KAnonymity, Schema
from mottle.cli.app import app


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["export", *(str(each) for each in arguments)])
    return result.exit_code, result.output


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "out"
    table = mottle.datasets.population(60, seed=5).select(["age", "sex"])
    schema = Schema.of(quasi_identifying=["age", "sex"])
    mottle.anonymize(table, schema, KAnonymity(3), seed=1).save(folder)
    return folder


def test_a_release_that_is_there_is_written_into_a_database(released: Path, tmp_path: Path) -> None:
    place = f"duckdb:///{tmp_path}/open.duckdb"
    code, text = run(released, "--to", place, "--to-table", "people")
    assert (code, text.strip()) == (0, "Wrote people, people_readable, people_certificate.")
    with duckdb.connect(str(tmp_path / "open.duckdb")) as database:
        rows = database.execute("SELECT age, sex FROM people_readable").fetchall()
    lines = (released / "release.csv").read_text().splitlines()[1:]
    assert sorted(",".join(row) for row in rows) == sorted(lines)


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--to", "x.duckdb"],
        ["-o", "x.xlsx", "--to", "x.duckdb", "--to-table", "t"],
        ["--to", "x.duckdb", "--to-table", "t", "--like", "x.sav"],
    ],
)
def test_exactly_one_destination_is_needed(released: Path, options: list[str]) -> None:
    assert run(released, *options)[0] == 2
