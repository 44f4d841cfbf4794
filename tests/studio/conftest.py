"""A studio behind its guard, a client that has entered it, and a real browser."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest
from browser import browser as browser
from browser import faults_of as faults_of
from starlette.testclient import TestClient

import mottle
from mottle.studio.app import make_app
from mottle.studio.security import ENTRY, SEAL, Guard, Secrets
from mottle.studio.state import Studio

HOST = "127.0.0.1:4711"


@dataclass
class Visitor:
    """A browser without scripts that has entered the studio."""

    studio: Studio
    client: TestClient
    seal: str

    def page(self, name: str) -> str:
        answer = self.client.get(f"/{name}")
        assert answer.status_code == 200, answer.text
        return answer.text

    @property
    def own(self) -> dict[str, str]:
        """The headers of the studio's own requests."""
        return {"origin": f"http://{HOST}", "sec-fetch-site": "same-origin", SEAL: self.seal}

    def drop(self, name: str, content: bytes, status: int = 200, modified: str = "0") -> dict:
        """Drop a file on the first page."""
        headers = {"x-mottle-name": quote(name, safe=""), "x-mottle-modified": modified}
        answer = self.client.post("/open/drop", content=content, headers=self.own | headers)
        assert answer.status_code == status, answer.text
        return answer.json()

    def post(self, address: str, /, status: int = 200, **content: object) -> dict:
        answer = self.client.post(address, json=content, headers=self.own)
        assert answer.status_code == status, answer.text
        return answer.json()

    def wait_for(self, purpose: str) -> None:
        while self.studio.running(purpose) is not None:
            time.sleep(0.05)
            self.client.get("/static/studio.css")  # the loop of the server goes on
        job = self.studio.last(purpose)
        assert job is not None
        assert job.state == "done", job.output


@pytest.fixture
def visit() -> Iterator[Callable[[Path], Visitor]]:
    """Start a studio in a folder, or with a table, and enter it."""
    open_clients = []

    def start(place: Path) -> Visitor:
        known = Secrets()
        studio = Studio.at(place)
        app = Guard(make_app(studio, known.seal), known, {HOST})
        client = TestClient(app, base_url=f"http://{HOST}")
        client.__enter__()
        open_clients.append(client)
        assert client.get(ENTRY, params={"token": known.token}).status_code == 200
        return Visitor(studio, client, known.seal)

    yield start
    for client in open_clients:
        client.__exit__(None, None, None)


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recent projects of tests are not those of whoever runs them."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """A folder with a small table."""
    table = mottle.datasets.population(300, seed=1)
    folder = tmp_path / "project"
    folder.mkdir()
    text = table.select(["person_id", "age", "sex", "diagnosis"]).to_pandas().to_csv(index=False)
    (folder / "people.csv").write_text(text)
    return folder
