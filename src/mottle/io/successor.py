"""Remembers beside a link file which release continued it, so that it is not continued twice.

Two releases that continue the same one draw its newcomers twice. The mark is a file next to the
link file, ``LINKS.next``. It is found as long as both stay together: a copy of the link file
elsewhere, and links that are still in memory, have none.
"""

from __future__ import annotations

import hashlib
import logging
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mottle.errors import UsageError
from mottle.release.links import Links

__all__ = ["Successor", "check_not_continued"]

_HEADER = "mottle next 1"
_MOST_BYTES = 1000

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Successor:
    """A release that continues the one of a link file.

    Attributes
    ----------
    continued : Path
        The link file of the earlier release.
    number : str
        Says which release it is: a hash under the secret key of the links, the same if the run is
        repeated with the owner's key.
    """

    continued: Path
    number: str

    @classmethod
    def of(cls, links: Links | None) -> Successor | None:
        """Return which release continues which link file.

        Parameters
        ----------
        links : Links or None
            The owner's links of the new release.

        Returns
        -------
        Successor or None
            None if it continues no file, or was drawn with a seed and is not to be published.
        """
        history = None if links is None else links.history
        if links is None or history is None or history.source is None or history.seeded:
            return None
        content = hashlib.blake2b(key=history.key, digest_size=32)
        for part in (history.seals, links.position_of_row, links.truth):
            content.update(np.ascontiguousarray(part).tobytes())
        return cls(history.source, content.hexdigest())

    def check(self, *, another_draw: bool) -> None:
        """Refuse a second, other release that continues the same one.

        Parameters
        ----------
        another_draw : bool
            Whether the owner says that the first one was never published.

        Raises
        ------
        UsageError
            The link file was continued by another release.
        """
        mark = _mark(self.continued)
        if another_draw or not mark.exists() or _read(mark) == self.number:
            return
        raise _continued_before(self.continued)

    def record(self) -> None:
        """Write the mark, readable by its owner only; warn where that is not possible."""
        mark = _mark(self.continued)
        try:
            handle = os.open(mark, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | _NOFOLLOW, 0o600)
            with open(handle, "w", encoding="ascii") as file:
                file.write(f"{_HEADER}\n{self.number}\n")
        except OSError as error:
            _log.warning(
                "%s cannot be written (%s): that the earlier release was continued will not be"
                " noticed.",
                mark,
                error.strerror,
            )


def check_not_continued(links: Path) -> None:
    """Refuse, before a long run, a link file that was continued by any release.

    Parameters
    ----------
    links : Path
        The link file of the earlier release.

    Raises
    ------
    UsageError
        Some release continued it.
    """
    if _mark(links).exists():
        raise _continued_before(links)


_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)


def _mark(links: Path) -> Path:
    return links.with_name(f"{links.name}.next")


def _read(mark: Path) -> str:
    """The number of the release that is marked; empty if the file is something else."""
    try:
        with open(mark, "rb") as file:
            header, _, number = file.read(_MOST_BYTES).decode("ascii").partition("\n")
    except (OSError, UnicodeDecodeError):
        return ""
    return number.strip() if header == _HEADER else ""


def _continued_before(links: Path) -> UsageError:
    return UsageError(
        f"{links} (--previous) was continued by another release before: both would draw the same"
        " newcomers, and together give away what each of them hides.",
        "Continue the latest release of the chain. If nobody has seen the other one, add"
        " --another-draw; with --key FILE the same run gives the same release again.",
    )
