"""Processes that compile for this one: copies of it where that is safe, else new ones.

A copy has imported already what compiling needs, which takes a new process most of a second. Only
a process of one thread can be copied without risk: a lock that another thread holds would be held
for ever in the copy.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from mottle.utils.compiling import kernel_list, worker
from mottle.utils.compiling.kernel_list import CompileList
from mottle.utils.lean_process import is_own_process

__all__ = ["Helper", "started"]

WORKER = (sys.executable, "-m", "mottle.utils.compiling.worker")
_ENDING = 2.0  # seconds for a new process to end by itself
_HARMLESS = {"jemalloc_bg_thd"}  # threads that prepare themselves for copies: memory of Arrow


@dataclass(frozen=True)
class Helper:
    """A process that compiles what it is asked for, and answers when it is done."""

    questions: IO[str]
    answers: IO[str]
    process: subprocess.Popen[str] | int  # or the number of a copy

    def end(self) -> None:
        """End the process, also in the middle of compiling."""
        with suppress(OSError):
            self.questions.close()
        if isinstance(self.process, int):
            with suppress(ChildProcessError, ProcessLookupError):
                os.kill(self.process, signal.SIGKILL)
                os.waitpid(self.process, 0)
        else:
            try:
                self.process.wait(_ENDING)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.answers.close()


def started(kernels: CompileList, runs: Sequence[str]) -> Helper:
    """Start a process that compiles kernels.

    Parameters
    ----------
    kernels : CompileList
        The kernels that it will be asked for.
    runs : sequence of str
        The runs in the list of kernels.

    Returns
    -------
    Helper
        The process.

    Raises
    ------
    OSError
        If no process can be started.
    """
    if _can_be_copied():
        return _copy(kernels)
    process = subprocess.Popen(
        [*WORKER, str(kernel_list.FILE), *runs],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=_environment(),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    return Helper(process.stdin, process.stdout, process)


def _can_be_copied() -> bool:
    """Whether this process runs the command line alone, on Linux and in one thread."""
    if sys.platform != "linux" or not is_own_process() or threading.active_count() > 1:
        return False
    try:
        tasks = list(Path("/proc/self/task").iterdir())
        names = {(task / "comm").read_text().strip() for task in tasks if task.name != _own_task()}
    except OSError:
        return False
    return names <= _HARMLESS and len(tasks) == len(names) + 1


def _own_task() -> str:
    return str(threading.get_native_id())


def _copy(kernels: CompileList) -> Helper:
    """Copy this process; the copy compiles, and never returns from here."""
    asking, telling = os.pipe(), os.pipe()  # places to read from and to write to
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        with warnings.catch_warnings():  # of other threads: `_can_be_copied` knows them
            warnings.simplefilter("ignore", DeprecationWarning)
            number = os.fork()
        if number == 0:
            try:
                worker.work_as_copy(kernels.items, asking[0], telling[1])
            finally:
                os._exit(1)
    except OSError:
        for place in (*asking, *telling):
            os.close(place)
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    os.close(asking[0])
    os.close(telling[1])
    return Helper(os.fdopen(asking[1], "w"), os.fdopen(telling[0]), number)


def _environment() -> dict[str, str]:
    """Environment variables of the process, which may find this package by a relative path."""
    paths = [str(Path(path).resolve()) for path in sys.path if path]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OPENBLAS_NUM_THREADS": "1"}
