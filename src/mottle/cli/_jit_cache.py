"""Whether the numeric kernels are compiled already, so that a first run can announce its wait."""

from __future__ import annotations

from pathlib import Path

from mottle.assignment.closed_walk import closed_walk


def done_before() -> bool:
    """Whether an earlier run left compiled kernels behind (Numba keeps them on disk).

    Looks for the cached index of the kernel a run compiles last.
    """
    folder = Path(closed_walk.stats.cache_path or ".")
    return any(folder.glob("*closed_walk*.nbi"))
