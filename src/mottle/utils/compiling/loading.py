"""Load kernels from the cache without what only compiling needs.

Before Numba looks for a kernel in its cache, it imports and registers everything it knows about
types and functions of Python and NumPy: a tenth of a second. A kernel that is in the cache needs
none of it, and most runs find all of theirs. So here this is put off until a kernel is compiled.

This uses what Numba does not promise to keep; `tests/utils/compiling/test_loading.py` says what.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from numba.core import caching, cpu
from numba.core.runtime.nrt import rtsys

__all__ = ["load_without_compiler", "try_folders_once"]

_OURS = "mottle."  # kernels of others may call what Numba makes known together with the rest


def load_without_compiler(before_compiling: Callable[[], None]) -> None:
    """Put off what only compiling needs, in this process, until a kernel is not in the cache.

    Parameters
    ----------
    before_compiling : callable
        Called once, before Numba imports what it needs to compile.
    """
    kept: Any = caching.Cache
    target: Any = cpu.CPUContext
    load, register = kept.load_overload, target.load_additional_registries
    can_compile = False

    def load_overload(cache: Any, signature: Any, context: Any) -> Any:
        """Load a kernel from the cache, if it is there."""
        if not can_compile and cache._py_func.__module__.startswith(_OURS):
            rtsys.initialize(context)  # memory of arrays that kernels make
            with cache._guard_against_spurious_io_errors():
                found = cache._load_overload(signature, context)
                if found is not None:
                    return found
        return load(cache, signature, context)

    def load_additional_registries(context: Any) -> None:
        """Import and register what compiling needs."""
        nonlocal can_compile
        if not can_compile:
            before_compiling()
        register(context)
        can_compile = True

    kept.load_overload = load_overload
    target.load_additional_registries = load_additional_registries


def try_folders_once() -> None:
    """Let Numba try only once, in this process, whether it can write to a folder.

    It does so for every kernel, by a file that it makes and removes.
    """
    locator: Any = caching._CacheLocator
    original = locator.ensure_cache_path
    tried: set[str] = set()

    def ensure_cache_path(cache: Any) -> None:
        """Make sure that the folder of a kernel is there and can be written to."""
        folder = cache.get_cache_path()
        if folder not in tried or not os.path.isdir(folder):
            original(cache)
            tried.add(folder)

    locator.ensure_cache_path = ensure_cache_path
