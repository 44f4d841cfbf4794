"""Examples of the pages about reports, files, risks and hierarchies run as shown."""

from __future__ import annotations

import re
import runpy
import shlex
from pathlib import Path
from typing import Any

import pytest
from paths import DOCS, ROOT
from typer.testing import CliRunner

from mottle import Hierarchy
from mottle.cli.app import app
from mottle.risk.report import COUNTS

OUTPUTS = runpy.run_path(str(ROOT / "tools" / "outputs.py"))


def test_examples_of_the_report_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "report.md").read_text("utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    for code in blocks:
        exec(compile(code, "report.md", "exec"), names)
    assert (tmp_path / "released" / "report.html").exists()
    assert "Anonymization report" in str(names["html"])


def test_examples_of_the_page_about_files_run() -> None:
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "files.md").read_text("utf-8"), re.DOTALL)
    assert len(blocks) == 2
    for code in blocks:
        exec(compile(code, "files.md", "exec"), {})


def test_examples_of_the_page_about_risks_run() -> None:
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "risk.md").read_text("utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    for code in blocks:
        exec(compile(code, "risk.md", "exec"), names)
    assert names["found"].sampling_fraction == 0.01


def test_the_page_about_risks_lists_every_figure_that_counts() -> None:
    page = (DOCS / "risk.md").read_text("utf-8")
    assert [name for name in COUNTS if f"`{name}`" not in page] == []


def test_examples_of_the_page_about_hierarchies_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = (DOCS / "hierarchies.md").read_text("utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, "hierarchies.md", "exec"), names)
    assert Hierarchy.read("cities.txt") == names["cities"]
    assert names["release"].num_rows == 500
    (outline,) = re.findall(r"```text\n(\*\n.*?)```", page, re.DOTALL)
    Path("origin.txt").write_text(outline, encoding="utf-8")
    assert Hierarchy.read("origin.txt").leaves == ("France", "Italy", "Antarctica")


def test_commands_of_the_page_about_hierarchies_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    jobs = [("nurse", "health", "services"), ("farmer", "land", "goods")]
    rows = "".join(f"{30 + row},{','.join(jobs[row % 2])}\n" for row in range(30))
    Path("people.csv").write_text("age,job,sector,industry\n" + rows)
    page = (DOCS / "hierarchies.md").read_text("utf-8")
    (commands,) = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    for line in commands.splitlines():
        words = shlex.split(line, comments=True)
        target = words[words.index(">") + 1] if ">" in words else None
        words = words[1 : words.index(">")] if target else words[1:]
        extra = ["--rest", "insensitive", "--seed", "1"] if words[0] == "anonymize" else []
        result = CliRunner().invoke(app, [*words, *extra])
        assert result.exit_code == 0, (line, result.output)
        if target:
            Path(target).write_text(result.stdout)
    assert Path("released", "release.csv").exists()
    assert Path("job.amnesia.txt").exists()


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_output_is_shown_below_every_example_that_prints(page: Path) -> None:
    missing = OUTPUTS["without_output"](page.read_text("utf-8"))
    assert not missing, f"run python tools/outputs.py docs/{page.name}"


def test_an_example_without_its_output_is_found() -> None:
    text = "```python\nprint(1)\n```\n\nand\n\n```text\n1\n```\n"
    assert OUTPUTS["without_output"](text) == ["print(1)"]
    shown = OUTPUTS["with_outputs"](text, "page")
    assert shown.startswith("```python\nprint(1)\n```\n\n```text\n1\n```\n\nand")
    assert OUTPUTS["with_outputs"](shown, "page") == shown


def test_the_example_for_users_of_anonypy_prints_what_is_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = (DOCS / "coming-from.md").read_text("utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    shown = re.search(re.escape(code) + r"```\n\n```text\n(.*?)```", page, re.DOTALL)
    exec(compile(code, "coming-from.md", "exec"), {})
    assert shown is not None
    assert capsys.readouterr().out == shown[1]
