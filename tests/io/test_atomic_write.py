"""All files or none, whatever happens in between."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from mottle import StorageError, UsageError
from mottle.io.atomic_write import staged
from mottle.io.hashed_file import sha256_of
from mottle.io.hidden_folder import abandoned, discard
from mottle.io.staged_files import Stage

NAMES = ["a.txt", "b.txt", "last.txt"]


def write_all(stage: Path, text: str = "new", then=None) -> None:
    for name in NAMES:
        (stage / name).write_text(text)
    if then is not None:
        raise then


def content(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_files_appear_together_and_nothing_else_is_left(tmp_path: Path):
    target = tmp_path / "deep" / "target"
    with staged(target, NAMES, overwrite=False) as stage:
        write_all(stage)
        assert not target.exists()
    assert content(target) == dict.fromkeys(NAMES, "new")


@pytest.mark.parametrize("target", [".", "here", "new", "new/deeper"])
@pytest.mark.parametrize("absolute", [False, True])  # what mkdtemp returns depends on Python
def test_relative_target(tmp_path: Path, monkeypatch, target: str, absolute: bool):
    monkeypatch.chdir(tmp_path)
    Path("here").mkdir()
    if absolute:
        mkdtemp = tempfile.mkdtemp
        monkeypatch.setattr(tempfile, "mkdtemp", lambda **given: os.path.abspath(mkdtemp(**given)))
    for text in ("one", "two"):
        with staged(Path(target), NAMES, overwrite=True) as stage:
            write_all(stage, text)
        assert content_of_files(tmp_path / target) == dict.fromkeys(NAMES, text)
    assert not list(tmp_path.rglob(".mottle-*"))


def test_relative_target_is_made_and_removed_again(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError), staged(Path("a/b"), NAMES, overwrite=False):
        raise UsageError("stop")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, SystemExit, UsageError("x")])
@pytest.mark.parametrize("overwrite", [False, True])
def test_nothing_appears_when_writing_is_broken_off(tmp_path: Path, error, overwrite: bool):
    target = tmp_path / "deep" / "target"
    expected = error if isinstance(error, type) else type(error)
    with pytest.raises(expected), staged(target, NAMES, overwrite=overwrite) as stage:
        write_all(stage, then=error)
    assert list(tmp_path.iterdir()) == [], "folders that were made for it have to go as well"


def test_error_of_the_system_becomes_one_of_ours(tmp_path: Path):
    with (
        pytest.raises(StorageError, match="No space left on device") as caught,
        staged(tmp_path, NAMES, overwrite=False),
    ):
        raise OSError(28, "No space left on device")
    assert "Nothing was published" in caught.value.remedy
    assert list(tmp_path.iterdir()) == []


def test_file_that_was_never_written_is_an_error(tmp_path: Path):
    with pytest.raises(StorageError), staged(tmp_path, NAMES, overwrite=False) as stage:
        (stage / NAMES[0]).write_text("new")
    assert list(tmp_path.iterdir()) == []


def test_existing_files_are_refused_and_untouched(tmp_path: Path):
    (tmp_path / "b.txt").write_text("old")
    with (
        pytest.raises(StorageError, match=r"already holds b\.txt.*--overwrite"),
        staged(tmp_path, NAMES, overwrite=False),
    ):
        pytest.fail("the block must not run")
    assert content(tmp_path) == {"b.txt": "old"}


def test_existing_files_are_replaced_when_asked(tmp_path: Path):
    write_all(tmp_path, "old")
    (tmp_path / "foreign.txt").write_text("stays")
    with staged(tmp_path, NAMES, overwrite=True) as stage:
        write_all(stage)
        assert content_of_files(tmp_path) == {**dict.fromkeys(NAMES, "old"), "foreign.txt": "stays"}
    assert content(tmp_path) == {**dict.fromkeys(NAMES, "new"), "foreign.txt": "stays"}


def content_of_files(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_old_files_survive_a_failed_replacement(tmp_path: Path, error: type):
    write_all(tmp_path, "old")
    expected = StorageError if error is OSError else error
    with pytest.raises(expected), staged(tmp_path, NAMES, overwrite=True) as stage:
        write_all(stage, then=error)
    assert content(tmp_path) == dict.fromkeys(NAMES, "old")


def test_old_files_survive_a_replacement_that_fails_halfway(tmp_path: Path):
    (tmp_path / "a.txt").write_text("old")
    (tmp_path / "b.txt").mkdir()
    (tmp_path / "last.txt").write_text("old")
    with pytest.raises(StorageError), staged(tmp_path, NAMES, overwrite=True) as stage:
        write_all(stage)
    assert content_of_files(tmp_path) == {"a.txt": "old", "last.txt": "old"}


def test_file_in_the_way_of_the_folder_is_an_error_of_ours(tmp_path: Path):
    (tmp_path / "file").write_text("in the way")
    for target in (tmp_path / "file", tmp_path / "file" / "deeper"):
        with (
            pytest.raises(StorageError, match="Cannot write to"),
            staged(target, NAMES, overwrite=False),
        ):
            pytest.fail("the block must not run")
    assert content(tmp_path) == {"file": "in the way"}


CHILD = """
import sys
from pathlib import Path
from mottle.io.atomic_write import staged

with staged(Path(sys.argv[1]), ["a.txt", "b.txt", "last.txt"], overwrite=True) as stage:
    (stage / "a.txt").write_text("half")
    print(stage.parent.name, flush=True)
    sys.stdin.read()
"""


@contextmanager
def child_in_the_middle(target: Path) -> Iterator[tuple[subprocess.Popen, Path]]:
    """Another process that has staged one of its files and now waits."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(target)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    try:
        with child:
            name = child.stdout.readline().strip()
            assert name.startswith(".mottle-unfinished-"), "the child has not come so far"
            yield child, target / name
            child.kill()
    finally:
        child.kill()


def test_killed_run_leaves_only_its_hidden_folder_which_the_next_run_removes(tmp_path: Path):
    with child_in_the_middle(tmp_path) as (child, stage):
        child.kill()
        child.wait()
        assert list(tmp_path.iterdir()) == [stage]
        assert (stage / "new" / "a.txt").read_text() == "half"
    with staged(tmp_path, NAMES, overwrite=False) as own:
        write_all(own)
    assert content(tmp_path) == dict.fromkeys(NAMES, "new")


def test_folder_of_a_living_neighbour_is_left_alone(tmp_path: Path):
    with child_in_the_middle(tmp_path) as (child, stage):
        with staged(tmp_path, NAMES, overwrite=False) as own:
            write_all(own)
        assert child.poll() is None
        assert (stage / "new" / "a.txt").read_text() == "half"
    with staged(tmp_path, NAMES, overwrite=True) as own:
        write_all(own, "newer")
    assert content(tmp_path) == dict.fromkeys(NAMES, "newer")


def test_run_that_may_not_overwrite_still_leaves_the_neighbour_alone(tmp_path: Path):
    write_all(tmp_path, "old")
    with child_in_the_middle(tmp_path) as (_, stage):
        with pytest.raises(StorageError), staged(tmp_path, NAMES, overwrite=False):
            pytest.fail("the block must not run")
        assert (stage / "new" / "a.txt").exists()


def test_folder_that_is_just_being_made_is_made_again_if_a_neighbour_removes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A run may have made its hidden folder, but not yet its lock; clocks do not matter."""
    made: list[Path] = []
    mkdtemp = tempfile.mkdtemp

    def watched(*arguments, **options) -> str:
        folder = Path(mkdtemp(*arguments, **options))
        made.append(folder)
        if len(made) == 1:
            with abandoned(tmp_path) as found:
                assert found == []
            assert not folder.exists()
        if len(made) == 2:
            (folder / "lock").touch()
            with abandoned(tmp_path) as found:
                assert found == [folder]
                discard(folder)
        return str(folder)

    monkeypatch.setattr(tempfile, "mkdtemp", watched)
    with staged(tmp_path, NAMES, overwrite=False) as stage:
        write_all(stage)
    assert len(made) == 3
    assert content(tmp_path) == dict.fromkeys(NAMES, "new")


def test_two_runs_into_one_folder_do_not_mix_their_files(tmp_path: Path):
    def write(number: int) -> None:
        for _ in range(5):
            with staged(tmp_path, NAMES, overwrite=True) as stage:
                write_all(stage, str(number))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert len(set(content(tmp_path).values())) == 1


def test_folder_of_the_name_of_a_file_is_refused_before_anything_is_written(tmp_path: Path):
    (tmp_path / "b.txt").mkdir()
    with (
        pytest.raises(StorageError, match=r"b\.txt is a folder"),
        staged(tmp_path, NAMES, overwrite=True),
    ):
        pytest.fail("the block must not run")


def test_plain_file_of_the_hidden_prefix_does_not_block_later_runs(tmp_path: Path):
    (tmp_path / ".mottle-unfinished-links").write_bytes(b"half")
    with staged(tmp_path, NAMES, overwrite=False) as stage:
        write_all(stage)


def test_checksums_that_were_taken_while_writing_are_those_of_the_files(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "hidden")
    (stage.new / "folder").mkdir(parents=True)
    for name in NAMES:
        (stage.new / "folder" / name).write_text(name)
    known = {name: sha256_of(stage.new / "folder" / name) for name in NAMES[:2]}
    given = stage.prepare(["folder"], (), known)
    stage.old.rmdir()
    assert given == stage.prepare(["folder"], ())
    stage.old.rmdir()
    assert given != stage.prepare(["folder"], (), dict.fromkeys(NAMES, "0"))
