"""The screen on which it is said what the release promises."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from math import isfinite
from typing import Any

from mottle.errors import MottleError, UsageError
from mottle.schema.model import Role
from mottle.studio.frontier import LADDER, SAMPLE
from mottle.studio.project import PREVIEW, TOML
from mottle.studio.screens.base import Mark, Screen, text_of
from mottle.studio.state import Studio, guarantee_of

PROMISED = ("k", "l", "beta")  # options
LANDMARKS = {  # as docs/guide.md lists them, with their sources
    3: "many statistical offices publish no cell of fewer than three (Hundepool et al. 2012)",
    5: "the strictest of the counts that sdcMicro prints for a file",
    11: "no cell of 10 or fewer: US Centers for Medicare & Medicaid Services",
    12: "0.09: European Medicines Agency (Policy 0070) and Health Canada, for clinical reports",
    20: "0.05: a public file of Canadian hospital discharges (El Emam et al. 2011)",
}


def _measure(studio: Studio) -> Mark:
    if studio.opened is None or studio.guarantee() is None:
        return Mark.OPEN
    studio.check()
    return Mark.DONE


def _content(studio: Studio) -> dict[str, Any]:
    opened = studio.opened
    if opened is None:
        return {"opened": None}
    options = studio.project.state.wishes.options
    schema = studio.project.schema().covering(opened.table.column_names)
    fault: MottleError | None = None
    if guarantee_of(options) is not None:
        try:
            studio.check()
        except MottleError as error:
            fault = error
    job = studio.last("preview")
    found = studio.frontiers.get(studio.project.fingerprint_of_data)
    return {
        "frontier": found if found and found["points"] else None,
        "exploring": studio.running("frontier"),
        "unexplored": (ran := studio.last("frontier")) is not None and ran.state == "failed",
        "explored": ran,
        "opened": opened,
        "options": options,
        "landmarks": LANDMARKS,
        "sensitive": [column.name for column in schema.with_role(Role.SENSITIVE)],
        "fault": fault,
        "chosen": bool(options.get("k") or options.get("l") or options.get("beta")),
        "preview": studio.previews.get(studio.project.fingerprint),
        "previewing": studio.running("preview"),
        "failed": job if job is not None and job.state == "failed" else None,
    }


async def _choose(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Write the promise down."""
    options: dict[str, str | bool] = {
        name: value
        for name, value in studio.project.state.wishes.options.items()
        if name not in PROMISED
    }
    options |= numbers_of(body)
    options.setdefault("key", "stays-here/owner.key")
    if "seconds" in options:
        del options["key"]
    studio.project.change(options=options)
    return {}


def numbers_of(body: Mapping[str, Any]) -> dict[str, str]:
    """What a request promises, as options of the command line."""
    typed = {name: text_of(body, name).strip() for name in PROMISED}
    options = {name: _number(name, text) for name, text in typed.items() if text}
    if guarantee_of(options) is None:
        raise UsageError("Nothing is promised.", "Choose k, ℓ or β.")
    return options


def _number(name: str, typed: str) -> str:
    """A number as it is typed on the command line."""
    try:
        if name != "beta":
            return str(int(typed))
        value = float(typed)
    except ValueError:
        value = float("nan")
    if not isfinite(value):
        words = "a number" if name == "beta" else "a whole number"
        raise UsageError(
            f"{ {'k': 'k', 'l': 'ℓ', 'beta': 'β'}[name] } is not {words}.", "Type one."
        )
    return f"{value:g}"


async def _preview(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Make a quick release that is measured and removed."""
    await asyncio.to_thread(studio.check)
    if studio.running("preview") is None:
        studio.start("preview", preview_words(studio))
    return {}


async def _explore(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Try several k on a sample."""
    if studio.opened is None:
        raise UsageError("No table is open.", "Open one.")
    if studio.running("frontier") is None:
        wishes = studio.project.state.wishes
        asked = int(wishes.options.get("k", LADDER[0]))
        rows = min(studio.opened.table.num_rows, SAMPLE)
        steps = sorted({k for k in (*LADDER, asked) if 2 <= k <= rows // 2})
        rest = json.dumps({"steps": steps, "questions": wishes.questions})
        words = [studio.project.data_word, TOML, rest]
        key = studio.project.fingerprint_of_data
        studio.start("frontier", words, state=key, module="mottle.studio.frontier")
    return {}


def preview_words(studio: Studio) -> list[str]:
    """The command of a preview: by method nh, which knows no β; then without improvement."""
    options = studio.project.state.wishes.options
    quick: dict[str, str | bool] = (
        {"seconds": "0"} if "beta" in options else {"method": "nh", "seconds": False}
    )
    words = studio.project.command(PREVIEW, key=False, no_report=True, **quick)
    return [*words, "--overwrite", "--another-draw"]


PROMISE = Screen(
    "promise",
    "Promise",
    _measure,
    _content,
    {"choose": _choose, "preview": _preview, "explore": _explore},
)
