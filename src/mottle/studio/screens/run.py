"""The screen on which the release is made."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from mottle.errors import MottleError, UsageError
from mottle.studio.frontier import OTHERS
from mottle.studio.jobs import Job, State
from mottle.studio.layout import KEY, LINKS, RELEASED, VARIANT
from mottle.studio.screens.base import Mark, Screen, number_of, text_of
from mottle.studio.screens.promise import PROMISED, numbers_of
from mottle.studio.state import Studio
from mottle.studio.wishes import guarantee_of

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
        "opened": studio.project.state.wishes.data is not None,
        "seconds": options.get("seconds"),
        "there": _is_there(studio),
        "job": job,
        "active": job is not None and job.state in (State.WAITING, State.RUNNING),
        "keeps": "key" not in options,
        "lines": _lines(studio),
        "enough": studio.enough,
        "variants": studio.project.variants(),
        "trying": [each for each in studio.jobs if each.purpose == "variant" and each.is_active],
        "untried": _failed(studio),
        "history": list(reversed(studio.project.runs())),
        "current": studio.project.current_run(),
        "pinned": studio.project.questions,
    }


def _lines(studio: Studio) -> list[dict[str, Any]]:
    """Where other methods end on the sample, for the k that is asked for."""
    found = studio.frontiers.get(studio.project.fingerprint_of_data)
    k = studio.project.state.wishes.options.get("k")
    if found is None or k is None:
        return []
    return [
        {"loss": losses[k], "words": OTHERS[name]}
        for name, losses in found["others"].items()
        if name in OTHERS and k in losses
    ]


def _failed(studio: Studio) -> Job | None:
    job = studio.last("variant")
    return job if job is not None and job.state is State.FAILED else None


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


async def _good_enough(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Say at which loss a run is stopped and kept."""
    typed = text_of(body, "percent").strip().removesuffix("%").strip()
    if not typed:
        studio.enough = None
        return {"stay": True}
    try:
        share = float(typed) / 100
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise UsageError("The loss is not a percentage.", "Type one, such as 5.")
    studio.enough = share
    return {"stay": True}


async def _try(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Put a variant of the promise into the queue; it is measured and not kept."""
    options = numbers_of(body)
    wishes = studio.project.state.wishes
    if guarantee_of(options) is None:
        raise UsageError("Nothing is promised.", "Choose k, ℓ or β.")
    options["seconds"] = str(number_of(body, "seconds"))
    if int(options["seconds"]) > _LONGEST:
        raise UsageError("The seconds are too many.", "Type fewer.")
    left_out: dict[str, str | bool] = {
        name: False for name in (*PROMISED, "key") if name not in options
    }
    if not ({"l", "beta"} & set(options) or wishes.caps or "cap_rest" in wishes.options):
        left_out["known_records"] = False  # which bounds what sensitive values give away
    words = studio.project.command(VARIANT, no_report=True, **left_out, **options)
    words += ["--overwrite", "--another-draw"]
    asked = [json.dumps(studio.project.questions), *words]
    studio.start("variant", asked, state=json.dumps(options), module="mottle.studio.variant")
    return {}


async def _take(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Promise what a variant does."""
    variants, place = studio.project.variants(), number_of(body, "variant")
    if place >= len(variants):
        raise UsageError("There is no such variant.", "Load the page again.")
    options = numbers_of(dict.fromkeys(PROMISED, "") | variants[place].get("options", {}))
    kept = studio.project.state.wishes.options
    others = {name: kept[name] for name in ("known_records", "cap_rest") if name in kept}
    studio.project.change(options={**options, **others, "key": KEY})
    return {}


async def _forget(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Take all variants away."""
    for job in studio.jobs:
        if job.purpose == "variant" and job.is_active:
            await studio.jobs.cancel(job)
    studio.project.set_variants([])
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
    {
        "effort": _effort,
        "start": _start,
        "stop": _stop,
        "cancel": _cancel,
        "enough": _good_enough,
        "try": _try,
        "take": _take,
        "forget": _forget,
    },
)
