"""Help, the version and errors in options wait for nothing that only a run needs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from subprocess import PIPE

import pytest

HEAVY = {"altair", "duckdb", "numba", "pandas", "pyarrow", "scipy", "sklearn", "vl_convert"}
COMMANDS = [
    "anonymize",
    "anonymize-sets",
    "audit",
    "clean",
    "compare",
    "demo",
    "hierarchy",
    "inspect",
    "lint-hierarchy",
    "methods",
    "query",
    "report",
    "sample",
    "studio",
]
# Runs command lines, each in a copy of a process that has imported the program and nothing else.
SERVE = """
import json, os, sys
from mottle.cli.app import main
for line in sys.stdin:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        sys.argv = ["mottle", *json.loads(line)]
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        modules = sorted({name.partition(".")[0] for name in sys.modules})
        os.write(writer, json.dumps([code, modules]).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        print(answer.read(), flush=True)
    os.waitpid(child, 0)
"""


@pytest.fixture(scope="module")
def run() -> Iterator[Callable[[list[str]], tuple[int, set[str]]]]:
    """Run a command line; returns its exit code and the top-level packages it has loaded."""
    command = [sys.executable, "-c", SERVE]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def ask(arguments: list[str]) -> tuple[int, set[str]]:
            print(json.dumps(arguments), file=process.stdin, flush=True)
            code, modules = json.loads(process.stdout.readline())
            return code, set(modules)

        yield ask


def loaded(code: str) -> tuple[int, set[str]]:
    """The exit code of a program, and the top-level packages it has loaded at its end."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    modules = json.loads(done.stderr.splitlines()[-1])
    return done.returncode, {name.partition(".")[0] for name in modules}


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import json, mottle, sys; print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    _, modules = loaded(code)
    assert "mottle" in modules
    assert not modules & (HEAVY | {"numpy", "pydantic", "typer"})


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["-h"], [], ["anonymise"]])
def test_the_group_of_commands_loads_nothing_that_commands_need(run, arguments: list[str]) -> None:
    code, modules = run(arguments)
    assert code == (0 if arguments and arguments[0].startswith("-") else 2)
    assert not modules & (HEAVY | {"numpy"})


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_loads_nothing_heavy(run, command: str) -> None:
    code, modules = run([command, "--help"])
    assert code == 0
    assert not modules & (HEAVY | {"numpy"})


@pytest.mark.parametrize(
    "arguments",
    [
        ["anonymize"],
        ["anonymize", "people.csv", "--nonsense"],
        ["anonymize", "people.csv", "--l", "2.5"],
        ["anonymize", "people.csv", "--qi", "age", "-o", "out"],
        ["anonymize", "people.csv", "--qi", "age", "-o", "out", "--k", "1"],
        ["anonymize", "people.csv", "--k", "5", "-o", "out"],
        ["anonymize", "people.csv", "--qi", "age", "--k", "5"],
        ["anonymize", "people.csv", "--qi", "age", "--kind", "age=numbr", "--k", "5", "-o", "out"],
        ["anonymize", "x.csv", "--qi", "a", "--k", "5", "-o", "out", "--report-examples"],
        ["anonymize-sets", "baskets.dat", "-o", "out"],
        ["audit", "people.csv"],
        ["audit", "people.csv", "out", "--sample", "0"],
        ["compare", "people.csv", "--qi", "age", "--k", "5,x", "-o", "out"],
        ["inspect"],
        ["hierarchy", "new", "origin.csv", "--data", "people.csv"],
        ["lint-hierarchy", "origin.csv", "--data", "people.csv"],
        ["query", "out"],
        ["report", "out", "--original", "people.csv"],
        ["sample", "out"],
        ["demo", "--rows", "many"],
        ["methods", "--nonsense"],
    ],
    ids=" ".join,
)
def test_a_usage_error_loads_nothing_heavy(run, arguments: list[str]) -> None:
    code, modules = run(arguments)
    assert code == 2
    assert not modules & HEAVY


def test_queries_load_no_statistics_learners_or_frames() -> None:
    code = (
        "import json, sys, mottle.cli.query, mottle.queries.sampling;"
        "print(json.dumps(sorted(sys.modules)), file=sys.stderr);"
        "sys.exit(len({'scipy.stats', 'sklearn', 'pandas', 'polars'} & set(sys.modules)))"
    )
    returned, modules = loaded(code)
    assert "scipy" in modules
    assert returned == 0


def test_the_list_of_commands_is_complete() -> None:
    command = [sys.executable, "-m", "mottle", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    for command in COMMANDS:
        assert f"\n  {command} " in done.stdout


@pytest.mark.parametrize(
    "wrong",
    [["--method", "nhh"], ["--walk", "crooked"], ["--audit", "loud"], ["--l", "2.5"]],
    ids=" ".join,
)
def test_values_that_do_not_exist_are_refused_before_anything_heavy_is_loaded(
    run, wrong: list[str]
) -> None:
    columns = ["--qi", "age", "--k", "5", "-o", "out"]
    code, modules = run(["anonymize", "people.csv", *columns, *wrong])
    assert code == 2
    assert not modules & HEAVY


def test_methods_found_without_importing_them_are_those_of_the_registries() -> None:
    code = """
import json, sys
from mottle import methods
from mottle.cli.commands import check_method
from mottle.methods.sets import registered
for name in methods.registered():
    check_method(name)
for name in registered():
    check_method(name, sets=True)
print(json.dumps([]), file=sys.stderr)
"""
    assert loaded(code)[0] == 0
