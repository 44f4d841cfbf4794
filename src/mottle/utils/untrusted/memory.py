"""How much memory a file of others may take: what the machine has left, and not more."""

from __future__ import annotations

import os
from pathlib import Path

from mottle.errors import DataError

__all__ = ["available_memory", "check_fits"]

_CGROUP = Path("/sys/fs/cgroup")  # the limits of a container, if this process is in one
_MEMINFO = Path("/proc/meminfo")
_UNKNOWN = 1 << 40  # where the system does not say


def available_memory() -> int:
    """Return how many bytes this process can use without swapping.

    Returns
    -------
    int
        The least of what the machine and the container have left.
    """
    free = [_of_machine()]
    limit, used = (_number(_CGROUP / f"memory.{name}") for name in ("max", "current"))
    if limit is not None and used is not None:
        free.append(max(limit - used, 0))
    return min(free)


def check_fits(size: int, name: str) -> None:
    """Refuse a file whose content does not fit into memory.

    Parameters
    ----------
    size : int
        The bytes that the content takes at least.
    name : str
        The file, for the message.

    Raises
    ------
    DataError
        There is not as much memory.
    """
    if size > available_memory():
        raise DataError(
            f"{name} takes {size / 2**30:,.1f} GB or more in memory, more than is available.",
            "Read it in parts: --memory 4GB. If the file is not from you, it may be meant to"
            " exhaust the memory.",
        )


def _of_machine() -> int:
    try:
        for line in _MEMINFO.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return _UNKNOWN


def _number(file: Path) -> int | None:
    """The number in a file; None where there is none, or no limit ("max")."""
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
