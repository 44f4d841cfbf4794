"""Paths as the file system sees them."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["resolved"]


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
