"""The packages and modules of mottle as files: where they lie, and what they import where."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from paths import ROOT

SOURCE = ROOT / "src" / "mottle"


def is_package(folder: Path) -> bool:
    """Whether a folder is a Python package."""
    return (folder / "__init__.py").is_file()


def packages() -> list[Path]:
    """All packages, ``mottle`` itself first."""
    return sorted(path.parent for path in SOURCE.rglob("__init__.py"))


def top_level() -> set[str]:
    """Names of the packages and modules that lie directly in ``mottle``."""
    folders = {path.name for path in SOURCE.iterdir() if is_package(path)}
    return folders | {path.stem for path in SOURCE.glob("*.py")} - {"__init__"}


def modules_in(package: Path) -> list[str]:
    """Names of the modules and packages that lie directly in a package."""
    modules = [path.stem for path in package.glob("*.py") if path.stem != "__init__"]
    return sorted([*modules, *(path.name for path in package.iterdir() if is_package(path))])


def imports_in_functions(text: str) -> Iterator[tuple[int, str]]:
    r"""Line and text of every import of mottle's own modules inside a function.

    An import by a call counts unless it names a module of another package.

    >>> list(imports_in_functions("def f():\n    from mottle.io import read_table"))
    [(2, 'from mottle.io import read_table')]
    >>> list(imports_in_functions("from mottle.io import read_table\nimport numpy"))
    []
    >>> list(imports_in_functions("def f(name):\n    import_module(name)"))
    [(2, 'import_module(name)')]
    """
    found = set()
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        found |= {
            (node.lineno, ast.unparse(node))
            for node in ast.walk(function)
            if _imports_ours(node) or _imports_by_call(node)
        }
    yield from sorted(found)


def _imports_ours(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return any(_is_ours(alias.name) for alias in node.names)
    return isinstance(node, ast.ImportFrom) and (node.level > 0 or _is_ours(node.module or ""))


def _imports_by_call(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = ast.unparse(node.func).split(".")[-1]
    if called not in ("import_module", "__import__"):
        return False
    named = node.args[0] if node.args else None
    return not isinstance(named, ast.Constant) or _is_ours(str(named.value))


def _is_ours(module: str) -> bool:
    return module.split(".")[0] == "mottle"
