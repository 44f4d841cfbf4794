"""What happens in the studio, told to all open pages by server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

_WAITING = 256  # events that a page may be behind; a page that is further behind loads again
_ALIVE = 15.0  # seconds after which a silent stream says that it is there

CHANGED = "changed"  # the event after which pages load again

Event = tuple[str, Mapping[str, Any]]  # name and content


class Events:
    """Sends events to every page that listens; pages may come, go and sleep."""

    def __init__(self) -> None:
        self._pages: set[asyncio.Queue[Event]] = set()
        self.changes = 0  # how often the state has changed; a page carries the number it shows

    @property
    def pages(self) -> int:
        """The number of pages that listen."""
        return len(self._pages)

    def tell(self, name: str, **content: Any) -> None:
        """Send an event to all pages.

        Parameters
        ----------
        name : str
            What happened.
        **content : object
            Its entries; types of JSON, and no cell of any table.
        """
        self.changes += name == CHANGED
        for page in self._pages:
            if page.full():  # it sleeps: what it missed is in the state that it loads
                while not page.empty():
                    page.get_nowait()
                page.put_nowait(("reload", {}))
            else:
                page.put_nowait((name, content))

    async def stream(
        self, first: Callable[[], Sequence[Event]] = tuple, *, seen: int | None = None
    ) -> AsyncIterator[bytes]:
        """Yield the events of one page as text of an event stream.

        Parameters
        ----------
        first : callable, optional
            What is told at once; asked for when the page is listening, so that nothing is missed.
        seen : int, optional
            The number of changes that the page shows; if there were more, it is told.

        Yields
        ------
        bytes
            One event, or a sign of life.
        """
        page: asyncio.Queue[Event] = asyncio.Queue(_WAITING)
        self._pages.add(page)
        try:
            yield b": hello\n\n"
            for name, content in first():  # what may have happened since the page was made
                yield _text(name, content)
            if seen is not None and seen != self.changes:
                yield _text(CHANGED, {})
            while True:
                try:
                    name, content = await asyncio.wait_for(page.get(), _ALIVE)
                except TimeoutError:
                    yield b": still here\n\n"
                    continue
                yield _text(name, content)
        finally:
            self._pages.discard(page)


def _text(name: str, content: Mapping[str, Any]) -> bytes:
    """One event of a stream."""
    return f"event: {name}\ndata: {json.dumps(content, ensure_ascii=False)}\n\n".encode()
