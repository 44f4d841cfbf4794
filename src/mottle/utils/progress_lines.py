"""Progress as lines of JSON through a file descriptor, for programs that run mottle."""

from __future__ import annotations

import json
import os
from contextlib import suppress

PROGRESS_FD = "MOTTLE_PROGRESS_FD"  # of the environment: the number of an open file descriptor


def tell_progress(stage: str, words: str, share: float | None, loss: float | None) -> None:
    """Write one line, if a program asks for it by the variable ``MOTTLE_PROGRESS_FD``.

    Parameters
    ----------
    stage : str
        The stage that begins or goes on.
    words : str
        What is done, for people.
    share : float or None
        The part of the stage that is done, if it is known.
    loss : float or None
        The loss so far, if it is known.
    """
    number = os.environ.get(PROGRESS_FD, "")
    if not number.isdigit():
        return
    line = json.dumps({"stage": stage, "words": words, "share": share, "loss": loss}) + "\n"
    with suppress(OSError):  # nobody reads any more
        os.write(int(number), line.encode())
