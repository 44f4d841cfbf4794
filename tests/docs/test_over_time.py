"""The page about releases over time, run from its first block to its last in an empty folder."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from command_line import mottle_command
from paths import DOCS

from mottle import Release
from mottle.audit import AuditReport
from mottle.release.certificate import HistoryFacts

BLOCK = re.compile(r"```(bash|python)\n(.*?)```", re.DOTALL)


def commands(block: str) -> list[list[str]]:
    """The commands of a block, without what the shell does with their exit codes."""
    lines = block.replace("\\\n", " ").strip().splitlines()
    return [shlex.split(line.split(" || ")[0])[1:] for line in lines]


def test_every_block_runs_and_only_the_naive_releases_are_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    codes: dict[str, int] = {}
    for kind, code in BLOCK.findall((DOCS / "over-time.md").read_text("utf-8")):
        if kind == "python":
            exec(compile(code, "over-time.md", "exec"), names)
            continue
        for words in commands(code):
            result = mottle_command(*words)
            assert result.exit_code in (0, 6), result.output
            if words[0] == "audit":
                codes[words[2]] = result.exit_code
            else:
                assert result.exit_code == 0, result.output
    assert codes == {"naive-2026": 6, "released-2027": 0}
    assert isinstance(names["history"], HistoryFacts)
    assert names["history"].to_dict() == {
        "release": 3,
        "rule": "keep",
        "least_newcomers": 10,
        "kept": 1200,
        "new": 100,
        "left": 100,
        "waiting": 0,
        "withheld": 0,
    }
    assert isinstance(names["second"], Release)
    assert isinstance(names["report"], AuditReport)
    assert names["report"].passed
