"""Names and cells of others do not control the terminal, whichever command prints them."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.table import Table
from rich.text import Text
from typer.testing import CliRunner

from mottle import cli
from mottle.cli._console import Console, visible
from mottle.cli.app import app

CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
TITLE = "\x1b]0;owned\x07\x1b[2J\x9b2J\u202e[bold red][/x]"


def test_styles_reach_a_terminal_and_sequences_in_texts_do_not() -> None:
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, color_system="standard", width=60)
    table = Table(f"name {TITLE}")
    table.add_row(f"cell {TITLE}", style="bold")
    console.print(table)
    console.print(TITLE, markup=False, highlight=False)
    console.print(Text("rich", style="bold"))
    console.print("[/x] :skull:")
    text = written.getvalue()
    assert "\x1b[1mrich\x1b[0m" in text
    assert ":skull:" in text
    for hostile in ("\x1b]", "\x1b[2J", "\x07", "\x9b", "\u202e"):
        assert hostile not in text
    assert r"\x1b]0;owned" in text


def test_what_is_shown_is_what_python_would_write() -> None:
    assert visible("ä\tb\n") == "ä\tb\n"
    assert visible("\x1b\x7f\x85\u2066") == r"\x1b\x7f\x85\u2066"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with hostile names and cells, its schema, and a release of it."""
    place = tmp_path_factory.mktemp("hostile")
    table = pa.table(
        {
            f"age{TITLE}": [20 + row % 9 for row in range(30)],
            f"place{TITLE}": [f"{'abc'[row % 3]}{TITLE}" for row in range(30)],
            f"ill{TITLE}": [f"{'xy'[row % 2]}{TITLE}" for row in range(30)],
        }
    )
    pq.write_table(table, place / "people.parquet")
    roles = ("quasi-identifying", "quasi-identifying", "sensitive")
    lines = [
        f'[columns.{json.dumps(name)}]\nrole = "{role}"\n'
        for name, role in zip(table.column_names, roles, strict=True)
    ]
    (place / "mottle.toml").write_text("".join(lines), "utf-8")
    (place / "tree.csv").write_text("a\x1b[2J;g;*\nb;g;*\n", "utf-8")
    words = ["--schema", place / "mottle.toml", "--k", "2", "-o", place / "out"]
    assert run("anonymize", place / "people.parquet", *words)[0] == 0
    return place


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert isinstance(result.exception, SystemExit | None), result.exception
    return result.exit_code, result.output


@pytest.mark.parametrize(
    "words",
    [
        "inspect {}/people.parquet -o {}/proposed.toml",
        "query {}/out SELECT*FROM(release)",
        "query {}/out SELECT+*+FROM+release --plain",
        "query {}/out SELECT+*+FROM+release --plain --json",
        "query {}/out SELECT+nothing+FROM+release",
        "audit {}/people.parquet {}/out --adversary linkage",
        "audit {}/people.parquet {}/out --adversary linkage --json",
        "risk {}/people.parquet {}/out --schema {}/mottle.toml --show-values",
        "evaluate {}/people.parquet {}/out",
        "suggest {}/people.parquet --schema {}/mottle.toml --max-loss 0.9",
        "compare {}/people.parquet --schema {}/mottle.toml --k 2 --methods nh -o {}/compared",
        "verify {}/out",
        "anonymize {}/people.parquet --schema {}/mottle.toml --k 3 -o {}/again",
        "hierarchy show {}/tree.csv",
        "hierarchy lint {}/tree.csv",
        "hierarchy edit {}/tree.csv",
    ],
)
def test_no_command_prints_control_characters(folder: Path, words: str) -> None:
    arguments = [word.replace("{}", str(folder)).replace("+", " ") for word in words.split()]
    _, output = run(*arguments)
    assert output
    assert not CONTROLS.search(output)
    if "--json" in arguments:
        assert json.loads(output)


def test_every_command_prints_on_such_a_console() -> None:
    commands = Path(cli.__file__).parent.rglob("*.py")
    others = [
        path.name
        for path in commands
        if "from rich.console import Console" in path.read_text("utf-8")
    ]
    assert not others
