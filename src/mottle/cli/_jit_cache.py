"""Finds out whether the numeric kernels are compiled, so that a first run can say it will wait."""

from __future__ import annotations

from pathlib import Path

from mottle.assignment.closed_walk import closed_walk


def done_before() -> bool:
    """Tell whether an earlier run has compiled the kernels, which Numba caches on disk.

    Looks for the cached index of the kernel that a run compiles last.
    """
    folder = Path(closed_walk.stats.cache_path or ".")
    return any(folder.glob("*closed_walk*.nbi"))
