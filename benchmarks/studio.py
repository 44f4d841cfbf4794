"""How long the studio takes to answer clicks on a large table while a run goes on, and to cancel.

    python benchmarks/studio.py [ROWS] [TIMES]

A click is what its user waits for: the request, and the page that is loaded after it.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow.csv
from _shared import markdown_table, report

from mottle.datasets import population

ROWS, TIMES = 300_000, 15
TICKS = os.sysconf("SC_CLK_TCK")
QUESTION = "SELECT sex, COUNT(*) FROM release WHERE age >= {} GROUP BY sex"
SEAL = re.compile(r'name="seal" content="([^"]+)"')


@dataclass
class Visit:
    """A studio in a process of its own, and somebody who clicks."""

    process: subprocess.Popen[str]
    host: str
    cookie: str = ""
    seal: str = ""
    clicks: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    def request(self, method: str, address: str, body: str | None = None) -> tuple[int, str]:
        """Send one request and read its whole answer."""
        connection = http.client.HTTPConnection(self.host)
        headers = {"cookie": self.cookie, "origin": f"http://{self.host}"}
        headers |= {"sec-fetch-site": "same-origin", "x-mottle-seal": self.seal}
        connection.request(method, address, body, headers)
        answer = connection.getresponse()
        if given := answer.headers.get("set-cookie"):
            self.cookie = given.partition(";")[0]
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def page(self, name: str) -> str:
        """Load a page."""
        status, text = self.request("GET", f"/{name}")
        assert status == 200, f"{name}: {status}"
        return text

    def post(self, address: str, **content: object) -> None:
        """Do something."""
        status, text = self.request("POST", address, json.dumps(content))
        assert status == 200, f"{address}: {text}"

    def processor(self) -> float:
        """Seconds that the server has used, without those of its runs."""
        entries = Path(f"/proc/{self.process.pid}/stat").read_text("utf-8").rpartition(")")[2]
        user, system = entries.split()[11:13]
        return (int(user) + int(system)) / TICKS

    @contextmanager
    def click(self, name: str) -> Iterator[None]:
        """Measure what is done meanwhile as one click."""
        used, began = self.processor(), time.perf_counter()
        yield
        taken = time.perf_counter() - began
        self.clicks.setdefault(name, []).append((taken, self.processor() - used))

    def wait(self, words: str, name: str = "run") -> None:
        """Wait until a page shows something."""
        while words not in self.page(name):
            assert "failed" not in self.page(name), "the run failed"
            time.sleep(0.5)


def enter(folder: Path) -> Visit:
    """Start a studio and enter it."""
    command = [sys.executable, "-m", "mottle", "studio", str(folder), "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    address = next(found[0] for line in process.stdout if (found := re.search(r"http://\S+", line)))
    parts = urlsplit(address)
    visit = Visit(process, parts.netloc)
    visit.request("GET", f"{parts.path}?{parts.query}")
    found = SEAL.search(visit.page(""))
    assert found
    visit.seal = found[1]
    return visit


def actions(turn: int) -> dict[str, tuple[str, Callable[[Visit], None]]]:
    """What is clicked, by name: the page that follows, and the request."""
    k, age = str(11 + turn), 20 + turn
    role = "insensitive" if turn % 2 else "sensitive"
    return {
        "give a column a role": (
            "columns",
            lambda it: it.post("/columns/role", column=8, role=role),
        ),
        "undo of it": ("columns", lambda it: it.post("/undo")),
        "steps of a column": (
            "values",
            lambda it: it.post(
                "/values/coarsen", snap="5", bottom="", top="", breaks="", granularity=""
            ),
        ),
        "undo of the steps": ("values", lambda it: it.post("/undo")),
        "choose k": ("promise", lambda it: it.post("/promise/choose", k=k, l="", beta="")),
        "undo of k": ("promise", lambda it: it.post("/undo")),
        "ask a question": ("use", lambda it: it.post("/use/ask", sql=QUESTION.format(age))),
        "draw two columns": ("use", lambda it: it.post("/use/look", first=turn % 4, second=5)),
        "pick a person": ("attack", lambda it: it.post("/attack/pick", who="random")),
        "search for a person": ("attack", lambda it: it.post("/attack/search", text=str(age))),
        "know a column less": (
            "attack",
            lambda it: it.post("/attack/know", **{"known-0": True, "people": 0}),
        ),
    }


SCREENS = ("open", "columns", "values", "promise", "run", "use", "attack", "publish")


def measure(visit: Visit, times: int) -> dict[str, float]:
    """Click through everything while a run goes on; return what happens once, in seconds."""
    once: dict[str, float] = {}

    def took(name: str, act: Callable[[], None]) -> None:
        began = time.perf_counter()
        act()
        once[name] = time.perf_counter() - began

    took("open the table", lambda: visit.post("/open/open", file="people.csv"))
    took("its columns for the first time", lambda: visit.page("columns") and None)
    took("who is singled out in the roles", lambda: visit.post("/columns/measure"))
    visit.post("/promise/choose", k="10", l="", beta="")
    visit.post("/run/effort", seconds="3600")
    visit.post("/run/start")
    visit.wait("[[")  # the curve of losses begins
    visit.post("/run/stop")
    visit.wait("information lost")
    took("read the release for questions", lambda: visit.post("/use/prepare"))
    took("read the release for attacks", lambda: visit.post("/attack/sit"))
    took("why a record is so wide", lambda: visit.post("/use/explain", row=1))
    took("draw two columns for the first time", lambda: visit.post("/use/look", first=0, second=1))
    for name in SCREENS:
        visit.page(name)
    visit.post("/run/start", replace=True)
    visit.wait("[[")
    for turn in range(times):
        for name in SCREENS:
            with visit.click(f"page {name}"):
                visit.page(name)
        for name, (page, act) in actions(turn).items():
            with visit.click(name):
                act(visit)
                visit.page(page)
    took("cancel the run", lambda: visit.post("/run/cancel"))
    assert "cancelled" in visit.page("run")
    return once


def milliseconds(values: list[float]) -> tuple[str, str]:
    """Median and 95th percentile."""
    ordered = sorted(values)
    return (
        f"{1000 * statistics.median(ordered):.0f}",
        f"{1000 * ordered[min(len(ordered) - 1, round(0.95 * (len(ordered) - 1)))]:.0f}",
    )


def main(rows: int, times: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        pyarrow.csv.write_csv(population(rows, seed=1), Path(folder, "people.csv"))
        visit = enter(Path(folder))
        try:
            once = measure(visit, times)
            load = os.getloadavg()[0]
            visit.post("/quit")
            visit.process.wait(60)
        finally:
            visit.process.kill()
    clicks = [
        (
            name,
            *milliseconds([taken for taken, _ in found]),
            *milliseconds([used for _, used in found]),
        )
        for name, found in visit.clicks.items()
    ]
    report(
        "studio",
        "Clicks in the studio while a run goes on",
        [
            f"{rows:,} generated people with 10 columns; every click {times} times, while a run of"
            f" the same table goes on. Load of the machine at the end: {load:.0f} processes. Where"
            " it is above the number of cores, milliseconds hold much waiting, and the"
            " processor's time of the server says what a click costs.",
            markdown_table(
                ("click", "ms, median", "ms, p95", "processor ms, median", "processor ms, p95"),
                clicks,
            ),
            "Once for a table or a release:",
            markdown_table(("", "seconds"), [(name, f"{took:.2f}") for name, took in once.items()]),
        ],
        f"studio.py {rows} {times}",
    )


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    main(*(given + [ROWS, TIMES][len(given) :]))
