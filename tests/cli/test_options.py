"""Options are declared once: in groups that commands share, each shown in one of the panels."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path

import pyarrow.csv
import pytest
from typer.testing import CliRunner

import mottle
from mottle.assignment import WALKS
from mottle.audit import registered as adversaries
from mottle.audit.run import SAMPLE
from mottle.cli import commands
from mottle.cli._command_group import COMMANDS
from mottle.cli._option_groups import PANELS
from mottle.cli.app import app
from mottle.cli.commands import base
from mottle.cli.options.columns import ColumnOptions
from mottle.cli.options.data import SourceOptions
from mottle.cli.options.output import EffortOptions
from mottle.comparison.compare import PRIVBAYES
from mottle.errors import UsageError
from mottle.queries.engine import FITS
from mottle.release.certificate import AUDITS

DECLARED = {name: getattr(commands, declared) for name, (declared, _) in COMMANDS.items()}


def parameters(command: str) -> dict[str, inspect.Parameter]:
    return {each.name: each for each in DECLARED[command].parameters()}


def help_of(command: str) -> str:
    result = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "80"})
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("command", list(COMMANDS))
def test_every_option_stands_in_one_of_the_panels(command: str) -> None:
    shown = help_of(command)
    titles = re.findall(r"╭─ (\w+) ─", shown)
    assert set(titles) - {"Arguments"} <= set(PANELS)
    assert len(titles) == len(set(titles))
    assert titles == ["Arguments"] * ("Arguments" in titles) + [
        panel for panel in PANELS if panel in titles
    ]
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    "command", ["anonymize", "audit", "compare", "inspect", "lint-hierarchy", "report"]
)
def test_all_commands_that_read_a_table_read_it_alike(command: str) -> None:
    assert {each.name for each in SourceOptions.parameters()} <= set(parameters(command))


@pytest.mark.parametrize("command", ["anonymize", "audit", "compare"])
def test_all_commands_that_take_columns_take_the_same(command: str) -> None:
    assert {each.name for each in ColumnOptions.parameters()} <= set(parameters(command))


def test_names_in_help_are_those_of_the_library() -> None:
    assert list(adversaries()) == base.ADVERSARIES
    anonymize = parameters("anonymize")
    assert anonymize["audit"].default == AUDITS[0]
    assert anonymize["walk"].default in WALKS
    assert ", ".join(WALKS) in " ".join(help_of("anonymize").replace("│", " ").split())
    assert parameters("audit")["sample"].default == SAMPLE
    assert parameters("query")["fit"].default == parameters("sample")["fit"].default == FITS[0]
    assert " or ".join(FITS) in help_of("query")
    assert PRIVBAYES in help_of("compare")
    for name in parameters("compare")["methods"].default.split(","):
        assert name in mottle.methods.registered()


@pytest.mark.parametrize("command", list(COMMANDS))
def test_every_command_has_a_module_that_runs_it(command: str) -> None:
    module = __import__(DECLARED[command].module, fromlist=["run"])
    assert callable(module.run)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["anonymize", "x", "--l", "2.5"], "'--l' / '-l': It must be a whole number."),
        (["anonymize", "x", "--beta", "much"], "'--beta': It must be a number."),
        (["demo", "--rows", "2e3"], "'--rows': It must be a whole number."),
    ],
)
def test_numbers_are_refused_in_plain_words(arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert words in re.sub(r"[\s│]+", " ", result.output)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    table = mottle.datasets.population(200, seed=3)
    pyarrow.csv.write_csv(table.select(["age", "education", "income", "diagnosis"]), path)
    return path


def test_compare_takes_kinds_weights_orders_and_bins(people: Path, tmp_path: Path) -> None:
    order = ",".join(mottle.datasets.EDUCATION)
    result = CliRunner().invoke(
        app,
        [
            "compare",
            str(people),
            *("--qi", "age,education", "--sensitive", "income,diagnosis"),
            *("--kind", "age=number", "--importance", "age=2", "--order", f"education={order}"),
            *("--bins", "income=4", "--methods", "hilbert", "--k", "4"),
            *("-o", str(tmp_path / "out"), "--json"),
        ],
    )
    assert result.exit_code == 0, result.output
    original, hilbert = json.loads(result.stdout)
    assert (original["method"], hilbert["method"]) == ("original", "hilbert")
    assert hilbert["note"] == ""
    columns = ["--qi", "age", "--rest", "insensitive", "--kind", "age=numbr"]
    wrong = CliRunner().invoke(
        app, ["compare", str(people), *columns, "--k", "4", "-o", str(tmp_path / "other")]
    )
    assert wrong.exit_code == 2
    assert "Did you mean 'number'?" in wrong.output


def test_audit_takes_bins_without_a_file(people: Path, tmp_path: Path) -> None:
    columns = ["--qi", "age,education", "--sensitive", "income", "--id", "diagnosis"]
    columns += ["--bins", "income=4"]
    out = str(tmp_path / "out")
    made = CliRunner().invoke(app, ["anonymize", str(people), *columns, "--l", "2", "-o", out])
    assert made.exit_code == 0, made.output
    audited = CliRunner().invoke(app, ["audit", str(people), out, *columns, "--json"])
    assert audited.exit_code == 0, audited.output
    assert json.loads(audited.stdout)["passed"]


def test_the_original_of_a_report_may_lie_in_a_database(people: Path, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    database = tmp_path / "people.duckdb"
    with duckdb.connect(str(database)) as connection:
        connection.execute(f"CREATE TABLE people AS SELECT * FROM '{people}'")
    source = [str(database), "--table", "people"]
    columns = ["--qi", "age,education", "--rest", "insensitive"]
    out, internal = str(tmp_path / "out"), str(tmp_path / "internal.html")
    made = CliRunner().invoke(app, ["anonymize", *source, *columns, "--k", "3", "-o", out])
    assert made.exit_code == 0, made.output
    written = CliRunner().invoke(app, ["report", out, "--original", *source, "-o", internal])
    assert written.exit_code == 0, written.output
    assert "keep it secret" in written.output


def test_options_of_methods_are_read_from_set_and_order_by() -> None:
    effort = EffortOptions(settings=["bits=8"], order_by="lexicographic")
    assert effort.options == {"bits": "8", "order": "lexicographic"}
    with pytest.raises(UsageError, match="--order-by and --set order say the same"):
        EffortOptions(settings=["order=hilbert"], order_by="lexicographic").check()
    with pytest.raises(UsageError, match="Write --set NAME=VALUE"):
        EffortOptions(settings=["bits"]).check()


@pytest.mark.parametrize("option", [["--set", "bits=8"], ["--order-by", "hilbert"]])
def test_options_of_methods_are_refused_in_chunks(tmp_path: Path, option: list[str]) -> None:
    words = ["anonymize", "people.csv", "--qi", "age", "--k", "2", "--memory", "1GB"]
    result = CliRunner().invoke(app, [*words, *option, "-o", str(tmp_path / "out")])
    assert result.exit_code == 2
    assert option[0] in result.output
    assert "in chunks" in " ".join(result.output.split())


def test_a_method_is_shown_with_its_options() -> None:
    shown = CliRunner().invoke(app, ["methods", "idistance", "--json"])
    described = json.loads(shown.output)
    assert described["options"][0] == {
        "name": "centres",
        "default": 512,
        "allowed": "a whole number from 1 to 100,000",
        "help": "number of cluster centres (FAST07 §5)",
    }
    assert "alpha" in CliRunner().invoke(app, ["methods", "--sets", "cahd"]).output
    assert CliRunner().invoke(app, ["methods", "het-nothing"]).exit_code == 2
