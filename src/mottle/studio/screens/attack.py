"""The screen on which adversaries are played, by the audit and by the owner herself."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from typing import Any

from mottle.errors import UsageError
from mottle.schema.external_release import Tool
from mottle.schema.model import Unit
from mottle.studio.chair import Chosen
from mottle.studio.figures import release_mark
from mottle.studio.layout import LINKS, RELEASED, STAYS, TOML, plain
from mottle.studio.screens.base import Mark, Screen, number_of, text_of
from mottle.studio.screens.open import files_of
from mottle.studio.state import OTHER, Studio

_MOST_VALUES = 12  # that are shown
_TOOLS = {
    Tool.ARX: "ARX",
    Tool.SDCMICRO: "sdcMicro",
    Tool.AMNESIA: "Amnesia",
    Tool.OTHER: "another tool",
}


def _measure(studio: Studio) -> Mark:
    run = studio.project.current_run()
    if run is None:
        return Mark.OPEN
    report = studio.project.audits().get(release_mark(studio.project.folder / RELEASED))
    if report is None:
        return Mark.OPEN
    return Mark.DONE if report["passed"] else Mark.INVALID


def _content(studio: Studio) -> dict[str, Any]:
    run = studio.project.current_run()
    if run is None:
        return {"current": None}
    audits = studio.project.audits()
    chair, chosen = studio.chair.ready, studio.chosen
    attack = None
    if chair is not None and chosen.person is not None:
        attack = chair.attack(chosen.person, chosen.known or chair.columns, chosen.people)
    job = studio.last("audit")
    return {
        "current": run,
        "who": studio.project.schema().unit or Unit.PERSON,
        "ours": audits.get(release_mark(studio.project.folder / RELEASED)),
        "other": audits.get(OTHER),
        "files": [name for name in files_of(studio) if name != studio.project.state.wishes.data],
        "tools": {str(tool): _TOOLS.get(tool, str(tool)) for tool in Tool},
        "auditing": studio.running("audit"),
        "failed": job if job is not None and job.state == "failed" else None,
        "chair": chair,
        "chosen": chosen,
        "attack": attack,
        "capped": attack is not None
        and any(each.cap is not None for _, beliefs in attack.beliefs for each in beliefs),
        "releases": other_releases(studio),
        "second": None if attack is None else _both(studio),
        "found": [] if chair is None else [(row, chair.label(row)) for row in chosen.found],
    }


async def _play(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Play all adversaries against the release."""
    _check_there(studio)
    if studio.running("audit") is None:
        words = ["audit", studio.project.data_word, RELEASED, "--schema", TOML]
        studio.start("audit", [*words, "--private", LINKS, "--json"])
    return {}


async def _beside(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Play them against another tool's file, with what our release promises."""
    _check_there(studio)
    name = text_of(body, "file")
    if name not in files_of(studio):
        raise UsageError("This is not a file of the studio's folder.", "Choose another.")
    tool = text_of(body, "tool")
    if tool not in list(Tool):
        raise UsageError("There is no such tool.", "Choose another.")
    if studio.running("audit") is None:
        schema = await asyncio.to_thread(studio.project.write_schema_of_other, Tool(tool))
        words = ["audit", studio.project.data_word, plain(name), "--schema", schema]
        for option in ("k", "l", "beta"):
            if option in (options := studio.project.state.wishes.options):
                words += [f"--{option}", str(options[option])]
        studio.start("audit", [*words, "--json"])
    return {}


async def _sit(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Read everything that an attack on one person needs."""
    _check_there(studio)
    await asyncio.to_thread(studio.chair.prepare)
    return {}


async def _pick(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Choose a person: at random, the most exposed, or by the number of her row."""
    _check_there(studio)
    chair = await asyncio.to_thread(studio.chair.prepare)
    who = text_of(body, "who")
    if who == "random":
        person = secrets.randbelow(chair.people)
    elif who == "exposed":
        person = chair.exposed
    elif who.isdecimal() and int(who) < chair.people:
        person = int(who)
    else:
        raise UsageError("There is no such person.", "Choose again.")
    studio.chosen = Chosen(person, studio.chosen.known, 0, studio.chosen.found)
    return {}


def other_releases(studio: Studio) -> list[str]:
    """Folders of the project's folder that hold another release."""
    folder = studio.project.folder
    return [
        path.name
        for path in sorted(folder.iterdir())
        if path.name not in (RELEASED, STAYS)
        and not path.name.startswith(".")
        and not path.is_symlink()
        and (path / "certificate.json").is_file()
    ]


def _both(studio: Studio) -> dict[str, Any] | None:
    """What both releases leave possible about the person who is attacked."""
    chair, second, chosen = studio.chair.ready, studio.second, studio.chosen
    if chair is None or second is None or chosen.person is None:
        return None
    name, other = second
    known = chosen.known or tuple(chair.columns)
    ours, theirs = chair.possible(chosen.person, known), other.possible(chosen.person, known)
    columns = []
    for column, shares in ours[1].items():
        others = theirs[1].get(column)
        if others is None:
            continue
        left = sorted(set(shares) & set(others), key=lambda value: -shares[value] * others[value])
        rows = [(value, shares[value], others[value]) for value in left]
        columns.append((column, len(shares), len(others), rows[:_MOST_VALUES], len(rows)))
    return {"name": name, "ours": ours[0], "theirs": theirs[0], "columns": columns}


async def _second(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Read another release of the same table."""
    _check_there(studio)
    name = text_of(body, "release")
    if name not in other_releases(studio):
        raise UsageError("There is no such release in the folder.", "Choose another.")
    await asyncio.to_thread(studio.chair.prepare)
    await asyncio.to_thread(studio.read_second, name)
    return {}


async def _search(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Find people by a cell of their rows."""
    _check_there(studio)
    chair = await asyncio.to_thread(studio.chair.prepare)
    found = await asyncio.to_thread(chair.search, text_of(body, "text"))
    if not found:
        raise UsageError("No row has this cell.", "Type a whole cell, such as a name or a number.")
    studio.chosen = Chosen(found[0], studio.chosen.known, 0, tuple(found))
    return {}


async def _know(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Say what the adversary knows: columns, and how many people behind her records."""
    _check_there(studio)
    chair = await asyncio.to_thread(studio.chair.prepare)
    known = tuple(
        name for place, name in enumerate(chair.columns) if body.get(f"known-{place}") is True
    )
    if not known:
        raise UsageError("Somebody who knows no column finds nobody.", "Choose at least one.")
    studio.chosen = Chosen(
        studio.chosen.person, known, number_of(body, "people"), studio.chosen.found
    )
    return {}


def _check_there(studio: Studio) -> None:
    if studio.project.current_run() is None:
        raise UsageError("There is no release of what is shown here.", "Run it first.")


ATTACK = Screen(
    "attack",
    "Attack",
    _measure,
    _content,
    {
        "play": _play,
        "beside": _beside,
        "sit": _sit,
        "pick": _pick,
        "search": _search,
        "know": _know,
        "second": _second,
    },
)
