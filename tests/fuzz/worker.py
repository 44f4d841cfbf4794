"""A process that runs commands of mottle, one after another; a crash of it is seen from outside.

`Worker` starts it and talks to it: a line of JSON for each command, and one for how it ended.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import subprocess
import sys
from pathlib import Path

from runs import command, environment

HERE = Path(__file__).parent
MEMORY = 12 << 30  # bytes of address space: spare the machine should a limit fail
SECONDS = 600  # for one command, kernels included, on a machine with other work


def serve() -> None:
    """Run commands from the standard input until it ends."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print does not get between the answers
    for line in sys.stdin:
        ended = command(*json.loads(line))
        answer = {"code": ended.code, "output": ended.output, "traceback": ended.traceback}
        print(json.dumps(answer), file=answers, flush=True)


class Worker:
    """Runs commands in a process of their own, which is started again after a crash."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder  # the current directory of the process
        self._process: subprocess.Popen[str] | None = None

    def command(self, *arguments: object) -> tuple[int, str, str]:
        """Run a command; return its exit code, its output and its traceback.

        The code is negative if a signal ended the process.
        """
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([str(argument) for argument in arguments]) + "\n")
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], SECONDS)
        line = process.stdout.readline() if ready else ""
        if not line:
            if not ready:
                process.kill()
            code = process.wait()
            process.stdin.close()
            process.stdout.close()
            self._process = None
            return (code, "", "") if ready else (-signal.SIGALRM, "no answer in time", "")
        answer = json.loads(line)
        return answer["code"], answer["output"], answer["traceback"]

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.close()
            self._process.wait()
            self._process.stdout.close()
            self._process = None

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, str(HERE / "worker.py")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                cwd=self._folder,
                env=environment(self._folder / "work"),
            )
        return self._process


if __name__ == "__main__":
    serve()
