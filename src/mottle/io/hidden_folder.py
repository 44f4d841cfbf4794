"""Hidden folders beside the files of a target, in which new files wait until all are complete.

A run makes a folder ``.mottle-unfinished-…`` that only its owner can enter, and keeps a file in it
locked for as long as it lives. `abandoned` finds the folders whose runs have ended. Nothing that
others could have made is used: links, folders of other users and folders that others can enter are
left alone, with a warning.
"""

from __future__ import annotations

import errno
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from mottle.utils.private_folders import is_private

__all__ = [
    "PREFIX",
    "abandoned",
    "discard",
    "folder_lock",
    "hidden_folder",
    "hidden_folders",
    "make_folder",
    "sync_folder",
    "try_lock",
    "warn_about",
]

PREFIX = ".mottle-unfinished-"
LOCK = "lock"
_POSIX = os.name == "posix"
_live: set[Path] = set()  # hidden folders of this process
_logger = logging.getLogger(__name__)


@contextmanager
def hidden_folder(anchor: Path) -> Iterator[Path]:
    """Make a hidden folder and keep it locked; the caller removes it by `discard`.

    Parameters
    ----------
    anchor : Path
        The folder that contains it, which has to exist.

    Yields
    ------
    Path
        The hidden folder.
    """
    lock = None
    for _ in range(100):
        stage = anchor / Path(tempfile.mkdtemp(prefix=PREFIX, dir=anchor)).name  # mode 0700
        # A neighbour that looks for abandoned folders may remove a new one that is not locked yet.
        with suppress(FileNotFoundError):
            lock = try_lock(stage / LOCK)
        if lock is not None:
            break
    else:
        raise OSError(errno.ENOLCK, "files cannot be locked", str(anchor))
    _live.add(stage)
    try:
        yield stage
    finally:
        _live.discard(stage)
        os.close(lock)


@contextmanager
def abandoned(anchor: Path) -> Iterator[list[Path]]:
    """Find the hidden folders of this user's runs that have ended, and lock them.

    Parameters
    ----------
    anchor : Path
        The folder that contains them.

    Yields
    ------
    list of Path
        The folders. New ones that are still empty have been removed.
    """
    found, locks = [], []
    try:
        for stage in hidden_folders(anchor):
            if stage in _live:  # some file systems give a process its own locks again
                continue
            if not is_private(stage):
                warn_about(stage, "is not a private folder of this user")
                continue
            with suppress(OSError):
                os.rmdir(stage)  # nothing is in it yet; its run, if it lives, makes another one
                continue
            lock = None
            with suppress(OSError):
                lock = try_lock(stage / LOCK, without_locks=False)
            if lock is not None:
                locks.append(lock)
                found.append(stage)
        yield found
    finally:
        for lock in locks:
            os.close(lock)


def hidden_folders(anchor: Path) -> list[Path]:
    """List everything in a folder that has the name of a hidden folder.

    Parameters
    ----------
    anchor : Path
        The folder.

    Returns
    -------
    list of Path
        What is there, whoever has made it.
    """
    try:
        return sorted(Path(entry) for entry in os.scandir(anchor) if entry.name.startswith(PREFIX))
    except OSError:  # there is no such folder, or it cannot be listed
        return []


def warn_about(stage: Path, why: str) -> None:
    """Warn that a hidden folder is left as it is.

    Parameters
    ----------
    stage : Path
        The hidden folder.
    why : str
        What is the matter with it, as the predicate of a sentence.
    """
    _logger.warning(
        "%s %s. It is left alone; remove it before the folder is published.", stage, why
    )


def try_lock(path: Path, *, without_locks: bool = True) -> int | None:
    """Lock a file, which is made if necessary, unless a process holds it.

    Parameters
    ----------
    path : Path
        The file; a symbolic link is refused.
    without_locks : bool
        Whether the file counts as locked by us where the file system has no locks.

    Returns
    -------
    int or None
        The descriptor, whose closing releases the lock; None if a process holds the lock, or if
        the file was removed meanwhile.

    Raises
    ------
    OSError
        The file cannot be made or opened.
    """
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    handle = os.open(path, flags, 0o600)
    try:
        if _locks(handle, without_locks) and os.path.samestat(os.fstat(handle), os.lstat(path)):
            return handle
    except OSError:
        pass
    os.close(handle)
    return None


def _locks(handle: int, without_locks: bool) -> bool:
    """Whether we got the lock."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        held = error.errno in (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK)
        return without_locks and not held
    return True


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Wait for other runs that move files into a folder, and make them wait.

    Parameters
    ----------
    folder : Path
        The folder. Where it cannot be locked (some network file systems), nobody waits.
    """
    if not _POSIX:
        yield
        return
    import fcntl

    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def discard(stage: Path, last: Sequence[str] = ()) -> None:
    """Remove a hidden folder: folders in it first, the lock last; links are not followed.

    Parameters
    ----------
    stage : Path
        The folder, which the caller has locked.
    last : sequence of str
        Files that are removed after all others, in this order, before the lock.
    """
    order = (*last, LOCK)
    with suppress(OSError):
        entries = list(os.scandir(stage))
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
        entries.sort(key=lambda entry: order.index(entry.name) if entry.name in order else -1)
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.path)
        os.rmdir(stage)


def sync_folder(folder: Path) -> None:
    """Make sure that the names in a folder have reached the disk.

    Parameters
    ----------
    folder : Path
        The folder.
    """
    if not _POSIX:
        return
    handle = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        os.fsync(handle)
    except OSError as error:  # some file systems cannot
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EROFS):
            raise
    finally:
        os.close(handle)


def make_folder(target: Path) -> list[Path]:
    """Create a folder and its parents.

    Parameters
    ----------
    target : Path
        The folder.

    Returns
    -------
    list of Path
        Those that did not exist, innermost first.
    """
    missing = [folder for folder in (target, *target.parents) if not folder.exists()]
    target.mkdir(parents=True, exist_ok=True)
    return missing
