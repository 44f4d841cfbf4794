"""The rules of the code base: where things lie, what may import what, what is public."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from paths import DATA, DOCS, ROOT
from public_api import PUBLIC, Documented, entries_of, faults, public_objects, sections_of
from source_tree import SOURCE, imports_in_functions, is_package, modules_in, packages, top_level
from suite import COLLECTED, is_whole_suite

MOST_FLAT_MODULES = 12

# The one way to import a module of mottle late, so that a command loads only what it uses.
LAZY_LOADING = {"utils/lazy.py", "utils/registry.py", "utils/optional.py"}

# Folders of tests that mirror no package: they cut across all of them.
ACROSS_PACKAGES = {"benchmarks", "docs", "papers", "engines", "databases", "fuzz", "support"}

# A verb says what a module does, so that siblings may share it; a noun says what it is a part of.
VERBS = {"read", "write"}

FEWEST_TESTS = 6_000  # raise it with every batch of new tests
REAL_HIERARCHIES = 18  # each has a test, where they lie beside the repository

PROGRAMS = Path(sys.executable).parent
CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
CONTRACTS = CONFIGURATION["tool"]["importlinter"]["contracts"]


# ----------------------------------------------------------------------------------- imports


def test_import_contracts_are_kept() -> None:
    done = subprocess.run(
        [PROGRAMS / "lint-imports", "--no-cache", "--no-logo"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_import_contracts_have_no_exceptions() -> None:
    assert len(CONTRACTS) >= 5
    for contract in CONTRACTS:
        lists = {key for key in contract if key.startswith(("ignore", "exhaustive_ignores"))}
        assert not lists, contract["name"]
    assert "exclude_type_checking_imports" not in CONFIGURATION["tool"]["importlinter"]


def test_layers_name_everything_in_mottle() -> None:
    layers = [name.strip() for layer in CONTRACTS[0]["layers"] for name in layer.split("|")]
    assert sorted(layers) == sorted(top_level())


def test_modules_of_mottle_are_imported_at_the_top_of_a_file() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{line}: {statement}"
        for path in sorted(SOURCE.rglob("*.py"))
        if path.relative_to(SOURCE).as_posix() not in LAZY_LOADING
        for line, statement in imports_in_functions(path.read_text("utf-8"))
    ]
    assert not found, "\n".join(found)


def test_mechanism_for_lazy_loading_exists_and_is_documented() -> None:
    architecture = (DOCS / "architecture.md").read_text("utf-8")
    for name in LAZY_LOADING:
        assert list(imports_in_functions((SOURCE / name).read_text("utf-8"))), name
        assert f"`{name}`" in architecture


# --------------------------------------------------------------------------- where things lie


def test_few_modules_lie_flat_in_the_package() -> None:
    assert len(list(SOURCE.glob("*.py"))) <= MOST_FLAT_MODULES


def test_prefix_of_three_siblings_is_a_package() -> None:
    found = []
    for package in packages():
        counts = Counter(name.lstrip("_").split("_")[0] for name in modules_in(package))
        found += [
            f"{package.relative_to(SOURCE.parent)}: {prefix}_* occurs {count} times"
            for prefix, count in counts.items()
            if count >= 3 and prefix not in VERBS
        ]
    assert not found, "\n".join(found)


def test_tests_mirror_the_packages() -> None:
    found = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        folder = path.relative_to(ROOT / "tests").parent
        suite = folder.parts[0] if folder.parts else ""
        if path == Path(__file__) or suite in ACROSS_PACKAGES:
            continue
        if not suite or not is_package(SOURCE / folder):
            found.append(f"{path.relative_to(ROOT)} mirrors no package of src/mottle")
    assert not found, "\n".join(found)


def test_architecture_page_lists_all_packages_from_top_to_bottom() -> None:
    page = (DOCS / "architecture.md").read_text("utf-8")
    table = page.split("## Packages")[1].split("\n## ")[0]
    listed = re.findall(r"^\| `([a-z_]+)(?:/|\.py)` \|", table, re.MULTILINE)
    layers = [name.strip() for layer in CONTRACTS[0]["layers"] for name in layer.split("|")]
    assert listed == layers
    drawn = page.split("```text")[1].split("```")[0]
    positions = [re.search(rf"\b{re.escape(name)}\b", drawn) for name in layers]
    assert all(positions), [name for name in layers if not re.search(rf"\b{name}\b", drawn)]


# ---------------------------------------------------------------------------- what is public


@pytest.mark.parametrize("package", PUBLIC)
def test_names_in_all_exist_once_and_are_sorted(package: str) -> None:
    module = importlib.import_module(package)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []
    assert module.__all__ == sorted(set(module.__all__))


@pytest.mark.parametrize("package", PUBLIC)
def test_page_about_the_public_names_lists_what_is_in_all(package: str) -> None:
    page = (DOCS / "api.md").read_text("utf-8")
    section = re.search(rf"^## `{re.escape(package)}`\n(.*?)(?=^## |\Z)", page, re.M | re.S)
    assert section is not None, f"docs/api.md has no section about {package}"
    listed = re.findall(r"^\| `(\w+)` \|", section.group(1), re.MULTILINE)
    assert sorted(listed) == sorted(importlib.import_module(package).__all__)


def test_page_about_the_public_names_lists_all_public_packages() -> None:
    listed = re.findall(r"^## `([\w.]+)`$", (DOCS / "api.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(PUBLIC)


def test_public_docstrings_document_parameters_returns_and_raises() -> None:
    items = public_objects()
    found = [f"{item.name}: {'; '.join(faults(item))}" for item in items if faults(item)]
    assert len(items) > 100
    assert not found, f"{len(found)} of {len(items)}\n" + "\n".join(found)


def test_public_functions_begin_with_a_verb() -> None:
    done = subprocess.run(
        [PROGRAMS / "ruff", "check", "--isolated", "--select=D401", "--output-format=json", SOURCE],
        capture_output=True,
        text=True,
    )
    reported = {
        (each["filename"], each["location"]["row"]): each["message"]
        for each in json.loads(done.stdout)
    }
    found = []
    for item in public_objects():
        code = item.function.__code__
        lines, start = inspect.getsourcelines(item.function)
        for line in range(start, start + len(lines)):
            if (code.co_filename, line) in reported:
                found.append(f"{item.name}: {reported[code.co_filename, line]}")
                break
    assert not found, "\n".join(found)


def test_checker_of_docstrings_finds_what_is_missing() -> None:
    def documented(number: int, *rest: str) -> int:
        """Add.

        Parameters
        ----------
        number : int
            A number.
        *rest : str
            Ignored.

        Returns
        -------
        int
            The number.

        Raises
        ------
        ValueError
            It is negative.
        """
        if number < 0:
            raise ValueError(rest)
        return number

    good = Documented(documented, documented.__doc__)
    assert faults(good) == []

    def faults_without(text: str, instead: str = "") -> list[str]:
        assert text in documented.__doc__
        return faults(Documented(documented, documented.__doc__.replace(text, instead)))

    assert faults(Documented(documented, None)) == ["has no docstring"]
    assert faults(Documented(documented, "Add.")) == [
        "has no section Raises",
        "does not document number, *rest",
        "has no section Returns",
    ]
    assert faults_without(" : int") == ["gives no type of number"]
    assert faults_without("A number.") == ["does not document number"]
    assert faults_without("number : int", "count : int") == [
        "does not document number",
        "documents count, which it does not have",
    ]
    assert faults_without("ValueError", "TypeError") == ["does not say when it raises ValueError"]
    assert [name for name, _ in entries_of(sections_of(documented.__doc__)["Raises"])] == [
        "ValueError"
    ]


# ------------------------------------------------------------------------ the number of tests


def test_number_of_tests_did_not_fall(request: pytest.FixtureRequest) -> None:
    if not is_whole_suite(request.config):
        pytest.skip("only a part of the suite was collected")
    fewest = FEWEST_TESTS if DATA.exists() else FEWEST_TESTS - REAL_HIERARCHIES
    assert request.config.stash[COLLECTED] >= fewest


def test_command_for_tests_collects_the_whole_suite() -> None:
    commands = re.findall(
        r"^\t(?:\w+=\d+ )*\$\(BIN\)/pytest(.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE
    )
    assert commands == [" -n auto --dist worksteal"]
