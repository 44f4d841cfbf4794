"""A process that compiles kernels: ``python -m mottle.utils.compiling.worker FILE RUN …``.

It reads numbers of items of the `CompileList` of these runs, one on each line, and answers each
with its number when it is compiled, or could not be.
It ends as soon as nobody writes to it any more.
"""

from __future__ import annotations

import gc
import os
import queue
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from mottle.utils.compiling.kernel_list import CompileList, Item
from mottle.utils.lean_process import leave_out_unused, own_process

__all__ = ["work_as_copy"]

_OBJECTS_PER_COLLECTION = 100_000
_READ, _WRITE, _ERRORS = range(3)  # descriptors


def main() -> None:
    """Compile what is asked for, as a new process."""
    own_process()
    asked = _questions()
    leave_out_unused()
    _compile(CompileList.of(sys.argv[2:], Path(sys.argv[1])).items, asked)


def work_as_copy(items: Sequence[Item], questions: int, answers: int) -> None:
    """Compile what is asked for, as a copy of the process that asks.

    Parameters
    ----------
    items : sequence of Item
        The kernels.
    questions, answers : int
        Descriptors to read from and to write to. All others are closed: nothing that the other
        process has open, or waits for to be closed, may depend on the copy.
    """
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.dup2(questions, _READ)
    os.dup2(answers, _WRITE)
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, _ERRORS)
    os.closerange(_ERRORS + 1, os.sysconf("SC_OPEN_MAX"))
    gc.freeze()  # what the other process has made stays
    asked = _questions()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # from here on it is ignored
    leave_out_unused()
    _compile(items, asked)


def _questions() -> queue.SimpleQueue[int]:
    """What is asked for, as it comes, until the process ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that asks is interrupted, and ends
    gc.set_threshold(_OBJECTS_PER_COLLECTION, *gc.get_threshold()[1:])
    asked: queue.SimpleQueue[int] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(asked,), daemon=True).start()
    return asked


def _compile(items: Sequence[Item], asked: queue.SimpleQueue[int]) -> None:
    while True:
        number = asked.get()
        with suppress(Exception):  # who needs the kernel compiles it, and tells what is wrong
            items[number].compile()
        try:
            os.write(_WRITE, f"{number}\n".encode())
        except OSError:  # nobody reads any more
            os._exit(0)


def _read(asked: queue.SimpleQueue[int]) -> None:
    with open(_READ, encoding="ascii", closefd=False) as lines:
        for line in lines:
            asked.put(int(line))
    os._exit(0)  # also in the middle of compiling


if __name__ == "__main__":
    main()
