"""Let one process of a machine compile kernels while the others that need them wait.

Workers of a cluster start at the same time on the same kind of work. Without this each of them
would compile the same kernels; the first one now puts them into the cache from which the others
load them.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from mottle.utils.private_folders import private_folder

if sys.platform != "win32":
    import fcntl

__all__ = ["one_at_first"]

_REMEMBERED = 100  # tokens that a file of locks holds
_DONE: set[str] = set()  # tokens of work that this process has done


@contextmanager
def one_at_first(name: str, token: str) -> Iterator[None]:
    """Do some work by one process of the machine first, then by all at once.

    A process that fails or is killed lets the next one be the first.

    Parameters
    ----------
    name : str
        What is done: works of different names do not wait for each other.
    token : str
        Stands for this work on these data: what was done under another token may have needed
        other kernels.

    Examples
    --------
    >>> with one_at_first("sort", "run 1"):
    ...     found = sorted([2, 1])
    >>> found
    [1, 2]
    """
    if token in _DONE:
        yield
        return
    with ExitStack() as opened:
        file = _locked(name, opened)
        if file is not None and token in file.read().split():
            opened.close()
            file = None
        yield
        _DONE.add(token)
        if file is not None:
            file.seek(0)
            tokens = [*file.read().split(), token][-_REMEMBERED:]
            file.seek(0)
            file.truncate()
            file.write("\n".join(tokens))


def _locked(name: str, opened: ExitStack) -> IO[str] | None:
    """A file that no other process has locked; None where there is no place for one."""
    if sys.platform == "win32":  # every process compiles for itself
        return None
    with suppress(OSError):
        folder = private_folder(Path(tempfile.gettempdir()), "mottle-compiling")
        file = opened.enter_context((folder / name).open("a+", encoding="utf-8"))
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        return file
    return None
