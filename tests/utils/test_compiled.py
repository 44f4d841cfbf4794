"""The decorators of kernels: who may call what, and that all kernels have one of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from source_tree import SOURCE

from mottle.utils.compiled import inner_kernel, kernel

# Kernels with other options: vectorized sums in another order, and one that is put in where it is
# called.
OTHERS = {"methods/buckets/association.py", "kernels/reading_growth.py", "utils/compiled.py"}


@inner_kernel
def _one_more(numbers: np.ndarray) -> float:
    return numbers[0] + 1


@kernel
def _two_more(numbers: np.ndarray) -> float:
    return _one_more(numbers) + 1


def test_python_can_call_an_inner_kernel_before_and_after_a_kernel_has() -> None:
    floats, integers = np.array([1.5]), np.array([3])
    assert _one_more(floats) == 2.5
    assert _two_more(floats) == 3.5
    assert _two_more(integers) == 5
    assert _one_more(integers) == 4
    assert _one_more(floats) == 2.5


@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
def test_a_damaged_file_of_the_cache_is_made_again(ending: str) -> None:
    numbers = np.array([1.5])
    assert _two_more(numbers) == 3.5
    kept = Path(_two_more.stats.cache_path)
    files = list(kept.glob(f"test_compiled._two_more-*{ending}"))
    assert files
    for file in files:
        file.write_bytes(file.read_bytes()[:10])
    again = kernel(_two_more.py_func)
    assert again(numbers) == 3.5
    assert not again.stats.cache_hits
    once_more = kernel(_two_more.py_func)
    assert once_more(numbers) == 3.5
    assert once_more.stats.cache_hits


def test_only_the_decorators_call_numba() -> None:
    using = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if "import njit" in path.read_text("utf-8")
    }
    assert using == OTHERS


def test_no_python_code_calls_an_inner_kernel() -> None:
    trees = {path: ast.parse(path.read_text("utf-8")) for path in SOURCE.rglob("*.py")}
    inner = {
        (".".join(path.relative_to(SOURCE.parent).with_suffix("").parts), node.name)
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if _decorator(node) == "inner_kernel"
    }
    assert len(inner) > 100
    found = []
    for path, tree in trees.items():
        module = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
        known = {name for place, name in inner if place == module}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                names = {alias.name for alias in node.names}
                known |= {name for place, name in inner if place == node.module and name in names}
        found += [f"{module}: {name}" for name in _used_by_python(tree) if name in known]
    assert not found, "inner_kernel: make it a kernel\n" + "\n".join(found)


def _decorator(node: ast.AST) -> str | None:
    if not isinstance(node, ast.FunctionDef) or not node.decorator_list:
        return None
    text = ast.unparse(node.decorator_list[0])
    return "kernel" if text.startswith("njit") else text


def _used_by_python(tree: ast.AST) -> Iterator[str]:
    """Names that code outside kernels uses."""
    for node in ast.iter_child_nodes(tree):
        if _decorator(node) in ("kernel", "inner_kernel"):
            continue
        if isinstance(node, ast.Name):
            yield node.id
        yield from _used_by_python(node)


@pytest.mark.parametrize("decorate", [kernel, inner_kernel])
def test_what_is_compiled_is_named_as_before(decorate: object) -> None:
    assert decorate(_plain).py_func is _plain  # type: ignore[operator]


def _plain(number: int) -> int:
    return number
