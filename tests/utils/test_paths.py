"""Paths with links that lead to themselves."""

from __future__ import annotations

from pathlib import Path

from command_line import mottle_command, refused

from mottle.utils.paths import resolved


def test_link_to_itself_is_a_named_error(tmp_path: Path) -> None:
    loop = tmp_path / "people.csv"
    loop.symlink_to(loop)
    assert resolved(loop).name == "people.csv"
    words = ["--qi", "age", "--k", 2, "-o", tmp_path / "out"]
    for scale in ([], ["--memory", "2GB"]):
        refused(mottle_command("anonymize", loop, *words, *scale), 5)
    assert not (tmp_path / "out").exists()
