"""Every screen in a real browser: wide and narrow, light and dark, without any complaint."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Queue

import pytest

import mottle
from mottle.studio.screens import SCREENS
from mottle.studio.server import serve

PICTURES = os.environ.get("MOTTLE_PICTURES")  # a folder: pictures for the documentation go there


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """The address of a studio in which a run was made; it is quit at the end."""
    table = mottle.datasets.population(300, seed=1).drop(["person_id"])
    (tmp_path / "people.csv").write_text(table.to_pandas().to_csv(index=False))
    said: Queue[str] = Queue()
    place = tmp_path / "people.csv"
    thread = threading.Thread(target=lambda: serve(place, say=said.put, browser=False), daemon=True)
    thread.start()
    yield said.get(timeout=300)
    thread.join(timeout=30)
    assert not thread.is_alive()


def test_tour_by_hand(browser, address: str, tmp_path: Path) -> None:
    browser.open(address, width=1280)
    root = address.partition("/enter")[0]
    assert browser.run("location.href") == f"{root}/"

    def act(script: str, until: str) -> None:
        browser.run(script)
        _wait(browser, until)

    def show(name: str, width: int = 1280, scheme: str = "light") -> None:
        for _ in range(5):  # a page that loads again by itself may come before
            browser.open(f"{root}/{name}", width=width, scheme=scheme)
            if browser.run("location.pathname") == f"/{name}":
                return
        raise AssertionError(name)

    show("columns")
    press = "document.querySelector('[data-column=\"2\"] select').dispatchEvent(new KeyboardEvent("
    act(
        f"{press}'keydown', {{key: '5', bubbles: true}}))",
        "document.querySelector('[data-role=\"2\"]').value === 'insensitive'",
    )
    assert 'role = "insensitive"' in (tmp_path / "mottle.toml").read_text()
    show("promise")
    act(
        "document.querySelector('[data-value=\"5\"]').click()",
        "document.body.innerText.includes('The table can have this promise')",
    )
    show("run")
    act(
        "document.querySelector('button.main').click()",
        "document.body.innerText.includes('information lost')",
    )
    show("publish")
    act(
        "document.querySelector('button.main').click()",
        "document.body.innerText.includes('Verified.')",
    )
    for name in SCREENS:
        for width in (1280, 390):
            for scheme in ("light", "dark"):
                show(name, width, scheme)
                assert browser.complaints == []
                assert all(url.startswith((root, "data:")) for url in browser.requests)
                assert browser.run("document.documentElement.scrollWidth") <= width, name
                if PICTURES and (width, scheme) in ((1280, "light"), (390, "dark")):
                    picture = browser.picture(800)
                    Path(PICTURES, f"studio-{name}-{width}.png").write_bytes(picture)
    show("open")
    shown = "getComputedStyle(document.querySelector('.original')).display"
    assert browser.run(shown) == "block"
    browser.run(
        "document.body.dispatchEvent(new KeyboardEvent('keydown', {key:'h', bubbles:true}))"
    )
    assert browser.run(shown) == "none"
    show("columns")
    assert browser.run(shown) == "none"
    act(
        "document.querySelector('[data-post=\"/quit\"]').click()",
        "document.body.innerText.includes('has ended')",
    )


def _wait(browser, condition: str) -> None:
    """Wait until something is true in the page, which may load again meanwhile."""
    for _ in range(1500):
        if browser.run(f"(() => {{ try {{ return {condition} }} catch {{}} }})()") is True:
            return
        time.sleep(0.1)
    raise AssertionError(condition)
