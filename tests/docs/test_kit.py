"""What contributors rely on: citation, hooks before a commit, continuous integration."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from paths import DOCS, ROOT

import mottle

PROGRAMS = Path(sys.executable).parent
REFERENCE_TYPES = {"article", "conference-paper", "generic"}  # of those that CFF 1.2.0 knows
BENCHMARKS = ROOT / "benchmarks"
SCRIPTS = sorted(path.stem for path in BENCHMARKS.glob("[a-z]*.py"))
IMPORT_ALL = """
import importlib, json, sys, traceback
failed = {}
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except Exception:
        failed[name] = traceback.format_exc()
print(json.dumps(failed))
"""
CHECK_FILES = runpy.run_path(str(ROOT / "tools" / "check_files.py"))


@pytest.fixture(scope="module")
def citation() -> dict:
    return yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))


@pytest.fixture(scope="module")
def hooks() -> list[dict]:
    configuration = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    assert [repository["repo"] for repository in configuration["repos"]] == ["local"]
    return configuration["repos"][0]["hooks"]


# ---------------------------------------------------------------------------------- citation


def test_citation_has_what_its_format_requires(citation: dict) -> None:
    assert citation["cff-version"] == "1.2.0"
    assert citation["type"] == "software"
    assert citation["message"]
    assert citation["title"] == "mottle"
    assert citation["authors"] == [{"name": "The mottle developers"}]
    for reference in citation["references"]:
        assert reference["type"] in REFERENCE_TYPES
        assert reference["title"]
        assert reference["authors"]
        for author in reference["authors"]:
            assert set(author) in ({"family-names", "given-names"}, {"name"})


def test_citation_is_of_this_version_and_licence(citation: dict) -> None:
    assert citation["version"] == mottle.__version__
    assert f'license = "{citation["license"]}"' in (ROOT / "pyproject.toml").read_text("utf-8")


def test_citation_refers_to_the_papers_of_the_documentation(citation: dict) -> None:
    page = (DOCS / "papers.md").read_text("utf-8")
    rows = re.findall(r"^\| ([A-Z]+\d*) \| ([^|]+) \|", page, re.MULTILINE)
    assert len(rows) == 5
    references = {reference["abbreviation"]: reference for reference in citation["references"]}
    assert sorted(references) == sorted(name for name, _ in rows)
    for name, described in rows:
        families = [author.get("family-names", "") for author in references[name]["authors"]]
        assert all(family in described for family in families), name
        if families != [""]:
            assert references[name]["title"] in described


# ------------------------------------------------------------------------ before every commit


def test_hooks_run_programs_that_exist(hooks: list[dict]) -> None:
    for hook in hooks:
        assert hook["language"] == "system", hook["id"]
        program, *arguments = hook["entry"].split()
        folder, _, name = program.rpartition("/")
        assert folder == ".venv/bin", hook["id"]
        assert (PROGRAMS / name).exists(), hook["id"]
        for argument in arguments:
            assert not argument.endswith(".py") or (ROOT / argument).exists(), hook["id"]


def test_hooks_make_all_checks_of_the_makefile(hooks: list[dict]) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    target = re.search(r"^check:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert target is not None
    checks = re.findall(r"\$\(BIN\)/([\w-]+)", target.group(1))
    assert set(checks) == {"ruff", "mypy", "lint-imports"}
    run = {hook["entry"].split()[0].rpartition("/")[2] for hook in hooks}
    assert set(checks) <= run


@pytest.mark.parametrize("name", ["people.csv", "a.PARQUET", "archive.tar.gz", "old.sqlite"])
def test_data_is_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert CHECK_FILES["main"]([name]) == 1
    assert name in capsys.readouterr().out


def test_large_files_are_refused_and_small_ones_are_not(tmp_path: Path) -> None:
    small, large = tmp_path / "small.md", tmp_path / "large.md"
    small.write_bytes(b" " * CHECK_FILES["MOST_BYTES"])
    large.write_bytes(b" " * (CHECK_FILES["MOST_BYTES"] + 1))
    assert CHECK_FILES["main"]([str(small)]) == 0
    assert CHECK_FILES["main"]([str(small), str(large)]) == 1


def test_files_of_the_repository_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    listed = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True, check=True)
    names = [name for name in listed.stdout.split("\0") if name]
    assert len(names) > 400
    assert CHECK_FILES["main"](names) == 0


# -------------------------------------------------------------------- continuous integration


def test_workflow_runs_the_test_command_and_nothing_else() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text("utf-8"))
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    commands = [step["run"] for step in steps if "run" in step]
    assert len(commands) == 1
    assert "make test" in commands[0]


def test_form_for_broken_promises_warns_of_real_data() -> None:
    form = ROOT / ".github" / "ISSUE_TEMPLATE" / "broken-promise.md"
    _, head, body = form.read_text("utf-8").split("---\n", 2)
    assert {"name", "about", "title", "labels"} <= set(yaml.safe_load(head))
    assert "Never attach real data" in body
    assert "SECURITY.md" in body


@pytest.fixture(scope="module")
def failed_imports() -> dict[str, str]:
    """Benchmarks that cannot be imported, with the reason; all in one process."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(BENCHMARKS)]),
    }
    command = [sys.executable, "-c", IMPORT_ALL, *SCRIPTS]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", SCRIPTS)
def test_benchmarks_import_names_that_exist(name: str, failed_imports: dict[str, str]) -> None:
    """Benchmarks run for hours and rarely; a name that moved must not wait until then."""
    assert name not in failed_imports, failed_imports[name]
