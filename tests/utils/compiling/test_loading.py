"""Kernels in the cache are loaded without what compiling needs; all others are compiled as ever."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core import caching, cpu

from mottle.cli.warm import RUNS
from mottle.utils import lean_process
from mottle.utils.compiling.loading import try_folders_once

# Calls a kernel of mottle, then one that nobody has in a cache.
CALLING = """
import sys
from mottle.__main__ import prepare
prepare()
from mottle.utils.lean_process import leave_out_unused
leave_out_unused()
import numpy as np
import mottle.queries.cells.cells as cells
places, weights = np.array([1, 0, 1]), np.array([1.0, 2.0, 3.0])
first, last = np.array([0, 2]), np.array([2, 3])
print(cells._sums(places, weights, first, last, np.array([10.0, 1.0])).tolist())
print("numba.misc.cffiimpl" in sys.modules)
import numba
print(numba.njit(lambda numbers: np.sort(numbers).sum() + len({1, 2}))(weights))
print(sorted({"numba.misc.cffiimpl", "scipy.linalg", "cffi"} & set(sys.modules)))
"""

COMPILING = "from mottle.utils.compiling.ahead import compile_all; compile_all(*{runs})"
# Loads all that Python calls: a function that only the compiler makes known would end the process.
LOADING = """
import sys
from mottle.__main__ import prepare
prepare()
from mottle.utils.lean_process import leave_out_unused
leave_out_unused()
from mottle.utils.compiling.argument_types import type_of
from mottle.utils.compiling.kernel_list import CompileList
loaded, missing = 0, []
for item in CompileList.of({runs}).items:
    kernel = item.dispatcher()
    if not kernel.targetoptions.get("no_cpython_wrapper"):
        types = tuple(map(type_of, item.arguments))
        found = kernel._cache.load_overload(types, kernel.targetctx)
        loaded += found is not None
        missing += [item.kernel] if found is None else []
print(loaded > 0, missing, "numba.misc.cffiimpl" in sys.modules)
"""


def test_kernels_of_all_runs_are_loaded_without_the_compiler(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}  # which no other test writes to
    printed = [
        subprocess.run(
            [sys.executable, "-c", program.format(runs=[*RUNS])],
            check=True,
            capture_output=True,
            text=True,
            env=environment,
        ).stdout.strip()
        for program in (COMPILING, LOADING)
    ]
    assert printed == ["", "True [] False"]


def test_a_kernel_in_the_cache_waits_for_nothing_that_compiling_needs(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    printed = [
        subprocess.run(
            [sys.executable, "-c", CALLING],
            check=True,
            capture_output=True,
            text=True,
            env=environment,
        ).stdout.splitlines()
        for _ in range(2)
    ]
    afterwards = ["8.0", "['numba.misc.cffiimpl']"]
    assert printed == [
        ["[21.0, 3.0]", "True", *afterwards],
        ["[21.0, 3.0]", "False", *afterwards],
    ]


def test_processes_of_others_load_and_compile_as_numba_does() -> None:
    assert not lean_process.is_own_process()
    lean_process.leave_out_unused()
    for function in (
        caching.Cache.load_overload,
        caching._CacheLocator.ensure_cache_path,
        cpu.CPUContext.load_additional_registries,
    ):
        assert function.__module__.startswith("numba.")


def test_a_folder_is_tried_once_and_again_when_it_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    class Locator(caching._CacheLocator):
        def get_cache_path(self) -> str:
            return str(tmp_path / "kernels")

        get_source_stamp = get_disambiguator = from_function = None

    original = caching._CacheLocator.ensure_cache_path

    def ensure_cache_path(locator: caching._CacheLocator) -> None:
        tried.append(locator)
        original(locator)

    monkeypatch.setattr(caching._CacheLocator, "ensure_cache_path", ensure_cache_path)
    try_folders_once()
    Locator().ensure_cache_path()
    Locator().ensure_cache_path()
    assert len(tried) == 1
    (tmp_path / "kernels").rmdir()
    Locator().ensure_cache_path()
    assert len(tried) == 2
    assert (tmp_path / "kernels").is_dir()
