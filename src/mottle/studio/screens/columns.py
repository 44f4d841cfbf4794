"""The screen on which every column is given a role."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import ValidationError

from mottle.errors import UsageError
from mottle.inspection import InspectedColumn
from mottle.schema.model import Column, Role, Schema
from mottle.studio.exposure import curve
from mottle.studio.pairs import is_on_a_line, on_a_line
from mottle.studio.screens.base import Mark, Screen, number_of, text_of
from mottle.studio.state import Opened, Studio, schema_text
from mottle.studio.stating import state_context

# By the key that chooses it: a role, its icon, and what happens to a column.
ROLES = {
    1: (Role.IDENTIFYING, "✕", "removed"),
    2: (Role.PERSON, "☺", "removed; says whose row it is"),
    3: (Role.QUASI_IDENTIFYING, "≈", "generalized"),
    4: (Role.SENSITIVE, "♥", "published, belief is bounded"),
    5: (Role.INSENSITIVE, "=", "published as it is"),
}
# By name: whom the owner may think of, as the report prints it.
SCENARIOS = {
    "neighbour": "a neighbour, who knows that somebody is in the table and what can be seen:"
    " age, sex, family, home, work",
    "employer": "an employer, who knows the personnel file: dates, education, job, pay, absences",
    "insurer": "an insurer, who knows contracts and claims: dates, places, treatments, amounts",
    "public register": "somebody with a public register: name, address, date of birth, sex of"
    " everybody",
}
_BARS = 12
_HEIGHT = 24
CURVE = 560.0, 150.0  # width and height


@dataclass(frozen=True)
class Row:
    """One column as the page shows it."""

    number: int
    column: InspectedColumn
    role: str
    kind: str
    bars: list[tuple[int, float, float]]  # (place, top, height) of each, of `_HEIGHT`


def _measure(studio: Studio) -> Mark:
    opened = studio.opened
    if opened is None:
        return Mark.OPEN
    covering = studio.project.schema().covering(opened.table.column_names)
    return Mark.DONE if covering.with_role(Role.QUASI_IDENTIFYING) else Mark.INVALID


def _content(studio: Studio) -> dict[str, Any]:
    opened = studio.opened
    if opened is None:
        return {"opened": None}
    schema = studio.project.schema().covering(opened.table.column_names)
    listed = {column.name: column for column in schema.columns}
    rows = [
        Row(
            number,
            column,
            str(listed[column.name].role),
            str(listed[column.name].kind or ""),
            opened.kept("bars", column.name, bars_of),
        )
        for number, column in enumerate(opened.found.columns)
    ]
    context = schema.context
    exposure = studio.exposure()
    return {
        "opened": opened,
        "lanes": [
            (key, role, icon, words, [row for row in rows if row.role == role])
            for key, (role, icon, words) in ROLES.items()
        ],
        "others": [row for row in rows if row.role not in [role for role, _, _ in ROLES.values()]],
        "roles": ROLES,
        "exposure": exposure,
        "curve": None if exposure is None else curve(exposure.known, *CURVE),
        "scenarios": {
            name: (words, context is not None and words in context.adversaries)
            for name, words in SCENARIOS.items()
        },
        "warnings": (*opened.found.notes, *(() if exposure is None else exposure.warnings)),
    }


def bars_of(values: pa.ChunkedArray) -> list[tuple[int, float, float]]:
    """A small histogram: numbers and times in equal steps, others by how often they occur."""
    filled = values.drop_null()
    if len(filled) == 0 or pa.types.is_nested(values.type):
        return []
    if pa.types.is_dictionary(values.type):
        filled = pc.cast(filled, values.type.value_type)
    if is_on_a_line(filled.type):
        numbers = on_a_line(filled)
        numbers = numbers[np.isfinite(numbers)]
        counts = np.histogram(numbers, _BARS)[0] if len(numbers) else np.zeros(1)
    else:
        found = np.asarray(pc.value_counts(filled).field("counts"))
        counts = np.sort(found)[::-1][:_BARS]
    heights = np.round(counts / max(counts.max(), 1) * _HEIGHT, 1)
    return [
        (place * 8, round(_HEIGHT - float(height), 1), float(height))
        for place, height in enumerate(heights)
    ]


async def _role(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Give a column a role."""
    await asyncio.to_thread(change_role, studio, number_of(body, "column"), text_of(body, "role"))
    return {}


def change_role(studio: Studio, number: int, role: str) -> None:
    """Write the role of a column into the schema."""
    opened = studio.opened
    roles = {str(each): each for each, _, _ in ROLES.values()}
    if opened is None or number >= len(opened.found.columns) or role not in roles:
        raise UsageError("There is no such column or role.", "Load the page again.")
    schema = studio.project.schema().covering(opened.table.column_names)
    new = with_role(schema, opened, opened.found.columns[number], roles[role])
    text = schema_text(studio.project.state.toml, new, studio.project.folder)
    studio.project.change(toml=text)


def with_role(schema: Schema, opened: Opened, found: InspectedColumn, role: Role) -> Schema:
    """A schema in which a column has another role; there is one person column at most."""
    columns = []
    for column in schema.columns:
        if column.name == found.name:
            columns.append(_column(column, found, role))
        elif role is Role.PERSON and column.role is Role.PERSON:
            columns.append(Column(name=column.name, role=Role.IDENTIFYING))
        else:
            columns.append(column)
    changed: dict[str, object] = {"columns": tuple(columns)}
    if role is Role.PERSON:
        changed["unit"] = None  # the column says it
    elif schema.person == found.name:
        changed["per_person"] = None
    return schema.model_copy(update=changed)


def _column(column: Column, found: InspectedColumn, role: Role) -> Column:
    """A column in another role, with the options that the role allows."""
    if role is Role.QUASI_IDENTIFYING:
        if column.role is role:
            return column
        return Column(name=column.name, role=role, kind=found.kind, order=found.order)
    try:
        return Column(name=column.name, role=role, hierarchy=column.hierarchy)
    except (ValidationError, ValueError):
        return Column(name=column.name, role=role)


async def _measure_exposure(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Measure who is singled out in the present roles, and what depends on what."""
    await asyncio.to_thread(studio.exposure, measure=True)
    return {}


async def _scenario(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Say whom the owner thinks of, for the report."""
    chosen = [
        words
        for place, words in enumerate(SCENARIOS.values())
        if body.get(f"scenario-{place}") is True
    ]
    await asyncio.to_thread(state_adversaries, studio, chosen)
    return {}


def state_adversaries(studio: Studio, chosen: list[str]) -> None:
    """Write adversaries into ``[context]``; those that the owner wrote herself stay."""
    stated = studio.project.context.adversaries
    own = [words for words in stated if words not in SCENARIOS.values()]
    state_context(studio, adversaries=(*chosen, *own))


async def _again(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Go back to the proposal."""
    opened = await asyncio.to_thread(lambda: studio.opened)
    if opened is None:
        raise UsageError("No table is open.", "Open one.")
    studio.project.change(toml=opened.found.to_toml())
    return {}


COLUMNS = Screen(
    "columns",
    "Columns",
    _measure,
    _content,
    {"role": _role, "measure": _measure_exposure, "scenario": _scenario, "again": _again},
)
