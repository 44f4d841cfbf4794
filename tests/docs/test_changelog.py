"""Notes of changes are list items, and are collected at the top of the changelog."""

from __future__ import annotations

import datetime as dt
import runpy
from pathlib import Path

import pytest
from paths import ROOT

TOOL = runpy.run_path(str(ROOT / "tools" / "changelog.py"))
CHANGELOG = "# Changes\n\n## Unreleased\n\n- Earlier.\n\n## 0.1.0\n\n- First.\n"


def test_notes_of_the_repository_can_be_collected() -> None:
    notes = [TOOL["checked"](path) for path in TOOL["notes_in"](ROOT / "changes")]
    kept = (ROOT / "CHANGELOG.md").read_text("utf-8")
    found = TOOL["with_notes"](kept, notes)
    assert found.replace("".join(notes), "", 1) == kept


def test_notes_stand_first_and_a_version_takes_them() -> None:
    found = TOOL["with_notes"](CHANGELOG, ["- One\n  thing.\n", "- Another.\n"])
    assert found.startswith(
        "# Changes\n\n## Unreleased\n\n- One\n  thing.\n- Another.\n- Earlier.\n\n## 0.1.0\n"
    )
    given = TOOL["released"](found, "0.2.0", dt.date(2030, 1, 2))
    assert "## 0.2.0, 2030-01-02\n\n- One" in given
    later = TOOL["with_notes"](given, ["- New.\n"])
    assert later.startswith("# Changes\n\n## Unreleased\n\n- New.\n\n## 0.2.0")


@pytest.mark.parametrize("text", ["Sentence.\n", "- One.\n- Two.\n", "- One.\n\n", "- One.", ""])
def test_a_note_that_is_not_one_list_item_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "odd.md").write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit, match=r"changes/odd\.md is not one list item"):
        TOOL["checked"](tmp_path / "odd.md")
