"""The command ``mottle import``, followed by the commands that it prints."""

from __future__ import annotations

import csv
import json
import shlex
from pathlib import Path

import pytest
from arx_project import Attribute, parts_of_project, write_project
from command_line import mottle_command, refused, said

TOWNS = [["Bonn", "West", "*"], ["Wesel", "West", "*"], ["Ulm", "South", "*"]]
ATTRIBUTES = [
    Attribute("name", "IDENTIFYING"),
    Attribute("age", "QUASI_IDENTIFYING", "Integer"),
    Attribute("town", "QUASI_IDENTIFYING", "String", TOWNS),
    Attribute("ill", "SENSITIVE"),
]
WEST = {leaf: label for leaf, label, _ in TOWNS}


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with ARX's own result in it, as earlier versions saved it."""
    rows = [[f"p{i}", 20 + i % 40, TOWNS[i % 3][0], "abcd"[i % 4]] for i in range(120)]
    output = [["*", f"{age // 20 * 20}-{age // 20 * 20 + 19}", WEST[str(town)], ill]
              for _, age, town, ill in rows]  # fmt: skip
    output[0][1:3] = ["*", "*"]  # a suppressed row
    monkeypatch.chdir(tmp_path)
    return write_project(
        tmp_path / "example.deid", parts_of_project(ATTRIBUTES, rows, output=output)
    )


def test_the_printed_commands_run_and_put_both_tools_on_one_page(example: Path) -> None:
    result = mottle_command("import", "arx", example, "--json")
    assert result.exit_code == 0, result.output
    commands = json.loads(result.output)["commands"]
    assert len(commands) == 2
    for command in commands:
        result = mottle_command(*shlex.split(command)[1:])
        assert result.exit_code == 0, result.output
    with open("example-compared/compare.csv", encoding="utf-8", newline="") as file:
        lines = {line["method"]: line for line in csv.DictReader(file)}
    assert 0 < float(lines["freeform"]["loss"]) < float(lines["arx"]["loss"]) < 1
    page = Path("example-compared/compare.html").read_text(encoding="utf-8")
    assert ">arx<" in page
    assert "held out ·" not in page


def test_what_has_no_counterpart_is_said_on_the_terminal(example: Path) -> None:
    result = mottle_command("import", "arx", example)
    assert "No counterpart: suppression limit 5%" in said(result)
    refused(mottle_command("import", "arx", example), 2, "example exists already")


def test_unknown_tools_are_refused(example: Path) -> None:
    refused(mottle_command("import", "arc", example), 2, "Did you mean 'arx'?")
    refused(mottle_command("import", "amnesia", example, "--no-hierarchies"), 2, "of ARX")
    refused(mottle_command("import", "sdcmicro", example), 4, "example.deid")
    refused(
        mottle_command(
            *("compare", "x.csv", "--qi", "age", "--k", "3", "--release-of", "arx", "-o", "out")
        ),
        5,
        "x.csv",
    )
