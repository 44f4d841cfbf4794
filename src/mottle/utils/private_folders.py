"""Folders that nobody but their owner can enter or exchange, and places for them.

What lies in such a folder may be trusted as the user's own: secrets, rows of the original, compiled
code. A folder is private if it is a folder and no link, belongs to this user and is open to nobody
else. It is made in a place in which others cannot exchange it: one that belongs to this user or to
root and that others cannot write to, unless it has the sticky bit, as ``/tmp`` has.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from mottle.utils.paths import resolved

__all__ = [
    "cache_home",
    "default_places",
    "is_own",
    "is_private",
    "is_safe_place",
    "new_private_file",
    "private_folder",
    "private_path",
]

_POSIX = os.name == "posix"


def is_own(path: Path) -> bool:
    """Tell whether a path is a folder of this user, be it open to others or not.

    Parameters
    ----------
    path : Path
        The path; a symbolic link is not followed.

    Returns
    -------
    bool
        False also if there is nothing.
    """
    return _is_own_folder(path, 0)


def is_private(path: Path) -> bool:
    """Tell whether a path is a folder of this user that nobody else can enter.

    Parameters
    ----------
    path : Path
        The path; a symbolic link is not followed.

    Returns
    -------
    bool
        False also if there is nothing.
    """
    return _is_own_folder(path, 0o077)


def _is_own_folder(path: Path, closed: int) -> bool:
    try:
        found = os.lstat(path)
    except OSError:
        return False
    if not stat.S_ISDIR(found.st_mode):
        return False
    return not _POSIX or (found.st_uid == os.geteuid() and not found.st_mode & closed)


def is_safe_place(path: Path) -> bool:
    """Tell whether other users cannot exchange what this user makes in a folder.

    Parameters
    ----------
    path : Path
        The folder; a symbolic link is followed.

    Returns
    -------
    bool
        False also if there is no such folder.
    """
    try:
        found = os.stat(path)
    except OSError:
        return False
    if not stat.S_ISDIR(found.st_mode):
        return False
    if not _POSIX:
        return True
    closed = not found.st_mode & 0o022 or found.st_mode & stat.S_ISVTX
    return bool(closed) and found.st_uid in (0, os.geteuid())


def private_folder(place: Path, name: str) -> Path:
    """Make a private folder in a place, or return the one that is there.

    Parameters
    ----------
    place : Path
        The folder that contains it; it is made, for this user alone, if it does not exist.
    name : str
        Its name, to which the user's number is added.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    PermissionError
        Others could exchange the folder, or what has its name is not private.
    OSError
        It cannot be made.
    """
    for missing in reversed([folder for folder in (place, *place.parents) if not folder.exists()]):
        with suppress(FileExistsError):
            os.mkdir(missing, 0o700)
    if not is_safe_place(place):
        raise PermissionError(errno.EACCES, "others can change what is in it", str(place))
    folder = private_path(place, name)
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    if not is_private(folder):
        raise PermissionError(errno.EACCES, "it is not a private folder of this user", str(folder))
    return folder


def private_path(place: Path, name: str) -> Path:
    """Return where `private_folder` makes a folder.

    Parameters
    ----------
    place : Path
        The folder that contains it.
    name : str
        Its name, to which the user's number is added.

    Returns
    -------
    Path
        The path, whether or not it exists.
    """
    return resolved(place) / (f"{name}-{os.geteuid()}" if _POSIX else name)


def cache_home() -> Path | None:
    """Return the user's folder for files that can be made again, if the user has one.

    Returns
    -------
    Path or None
        ``$XDG_CACHE_HOME`` or ``~/.cache``; None for users without a home.
    """
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(chosen):
        return Path(chosen)
    home = os.path.expanduser("~")  # stays "~" for a user that the system does not know
    return Path(home) / ".cache" if os.path.isabs(home) else None


def default_places() -> list[Path]:
    """Return the places for private folders, the best one first.

    Returns
    -------
    list of Path
        The user's cache and the system's folder for temporary files, as far as they are known.
    """
    places = [cache_home()]
    with suppress(OSError):
        places.append(Path(tempfile.gettempdir()))
    return [place for place in places if place is not None]


def new_private_file(path: Path) -> None:
    """Make an empty file that only its owner can read, in the place of an earlier one.

    Parameters
    ----------
    path : Path
        The file. Whoever opens it for writing keeps its mode.
    """
    with suppress(FileNotFoundError):
        os.unlink(path)
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
