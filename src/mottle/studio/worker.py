"""The process of one run: ``mottle`` with a limit on memory, which ends with the server.

The server writes one line to its standard input, with the words of the command, and keeps the pipe
open: when the server ends, however that happens, the pipe does, and the run is told to stop. A
process that waits for its command can load what a run needs meanwhile.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import runpy
import signal
import sys
import threading
import time
from contextlib import suppress

from mottle.studio.jobs import MEMORY, WARM

_GRACE = 5.0  # seconds for removing what was begun
_TERMINATED = 128 + signal.SIGTERM


def limited() -> None:
    """Bound the memory of this process, as the studio asks by its environment.

    OpenBLAS reserves memory when it is loaded, and tries again without end if there is none; so
    it is loaded first.
    """
    most = os.environ.get(MEMORY)
    if most is not None:
        importlib.import_module("scipy.linalg")
        resource.setrlimit(resource.RLIMIT_DATA, (int(most), int(most)))


def commanded() -> tuple[str, list[str]]:
    """Wait for the command, and go to its folder; the module is empty if the server has ended."""
    line = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # the command itself reads nothing
    os.close(nothing)
    said = b""
    while not said.endswith(b"\n"):
        part = os.read(line, 1 << 16)
        if not part:
            return "", []
        said += part
    command = json.loads(said)
    if command["folder"] is not None:
        os.chdir(command["folder"])
    signal.signal(signal.SIGTERM, _leave)
    threading.Thread(target=_watch, args=[line], daemon=True).start()
    return command["module"], [command["module"], *command["arguments"]]


def _leave(number: int, frame: object) -> None:
    """End in order, so that files that were begun are removed."""
    sys.exit(_TERMINATED)


def _watch(line: int) -> None:
    """End this process and those that it has started when the server has ended."""
    while os.read(line, 1 << 10):
        pass
    os.killpg(0, signal.SIGTERM)
    time.sleep(_GRACE)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    limited()
    if os.environ.get(WARM):
        with suppress(Exception):  # the run itself says what is wrong
            runpy.run_module("mottle.studio.warm", run_name="__main__")
    module, sys.argv = commanded()
    if module:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
