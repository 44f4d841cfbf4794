"""The screen that shows what analysts get: columns before and after, and answers to questions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from mottle.errors import MottleError, UsageError
from mottle.inspection.explain import explain_row
from mottle.studio.figures import release_mark
from mottle.studio.layout import LINKS, RELEASED
from mottle.studio.screens.base import Mark, Screen, number_of, text_of
from mottle.studio.state import Studio
from mottle.studio.stating import state_context

_LONGEST = 4000  # letters of a question
_MOST_PINNED = 20
_NOTHING_ELSE = -1  # in place of a second column


def _measure(studio: Studio) -> Mark:
    return Mark.OPEN if studio.project.current_run() is None else Mark.DONE


def _content(studio: Studio) -> dict[str, Any]:
    run = studio.project.current_run()
    ready = None if run is None else studio.analysis.ready
    content: dict[str, Any] = {"current": run, "ready": ready is not None}
    if ready is None:
        return content
    pinned = studio.project.questions
    errors = studio.project.errors()
    explained, looked = studio.explained, studio.looked
    here = release_mark(studio.project.folder / RELEASED)
    return content | {
        "columns": ready.columns,
        "explained": explained[1] if explained is not None and explained[0] == here else None,
        "look": looked[1] if looked is not None and looked[0] == here else None,
        "places": {column.name: place for place, column in enumerate(ready.columns)},
        "payers": ready.__dict__.get("payers"),  # computed when they are asked for
        "pairs": ready.__dict__.get("pairs"),
        "names": ready.queries.columns,
        "asked": next(reversed(ready.answers.values()), None),
        "pinned": pinned,
        "runs": [
            (each, [errors[each["release"]].get(sql) for sql in pinned])
            for each in studio.project.runs()
            if each["release"] in errors
        ],
    }


async def _prepare(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Read the release, count its columns and answer pinned questions."""
    _check_there(studio)
    await asyncio.to_thread(_answer_pinned, studio)
    return {}


async def _compare(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Measure who loses most, and how much of associations is kept."""
    _check_there(studio)

    def measure() -> None:
        analysis = studio.analysis.prepare()
        assert analysis.payers is not None
        assert analysis.pairs is not None

    await asyncio.to_thread(measure)
    return {}


async def _ask(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Answer a question."""
    _check_there(studio)
    sql = _question(body)
    await asyncio.to_thread(lambda: studio.analysis.prepare().ask(sql))
    return {}


async def _pin(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Keep a question in the project, as a measure of every run."""
    await _ask(studio, body)
    sql, pinned = _question(body), studio.project.questions
    if sql not in pinned:
        if len(pinned) >= _MOST_PINNED:
            raise UsageError("There are enough pinned questions.", "Take one away first.")
        await asyncio.to_thread(state_context, studio, questions=(*pinned, sql))
    await asyncio.to_thread(_answer_pinned, studio)
    return {}


async def _unpin(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Take a question away."""
    sql = _question(body)
    left = tuple(each for each in studio.project.questions if each != sql)
    await asyncio.to_thread(state_context, studio, questions=left)
    return {}


async def _explain(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Say why a cell is so wide: of a record by its number, or of one with a given cell."""
    _check_there(studio)
    await asyncio.to_thread(_explain_row, studio, body)
    return {}


def _explain_row(studio: Studio, body: Mapping[str, Any]) -> None:
    analysis = studio.analysis.prepare()
    if "column" in body:
        row = analysis.row_with(number_of(body, "column"), number_of(body, "cell"))
    else:
        row = number_of(body, "row")
    links = studio.project.folder / LINKS
    found = explain_row(analysis.given, analysis.release, links, row, previews=False)
    studio.explained = release_mark(studio.project.folder / RELEASED), found


async def _look(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Take a closer look at one column or two."""
    _check_there(studio)
    first = number_of(body, "first")
    second = None if body.get("second") == _NOTHING_ELSE else number_of(body, "second")

    def look() -> None:
        found = studio.analysis.prepare().look(first, second)
        studio.looked = release_mark(studio.project.folder / RELEASED), found

    await asyncio.to_thread(look)
    return {}


def _answer_pinned(studio: Studio) -> None:
    """Answer all pinned questions and keep how far the release is off."""
    analysis = studio.analysis.prepare()
    found: dict[str, float] = {}
    for sql in studio.project.questions:
        try:
            error = analysis.ask(sql).error
        except MottleError:  # about a column that this release does not have
            continue
        if error is not None:
            found[sql] = error
    studio.project.add_errors(release_mark(studio.project.folder / RELEASED), found)


def _check_there(studio: Studio) -> None:
    if studio.project.current_run() is None:
        raise UsageError("There is no release of what is shown here.", "Run it first.")


def _question(body: Mapping[str, Any]) -> str:
    sql = text_of(body, "sql").strip()
    if not sql or len(sql) > _LONGEST:
        raise UsageError("There is no question, or it is too long.", "Write a SELECT statement.")
    return sql


USE = Screen(
    "use",
    "Use",
    _measure,
    _content,
    {
        "prepare": _prepare,
        "compare": _compare,
        "ask": _ask,
        "pin": _pin,
        "unpin": _unpin,
        "explain": _explain,
        "look": _look,
    },
)
