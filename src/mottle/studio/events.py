"""What happens in the studio, told to all open pages by server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

_WAITING = 256  # events that a page may be behind; a page that is further behind loads again
_ALIVE = 15.0  # seconds after which a silent stream says that it is there

Event = tuple[str, Mapping[str, Any]]  # name and content


class Events:
    """Sends events to every page that listens; pages may come, go and sleep."""

    def __init__(self) -> None:
        self._pages: set[asyncio.Queue[Event]] = set()

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
        for page in self._pages:
            if page.full():  # it sleeps: what it missed is in the state that it loads
                while not page.empty():
                    page.get_nowait()
                page.put_nowait(("reload", {}))
            else:
                page.put_nowait((name, content))

    async def stream(self) -> AsyncIterator[bytes]:
        """Yield the events of one page as text of an event stream."""
        page: asyncio.Queue[Event] = asyncio.Queue(_WAITING)
        self._pages.add(page)
        try:
            yield b": hello\n\n"
            while True:
                try:
                    name, content = await asyncio.wait_for(page.get(), _ALIVE)
                except TimeoutError:
                    yield b": still here\n\n"
                    continue
                data = json.dumps(content, ensure_ascii=False)
                yield f"event: {name}\ndata: {data}\n\n".encode()
        finally:
            self._pages.discard(page)
