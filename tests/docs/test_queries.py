"""The Python examples of docs/queries.md run as they stand, one after the other."""

from __future__ import annotations

import re

import pytest
from paths import DOCS

DOCUMENT = DOCS / "queries.md"


def test_examples_of_queries_run(capsys: pytest.CaptureFixture[str]) -> None:
    examples = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert len(examples) == 10
    names: dict[str, object] = {}
    for example in examples:
        exec(compile(example, DOCUMENT.name, "exec"), names)
    assert "originals" in capsys.readouterr().out
