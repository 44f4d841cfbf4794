"""How much memory a file of others may take: what this process can have, and not more.

What a file takes is estimated before it is read, and what a run takes before it begins
(`check_fits`, `check_work`). Estimates rest on what files state about themselves; should that be
wrong, `bounded_memory` makes the allocation fail that would exceed the memory.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from mottle.errors import DataError

__all__ = ["available_memory", "bounded_memory", "check_fits", "check_work"]

_CGROUPS = Path("/sys/fs/cgroup")  # the limits of a container, if this process is in one
_PROCESS = Path("/proc/self")
_MEMINFO = Path("/proc/meminfo")
_UNKNOWN = 1 << 40  # where the system does not say

# Files of limit and use of a control group, and what of the use is a cache that can be dropped.
_VERSIONS = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def available_memory() -> int:
    """Return how many bytes this process can use without swapping.

    Returns
    -------
    int
        The least of what the machine, the container (control groups) and the limits of the process
        (``ulimit -v``, ``ulimit -d``) leave.
    """
    return min([_of_machine(), *_of_containers(), *_of_process()])


def check_fits(size: int, name: str, limit: int | None = None) -> None:
    """Refuse a file whose content does not fit into memory.

    Parameters
    ----------
    size : int
        The bytes that the content takes at least.
    name : str
        The file, for the message.
    limit : int, optional
        The bytes there are; by default what is available now.

    Raises
    ------
    DataError
        There is not as much memory.
    """
    free = available_memory() if limit is None else limit
    if size > free:
        raise DataError(
            f"{name} takes {_shown(size)} or more in memory, and {_shown(free)} are available.",
            "Read it in parts: --memory 4GB. If the file is not from you, it may be meant to"
            " exhaust the memory.",
        )


def check_work(size: int, rows: int, remedy: str) -> None:
    """Refuse to begin work on a table that cannot end for lack of memory.

    Parameters
    ----------
    size : int
        The bytes that the work takes at least, besides the table, which is in memory already.
    rows : int
        The rows of the table, for the message.
    remedy : str
        What to do instead, for the message.

    Raises
    ------
    DataError
        There is not as much memory.
    """
    if size > (free := available_memory()):
        raise DataError(
            f"Work on {rows:,} rows takes {_shown(size)} or more of memory besides the table, and"
            f" {_shown(free)} are available.",
            remedy,
        )


def _shown(size: int) -> str:
    return f"{size / 10**9:,.1f} GB"


# ------------------------------------------------------------------------------- what is available


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


def _of_containers() -> Iterator[int]:
    """What the control group of this process and those around it leave."""
    for folder in _control_groups():
        for limit_file, used_file, cache in _VERSIONS:
            limit, used = _number(folder / limit_file), _number(folder / used_file)
            if limit is not None and used is not None:
                yield max(limit - used + _entry(folder / "memory.stat", cache), 0)


def _control_groups() -> list[Path]:
    """The folders of the control groups of this process; those of a container are the topmost."""
    found = [_CGROUPS, _CGROUPS / "memory"]
    with suppress(OSError, ValueError):
        for line in (_PROCESS / "cgroup").read_text(encoding="utf-8").splitlines():
            number, controllers, path = line.split(":", 2)
            if number == "0" or "memory" in controllers.split(","):
                top = _CGROUPS if number == "0" else _CGROUPS / "memory"
                inside = PurePosixPath(path.lstrip("/"))
                found += [
                    top / part for part in (inside, *inside.parents) if ".." not in part.parts
                ]
    return list(dict.fromkeys(found))


def _of_process() -> Iterator[int]:
    """What the limits of the process on its address space and its data leave."""
    if sys.platform == "win32":
        return
    import resource

    for limit, place in ((resource.RLIMIT_AS, 0), (resource.RLIMIT_DATA, 5)):
        soft, _ = resource.getrlimit(limit)
        if soft != resource.RLIM_INFINITY:
            yield max(soft - _used(place), 0)


def _used(place: int) -> int:
    """Bytes of address space (0) or of data (5) that this process has."""
    try:
        words = (_PROCESS / "statm").read_text(encoding="ascii").split()
        return int(words[place]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _number(file: Path) -> int | None:
    """The number in a file; None where there is none, or no limit ("max")."""
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _entry(file: Path, name: str) -> int:
    """The number behind a name; 0 where there is none."""
    with suppress(OSError, ValueError):
        for line in file.read_text(encoding="ascii").splitlines():
            word, _, number = line.partition(" ")
            if word == name:
                return int(number)
    return 0


# ----------------------------------------------------------------------------------- a last resort

_bounding = threading.Lock()
_inside = 0  # how many threads are in `bounded_memory`
_before: tuple[int, int] | None = None  # the limit outside of it


@contextmanager
def bounded_memory() -> Iterator[None]:
    """Let allocations fail that would take more memory than is available.

    A file that states too little about itself then ends in a `MemoryError`, before the system ends
    this or another process. Only Linux counts the data of a process so that it can be limited.
    """
    if sys.platform != "linux":
        yield
        return
    _bound(1)
    try:
        yield
    finally:
        _bound(-1)


def _bound(step: int) -> None:
    """Enter or leave; the limit is set by the first thread, and restored by the last one."""
    global _inside, _before
    import resource

    with _bounding:
        _inside += step
        with suppress(OSError, ValueError):
            if _before is not None and _inside == 0:
                resource.setrlimit(resource.RLIMIT_DATA, _before)
                _before = None
            elif _before is None and _inside == 1:
                soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
                allowed = _used(5) + available_memory()
                if soft == resource.RLIM_INFINITY or allowed < soft:
                    resource.setrlimit(resource.RLIMIT_DATA, (allowed, hard))
                    _before = soft, hard
