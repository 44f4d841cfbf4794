"""The commands query and sample."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import mottle
from mottle import Release
from mottle.cli.app import app
from mottle.queries.engine import Queries


@pytest.fixture(scope="module")
def folder(release: Release, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("release")
    release.save(path)
    return str(path)


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return result.output


def test_query_shows_expected_values_and_bounds(folder: str, release: Release) -> None:
    shown = run("query", folder, "SELECT size, count(*) FROM release GROUP BY size")
    assert "count between" in shown
    assert "±" in shown
    assert "the true value is between" in shown.replace("\n", " ")


def test_query_prints_json_and_csv(folder: str, release: Release) -> None:
    sql = "SELECT count(*) AS n FROM release WHERE age BETWEEN 30 AND 40"
    found = release.count({"age": (30, 40)})
    (row,) = json.loads(run("query", folder, sql, "--json"))
    assert (row["n"], row["n_low"], row["n_high"]) == (
        pytest.approx(found.expected),
        found.certain,
        found.possible,
    )
    (line,) = csv.DictReader(io.StringIO(run("query", folder, sql, "--csv")))
    assert float(line["n_error"]) == pytest.approx(found.error)
    fitted = json.loads(run("query", folder, sql, "--json", "--fit", "fitted"))[0]
    assert fitted["n_low"] == found.certain


def test_plain_query_shows_cells(folder: str) -> None:
    shown = run("query", folder, "SELECT age.lo AS low FROM release LIMIT 1", "--plain")
    assert "low" in shown
    assert "{" in run("query", folder, "SELECT age FROM release LIMIT 1", "--plain", "--csv")


def test_query_errors_name_the_way_out(folder: str) -> None:
    output = run("query", folder, "SELECT count(*) FROM release WHERE agee > 3", code=2)
    assert "Did you mean 'age'?" in output
    run("query", folder + "/nowhere", "SELECT count(*) FROM release", code=5)


def test_query_points_out_values_that_occur_nowhere(folder: str) -> None:
    output = run("query", folder, "SELECT count(*) FROM release WHERE diagnosis = 'flue'")
    assert "No cell of column 'diagnosis' holds 'flue'. Did you mean 'flu'?" in output


def test_sample_writes_tables(folder: str, tmp_path: Path) -> None:
    target = tmp_path / "worlds"
    shown = run("sample", folder, "-o", str(target), "-m", "2", "--seed", "1")
    assert "sample-1.csv, sample-2.csv" in shown
    assert "combine" in shown
    rows = mottle.read_table(target / "sample-1.csv")
    assert rows.num_rows == 40
    run("sample", folder, "-o", str(target), "-m", "1", code=5)
    run("sample", folder, "-o", str(target), "-m", "1", "--format", "parquet", "--seed", "1")
    assert pq.read_table(target / "sample-1.parquet").num_rows == 40
    run("sample", folder, "-o", str(target), "--format", "xlsx", code=2)


def test_query_prepares_the_release_once_with_the_fit_that_is_asked_for(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    original = Queries.of.__func__  # type: ignore[attr-defined]

    def counting(cls: type[Queries], source: object, fit: str = "fitted") -> Queries:
        made.append(fit)
        return original(cls, source, fit)

    monkeypatch.setattr(Queries, "of", classmethod(counting))
    run("query", folder, "SELECT count(*) FROM release WHERE age > 30", "--fit", "uniform")
    assert made == ["uniform"]


def test_a_release_is_prepared_for_questions_once(release: Release) -> None:
    assert release.queries() is release.queries(fit="fitted")
    assert release.queries(fit="uniform").count().expected == release.count().expected


def test_query_joins_code_lists_and_prints_macros(
    folder: str, release: Release, tmp_path: Path
) -> None:
    codes = tmp_path / "codes.csv"
    codes.write_text("code,word\nS,small\nM,medium\nL,large\n")
    sql = "SELECT word, count(*) AS n FROM release JOIN codes ON size = code GROUP BY word"
    rows = json.loads(run("query", folder, sql, "--with", f"codes={codes}", "--json"))
    small = next(row for row in rows if row["word"] == "small")
    assert small["n"] == pytest.approx(release.count({"size": "S"}).expected)
    assert "--with codes=FILE.csv" in run("query", folder, sql, code=2)
    assert "--with codes=codes.csv" in run("query", folder, sql, "--with", "codes.csv", code=2)
    assert "CREATE OR REPLACE MACRO cell_contains" in run("query", "--macros")
    assert "query is missing" in run("query", folder, code=2)


def test_answers_have_the_digits_that_their_error_allows(folder: str) -> None:
    shown = run("query", folder, "SELECT avg(age) AS mean FROM release")
    value, error = re.search(r"([\d.]+) ± ([\d.]+)", shown).groups()  # type: ignore[union-attr]
    assert len(value.partition(".")[2]) == len(error.partition(".")[2])
    assert len(error.replace(".", "").lstrip("0")) == 2 or float(error) >= 10
