"""The studio as a web application: its state, its screens and their pages."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from mottle.errors import MottleError
from mottle.studio.events import Events
from mottle.studio.jobs import Jobs, State
from mottle.studio.places import Places
from mottle.studio.project import Project
from mottle.studio.screens.base import SCREENS, Screen
from mottle.utils.untrusted.text import parse_json

_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_LARGEST_BODY = 1 << 20  # bytes of a request that is not an upload
_PAGES = Environment(
    loader=PackageLoader("mottle.studio"), autoescape=True, undefined=StrictUndefined
)

Action = Callable[["Studio", dict[str, Any]], Awaitable[dict[str, Any]]]


@dataclass
class Studio:
    """Everything that the pages share; it lives in the server and in the project's folder."""

    places: Places
    project: Project
    events: Events = field(default_factory=Events)
    quit: asyncio.Event = field(default_factory=asyncio.Event)
    jobs: Jobs = field(init=False)

    def __post_init__(self) -> None:
        self.jobs = Jobs(self.events)

    @classmethod
    def at(cls, place: Path) -> Studio:
        """Make the studio of a folder, or of a table in its folder."""
        folder = place if place.is_dir() else place.parent
        studio = cls(Places([folder]), Project(folder.resolve()))
        if not place.is_dir():
            studio.project.change(data=str(place.resolve()))
        return studio

    @property
    def busy(self) -> bool:
        """Whether a page is open or something runs."""
        running = any(job.state in (State.WAITING, State.RUNNING) for job in self.jobs)
        return running or self.events.pages > 0

    async def close(self) -> None:
        """End all runs."""
        await self.jobs.close()


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
        name = request.path_params.get("screen", "open")
        screen = SCREENS.get(name)
        if screen is None:
            return HTMLResponse(_rendered("missing.html.j2", studio, seal, None), 404)
        return HTMLResponse(_rendered(f"{name}.html.j2", studio, seal, screen))

    async def action(request: Request) -> Response:
        screen = SCREENS.get(request.path_params["screen"])
        act = None if screen is None else screen.actions.get(request.path_params["action"])
        if act is None:
            return JSONResponse({"problem": "There is no such action."}, 404)
        body = await _body(request)
        if not isinstance(body, dict):
            return JSONResponse({"problem": "Not a request of the studio."}, 400)
        try:
            return JSONResponse(await act(studio, body))
        except MottleError as error:
            return JSONResponse({"problem": error.problem, "remedy": error.remedy}, 422)

    async def events(request: Request) -> Response:
        return StreamingResponse(studio.events.stream(), media_type="text/event-stream")

    async def leave(request: Request) -> Response:
        studio.quit.set()
        return JSONResponse({})

    return Starlette(
        routes=[
            Route("/", page),
            Route("/events", events),
            Route("/quit", leave, methods=["POST"]),
            Route("/static/{name}", _static),
            Route("/{screen}", page),
            Route("/{screen}/{action}", action, methods=["POST"]),
        ]
    )


def _rendered(template: str, studio: Studio, seal: str, screen: Screen | None) -> str:
    """The text of a page."""
    project = studio.project
    return _PAGES.get_template(template).render(
        seal=seal,
        screen=screen,
        rail=[(each, each.mark(studio)) for each in SCREENS.values()],
        folder=project.folder.name,
        command=project.shown_command("released"),
        difference=project.difference(),
        **({} if screen is None else screen.content(studio)),
    )


async def _static(request: Request) -> Response:
    """One of the studio's own files."""
    name = request.path_params["name"]
    place = resources.files("mottle.studio").joinpath("static")
    known = {each.name: each for each in place.iterdir()}
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
