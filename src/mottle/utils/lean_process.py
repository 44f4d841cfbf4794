"""What libraries do for features that the command line does not use, left out of its processes.

Arrow imports pandas, where it is installed, at the first conversion of a Python value, and Numba
imports SciPy's linear algebra to learn whether kernels may call it. Together they take as long as
anonymizing 100,000 rows. A process that belongs to others, such as a notebook, is left alone.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import MetaPathFinder

__all__ = [
    *("end_at_once", "is_own_process", "keep_imported", "leave_out_unused", "own_process"),
]

# Importing allocates a million objects that stay: by default a fifth of the time of a short command
# is spent on looking for garbage among them.
_OBJECTS_OF_MODULES = 2_000_000
OBJECTS_PER_COLLECTION = 100_000

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
    if "numba.np.arraymath" not in sys.modules:
        with _hidden("scipy.linalg"):
            import_module("numba.np.arraymath")
    if "numba.core.typing.cffi_utils" not in sys.modules:
        with _hidden("cffi"):
            import_module("numba.core.typing.cffi_utils")


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
