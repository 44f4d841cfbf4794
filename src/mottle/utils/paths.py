"""Paths as the file system sees them."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["is_pattern", "resolved"]

_PATTERN = frozenset("*?[")


def resolved(path: str | os.PathLike[str]) -> Path:
    """Return the absolute path without symbolic links.

    Unlike `Path.resolve` it accepts links that lead to themselves: whoever opens such a path gets
    the operating system's error, with its name.

    Parameters
    ----------
    path : str or PathLike
        Any path; it need not exist.

    Returns
    -------
    Path
        The absolute path.

    Examples
    --------
    >>> resolved("/usr/../tmp").parts[-1]
    'tmp'
    """
    return Path(os.path.realpath(path))


def is_pattern(path: str | Path) -> bool:
    """Tell whether a path is a pattern such as ``data/*.parquet`` rather than a file.

    Parameters
    ----------
    path : str or Path
        What the user named.

    Returns
    -------
    bool
        False for a file whose name has such characters.

    Examples
    --------
    >>> is_pattern("data/*.parquet"), is_pattern("people.csv")
    (True, False)
    """
    return bool(_PATTERN & set(str(path))) and not os.path.lexists(path)
