"""Atomic writing: files are written into a hidden folder inside the target, then renamed.

An interrupted run leaves nothing but its hidden folder, which the next run into the same target
removes. A lock that is held while writing distinguishes the folder of a running process from an
abandoned one. Files that are replaced are kept in the hidden folder until all new ones are in
place; if anything goes wrong before that, they are put back, by the next run if necessary.

Long runs work in a `resumable_folder`, which the same command finds again after an interruption.
Their files are complete before the first one is renamed, so the next run of any command finishes
an interrupted renaming instead of putting anything back.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from mottle.errors import StorageError

__all__ = [
    "Move",
    "empty_folder",
    "ensure_absent",
    "finish_interrupted",
    "hidden_folder",
    "move_complete",
    "resumable_folder",
    "staged",
    "translating_os_errors",
    "write_atomic",
]

_PREFIX = ".mottle-unfinished-"  # of hidden folders
_LOCK = "lock"  # the file that a running process keeps locked
_OLD = "old"  # folder of files being replaced; exists only while they can still be put back
_REPLACED = "replaced"  # the same folder once the new files count
_COMPLETE = "complete"  # file with the names of complete files that are being moved
_SECONDS_TO_BEGIN = 60  # that a new folder may be without a lock

Move = tuple[Path, Path]  # a file in a hidden folder, and its destination


@contextmanager
def staged(
    target: Path,
    names: Sequence[str],
    *,
    overwrite: bool,
    afterwards: Sequence[Move] = (),
    obsolete: Sequence[str] = (),
) -> Iterator[Path]:
    """Yield a folder to write files into; they appear in ``target`` at the end.

    On any error, and on Ctrl-C, nothing appears.

    Parameters
    ----------
    target : Path
        The folder in which the files appear; it is created if necessary.
    names : sequence of str
        The files. The last one is moved last, so its presence says that the set is complete.
    overwrite : bool
        Replace existing files, but only after all new ones are complete.
    afterwards : sequence of Move
        Files in another `hidden_folder` that belong to the set and are moved after it.
    obsolete : sequence of str
        Names that an earlier set may have had and this one does not have.

    Yields
    ------
    Path
        The folder to write into.

    Raises
    ------
    StorageError
        Files exist and may not be replaced, or cannot be written.
    """
    with translating_os_errors(target), hidden_folder(target) as stage:
        ensure_absent(target, [*names, *obsolete], overwrite=overwrite)
        yield stage
        moves = [*((stage / name, target / name) for name in names), *afterwards]
        for new, _ in moves:
            _flush_to_disk(new)
        _swap(moves, [(stage, target / name) for name in obsolete])


@contextmanager
def translating_os_errors(path: Path) -> Iterator[None]:
    """Turn errors of the operating system into a `StorageError` that names ``path``.

    Parameters
    ----------
    path : Path
        What is being written.

    Raises
    ------
    StorageError
        In place of any ``OSError``.
    """
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"Cannot write to {path}: {error.strerror or error}.",
            "Nothing was published. Check space and permissions, or choose another path.",
        ) from error


@contextmanager
def hidden_folder(target: Path) -> Iterator[Path]:
    """Yield a folder inside ``target`` that only the owner can read; it is removed at the end.

    Parameters
    ----------
    target : Path
        The folder that contains it; it is created if necessary, and removed again if it is empty.

    Yields
    ------
    Path
        The hidden folder.
    """
    made = _make_folder(target)
    try:
        _remove_abandoned(target)
        stage = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=target))  # mode 0700
        try:
            with open(stage / _LOCK, "w") as lock:
                _try_lock(lock)
                yield stage
        finally:
            _discard(stage)
    finally:
        for folder in made:
            _remove_if_empty(folder)


@contextmanager
def resumable_folder(target: Path, key: str) -> Iterator[Path]:
    """Yield the hidden folder of a command inside ``target``: a new one, or its earlier one.

    It is removed when the run ends with a result or with one of mottle's errors. It stays when the
    run is interrupted, or when a disk or a connection fails and there is something in it; then the
    same command finds it again. Folders that other commands have left behind are removed.

    Parameters
    ----------
    target : Path
        The folder that contains it; it is created if necessary, and removed again if it is empty.
    key : str
        Identifies the command.

    Yields
    ------
    Path
        The hidden folder.

    Raises
    ------
    StorageError
        The same command is already running.
    """
    made = _make_folder(target)
    stage = target / f"{_PREFIX}{key}"
    keep = False
    try:
        for other in target.glob(f"{_PREFIX}*"):
            if other != stage and other.is_dir() and _is_abandoned(other):
                _clear_away(other)
        stage.mkdir(mode=0o700, exist_ok=True)
        with open(stage / _LOCK, "a") as lock:
            if not _try_lock(lock):
                keep = True
                raise StorageError(
                    f"The same command is already running into {target}.", "Wait for its end."
                )
            try:
                yield stage
            except (KeyboardInterrupt, SystemExit, OSError):
                keep = True
                raise
            except StorageError:
                keep = any(path.name != _LOCK for path in stage.iterdir())
                raise
    finally:
        if not keep:
            _discard(stage)
        for folder in made:
            _remove_if_empty(folder)


def finish_interrupted(target: Path, key: str) -> bool:
    """Finish the last run of a command if it was interrupted while its files were being renamed.

    Parameters
    ----------
    target : Path
        The folder in which the files appear.
    key : str
        Identifies the command.

    Returns
    -------
    bool
        Whether it was; the files are then in their places.
    """
    stage = target / f"{_PREFIX}{key}"
    if not (stage / _COMPLETE).exists():
        return False
    with open(stage / _LOCK, "a") as lock:
        if not _try_lock(lock):
            return False
        _finish_moves(stage)
        _discard(stage)
    return True


def empty_folder(stage: Path, spare: Path | None = None) -> None:
    """Remove what an earlier run has left in a `resumable_folder`.

    Parameters
    ----------
    stage : Path
        The hidden folder.
    spare : Path, optional
        A file that is kept.
    """
    for path in stage.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != _LOCK and path != spare:
            path.unlink()


def move_complete(
    stage: Path,
    names: Sequence[str],
    obsolete: Sequence[str] = (),
    elsewhere: Mapping[str, Path] | None = None,
) -> None:
    """Move complete files of a `resumable_folder` to their destinations.

    From here on the new files count: after an interruption the next run finishes the moves.

    Parameters
    ----------
    stage : Path
        The hidden folder.
    names : sequence of str
        Files that move into the folder that contains it. The last one is moved last, so its
        presence says that the set is complete.
    obsolete : sequence of str
        Names that an earlier set may have had and this one does not have.
    elsewhere : mapping of str to Path, optional
        Files that belong to the set and are moved first, each to its own destination.
    """
    away = {name: str(place.absolute()) for name, place in (elsewhere or {}).items()}
    for name in (*away, *names):
        _flush_to_disk(stage / name)
    content = {"move": away | {name: name for name in names}, "remove": obsolete}
    write_atomic(stage / _COMPLETE, json.dumps(content))
    _finish_moves(stage)


def _finish_moves(stage: Path) -> None:
    """Rename the files that are complete and not yet in their places."""
    if (stage / _COMPLETE).exists():
        files = json.loads((stage / _COMPLETE).read_text(encoding="utf-8"))
        for name in files["remove"]:
            (stage.parent / name).unlink(missing_ok=True)
        for name, place in files["move"].items():
            if (stage / name).exists():
                _move(stage / name, stage.parent / place)


def _move(file: Path, place: Path) -> None:
    """Rename a file; on another disk it is copied and gets its name when it is complete."""
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.replace(file, place)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        with hidden_folder(place.parent) as stage:
            shutil.copy2(file, stage / place.name)  # its mode included
            _flush_to_disk(stage / place.name)
            os.replace(stage / place.name, place)
        file.unlink()


def write_atomic(path: Path, text: str) -> None:
    """Write a small file such that it either has all of its content or does not exist.

    Parameters
    ----------
    path : Path
        The file, which is replaced if it exists.
    text : str
        Its content.
    """
    partial = path.with_name(f"{path.name}.partial")
    with open(partial, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)


def _clear_away(stage: Path) -> None:
    """Remove what an earlier run has left behind, after finishing its moves."""
    _finish_moves(stage)
    _put_back(stage)
    _discard(stage)


def _flush_to_disk(path: Path) -> None:
    """Make sure the content has reached the disk before the name does."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def _swap(moves: Sequence[Move], leaving: Sequence[Move]) -> None:
    """Replace old files by new ones, or leave everything as it was.

    ``leaving`` are hidden folders and paths whose files are removed without a new one.
    """
    stages = list(dict.fromkeys(new.parent for new, _ in moves))
    try:
        for stage in stages:
            (stage / _OLD).mkdir()
        old = [(new.parent, place) for new, place in reversed(moves)]
        for stage, place in [*old, *leaving]:
            if os.path.lexists(place):
                os.replace(place, stage / _OLD / place.name)
        for new, place in moves:
            os.replace(new, place)
        for stage in stages:
            (stage / _OLD).rename(stage / _REPLACED)  # from here on the new files count
    except BaseException:
        for new, place in reversed(moves):
            if (new.parent / _OLD).exists() and not new.exists():  # it has already been moved
                place.unlink(missing_ok=True)
        for stage in stages:
            _put_back(stage)
        raise


def _put_back(stage: Path) -> None:
    """Move old files back, after a replacement that was not finished."""
    if (stage / _OLD).exists():
        for file in (stage / _OLD).iterdir():
            os.replace(file, stage.parent / file.name)
        (stage / _OLD).rmdir()


def _discard(stage: Path) -> None:
    """Remove a hidden folder, unless it still holds files that have to be put back.

    It is renamed first, so that a half-removed folder is never resumed.
    """
    if not (stage / _OLD).exists():
        with suppress(OSError):
            stage = stage.rename(stage.with_name(f"{_PREFIX}{os.urandom(8).hex()}"))
        shutil.rmtree(stage, ignore_errors=True)


def _make_folder(target: Path) -> list[Path]:
    """Create ``target`` and its parents; return those that did not exist, innermost first."""
    missing = [folder for folder in (target, *target.parents) if not folder.exists()]
    target.mkdir(parents=True, exist_ok=True)
    return missing


def _remove_if_empty(folder: Path) -> None:
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def ensure_absent(target: Path, names: Sequence[str], *, overwrite: bool) -> None:
    """Check that files may be written.

    Parameters
    ----------
    target : Path
        The folder.
    names : sequence of str
        The files.
    overwrite : bool
        Whether existing files may be replaced.

    Raises
    ------
    StorageError
        A file exists and may not be replaced, or there is a folder of its name.
    """
    for name in names:
        if (target / name).is_dir():
            raise StorageError(f"{target / name} is a folder.", "Choose another path.")
    existing = [name for name in names if (target / name).exists()]
    if existing and not overwrite:
        raise StorageError(
            f"{target} already holds {', '.join(existing)}.",
            "Choose another folder, or replace the files with --overwrite.",
        )


def _remove_abandoned(target: Path) -> None:
    for stage in target.glob(f"{_PREFIX}*"):
        if stage.is_dir() and _is_abandoned(stage):
            _clear_away(stage)


def _is_abandoned(stage: Path) -> bool:
    """Whether the run that created the folder has ended: no process holds its lock."""
    with suppress(OSError):  # the folder may disappear meanwhile
        names = {path.name for path in stage.iterdir()}
        if names <= {_LOCK} and time.time() - stage.stat().st_mtime < _SECONDS_TO_BEGIN:
            return False  # it may be about to take its lock
        if _LOCK not in names:
            return True
        with open(stage / _LOCK, "a") as lock:
            return _try_lock(lock)
    return False


def _try_lock(file: IO[str]) -> bool:
    """Take the lock on ``file`` if no process holds it; it is released when the file is closed."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
