"""The studio as a web application: its pages, their actions and their files."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
from collections.abc import Awaitable, Callable
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from mottle.errors import MottleError
from mottle.studio.commands import shown_command, shown_python
from mottle.studio.dropped import TooLargeError
from mottle.studio.events import CHANGED, Event
from mottle.studio.layout import RELEASED
from mottle.studio.screens import SCREENS
from mottle.studio.screens.base import Screen
from mottle.studio.screens.open import drop
from mottle.studio.sentence import sentence
from mottle.studio.state import Studio
from mottle.studio.vega_bundle import VegaBundle
from mottle.utils.untrusted.text import parse_json, read_text

_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_LARGEST_BODY = 1 << 20  # bytes of a request
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
_PAGES = Environment(
    loader=PackageLoader("mottle.studio"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_BEFORE_RUNS = ("columns", "values", "promise")  # screens that are looked at before a run
_OF_FILES = ("name", "modified")  # headers of a dropped file
_DEFECT = "The studio has a defect here; nothing was changed or written."

Endpoint = Callable[[Request], Awaitable[Response]]


def make_app(studio: Studio, seal: str) -> Starlette:
    """Return the application, which has to stand behind a `Guard`.

    Parameters
    ----------
    studio : Studio
        The state.
    seal : str
        What requests that change something carry; pages hold it.

    Returns
    -------
    Starlette
        The application.
    """

    async def page(request: Request) -> Response:
        screen = SCREENS.get(request.path_params.get("screen", "open"))
        if studio.warms and screen is not None and screen.name in _BEFORE_RUNS:
            studio.jobs.prepare()
        seen = studio.events.changes  # before the state is looked at, which may change meanwhile
        status, text = await asyncio.to_thread(_rendered, studio, seal, seen, screen)
        return HTMLResponse(text, status)

    async def action(request: Request) -> Response:
        screen = SCREENS.get(request.path_params["screen"])
        act = None if screen is None else screen.actions.get(request.path_params["action"])
        if act is None:
            return JSONResponse({"problem": "There is no such action."}, 404)
        body = await _body(request)
        if not isinstance(body, dict):
            return JSONResponse({"problem": "Not a request of the studio."}, 400)
        try:
            answer = await act(studio, body)
        except (MottleError, OSError) as error:
            return _refused(studio, error)
        studio.events.tell(CHANGED)
        return JSONResponse(answer)

    async def dropped(request: Request) -> Response:
        name, modified = (request.headers.get(f"x-mottle-{each}", "") for each in _OF_FILES)
        try:
            await drop(studio, name, modified, request.stream())
        except TooLargeError as error:
            return _refused(studio, error, 413)
        except (MottleError, OSError) as error:
            return _refused(studio, error)
        studio.events.tell(CHANGED)
        return JSONResponse({"to": "/"})

    async def undo(request: Request) -> Response:
        try:
            studio.project.undo()
        except (MottleError, OSError) as error:
            return _refused(studio, error)
        studio.events.tell(CHANGED)
        return JSONResponse({})

    async def events(request: Request) -> Response:
        def first() -> list[Event]:
            last = {job.purpose: job for job in studio.jobs}
            return [("job", job.facts) for job in last.values()]

        seen = request.query_params.get("seen", "")
        number = int(seen) if seen.isdecimal() and len(seen) < 10 else None
        return StreamingResponse(
            studio.events.stream(first, seen=number), media_type="text/event-stream"
        )

    async def leave(request: Request) -> Response:
        studio.quit.set()
        return JSONResponse({"left": True})

    vega = VegaBundle()

    async def drawing(request: Request) -> Response:
        script = await asyncio.to_thread(vega.script)
        return Response(script, 404 if script is None else 200, media_type=_TYPES[".js"])

    async def report(request: Request) -> Response:
        return await asyncio.to_thread(_report, studio)

    return Starlette(
        routes=[
            Route("/", _guarded(page)),
            Route("/events", events),
            Route("/report", _guarded(report)),
            Route("/quit", leave, methods=["POST"]),
            Route("/undo", _guarded(undo), methods=["POST"]),
            Route("/static/vega.js", drawing),
            Route("/static/{name}", _static),
            Route("/open/drop", _guarded(dropped), methods=["POST"]),
            Route("/{screen}", _guarded(page)),
            Route("/{screen}/{action}", _guarded(action), methods=["POST"]),
        ]
    )


def _refused(studio: Studio, error: MottleError | OSError, status: int = 422) -> Response:
    """What stands in the way of an action; the state is the one before it."""
    if isinstance(error, MottleError):
        problem = error.problem.replace(f"{studio.project.folder}/", "")  # where all of it lies
        return JSONResponse({"problem": problem, "remedy": error.remedy}, status)
    reason = error.strerror or type(error).__name__
    problem = f"A file of the project could not be written: {reason}. Nothing was changed."
    return JSONResponse({"problem": problem, "remedy": "Make room, or check permissions."}, 507)


def _guarded(endpoint: Endpoint) -> Endpoint:
    """Turn what nobody expected into an answer without its message, which might quote a cell."""

    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except Exception as error:
            text = f"{_DEFECT} ({type(error).__name__})"
            if request.method == "POST":
                return JSONResponse({"problem": text}, 500)
            return Response(text, 500, media_type="text/plain")

    return answer


def _rendered(studio: Studio, seal: str, seen: int, screen: Screen | None) -> tuple[int, str]:
    """The status and the text of a page."""
    project = studio.project
    content: dict[str, Any] = {}
    problem: MottleError | None = None
    if screen is None:
        status, template = 404, "missing.html.j2"
    else:
        status, template = 200, f"{screen.name}.html.j2"
        try:
            content = screen.content(studio)
        except MottleError as error:
            problem, template = error, "problem.html.j2"
    try:
        drawer: dict[str, Any] = {
            "command": shown_command(project, RELEASED),
            "python": shown_python(project, RELEASED),
            "difference": project.difference(),
            "names_values": bool(project.state.wishes.caps),
        }
        marks = [(each, each.mark(studio)) for each in SCREENS.values()]
        said = sentence(studio)
    except MottleError as error:  # the folder .studio is damaged
        problem, template = error, "problem.html.j2"
        drawer = {"command": "", "python": "", "difference": "", "names_values": False}
        marks, said = [], []
    return status, _PAGES.get_template(template).render(
        seal=seal,
        seen=seen,
        screen=screen,
        rail=marks,
        sentence=said,
        problem=problem,
        **drawer,
        **content,
    )


def _report(studio: Studio) -> Response:
    """The report of the release; of all it holds, its style sheet alone is let in."""
    path = studio.places.allowed(studio.project.folder / RELEASED / "report.html")
    if not path.is_file():
        return Response("There is no report.", 404, media_type="text/plain")
    text = read_text(path, 1 << 26)
    hashes = " ".join(  # none: no style
        f"'sha256-{base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()}'"
        for each in _STYLE.findall(text)
    )
    policy = (
        f"default-src 'none'; style-src {hashes}; img-src data:; base-uri 'none';"
        " form-action 'none'; frame-ancestors 'none'"
    )
    return HTMLResponse(text, headers={"content-security-policy": policy})


async def _static(request: Request) -> Response:
    """One of the studio's own files, or the style sheet of reports."""
    name = request.path_params["name"]
    place = resources.files("mottle.studio").joinpath("static")
    known = {each.name: each for each in place.iterdir()}
    known["report.css"] = resources.files("mottle.report").joinpath("templates", "style.css")
    suffix = Path(name).suffix
    if name not in known or suffix not in _TYPES:
        return Response(status_code=404)
    return Response(known[name].read_bytes(), media_type=_TYPES[suffix])


async def _body(request: Request) -> Any:
    """The content of a request as JSON; None if it is none, or too long."""
    content = bytearray()
    async for part in request.stream():
        content += part
        if len(content) > _LARGEST_BODY:
            return None
    try:
        return parse_json(content.decode("utf-8"))
    except ValueError:
        return None
