"""Old names of options that are still accepted, with a notice once in a process."""

from __future__ import annotations

import logging
from functools import cache

_log = logging.getLogger(__name__)


@cache
def notice_renamed(old: str, new: str, why: str = "") -> None:
    """Log, once for each pair of names, that an option has another name now.

    Parameters
    ----------
    old : str
        The name that was given.
    new : str
        The name to write instead.
    why : str, optional
        A sentence that tells them apart.
    """
    _log.warning("%s", f"'{old}' is now called '{new}'; the old name still works. {why}".strip())
