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
from contextlib import suppress
from pathlib import Path

from mottle.utils.compiling.kernel_list import CompileList
from mottle.utils.lean_process import leave_out_unused, own_process

_OBJECTS_PER_COLLECTION = 100_000


def main() -> None:
    """Compile what is asked for."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that asks is interrupted, and ends
    gc.set_threshold(_OBJECTS_PER_COLLECTION, *gc.get_threshold()[1:])
    own_process()
    asked: queue.SimpleQueue[int] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(asked,), daemon=True).start()
    leave_out_unused()
    items = CompileList.of(sys.argv[2:], Path(sys.argv[1])).items
    while True:
        number = asked.get()
        with suppress(Exception):  # who needs the kernel compiles it, and tells what is wrong
            items[number].compile()
        print(number, flush=True)


def _read(asked: queue.SimpleQueue[int]) -> None:
    for line in sys.stdin:
        asked.put(int(line))
    os._exit(0)  # also in the middle of compiling


if __name__ == "__main__":
    main()
