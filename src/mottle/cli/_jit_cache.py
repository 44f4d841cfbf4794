"""Finds out whether the numeric kernels are compiled, so that a first run can say it will wait."""

from __future__ import annotations

from pathlib import Path

from mottle.assignment.closed_walk import closed_walk


def done_before() -> bool:
    """Tell whether an earlier run has compiled the kernels, which Numba caches on disk.

    Looks for the cached index of the kernel that a run compiles last.
    """
    folder = closed_walk.stats.cache_path
    return folder is not None and any(Path(folder).glob("*closed_walk*.nbi"))


def is_kept() -> bool:
    """Tell whether compiled kernels are kept for later runs."""
    return closed_walk.stats.cache_path is not None
