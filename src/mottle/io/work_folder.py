"""The private work folder: rows of the original, sorted rows and secrets of runs in chunks.

It lies outside the folder that is published, in ``--work``, ``$MOTTLE_WORK``, the user's cache or
the system's folder for temporary files, and only this user can enter it
(`utils/private_folders.py`).
Every run has a folder of its own in it, with a note that says what the run does. It is removed when
the run ends. It stays when the run is killed or interrupted: the same command resumes from it, and
``mottle clean`` shows and removes it.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from mottle.errors import StorageError, UsageError
from mottle.io.hidden_folder import LOCK, discard, try_lock
from mottle.io.staged_files import write_atomic
from mottle.utils.paths import resolved
from mottle.utils.private_folders import (
    default_places,
    is_own,
    is_private,
    private_folder,
    private_path,
)

__all__ = [
    "PUBLISHED",
    "VARIABLE",
    "RunFolder",
    "empty_folder",
    "remove_run",
    "run_folder",
    "runs_left",
    "size_of",
    "temporary_run_folder",
    "work_folder",
    "work_folders",
]

VARIABLE = "MOTTLE_WORK"  # of the environment
PUBLISHED = "published"  # in the folder of a run: which release it was about to publish
_NAME = "mottle-work"
_NOTE = "run.json"  # what a run does, for people and for later runs
_SETTINGS = ("secret", "input.sha256")  # what a resumed run needs besides finished work
_MOST_BYTES = 1 << 16  # of a note
_REMEDY = f"Choose another folder with --work DIR, or by the variable {VARIABLE}."


def work_folders(chosen: str | Path | None = None) -> list[Path]:
    """List the work folders that this user's runs may have made.

    Parameters
    ----------
    chosen : str or Path, optional
        As for `work_folder`.

    Returns
    -------
    list of Path
        Those that exist and are private.
    """
    given = chosen or os.environ.get(VARIABLE) or None
    places = default_places() if given is None else [Path(given)]
    return [found for place in places if is_private(found := private_path(place, _NAME))]


def work_folder(chosen: str | Path | None = None, *, published: Path | None = None) -> Path:
    """Make the private work folder of this user, or return the one that is there.

    Parameters
    ----------
    chosen : str or Path, optional
        The folder in which it lies. Without it, ``$MOTTLE_WORK``, the user's cache and the folder
        for temporary files are tried in turn.
    published : Path, optional
        A folder that is published: the work folder must not be in it.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    StorageError
        No folder can be made there that nobody else can enter or exchange.
    UsageError
        It would be published.
    """
    given = chosen or os.environ.get(VARIABLE) or None
    why = ""
    for place in default_places() if given is None else [Path(given)]:
        if published is not None and resolved(published) in (
            resolved(place),
            *resolved(place).parents,
        ):
            why = f"{place} is in {published}, which is published"
            if given is not None:
                raise UsageError(f"The work folder {why}.", _REMEDY)
            continue
        try:
            return private_folder(place, _NAME)
        except OSError as error:
            why = f"{error.filename or place}: {error.strerror or error}"
    raise StorageError(f"There is no place for working files ({why}).", _REMEDY)


@contextmanager
def run_folder(root: Path, key: str, note: dict[str, str]) -> Iterator[Path]:
    """Yield the folder of a command inside the work folder: a new one, or its earlier one.

    It is removed when the run ends with a result or with one of mottle's errors. It stays when the
    run is interrupted, or when a disk or a connection fails and there is work to resume. Folders
    of killed runs that went to the same target are removed.

    Parameters
    ----------
    root : Path
        The work folder.
    key : str
        Identifies the command.
    note : dict of str to str
        What the run does: ``command`` and ``target``, without cells and passwords.

    Yields
    ------
    Path
        The folder.

    Raises
    ------
    StorageError
        The same command is already running, or the folder is not private.
    """
    name = f"run-{key}"
    _remove_killed(root, note["target"], spare=name)
    with _locked(root, name, note) as folder:
        keep = False
        try:
            yield folder
        except (KeyboardInterrupt, SystemExit, OSError):
            keep = True
            raise
        except StorageError:
            keep = not {path.name for path in folder.iterdir()} <= {LOCK, _NOTE, *_SETTINGS}
            raise
        finally:
            if not keep:
                _remove(folder)


@contextmanager
def temporary_run_folder(root: Path, note: dict[str, str]) -> Iterator[Path]:
    """Yield a new folder inside the work folder, which is removed at the end.

    Folders of killed runs that went to the same target are removed.

    Parameters
    ----------
    root : Path
        The work folder.
    note : dict of str to str
        As for `run_folder`.

    Yields
    ------
    Path
        The folder.
    """
    _remove_killed(root, note["target"])
    with _locked(root, f"run-{secrets.token_hex(16)}", note) as folder:
        try:
            yield folder
        finally:
            _remove(folder)


@contextmanager
def _locked(root: Path, name: str, note: dict[str, str]) -> Iterator[Path]:
    """Make a folder in the work folder, or take the one that is there, and keep it locked."""
    folder = root / name
    lock = None
    while lock is None:
        with suppress(FileExistsError):
            os.mkdir(root, 0o700)  # a run that ended has removed it
        with suppress(FileExistsError, FileNotFoundError):
            os.mkdir(folder, 0o700)
        if not is_private(root) or (os.path.lexists(folder) and not is_private(folder)):
            raise StorageError(f"{folder} is not a private folder of this user.", _REMEDY)
        with suppress(FileNotFoundError):  # a run that ended has just removed it
            lock = try_lock(folder / LOCK)
            if lock is None and (folder / LOCK).exists():
                raise StorageError(
                    f"The same command is already running into {note['target']}.",
                    "Wait for its end.",
                )
    try:
        began = {"began": str(int(time.time()))}
        write_atomic(folder / _NOTE, json.dumps(note | began))
        yield folder
    finally:
        os.close(lock)


def _remove_killed(root: Path, target: str, spare: str = "") -> None:
    """Remove the folders of killed runs to a target, and those of runs that had just begun."""
    for other in runs_left(root):
        if other.path.name != spare and other.target in (target, ""):
            remove_run(other)


def _remove(folder: Path) -> None:
    """Remove the folder of a run, and the work folder if nothing else is in it.

    What a resumed run would need goes first, so that no half of it is ever resumed.
    """
    for name in _SETTINGS:
        with suppress(OSError):
            os.unlink(folder / name)
    discard(folder, last=(PUBLISHED, _NOTE))
    with suppress(OSError):
        os.rmdir(folder.parent)


def empty_folder(folder: Path, spare: Path | None = None) -> None:
    """Remove what an earlier attempt has left in a `run_folder`.

    Parameters
    ----------
    folder : Path
        The folder.
    spare : Path, optional
        A file that is kept.
    """
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name not in (LOCK, _NOTE) and path != spare:
            path.unlink()


# -------------------------------------------------------------------------------- what runs left


@dataclass(frozen=True)
class RunFolder:
    """The folder of a run that has been killed, interrupted or is still running."""

    path: Path
    command: str  # what the run does
    target: str  # where its release goes; empty if the run wrote no rows yet
    size: int  # bytes
    age: float | None  # seconds since it began; None if that is unknown
    running: bool


def runs_left(root: Path) -> list[RunFolder]:
    """List the folders of runs in the work folder; symbolic links are not followed.

    Parameters
    ----------
    root : Path
        The work folder.

    Returns
    -------
    list of RunFolder
        Also those of runs that are still going on.
    """
    if not is_private(root):
        return []
    return [_described(path) for path in sorted(root.glob("run-*")) if is_own(path)]


def _described(path: Path) -> RunFolder:
    note: dict[str, str] = {}
    with suppress(OSError, ValueError, RecursionError), open(path / _NOTE, "rb") as file:
        found = json.loads(file.read(_MOST_BYTES))
        note = {name: str(found.get(name, "")) for name in ("command", "target", "began")}
    lock = None
    with suppress(OSError):
        lock = try_lock(path / LOCK, without_locks=False)
    if lock is not None:
        os.close(lock)
    began = note.get("began", "")
    age = max(0.0, time.time() - int(began)) if began.isdecimal() else None
    return RunFolder(
        path,
        note.get("command", ""),
        note.get("target", ""),
        size_of(path),
        age,
        running=lock is None,
    )


def size_of(folder: Path) -> int:
    """Return the size of all files in a folder; symbolic links are not followed.

    Parameters
    ----------
    folder : Path
        The folder.

    Returns
    -------
    int
        Bytes.
    """
    total = 0
    for place, _, names in os.walk(folder):  # does not follow links
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(place, name)).st_size
    return total


def remove_run(run: RunFolder) -> bool:
    """Remove the folder of a run that has ended.

    Parameters
    ----------
    run : RunFolder
        The folder.

    Returns
    -------
    bool
        Whether it was removed; a run that is going on is left alone.
    """
    if not is_own(run.path):
        return False
    try:
        lock = try_lock(run.path / LOCK, without_locks=False)
    except OSError:
        return False
    if lock is None:
        return False
    _remove(run.path)
    os.close(lock)
    return not os.path.lexists(run.path)
