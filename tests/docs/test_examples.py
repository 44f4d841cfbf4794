"""Python examples of the pages about reports, files and risks run as shown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from paths import DOCS

from mottle.risk.report import COUNTS


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
