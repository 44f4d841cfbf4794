"""Notices that an input file changes while it is read, so that no mixture of two is published."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

from mottle.errors import DataError
from mottle.utils.paths import is_pattern

__all__ = ["InputState", "input_files", "refusing_changes"]

Reader = TypeVar("Reader", bound=Callable[..., Any])


class InputState:
    """The files of an input as they are now: which ones, their sizes and when they were changed.

    Parameters
    ----------
    path : Path
        A file, a folder of files, or a pattern.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._before = _state(path)

    def check(self) -> None:
        """Raise an error if the input has changed since.

        Raises
        ------
        DataError
            It has.
        """
        if self.has_changed():
            raise DataError(
                f"{self._path} changed while it was read.",
                "Make sure that it is not modified, and run the command again.",
            )

    def has_changed(self) -> bool:
        """Tell whether the input has changed since.

        Returns
        -------
        bool
            Whether a file is another one, has another size, or was written to.
        """
        return _state(self._path) != self._before


def refusing_changes(read: Reader) -> Reader:
    """Let a function that reads a file raise `DataError` if the file changes meanwhile.

    Parameters
    ----------
    read : callable
        Takes a path, or something in memory, as its first argument.

    Returns
    -------
    callable
        The function with the check.
    """

    @wraps(read)
    def checked(path: object, *arguments: Any, **options: Any) -> Any:
        if not isinstance(path, (str, os.PathLike)):  # it is in memory
            return read(path, *arguments, **options)
        before = InputState(Path(path))
        try:
            result = read(path, *arguments, **options)
        except DataError:
            before.check()  # rather than about content that was never there as a whole
            raise
        before.check()
        return result

    return cast("Reader", checked)


def input_files(path: Path) -> list[Path]:
    """Return the files of an input: itself, or those of a folder or a pattern.

    Parameters
    ----------
    path : Path
        A file, a folder, or a pattern such as ``data/*.parquet``.

    Returns
    -------
    list of Path
        Sorted; a file is returned whether it exists or not.
    """
    if is_pattern(path):
        found = [Path(one) for one in glob.glob(str(path), recursive=True)]
        return sorted(file for one in found for file in input_files(one))
    if not os.path.isdir(path):
        return [path]
    return sorted(each for each in path.rglob("*") if each.is_file())


def _state(path: Path) -> list[tuple[object, ...]]:
    return [_stamp(each) for each in input_files(path)]


def _stamp(path: Path) -> tuple[object, ...]:
    """What changes when a file is written to or replaced; clocks are compared only for equality."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):  # whoever opens it reports it
        return (str(path),)
    times = found.st_mtime_ns, found.st_ctime_ns
    return str(path), found.st_dev, found.st_ino, found.st_size, *times
