"""Each line of the studio's security: who is let in, and what every answer carries."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from mottle.studio.security import COOKIE, ENTRY, HEADERS, SEAL, Guard, Secrets

HOST = "127.0.0.1:4711"


async def answer(request: Request) -> PlainTextResponse:
    return PlainTextResponse("inside")


@pytest.fixture
def known() -> Secrets:
    return Secrets()


@pytest.fixture
def client(known) -> TestClient:
    """A browser that has not entered yet."""
    app = Starlette(routes=[Route("/{path:path}", answer, methods=["GET", "POST", "DELETE"])])
    return TestClient(Guard(app, known, {HOST}), base_url=f"http://{HOST}", follow_redirects=False)


def own(known: Secrets) -> dict[str, str]:
    """The headers of a request that a page of the studio makes."""
    return {"origin": f"http://{HOST}", "sec-fetch-site": "same-origin", SEAL: known.seal}


def enter(client: TestClient, known: Secrets):
    return client.get(ENTRY, params={"token": known.token})


def test_the_token_works_once_and_becomes_a_cookie_that_scripts_cannot_read(client, known):
    token = known.token
    entered = enter(client, known)
    assert (entered.status_code, entered.headers["location"]) == (303, "/")
    cookie = entered.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "token" not in entered.headers["location"]
    assert client.get("/").text == "inside"
    assert client.get(ENTRY, params={"token": token}).status_code == 403


@pytest.mark.parametrize("token", ["", "wrong", "é" * 43])
def test_other_tokens_are_refused_and_do_not_use_up_the_right_one(client, known, token):
    assert client.get(ENTRY, params={"token": token}).status_code == 403
    assert client.post(ENTRY, params={"token": known.token}).status_code == 403
    assert enter(client, known).status_code == 303


@pytest.mark.parametrize("cookie", ["", "x", f"{COOKIE}=", f"{COOKIE}=wrong", "=;=;\x01", "a;b=c"])
def test_without_the_session_nothing_is_shown(client, cookie):
    for path in ("/", "/static/studio.js", "/events"):
        refused = client.get(path, headers={"cookie": cookie})
        assert refused.status_code == 403
        assert "inside" not in refused.text


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:80", "localhost:4711", ""]
)
def test_other_names_are_refused_so_that_no_name_can_be_rebound(client, known, host):
    enter(client, known)
    assert client.get("/", headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    "change",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": None},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": None},
        {SEAL: "wrong"},
        {SEAL: None},
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_changes_need_origin_fetch_site_and_seal(client, known, change, method):
    enter(client, known)
    headers = {name: value for name, value in (own(known) | change).items() if value is not None}
    assert client.request(method, "/", headers=headers).status_code == 403
    assert client.request(method, "/", headers=own(known)).text == "inside"


def test_every_answer_carries_the_headers(client, known):
    refused = client.get("/")
    entered = enter(client, known)
    for given in (refused, entered, client.get("/"), client.get("/", headers={"host": "x"})):
        for name, value in HEADERS.items():
            assert given.headers[name] == value
    stated = {
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "no-store",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "x-frame-options": "DENY",
    }
    assert stated.items() <= HEADERS.items()
    policy = HEADERS["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "frame-ancestors 'none'" in policy
    assert "form-action 'none'" in policy  # what is typed never becomes an address
    assert "unsafe" not in policy
    assert "http" not in policy


def test_connections_of_other_kinds_are_closed(client, known):
    enter(client, known)
    with pytest.raises(Exception), client.websocket_connect("/"):  # noqa: B017, PT011
        pass
