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

__all__ = ["end_at_once", "leave_out_unused", "own_process"]

_own = False
_REPORTING = ("_duckdb",)  # made with nanobind, which prints what is not freed at the end


def own_process() -> None:
    """State that this process runs the command line and nothing else."""
    global _own
    _own = True


def leave_out_unused() -> None:
    """Let Arrow do without pandas, and Numba without SciPy, if the process is our own.

    From then on Arrow converts nothing from or to pandas.
    """
    if not _own:
        return
    if "pandas" not in sys.modules:
        with _hidden("pandas"):
            import_module("pyarrow").array([0])  # it looks once
    if "numba.np.arraymath" not in sys.modules:
        with _hidden("scipy.linalg"):
            import_module("numba.np.arraymath")


def end_at_once() -> None:
    """Leave out the search for garbage among all objects with which Python ends a process.

    It finds nothing that is needed any more. Libraries that report what is left of their objects
    would report all of them, so where one is loaded Python searches as ever.
    """
    if _own and not any(name in sys.modules for name in _REPORTING):
        gc.freeze()


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
