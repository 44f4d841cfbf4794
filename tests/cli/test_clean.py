"""``mottle clean`` shows and removes what killed runs have left, and follows no links."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from command_line import mottle_command, refused, said
from dying_process import every_death

from mottle import Release
from mottle.io.staged_files import write_atomic
from mottle.io.work_folder import run_folder, temporary_run_folder, work_folder
from mottle.io.write_release import save_release

pytestmark = pytest.mark.usefixtures("own_work")

NOTE = {"command": "anonymize people.csv to out", "target": "out"}


def leave_a_run(key: str = "a") -> Path:
    """A run that was interrupted, with rows and a secret."""
    with suppress(KeyboardInterrupt), run_folder(work_folder(), key, NOTE) as folder:
        (folder / "sorted.parquet").write_bytes(b"x" * 5000)
        (folder / "secret").write_text("s")
        raise KeyboardInterrupt
    return folder


def test_nothing_is_left_to_remove(tmp_path: Path) -> None:
    result = mottle_command("clean")
    assert result.exit_code == 0
    assert "Nothing is left" in result.output
    assert not (tmp_path / "work").exists(), "looking makes no folders"


def test_what_is_left_is_shown_and_removed_when_asked(own_work: Path) -> None:
    folder = leave_a_run()
    shown = mottle_command("clean")
    for words in ("5.1 kB", "0 min", "anonymize people.csv to out", "add --yes"):
        assert words in said(shown)
    assert folder.exists()
    assert mottle_command("clean", "--yes").exit_code == 0
    assert not list(own_work.iterdir())


def test_as_json(own_work: Path) -> None:
    folder = leave_a_run()
    result = mottle_command("clean", "--json", "--yes")
    (found,) = json.loads(result.output)
    assert found["path"] == str(folder)
    assert found["command"] == NOTE["command"]
    assert found["running"] is False
    assert not folder.exists()


def test_a_run_that_is_going_on_is_left_alone() -> None:
    with run_folder(work_folder(), "a", NOTE) as folder:
        result = mottle_command("clean", "--yes")
        assert "still running" in said(result)
        assert folder.exists()
    assert not folder.exists()


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "large").write_bytes(b"x" * 10_000_000)
    folder = leave_a_run()
    (folder / "link").symlink_to(tmp_path / "mine")
    (folder / "deeper").mkdir()
    (folder / "deeper" / "link").symlink_to(tmp_path / "mine")
    (folder.parent / "run-link").symlink_to(tmp_path / "mine")
    result = mottle_command("clean", "--yes")
    assert "MB" not in result.output
    assert not folder.exists()
    assert (tmp_path / "mine" / "large").exists()


def test_the_age_is_never_negative(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock may have been set back since the run was killed."""
    folder = leave_a_run()
    note = {**NOTE, "began": str(int(time.time()) + 10**6)}
    write_atomic(folder / "run.json", json.dumps(note))
    assert "0 min" in said(mottle_command("clean"))
    (folder / "run.json").write_text("{" * 9999)
    assert "5.1 kB" not in said(mottle_command("clean")), "the note is larger now"
    assert mottle_command("clean", "--yes").exit_code == 0
    assert not folder.exists()


def test_a_new_run_to_the_same_target_removes_rows_of_killed_ones() -> None:
    folder = leave_a_run("a")
    with run_folder(work_folder(), "b", {**NOTE, "target": "elsewhere"}):
        assert folder.exists()
    with run_folder(work_folder(), "b", NOTE):
        assert not folder.exists()
    folder = leave_a_run("a")
    with temporary_run_folder(work_folder(), NOTE):  # of Spark
        assert not folder.exists()


def test_a_run_killed_as_it_began_leaves_nothing_for_good(own_work: Path) -> None:
    """Each kill, the one before the note is written included; the next run has another name."""

    def begin() -> None:
        with temporary_run_folder(work_folder(), NOTE) as folder:
            (folder / "input.parquet").write_bytes(b"rows")

    for _ in every_death(begin):
        begin()
        assert not list(own_work.rglob("*"))


def test_what_processes_of_a_killed_run_still_wrote_is_removed(own_work: Path) -> None:
    """Spark makes the folders of its files anew, with the usual mode."""
    folder = work_folder() / "run-a"
    (folder / "mottle-b" / "release").mkdir(parents=True)
    (folder / "mottle-b" / "release" / "part.parquet").write_bytes(b"rows")
    folder.chmod(0o755)
    assert mottle_command("clean", "--yes").exit_code == 0
    assert not list(own_work.iterdir())


def test_a_folder_in_which_a_run_was_killed_is_finished(release: Release, tmp_path: Path) -> None:
    """After it there is a release or none, and no hidden folder."""

    def save() -> None:
        save_release(release, tmp_path / "out", None, overwrite=True, report=lambda _: "page")

    save()
    for _ in every_death(save):
        result = mottle_command("clean", tmp_path / "out", "--yes")
        assert result.exit_code == 0, result.output
        assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
            "certificate.json",
            "release.csv",
            "release.parquet",
            "report.html",
        ]


def test_folder_that_is_none(tmp_path: Path) -> None:
    refused(mottle_command("clean", tmp_path / "nothing"), 5, "not a folder")


def test_a_killed_streaming_run_is_found(tmp_path: Path, own_work: Path) -> None:
    """The folder to be published holds nothing; rows and secret are where clean finds them."""
    (tmp_path / "people.csv").write_text("age\n" + "".join(f"{n}\n" for n in range(90)))
    script = """
import os, sys
from mottle.cli.app import main
from mottle.pipeline.streaming import engine
engine.StreamingEngine.publish = lambda *_: os.kill(os.getpid(), 9)
sys.argv = ["mottle", *sys.argv[1:]]
main()
"""
    run = subprocess.run(
        [
            sys.executable, "-c", script, "anonymize", str(tmp_path / "people.csv"), "--qi", "age",
            "--k", "2", "-o", str(tmp_path / "out"), "--memory", "2GB", "--method", "nh",
        ],
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert run.returncode == -9, run.stderr
    assert f"Intermediate rows: {own_work}/mottle-work-{os.geteuid()}" in run.stderr
    assert not (tmp_path / "out").exists()
    (left,) = own_work.glob("*/run-*")
    assert (left / "secret").exists()
    result = mottle_command("clean", "--yes")
    assert f"anonymize {tmp_path}/people.csv to {tmp_path}/out" in result.output
    assert not list(own_work.iterdir())
