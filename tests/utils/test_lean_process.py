"""What is left out of the processes of the command line."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from mottle.utils import lean_process

OWN = """
import sys
from mottle.utils.lean_process import leave_out_unused, own_process
own_process()
leave_out_unused()
import numba, pyarrow as pa
assert not {"pandas", "scipy.linalg", "cffi"} & set(sys.modules)
assert numba.njit(lambda number: number + 1)(pa.array([1])[0].as_py()) == 2
import pandas, scipy.linalg
"""


def test_a_process_of_its_own_imports_neither_pandas_nor_linear_algebra() -> None:
    subprocess.run([sys.executable, "-c", OWN], check=True)


def test_processes_of_others_are_left_alone() -> None:
    assert not lean_process._own
    before = list(sys.meta_path)
    lean_process.leave_out_unused()
    assert list(sys.meta_path) == before


ENDING = """
import atexit, gc, importlib, sys
importlib.import_module(sys.argv[1])
atexit.register(lambda: print(gc.get_freeze_count() > 0))
sys.argv = ["mottle", "--version"]
from mottle.__main__ import main
main()
"""


@pytest.mark.parametrize(("loaded", "at_once"), [("json", True), ("duckdb", False)])
def test_a_command_ends_without_looking_for_garbage_unless_a_library_would_report_it(
    loaded: str, at_once: bool
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDING, loaded], check=True, capture_output=True, text=True
    )
    assert done.stdout.splitlines()[-1] == str(at_once)
    assert done.stderr == ""


SETTINGS = """
import os, sys
from mottle.__main__ import prepare
prepare()
import pyarrow
print(pyarrow.default_memory_pool().backend_name, os.environ["OPENBLAS_NUM_THREADS"])
"""


@pytest.mark.parametrize(
    ("given", "used"), [({}, "system 1"), ({"OPENBLAS_NUM_THREADS": "2"}, "system 2")]
)
def test_libraries_are_set_up_before_they_are_imported_unless_the_user_says_otherwise(
    given: dict[str, str], used: str
) -> None:
    names = ("OPENBLAS_NUM_THREADS", "ARROW_DEFAULT_MEMORY_POOL")
    inherited = {name: text for name, text in os.environ.items() if name not in names}
    done = subprocess.run(
        [sys.executable, "-c", SETTINGS],
        check=True,
        capture_output=True,
        text=True,
        env=inherited | given,
    )
    assert done.stdout.strip() == used


KEEPING = """
import gc, sys
from mottle.utils import lean_process
lean_process.own_process()
late = gc.get_threshold()[0]
if sys.argv[1] == "reporting":
    sys.modules["_duckdb"] = sys
lean_process.keep_imported()
print(late > gc.get_threshold()[0], gc.get_freeze_count() > 0)
lean_process.end_at_once()
print(gc.get_freeze_count() > 0)
"""


@pytest.mark.parametrize(("libraries", "kept"), [("none", True), ("reporting", False)])
def test_imported_modules_are_searched_for_garbage_only_for_libraries_that_report_it(
    libraries: str, kept: bool
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KEEPING, libraries], check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == ["True", str(kept), str(kept)]
