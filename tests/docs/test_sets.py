"""Python examples of the page about sets run as shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from paths import DOCS


def test_examples_of_the_sets_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "sets.md").read_text("utf-8"), re.DOTALL)
    assert len(blocks) >= 2
    for code in blocks:
        exec(compile(code, "sets.md", "exec"), {})
    assert "'diagnoses': 0." in capsys.readouterr().out
