"""Where the studio listens, when it ends, and what it says."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from mottle.errors import StorageError
from mottle.studio.server import serve
from mottle.studio.state import Studio


def listening(port: int) -> list[str]:
    """Addresses of this machine on which somebody listens at a port, as Linux writes them."""
    found = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text("ascii").splitlines()[1:]:
            address, state = line.split()[1], line.split()[3]
            host, _, number = address.partition(":")
            if state == "0A" and int(number, 16) == port:
                found.append(host)
    return found


def test_it_listens_on_loopback_alone_at_any_free_port_and_ends_when_nobody_uses_it(
    people: Path, caplog: pytest.LogCaptureFixture
) -> None:
    said: list[str] = []
    heard: list[list[str]] = []

    def look(url: str) -> None:
        said.append(url)
        heard.append(listening(urlsplit(url).port or 0))

    with caplog.at_level(logging.DEBUG):
        serve(people / "people.csv", idle=0.2, say=look, browser=False)  # returns by itself
    address = urlsplit(said[0])
    assert address.hostname == "127.0.0.1"
    assert heard == [["0100007F"]]  # 127.0.0.1 and nothing else
    assert listening(address.port or 0) == []
    assert address.query.removeprefix("token=") not in caplog.text


def test_two_studios_have_different_ports_and_tokens(people: Path) -> None:
    said: list[str] = []
    for _ in range(2):
        serve(people, idle=0.1, say=said.append, browser=False)
    tokens = [urlsplit(url).query for url in said]
    assert tokens[0] != tokens[1]
    assert len(tokens[0]) > 40


def test_a_port_that_is_taken_is_refused(people: Path) -> None:
    refused: list[str] = []

    def again(url: str) -> None:
        port = urlsplit(url).port
        with pytest.raises(StorageError, match="taken"):
            serve(people, port=port or 0, browser=False)
        refused.append(url)

    serve(people, idle=0.1, say=again, browser=False)
    assert refused


def test_an_open_page_keeps_it_running(people: Path) -> None:
    async def look() -> list[bool]:
        studio = Studio.at(people)
        page = studio.events.stream()
        found = [studio.busy]
        await anext(page)
        found.append(studio.busy)
        await page.aclose()
        return [*found, studio.busy]

    assert asyncio.run(look()) == [False, True, False]
