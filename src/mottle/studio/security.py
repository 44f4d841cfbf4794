"""Who may talk to the studio: one browser on this machine, and only its own pages.

`Guard` stands before everything else. It knows three secrets, drawn when the studio starts: the
*token* in the address that is opened, which is exchanged once for the *session* in a cookie, and
the *seal* that every request that changes something has to carry in a header.

Other programs of the same user can read what the user can; the guard is against other users of the
machine, and against pages of others that the same browser shows.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ENTRY = "/enter"  # where the token is exchanged for a cookie
COOKIE = "mottle-session"
SEAL = "x-mottle-seal"  # the header of requests that change something
_POLICY = "content-security-policy"
_READING = ("GET", "HEAD")

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'none'",  # scripts send forms; a browser itself would put them into addresses
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "x-frame-options": "DENY",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), usb=()",
}


@dataclass
class Secrets:
    """What the browser has to know."""

    token: str | None = field(default_factory=lambda: secrets.token_urlsafe(32))  # None: used
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    seal: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    def exchange(self, token: str) -> bool:
        """Use the token up; False if it is another one, or was used before."""
        if self.token is None or not secrets.compare_digest(self.token.encode(), token.encode()):
            return False
        self.token = None
        return True


class Guard:
    """Lets requests through that come from the studio's own pages.

    Parameters
    ----------
    app : ASGIApp
        What is guarded.
    known : Secrets
        The secrets of this run.
    hosts : iterable of str
        The names by which the studio may be addressed, with its port.
    """

    def __init__(self, app: ASGIApp, known: Secrets, hosts: Iterable[str]) -> None:
        self._app, self._known, self._hosts = app, known, frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        refusal = self._refusal(scope)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                policy = headers.get(_POLICY)  # that of a report, which is as strict
                headers.update(HEADERS)
                if policy is not None:
                    headers[_POLICY] = policy
            await send(message)

        await (self._app if refusal is None else refusal)(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        """The answer to requests that go no further; None for all others."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host not in self._hosts:
            return PlainTextResponse("The studio is not known by this name.", 421)
        if scope["path"] == ENTRY:
            return self._entered(scope)
        if not self._has_session(headers):
            return PlainTextResponse(
                "Open the studio by the address that 'mottle studio' shows in the terminal; it"
                " works once, in one browser.",
                403,
            )
        if scope["method"] in _READING:
            return None
        same = (
            headers.get("origin") == f"http://{host}"
            and headers.get("sec-fetch-site") == "same-origin"
            and secrets.compare_digest(headers.get(SEAL, "").encode(), self._known.seal.encode())
        )
        return None if same else PlainTextResponse("Not a request of the studio's pages.", 403)

    def _entered(self, scope: Scope) -> Response:
        """Exchange the token for a cookie, and lead away from the address that holds it."""
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if scope["method"] != "GET" or not self._known.exchange(given):
            return PlainTextResponse("This address has been used already. Start a new studio.", 403)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(COOKIE, self._known.session, httponly=True, samesite="strict", path="/")
        return answer

    def _has_session(self, headers: Headers) -> bool:
        cookies = SimpleCookie()
        try:
            cookies.load(headers.get("cookie", ""))
        except CookieError:
            return False
        given = cookies[COOKIE].value if COOKIE in cookies else ""
        return secrets.compare_digest(given.encode(), self._known.session.encode())
