"""The server of the studio: on the loopback interface only, until it is told to stop or is idle."""

from __future__ import annotations

import asyncio
import socket
import time
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from mottle.errors import StorageError
from mottle.studio.app import make_app
from mottle.studio.recent import remember
from mottle.studio.security import ENTRY, Guard, Secrets
from mottle.studio.state import Studio

HOST = "127.0.0.1"
_LOOK = 1.0  # seconds between two looks at whether anybody is there


@dataclass(frozen=True)
class Address:
    """Where the studio listens."""

    port: int
    token: str

    @property
    def url(self) -> str:
        """What the browser opens first; it works once."""
        return f"http://{HOST}:{self.port}{ENTRY}?token={self.token}"


def serve(
    place: Path,
    *,
    port: int = 0,
    idle: float = 3600.0,
    say: Callable[[str], None] = lambda url: None,
    browser: bool = True,
) -> None:
    """Run the studio until it is quit, interrupted, or nobody has used it for some time.

    Parameters
    ----------
    place : Path
        A project's folder, or a table in it.
    port : int, optional
        By default any that is free.
    idle : float, optional
        Seconds without any open page or run after which the studio ends.
    say : callable, optional
        Called with the address that the browser opens, which works once.
    browser : bool, optional
        Whether a browser is opened.

    Raises
    ------
    StorageError
        There is no such place, or the port is taken.
    """
    if not place.exists():
        raise StorageError(f"There is no file or folder {place}.", "Check the path.")
    known = Secrets()
    assert known.token is not None
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        try:
            listening.bind((HOST, port))
        except OSError:
            raise StorageError(
                f"Port {port} is taken or not allowed.", "Choose another, or leave --port out."
            ) from None
        number = listening.getsockname()[1]
        address = Address(number, known.token)
        studio = Studio.at(place)
        remember(studio.project.folder)
        studio.warms = True
        app = Guard(make_app(studio, known.seal), known, {f"{HOST}:{number}"})
        settings = uvicorn.Config(
            app,
            log_config=None,
            log_level="critical",  # messages of errors might quote a cell
            access_log=False,
            server_header=False,
            date_header=False,
        )
        asyncio.run(_run(uvicorn.Server(settings), listening, studio, idle, address, say, browser))


async def _run(
    server: uvicorn.Server,
    listening: socket.socket,
    studio: Studio,
    idle: float,
    address: Address,
    say: Callable[[str], None],
    browser: bool,
) -> None:
    serving = asyncio.create_task(server.serve([listening]))
    try:
        while not server.started and not serving.done():
            await asyncio.sleep(0.01)
        say(address.url)
        if browser:
            await asyncio.to_thread(webbrowser.open, address.url)
        last = time.monotonic()
        while not serving.done() and not studio.quit.is_set():
            if studio.busy:
                last = time.monotonic()
            if time.monotonic() - last > idle:
                break
            await asyncio.wait([serving], timeout=_LOOK)
    finally:
        await studio.close()
        server.should_exit = server.force_exit = True
        await serving
