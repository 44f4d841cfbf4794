"""Methods side by side: every number where it belongs, and a reason where there is none."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

from mottle import BetaLikeness, DataError, KAnonymity, LDiversity, Schema, UsageError, datasets
from mottle.cli.app import app
from mottle.comparison.charts import charts_of
from mottle.comparison.compare import Comparison, ComparisonRow, compare
from mottle.comparison.html import comparison_html
from mottle.evaluation.workloads import QueryError

COLUMNS = ["age", "sex", "workclass", "diagnosis"]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return datasets.population(400, seed=3).select(COLUMNS)


@pytest.fixture(scope="module")
def schema() -> Schema:
    return Schema.of(quasi_identifying=COLUMNS[:3], sensitive=["diagnosis"])


@pytest.fixture(scope="module")
def found(table: pa.Table, schema: Schema) -> Comparison:
    asked = [KAnonymity(4), KAnonymity(8), LDiversity(50), BetaLikeness(2.0)]
    return compare(table, schema, asked, ["hilbert", "mondrian", "privbayes"], seed=1)


def line(found: Comparison, method: str, guarantee: str) -> ComparisonRow:
    (only,) = [
        each
        for each in found.lines
        if each.method == method and each.guarantee.startswith(guarantee)
    ]
    return only


def test_every_method_has_a_line_for_every_guarantee(found: Comparison) -> None:
    assert len(found.lines) == 1 + 4 * 3
    assert found.rows == 300, "a quarter is held out"
    assert found.target == "diagnosis"


def test_stronger_guarantees_lose_more_and_give_away_less(found: Comparison) -> None:
    weak, strong = line(found, "hilbert", "k = 4"), line(found, "hilbert", "k = 8")
    assert 0 < weak.loss < strong.loss
    assert strong.linked < weak.linked <= 1 / 4
    assert strong.linked <= 1 / 8


def test_original_loses_nothing(found: Comparison) -> None:
    original = line(found, "original", "–")
    assert (original.loss, original.query_error) == (0.0, 0.0)
    assert 0 < original.accuracy <= 1


def test_privbayes_takes_part_where_beta_is_asked_for(found: Comparison) -> None:
    private = line(found, "privbayes", "β = 2")
    assert private.guarantee == f"β = 2 (ε = {math.log(3):.2f})"
    assert private.query_error > 0
    assert private.loss is None
    assert "β-likeness only" in line(found, "privbayes", "k = 4").note


def test_privbayes_also_makes_a_target_that_is_neither_known_nor_sensitive(table: pa.Table) -> None:
    told = Schema.of(
        quasi_identifying=["age", "sex"], sensitive=["diagnosis"], insensitive=["workclass"]
    )
    seen = compare(table, told, [BetaLikeness(2.0)], ["privbayes"], target="workclass", seed=1)
    private = line(seen, "privbayes", "β = 2")
    assert private.note == ""
    assert 0 < private.accuracy <= 1


def test_what_cannot_be_done_is_said(found: Comparison) -> None:
    assert "does not give" in line(found, "hilbert", "β = 2").note
    assert "too frequent" in line(found, "mondrian", "ℓ = 50").note


def test_unknown_methods_and_targets_are_refused(table: pa.Table, schema: Schema) -> None:
    with pytest.raises(UsageError, match="Did you mean 'mondrian'"):
        compare(table, schema, [KAnonymity(4)], ["mondrain"])
    with pytest.raises(UsageError, match="no column 'diagnoses'"):
        compare(table, schema, [KAnonymity(4)], ["hilbert"], target="diagnoses")
    with pytest.raises(UsageError, match="nothing to compare"):
        compare(table, schema, [], ["hilbert"])


def test_page_has_a_table_and_a_chart_of_every_measure(found: Comparison) -> None:
    titles = [title for title, _ in charts_of(found)]
    assert "Privacy against use, by k" in titles
    assert "Query error (median), by β" in titles
    html = comparison_html(found)
    assert html.count("<svg") == len(titles)
    assert "<script" not in html
    assert "http" not in html.replace("http-equiv", "").replace("http://www.w3.org/", "")


def test_table_has_a_row_for_every_line(found: Comparison) -> None:
    rows = found.to_arrow()
    assert rows.num_rows == len(found.lines)
    assert np.isclose(rows.column("loss")[1].as_py(), found.lines[1].loss)


# ------------------------------------------------------------------------------ command line


def test_command_prints_and_writes_a_table(table: pa.Table, tmp_path: Path) -> None:
    pyarrow.csv.write_csv(table, tmp_path / "people.csv")
    command = ["compare", str(tmp_path / "people.csv"), "--qi", "age,sex,workclass"]
    command += ["--sensitive", "diagnosis", "--methods", "hilbert,hp", "-o", str(tmp_path / "out")]
    result = CliRunner().invoke(app, [*command, "--k", "3,6"])
    assert result.exit_code == 0, result.output
    assert "hilbert" in result.stdout
    written = pyarrow.csv.read_csv(tmp_path / "out" / "compare.csv")
    assert written.column("method").to_pylist() == ["original"] + ["hilbert", "hp"] * 2
    assert (tmp_path / "out" / "compare.html").read_text("utf-8").startswith("<!DOCTYPE html>")
    again = CliRunner().invoke(app, [*command, "--k", "3"])
    assert again.exit_code == 5, "existing files are not replaced"
    as_json = CliRunner().invoke(app, [*command, "--k", "3", "--overwrite", "--json"])
    assert len(json.loads(as_json.stdout)) == 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "No guarantee is given"),
        (["--k", "5,x"], "'5,x' of --k is not valid"),
        (["--k", "1"], "k = 1 hides nobody"),
        (["--beta", "a"], "'a' of --beta is not valid"),
        (["--k", "5", "--methods", "nix"], "no method 'nix'"),
    ],
)
def test_wrong_options_are_named(table, tmp_path: Path, options: list[str], words: str) -> None:
    pyarrow.csv.write_csv(table, tmp_path / "people.csv")
    command = ["compare", str(tmp_path / "people.csv"), "--qi", "age,sex", "--rest", "insensitive"]
    result = CliRunner().invoke(app, [*command, *options, "-o", str(tmp_path / "out")])
    assert result.exit_code == 2
    assert words in result.output
    assert not (tmp_path / "out").exists()


def test_people_are_counted_and_methods_that_count_rows_say_so() -> None:
    table = datasets.visits(250, seed=2).select(["patient", "age", "sex", "days"])
    schema = Schema.of(quasi_identifying=["age", "sex"], person="patient", rest="insensitive")
    found = compare(table, schema, [KAnonymity(4)], ["nh", "hilbert"])
    _, people, rows = found.lines
    assert people.linked == pytest.approx(1 / 4, abs=0.08)
    assert "'hilbert' counts rows" in rows.note


def test_a_column_that_repeats_is_refused() -> None:
    table = datasets.visits(100, seed=2).select(["patient", "age", "sex"])
    schema = Schema.of(quasi_identifying=["age", "sex"], identifying=["patient"])
    with pytest.raises(UsageError, match="'patient' repeats"):
        compare(table, schema, [KAnonymity(4)], ["nh"])


@pytest.mark.parametrize("module", ["altair", "vl_convert"])
def test_what_draws_charts_is_an_extra_that_is_asked_for_before_anything_runs(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    command = ["compare", "absent.csv", "--qi", "age", "--k", "3", "-o", str(tmp_path / "out")]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 2, result.output
    assert "pip install 'mottle[charts]'" in result.output
    assert not (tmp_path / "out").exists()


def test_values_that_no_release_could_hold_are_refused_first(table: pa.Table) -> None:
    days = pa.array([2**31 - 1] * table.num_rows, pa.int32()).cast(pa.date32())
    odd = table.append_column("born", days)
    schema = Schema.of(quasi_identifying=["age", "born"], rest="identifying")
    with pytest.raises(DataError, match="'born' has dates outside"):
        compare(odd, schema, [KAnonymity(4)], ["hilbert"])


def test_models_take_infinite_numbers_for_missing(table: pa.Table) -> None:
    debts = np.where(np.arange(table.num_rows) % 3 == 0, -np.inf, 1.0)
    odd = table.append_column("debt", pa.array(debts))
    schema = Schema.of(
        quasi_identifying=["age"], sensitive=["diagnosis", "debt"], rest="identifying"
    )
    found = compare(odd, schema, [KAnonymity(4)], ["hilbert"], target="diagnosis")
    assert 0 < line(found, "hilbert", "k = 4").accuracy < 1


def test_error_of_queries_that_nothing_answers_is_not_drawn(
    table: pa.Table, schema: Schema, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown = QueryError(math.nan, math.nan, 500, 500, 500, np.empty(0))
    monkeypatch.setattr("mottle.comparison.compare.query_error", lambda *_: unknown)
    found = compare(table, schema, [KAnonymity(4)], ["hilbert"])
    assert line(found, "hilbert", "k = 4").query_error is None
    assert "<svg" in comparison_html(found)
