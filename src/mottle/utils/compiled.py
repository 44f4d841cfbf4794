"""How kernels are compiled: the two decorators of functions that Numba compiles.

Around a function Numba makes two others, by which Python and C can call it. They take a quarter of
the time of compiling, because every argument is taken out of its Python object there. No kernel is
called from C, and half of all kernels are called by other kernels alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from numba import njit

from mottle.utils.compiling.loading import try_folders_once
from mottle.utils.compiling.parts import KernelCompiler, keep_as_part
from mottle.utils.lean_process import is_own_process

__all__ = ["inner_kernel", "kernel"]

if is_own_process():
    try_folders_once()

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function that Python calls, without the GIL, and keep it on disk.

    Parameters
    ----------
    function : callable
        A function on numbers, arrays and tuples of them.

    Returns
    -------
    callable
        Compiles the function when it is called with arguments of other types than before.
    """
    compiled: Function = _numba(function, cache=True)
    return compiled


def inner_kernel(function: Function) -> Function:
    """Compile a function that other kernels call, without what Python needs to call it.

    Tests can call it all the same: for Python it is compiled once more, and not kept on disk.

    Parameters
    ----------
    function : callable
        A function on numbers, arrays and tuples of them.

    Returns
    -------
    callable
        To be called by kernels.
    """
    inner = _numba(function, cache=True, no_cpython_wrapper=True)
    keep_as_part(inner)

    @cache
    def for_python() -> Any:
        return _numba(function)

    def keep(compiled: Any) -> None:
        """Keep what was compiled where kernels look for it; Python would call what is not there."""
        inner.overloads[tuple(compiled.signature.args)] = compiled

    def compile_for_args(*arguments: Any, **named: Any) -> Any:
        return for_python()._compile_for_args(*arguments, **named)

    inner.add_overload = keep
    inner._compile_for_args = compile_for_args
    result: Function = inner
    return result


def _numba(function: Function, **options: bool) -> Any:
    compiler: Any = njit
    decorate = compiler(nogil=True, no_cfunc_wrapper=True, pipeline_class=KernelCompiler, **options)
    compiled = decorate(function)
    _take_damaged_for_missing(compiled)
    return compiled


def _take_damaged_for_missing(compiled: Any) -> None:
    """Compile again what cannot be read from the cache, for instance after a disk was full.

    Numba would raise, in this run and all later ones.
    """
    kept = getattr(compiled._cache, "_cache_file", None)  # as Numba keeps it now; else it raises
    if kept is None or not hasattr(kept, "_load_index") or not hasattr(kept, "_load_data"):
        return
    load_index, load_data = kept._load_index, kept._load_data

    def index() -> Any:
        try:
            return load_index()
        except OSError:
            raise
        except Exception:  # whatever unpickling raises
            return {}

    def data(name: str) -> Any:
        try:
            return load_data(name)
        except OSError:
            raise
        except Exception as error:
            raise OSError("A compiled kernel is damaged.") from error  # Numba compiles again

    kept._load_index, kept._load_data = index, data
