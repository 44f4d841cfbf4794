"""Finds out whether the numeric kernels are compiled, so that a first run can say it will wait."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mottle.assignment.closed_walk import closed_walk

_compiled: Any = closed_walk


def done_before() -> bool:
    """Tell whether an earlier run has compiled the kernels, which Numba caches on disk.

    Looks for the cached index of the kernel that a run compiles last.
    """
    folder = _compiled.stats.cache_path
    return folder is not None and any(Path(folder).glob("*closed_walk*.nbi"))


def is_kept() -> bool:
    """Tell whether compiled kernels are kept for later runs."""
    return _compiled.stats.cache_path is not None
