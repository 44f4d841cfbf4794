"""Progress as lines of JSON through a file descriptor, for programs that run mottle."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress

PROGRESS_FD = "MOTTLE_PROGRESS_FD"  # of the environment: the number of an open file descriptor
_LONGEST = 30_000  # bytes of a line; names of columns may be long


def is_asked() -> bool:
    """Whether a program asks for lines by the variable ``MOTTLE_PROGRESS_FD``."""
    return os.environ.get(PROGRESS_FD, "").isdigit()


def tell_progress(
    stage: str,
    words: str,
    share: float | None,
    loss: float | None,
    columns: Mapping[str, float] | None = None,
) -> None:
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
    columns : mapping of str to float, optional
        The loss so far of every column; left out if the line would be too long.
    """
    if not is_asked():
        return
    said: dict[str, object] = {"stage": stage, "words": words, "share": share, "loss": loss}
    line = json.dumps(said)
    if columns:
        longer = json.dumps({**said, "columns": dict(columns)})
        line = longer if len(longer) <= _LONGEST else line
    with suppress(OSError):  # nobody reads any more
        os.write(int(os.environ[PROGRESS_FD]), f"{line}\n".encode())
