"""What is left out of the processes of the command line."""

from __future__ import annotations

import os
import platform
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
assert numba.njit(lambda number: number + 1)(pa.array([1])[0].as_py()) == 2
assert not {"pandas", "scipy.linalg", "cffi"} & set(sys.modules)
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


MEMORY = """
import ctypes, os, sys, threading
from mottle.__main__ import prepare
from mottle.utils import lean_process
if sys.argv[1] == "own":
    prepare()
lean_process.keep_memory()
library = ctypes.CDLL(None)
library.malloc.restype = ctypes.c_void_p
both = threading.Barrier(2)
def work():
    both.wait()
    library.malloc(100_000)
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
library.fdopen.restype = ctypes.c_void_p
library.malloc_info(0, ctypes.c_void_p(library.fdopen(1, b"w")))
library.fflush(None)
"""


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.libc_ver()[0] != "glibc",
    reason="asks the C library of GNU",
)
@pytest.mark.parametrize(
    ("whose", "given", "one"),
    [("own", {}, True), ("own", {"MALLOC_ARENA_MAX": "8"}, False), ("others", {}, False)],
)
def test_threads_share_memory_in_a_process_of_its_own_unless_the_user_says_otherwise(
    whose: str, given: dict[str, str], one: bool
) -> None:
    inherited = {name: text for name, text in os.environ.items() if "MALLOC" not in name}
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, whose],
        check=True,
        capture_output=True,
        text=True,
        env=inherited | given,
    )
    assert (done.stdout.count("<heap nr=") == 1) == one


QUITTING = """
import atexit, sys, threading
from mottle.utils import lean_process
class Late:
    def __del__(self):
        print("finalized")
late = Late()
atexit.register(lambda: print("registered"))
mode = sys.argv[1]
if mode != "others":
    lean_process.own_process()
if mode == "thread":
    threading.Thread(target=lambda: (threading.main_thread().join(), print("thread"))).start()
print("printed")
lean_process.end_without_finalizing(3)
print("went on")
"""


@pytest.mark.parametrize(
    ("mode", "printed"),
    [
        ("own", ["printed", "registered"]),
        ("others", ["printed", "went on", "registered", "finalized"]),
        ("thread", ["printed", "went on", "thread", "registered", "finalized"]),
    ],
)
def test_a_process_of_its_own_ends_after_what_is_registered_unless_threads_run(
    mode: str, printed: list[str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", QUITTING, mode], check=False, capture_output=True, text=True
    )
    assert done.stdout.split("\n")[:-1] == printed
    assert done.returncode == (3 if mode == "own" else 0)
    assert done.stderr == ""
