"""The screen on which it is said what the release promises."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from mottle.errors import MottleError, UsageError
from mottle.guarantees.demand import KNOWN_RECORDS
from mottle.schema.model import Role
from mottle.studio.frontier import LADDER, SAMPLE
from mottle.studio.layout import KEY, PREVIEW, TOML
from mottle.studio.screens.base import Mark, Screen, text_of
from mottle.studio.state import Studio
from mottle.studio.wishes import SHARE, can_be_capped, guarantee_of

PROMISED = ("k", "l", "beta")  # options that variants differ in
_SYMBOLS = {"k": "k", "l": "ℓ", "beta": "β", "known_records": "The bound"}
LANDMARKS = {  # as docs/guide.md lists them, with their sources
    3: "many statistical offices publish no cell of fewer than three (Hundepool et al. 2012)",
    5: "the strictest of the counts that sdcMicro prints for a file",
    11: "no cell of 10 or fewer: US Centers for Medicare & Medicaid Services",
    12: "0.09: European Medicines Agency (Policy 0070) and Health Canada, for clinical reports",
    20: "0.05: a public file of Canadian hospital discharges (El Emam et al. 2011)",
}
_RAIL = 2, 50  # the k at its ends
_MOST_CAPPED = 30  # values of a column that are listed, the most frequent ones


@dataclass(frozen=True)
class CappedValue:
    """A sensitive value, and what can be promised about it."""

    place: int  # its code
    value: str
    share: float  # in the table: no lower cap is feasible
    least: float  # percent, rounded up
    cap: str  # percent, as typed; empty: none of its own
    named: bool  # whether --cap can name it


def _measure(studio: Studio) -> Mark:
    if studio.opened is None or studio.guarantee() is None:
        return Mark.OPEN
    studio.check()
    return Mark.DONE


def _content(studio: Studio) -> dict[str, Any]:
    opened = studio.opened
    if opened is None:
        return {"opened": None}
    wishes = studio.project.state.wishes
    options = wishes.options
    schema = studio.project.schema().covering(opened.table.column_names)
    fault: MottleError | None = None
    if wishes.guarantee is not None:
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
        "scale": _RAIL,
        "sensitive": [column.name for column in schema.with_role(Role.SENSITIVE)],
        "capped": _capped(studio),
        "caps": len(wishes.caps),
        "rest": _percent(str(options.get("cap_rest", ""))),
        "known_records": KNOWN_RECORDS,
        "fault": fault,
        "chosen": wishes.guarantee is not None,
        "preview": studio.previews.get(studio.project.fingerprint),
        "previewing": studio.running("preview"),
        "failed": job if job is not None and job.state == "failed" else None,
    }


def _capped(studio: Studio) -> list[tuple[str, list[CappedValue], int]]:
    """By sensitive column its most frequent values, and how many are not listed."""
    caps = studio.project.state.wishes.caps
    found = []
    for values in studio.sensitive():
        order = np.argsort(-values.counts, kind="stable")
        labels = {int(code): values.label(int(code)) for code in order[:_MOST_CAPPED]}
        rows = [
            CappedValue(
                code,
                label,
                share := float(values.counts[code] / values.rows),
                np.ceil(share * 10_000) / 100,
                _percent(caps.get(label, "")),
                can_be_capped(label),
            )
            for code, label in labels.items()
        ]
        found.append((values.columns[0], rows, len(order) - len(rows)))
    return found


def _percent(share: str) -> str:
    return f"{100 * float(share):g}" if share else ""


async def _choose(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Write the promise down; caps stay as they are."""
    wishes = studio.project.state.wishes
    options: dict[str, str | bool] = {
        name: value
        for name, value in wishes.options.items()
        if name not in (*PROMISED, "known_records")
    }
    options |= numbers_of(body, "known_records")
    if guarantee_of(options, wishes.caps) is None:
        raise UsageError("Nothing is promised.", "Choose k, ℓ or β.")
    _keep(studio, options)
    return {}


async def _cap(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Write caps of single values down, and the one of all others."""
    await asyncio.to_thread(_write_caps, studio, body)
    return {}


def _write_caps(studio: Studio, body: Mapping[str, Any]) -> None:
    wishes = studio.project.state.wishes
    caps = dict(wishes.caps)
    for column, (_, rows, _) in enumerate(_capped(studio)):
        for each in rows:
            typed = body.get(f"cap-{column}-{each.place}")
            if not isinstance(typed, str) or not each.named:
                continue
            caps.pop(each.value, None)
            if typed.strip():
                caps[each.value] = _share(typed)
    options = {name: value for name, value in wishes.options.items() if name != "cap_rest"}
    if text_of(body, "rest").strip():
        options["cap_rest"] = _share(text_of(body, "rest"))
    _keep(studio, options, caps)


def _share(typed: str) -> str:
    """A percentage as a share, as it is typed on the command line."""
    try:
        percent = float(typed.strip().removesuffix("%"))
    except ValueError:
        percent = -1.0
    share = f"{percent / 100:.6f}".rstrip("0").rstrip(".")
    if not 0 < percent <= 100 or not SHARE.fullmatch(share):
        raise UsageError("A cap is not a percentage.", "Type one above 0, such as 20.")
    return share


def _keep(
    studio: Studio, options: dict[str, str | bool], caps: Mapping[str, str] | None = None
) -> None:
    """Change the promise; without a time, runs are repeatable under the owner's key."""
    if "seconds" not in options:
        options.setdefault("key", KEY)
    if caps is None:
        studio.project.change(options=options)
    else:
        studio.project.change(options=options, caps=dict(caps))


def numbers_of(body: Mapping[str, Any], *more: str) -> dict[str, str]:
    """What a request promises, as options of the command line."""
    typed = {name: text_of(body, name).strip() for name in PROMISED}
    typed |= {name: str(body.get(name) or "").strip() for name in more}
    return {name: _number(name, text) for name, text in typed.items() if text}


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
        raise UsageError(f"{_SYMBOLS[name]} is not {words}.", "Type one.")
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
        asked = int(studio.project.state.wishes.options.get("k", LADDER[0]))
        rows = min(studio.opened.table.num_rows, SAMPLE)
        steps = sorted({k for k in (*LADDER, asked) if 2 <= k <= rows // 2})
        rest = json.dumps({"steps": steps, "questions": studio.project.questions})
        words = [studio.project.data_word, TOML, rest]
        key = studio.project.fingerprint_of_data
        studio.start("frontier", words, state=key, module="mottle.studio.frontier")
    return {}


def preview_words(studio: Studio) -> list[str]:
    """The command of a preview: by method nh; where it cannot promise that, without improvement."""
    wishes = studio.project.state.wishes
    beyond = wishes.caps or {"beta", "cap_rest", "known_records"} & set(wishes.options)
    quick: dict[str, str | bool] = (
        {"seconds": "0"} if beyond else {"method": "nh", "seconds": False}
    )
    words = studio.project.command(PREVIEW, key=False, no_report=True, **quick)
    return [*words, "--overwrite", "--another-draw"]


PROMISE = Screen(
    "promise",
    "Promise",
    _measure,
    _content,
    {"choose": _choose, "cap": _cap, "preview": _preview, "explore": _explore},
)
