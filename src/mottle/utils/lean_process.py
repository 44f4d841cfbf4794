"""What libraries do for features that the command line does not use, left out of its processes.

Arrow imports pandas, where it is installed, at the first conversion of a Python value, and Numba
imports SciPy's linear algebra to learn whether kernels may call it. Together they take as long as
anonymizing 100,000 rows. A process that belongs to others, such as a notebook, is left alone.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.abc import MetaPathFinder
from typing import TYPE_CHECKING

from mottle.utils.lazy import lazy_module

if TYPE_CHECKING:
    from mottle.utils.compiling import loading
else:
    loading = lazy_module("mottle.utils.compiling.loading")

__all__ = [
    *("end_at_once", "end_without_finalizing", "is_own_process"),
    *("keep_imported", "keep_memory", "leave_out_unused", "own_process"),
]

# Importing allocates a million objects that stay: by default a fifth of the time of a short command
# is spent on looking for garbage among them.
_OBJECTS_OF_MODULES = 2_000_000
OBJECTS_PER_COLLECTION = 100_000

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # options of mallopt in glibc
_KEPT = 1 << 30  # bytes

_own = False
_REPORTING = ("_duckdb",)  # made with nanobind, which prints what is not freed at the end


def own_process() -> None:
    """State that this process runs the command line and nothing else."""
    global _own
    _own = True
    gc.set_threshold(_OBJECTS_OF_MODULES, *gc.get_threshold()[1:])


def is_own_process() -> bool:
    """Return whether this process runs the command line and nothing else."""
    return _own


def keep_memory() -> None:
    """Let the C library keep memory that is free again, for all threads, in a process of our own.

    By itself it gives large arrays back to the system at once, which clears the memory before the
    next array gets it, and keeps memory by thread: a tenth of the time of a run. Its variables
    (``MALLOC_ARENA_MAX`` and others) have precedence.
    """
    if not _own or sys.platform != "linux":
        return
    if any(name.startswith("MALLOC_") or name == "GLIBC_TUNABLES" for name in os.environ):
        return
    with suppress(OSError, AttributeError):  # other C libraries have no such function
        choose = import_module("ctypes").CDLL(None).mallopt
        for option in (_TRIM_THRESHOLD, _MMAP_THRESHOLD):
            choose(option, _KEPT)
        choose(_ARENA_MAX, 1)


def leave_out_unused() -> None:
    """Let Arrow do without pandas, and Numba without SciPy, if the process is our own.

    From then on Arrow converts nothing from or to pandas. Kernels call no C functions by cffi, so
    that Numba need not learn how these are declared.
    """
    if not _own:
        return
    if "pandas" not in sys.modules:
        with _hidden("pandas"):
            import_module("pyarrow").array([0])  # it looks once
    if "numba.core.typing.cffi_utils" not in sys.modules:
        with _hidden("cffi"):
            import_module("numba.core.typing.cffi_utils")
    loading.load_without_compiler(before_compiling=_import_without_linear_algebra)


def _import_without_linear_algebra() -> None:
    if "numba.np.arraymath" not in sys.modules:
        with _hidden("scipy.linalg"):
            import_module("numba.np.arraymath")


def keep_imported() -> None:
    """Spare the modules of a process of our own, which stay, from the search for garbage.

    They have a million objects. Before, the search begins so late that importing does not pay for
    it; afterwards it begins as soon as memory needs it.
    """
    if not _own:
        return
    if not _is_reporting():
        gc.freeze()  # first: with the lower threshold the next object would begin a search
    gc.set_threshold(OBJECTS_PER_COLLECTION, *gc.get_threshold()[1:])


def end_at_once() -> None:
    """Leave out the search for garbage among all objects with which Python ends a process.

    It finds nothing that is needed any more. Libraries that report what is left of their objects
    would report all of them, so where one is loaded Python searches as ever.
    """
    if _own and _is_reporting():
        gc.unfreeze()
    elif _own:
        gc.freeze()


def end_without_finalizing(code: int) -> None:
    """End a process of our own without taking its modules apart, where nothing is left to be done.

    What is registered for the end is done. Returns where other threads run, where a library reports
    what is left of its objects, or where what was printed cannot be delivered: Python ends then.

    Parameters
    ----------
    code : int
        The exit code.
    """
    if not _own or _is_reporting() or threading.active_count() > 1:
        return
    end_at_once()
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except (OSError, ValueError):
        return
    os._exit(code)


def _is_reporting() -> bool:
    return any(name in sys.modules for name in _REPORTING)


class _Hiding(MetaPathFinder):
    """Finds no module of a name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Raise an error for the name, and leave others to the next finder."""
        if name == self._name:
            raise ModuleNotFoundError(f"{name} is not used in this process.", name=name)


@contextmanager
def _hidden(name: str) -> Iterator[None]:
    finder = _Hiding(name)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
