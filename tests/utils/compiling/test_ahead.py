"""Kernels are compiled once, by whoever can; nothing depends on the processes that help."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

# Kernels that call each other; whoever compiles one writes its name to a file.
MODULE = """
import os
from numba.core import event
from mottle.utils.compiled import inner_kernel, kernel

class Noting(event.Listener):
    def on_start(self, event):
        with open(os.environ["COMPILED"], "a") as file:
            file.write(event.data["dispatcher"].py_func.__name__ + "\\\\n")
    def on_end(self, event):
        pass

event.register("numba:compile", Noting())

@inner_kernel
def one(number):
    return number + 1

@inner_kernel
def twice(number):
    return 2 * one(number)

@inner_kernel
def thrice(number):
    return 3 * one(number)

@kernel
def both(number):
    return twice(number) + thrice(number)

@kernel
def other(number):
    return one(number) - 1
""".replace("\\\\", "\\")
KERNELS = [
    ["few_kernels:one", [0], [], 0.1],
    ["few_kernels:twice", [0], [0], 0.1],
    ["few_kernels:thrice", [0], [0], 0.1],
    ["few_kernels:both", [0], [1, 2], 0.1],
    ["few_kernels:other", [0], [0], 0.1],
]
STALE = [
    ["few_kernels:gone", [0], [], 0.1],
    ["no_such_module:gone", [0], [], 0.1],
    ["few_kernels:one", [1], [], 0.1],
    *KERNELS[3:],
]
RUN = """
import os
import signal
import sys
import threading
from pathlib import Path
from mottle.utils.compiling import ahead, kernel_list, processes, worker
from mottle.utils.lean_process import own_process
kernel_list.FILE = Path("kernels.json")
import few_kernels
{change}
with ahead.compiled_ahead("few"):
    print(few_kernels.both(4), few_kernels.other(4))
{after}
"""
NO_CHILDREN = """
try:
    os.waitpid(-1, os.WNOHANG)
    sys.exit("a process is left")
except ChildProcessError:
    pass
"""
RIGHT = "25 4"
NAMES = ["one", "twice", "thrice", "both", "other"]
NO_PROCESS = "ahead.Compilation._start = lambda *_: sys.exit('a process was started')"

OWN = "own_process()"
# Linux copies a process of the command line: there no new one is started.
LINUX = sys.platform == "linux"
ONLY_COPIES = f"{OWN}; {'processes.WORKER = None' if LINUX else ''}"


def run(
    folder: Path,
    change: str = "",
    kernels: list[list[object]] = KERNELS,
    right: str = RIGHT,
    after: str = "",
) -> list[str]:
    """Run kernels in a process; returns what was compiled there and in those that it started."""
    (folder / "few_kernels.py").write_text(MODULE, "utf-8")
    content = {"types": ["int64", "no_such_type"], "kernels": kernels}
    content["runs"] = {"few": [*range(len(kernels))]}
    (folder / "kernels.json").write_text(json.dumps(content), "utf-8")
    (folder / "compiled").write_text("", "utf-8")
    variables = {
        "COMPILED": str(folder / "compiled"),
        "NUMBA_CACHE_DIR": str(folder / "cache"),
        "OPENBLAS_NUM_THREADS": "1",  # as in the command line; only one thread can be copied
    }
    done = subprocess.run(
        [sys.executable, "-c", RUN.format(change=change, after=after)],
        cwd=folder,
        env=os.environ | variables | {"PYTHONPATH": str(folder), "MOTTLE_THREADS": "3"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == right
    return (folder / "compiled").read_text("utf-8").split()


@pytest.mark.parametrize("change", ["", OWN, ONLY_COPIES])
def test_every_kernel_is_compiled_once_and_kept(change: str, tmp_path: Path) -> None:
    assert Counter(run(tmp_path, change)) == Counter(NAMES)
    assert run(tmp_path, NO_PROCESS) == []


@pytest.mark.parametrize(
    "change",
    [
        "processes.WORKER = (sys.executable, '-c', 'raise SystemExit')",
        "processes.WORKER = (sys.executable, '-c', 'print(7)')",
        "processes.WORKER = ('/no/such/program',)",
        f"{OWN}; worker.work_as_copy = lambda *_: None",
        f"{OWN}; worker.work_as_copy = lambda *_: os.kill(os.getpid(), signal.SIGKILL)",
        f"{OWN}; os.fork = lambda: os.open('/no/such/file', 0)",
    ],
)
def test_processes_that_fail_leave_their_kernels_to_the_run(change: str, tmp_path: Path) -> None:
    assert Counter(run(tmp_path, change)) == Counter(NAMES)


def test_a_process_that_does_not_answer_is_not_waited_for_long(tmp_path: Path) -> None:
    silent = "processes.WORKER = (sys.executable, '-c', 'import sys; sys.stdin.read()')"
    assert set(run(tmp_path, f"{silent}; ahead._PATIENCE = 0.5")) == set(NAMES)


@pytest.mark.skipif(not LINUX, reason="only Linux copies processes")
def test_a_process_with_other_threads_is_not_copied(tmp_path: Path) -> None:
    other = "threading.Thread(target=threading.Event().wait, daemon=True).start()"
    assert set(run(tmp_path, f"{OWN}; {other}; os.fork = None")) == set(NAMES)


def test_copies_are_gone_at_the_end_and_print_nothing_of_what_was_about_to_be(
    tmp_path: Path,
) -> None:
    written = "sys.stdout.write('written before ')"
    run(tmp_path, f"{OWN}; {written}", right=f"written before {RIGHT}", after=NO_CHILDREN)


def test_a_list_that_is_not_true_any_more_does_no_harm(tmp_path: Path) -> None:
    assert set(run(tmp_path, kernels=STALE)) == set(NAMES)


def test_one_core_compiles_by_itself(tmp_path: Path) -> None:
    one = "import os; os.environ['MOTTLE_THREADS'] = '1'"
    assert Counter(run(tmp_path, f"{one}; {NO_PROCESS}")) == Counter(NAMES)


def test_a_process_ends_when_nobody_writes_to_it_any_more(tmp_path: Path) -> None:
    (tmp_path / "kernels.json").write_text('{"types": [], "kernels": [], "runs": {}}', "utf-8")
    worker = [sys.executable, "-m", "mottle.utils.compiling.worker", "kernels.json", "few"]
    done = subprocess.run(worker, cwd=tmp_path, stdin=subprocess.DEVNULL, timeout=300)
    assert done.returncode == 0
