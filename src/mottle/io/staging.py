"""All files or none: write into a hidden folder inside the target, then rename into place.

An interrupted run leaves nothing but its hidden folder, which the next run into the same target
removes. A lock held while writing tells a running neighbour's folder from an abandoned one.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from mottle.errors import MottleError, StorageError

_PREFIX = ".mottle-unfinished-"
_LOCK = "lock"


@contextmanager
def staged(target: Path, names: Sequence[str], *, overwrite: bool) -> Iterator[Path]:
    """Yield a folder to write the files ``names`` into; they appear in ``target`` at the end.

    On any error, and on Ctrl-C, nothing appears. An existing file of one of the names is an error
    unless ``overwrite``; then it is replaced only after all new files are complete. The file named
    last is moved last, so its presence says that the set is complete.
    """
    try:
        made = _make_folder(target)
        if not overwrite:
            _refuse_existing(target, names)
        _remove_abandoned(target)
        stage = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=target))
        with open(stage / _LOCK, "w") as lock:
            _try_lock(lock)
            try:
                yield stage
                for name in names:
                    _flush_to_disk(stage / name)
                (target / names[-1]).unlink(missing_ok=True)
                for name in names:
                    os.replace(stage / name, target / name)
            finally:
                shutil.rmtree(stage, ignore_errors=True)
                for folder in made:
                    _remove_if_empty(folder)
    except MottleError:
        raise
    except OSError as error:
        raise StorageError(
            f"Cannot write to {target}: {error.strerror or error}.",
            "Nothing was published. Check space and permissions, or choose another folder.",
        ) from error


def _make_folder(target: Path) -> list[Path]:
    """Make ``target`` and its parents; returns those that were not there, innermost first."""
    missing = [folder for folder in (target, *target.parents) if not folder.exists()]
    target.mkdir(parents=True, exist_ok=True)
    return missing


def _remove_if_empty(folder: Path) -> None:
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def _refuse_existing(target: Path, names: Sequence[str]) -> None:
    existing = [name for name in names if (target / name).exists()]
    if existing:
        raise StorageError(
            f"{target} already holds {', '.join(existing)}.",
            "Choose another folder, or replace the files with --overwrite.",
        )


def _remove_abandoned(target: Path) -> None:
    for stage in target.glob(f"{_PREFIX}*"):
        try:
            with open(stage / _LOCK, "a") as lock:
                abandoned = _try_lock(lock)
        except FileNotFoundError:
            abandoned = True
        if abandoned:
            shutil.rmtree(stage, ignore_errors=True)


def _flush_to_disk(path: Path) -> None:
    """Make sure the content has reached the disk before the name does."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def _try_lock(file: IO[str]) -> bool:
    """Take the lock on ``file`` if nobody holds it; it is released when the file is closed."""
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
