"""The screen on which the release is made."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from mottle.errors import MottleError, UsageError
from mottle.studio.jobs import Job, State
from mottle.studio.project import KEY, LINKS, RELEASED
from mottle.studio.screens.base import Mark, Screen, text_of
from mottle.studio.state import Studio

_LONGEST = 86_400  # seconds of improvement


def _measure(studio: Studio) -> Mark:
    return Mark.OPEN if studio.project.current_run() is None else Mark.DONE


def _content(studio: Studio) -> dict[str, Any]:
    fault: MottleError | None = None
    try:
        studio.check()
    except MottleError as error:
        fault = error
    options = studio.project.state.wishes.options
    job = studio.last("run")
    return {
        "fault": fault,
        "seconds": options.get("seconds"),
        "there": _is_there(studio),
        "job": job,
        "active": job is not None and job.state in (State.WAITING, State.RUNNING),
        "keeps": "key" not in options,
        "history": list(reversed(studio.project.runs())),
        "current": studio.project.current_run(),
    }


def _is_there(studio: Studio) -> bool:
    """Whether a release is in the folder that would be replaced."""
    return (studio.project.folder / RELEASED / "certificate.json").exists()


async def _effort(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Choose between a run that the key repeats, and one that is improved for some time."""
    options = dict(studio.project.state.wishes.options)
    typed = text_of(body, "seconds").strip()
    options.pop("seconds", None)
    options.pop("key", None)
    if not typed:
        options["key"] = KEY
    elif typed.isdecimal() and 0 < int(typed) <= _LONGEST:
        options["seconds"] = str(int(typed))
    else:
        raise UsageError("The seconds are not a whole number.", "Type one, such as 60.")
    studio.project.change(options=options)
    return {}


async def _start(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Start the run."""
    await asyncio.to_thread(studio.check)
    if studio.running("run") is not None:
        raise UsageError("A run goes on.", "Wait for it, or cancel it.")
    words = studio.project.command(RELEASED, private=LINKS)
    if _is_there(studio):
        if body.get("replace") is not True:
            raise UsageError(
                f"There is a release in {RELEASED}. If somebody has received it, another one would"
                " give away what both hide.",
                "Say that nobody has received it, or move it away and keep it.",
            )
        words += ["--overwrite", "--another-draw"]
    studio.start("run", words)
    return {}


def _running(studio: Studio) -> Job:
    job = studio.running("run")
    if job is None:
        raise UsageError("Nothing runs.", "Load the page again.")
    return job


async def _stop(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Stop improving and keep the best so far."""
    studio.jobs.stop(_running(studio))
    return {"stay": True}


async def _cancel(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """End the run; nothing is written."""
    await studio.jobs.cancel(_running(studio))
    return {}


RUN = Screen(
    "run",
    "Run",
    _measure,
    _content,
    {"effort": _effort, "start": _start, "stop": _stop, "cancel": _cancel},
)
