"""Parts of kernels have no machine code of their own, and work from the cache as well."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.caching import NullCache
from numba.core.codegen import JITCodeLibrary

from mottle.utils.compiled import inner_kernel, kernel
from mottle.utils.compiling.parts import _PartLibrary


@inner_kernel
def _checked_root(number: float) -> float:
    if number < 0:
        raise ValueError("negative")
    return np.sqrt(number)


@inner_kernel
def _roots(numbers: np.ndarray) -> np.ndarray:
    found = np.zeros(numbers.size)
    for place in range(numbers.size):
        found[place] = _checked_root(numbers[place])
    return found


@inner_kernel
def _digits(number: int) -> int:
    if number < 10:
        return 1
    return 1 + _digits(number // 10)


@kernel
def _sum_of_roots(numbers: np.ndarray) -> float:
    return np.sort(_roots(numbers)).sum()


@kernel
def _count_digits(number: int) -> int:
    return _digits(number)


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    for function in (_checked_root, _roots, _sum_of_roots):  # not read from an earlier run's cache
        function._cache = NullCache()  # type: ignore[attr-defined]
    _sum_of_roots(np.array([4.0, 9.0]))


def test_a_part_has_no_machine_code_and_its_caller_has() -> None:
    for part in (_checked_root, _roots):
        (result,) = part.overloads.values()  # type: ignore[attr-defined]
        assert isinstance(result.library, _PartLibrary)
        assert result.library.get_pointer_to_function(result.fndesc.llvm_cpython_wrapper_name) == 0
    (result,) = _sum_of_roots.overloads.values()  # type: ignore[attr-defined]
    assert result.library.get_pointer_to_function(result.fndesc.llvm_cpython_wrapper_name) != 0


def test_errors_of_parts_arrive() -> None:
    with pytest.raises(ValueError, match="negative"):
        _sum_of_roots(np.array([4.0, -1.0]))


def test_a_part_may_call_itself() -> None:
    assert _count_digits(12_345) == 5


def test_functions_of_others_are_compiled_as_ever() -> None:
    def cube(number: float) -> Any:
        return np.power(number, 3)

    compile_function: Any = numba.njit
    others = compile_function(cube)
    assert others(2.0) == 8.0
    (result,) = others.overloads.values()
    assert type(result.library) is JITCodeLibrary


MODULE = """
import numpy as np
from mottle.utils.compiled import inner_kernel, kernel

@inner_kernel
def doubled(numbers):
    if numbers.size == 0:
        raise ValueError("nothing")
    return np.append(numbers, numbers)

@kernel
def first(numbers):
    return doubled(numbers).sum()

@kernel
def second(numbers):
    return doubled(doubled(numbers)).size
"""
RUN = """
import sys
import numpy as np
import few_parts
assert getattr(few_parts, sys.argv[1])(np.arange(3)) == int(sys.argv[2])
loaded = sum(few_parts.doubled.stats.cache_hits.values())
compiled = sum(few_parts.doubled.stats.cache_misses.values())
print(loaded, compiled)
try:
    getattr(few_parts, sys.argv[1])(np.arange(0))
except ValueError as error:
    print(error)
"""


def test_another_process_takes_parts_from_the_cache(tmp_path: Path) -> None:
    (tmp_path / "few_parts.py").write_text(MODULE, "utf-8")

    def ran(name: str, right: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", RUN, name, right],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return done.stdout.splitlines()

    assert ran("first", "6") == ["0 1", "nothing"]
    assert ran("second", "12") == ["1 0", "nothing"]
    assert ran("first", "6") == ["0 0", "nothing"]
