"""Consoles on which names and cells of others cannot control the terminal.

A name may hold an escape sequence that clears the screen, rewrites a line above or sets the title
of the window, or a character that reverses the direction of what follows. Such characters are shown
as ``\\x1b``, as Python writes them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

import rich.console
from rich.segment import Segment

__all__ = ["Console", "print_json", "print_text", "visible"]

# C0 without tab and line feed, delete and C1; embeddings and isolates of direction
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    r"""Write control characters as Python does.

    >>> print(visible("a\x1b[2Jb\u202ec"))
    a\x1b[2Jb\u202ec
    """
    return _CONTROLS.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


class Console(rich.console.Console):
    """A console that shows control characters of what it prints, and takes no text for markup.

    Where a name is ``[/x]`` or ``:skull:``, that is what is printed; styles are those of
    `rich.text.Text`.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"markup": False, "emoji": False, **options})

    def render(
        self,
        renderable: rich.console.RenderableType,
        options: rich.console.ConsoleOptions | None = None,
    ) -> Iterator[Segment]:
        """Render an object; what rich itself sends to the terminal is no text and stays."""
        for segment in super().render(renderable, options):
            if segment.control or not _CONTROLS.search(segment.text):
                yield segment
            else:
                yield Segment(visible(segment.text), segment.style)


def print_json(text: str) -> None:
    """Print JSON; control characters that it may hold as they are become ``\\u009b``."""
    print(_CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text.rstrip("\n")))


def print_text(text: str) -> None:
    """Print text for programs: as it is, unless it is read on a terminal."""
    print(visible(text) if sys.stdout.isatty() else text, end="")
