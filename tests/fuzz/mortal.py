"""Runs a command of mottle in this process and kills it with signal 9 at one of its disk calls.

``python mortal.py AT COUNTS ARGUMENTS…``: with AT = 0 the command survives, and the number of its
calls is written to the file COUNTS.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from dying_process import Dying, dying_at


class Killed(Dying):
    """Ends the process at a call instead of raising an exception."""

    def step(self) -> None:
        self.calls += 1
        if self.calls == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Run the command."""
    at, counts, *arguments = sys.argv[1:]
    from mottle.cli.app import app

    sys.argv = ["mottle", *arguments]
    dying = Killed(int(at) or 10**9)
    code: object = 0
    with dying_at(dying.at, dying):
        try:
            app(prog_name="mottle")
        except SystemExit as ended:
            code = ended.code
    if at == "0":
        Path(counts).write_text(str(dying.calls))
    sys.exit(code)


if __name__ == "__main__":
    main()
