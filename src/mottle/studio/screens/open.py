"""The screen on which a table is chosen, and it is said what one row is."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.csv

from mottle.datasets import population
from mottle.errors import UsageError
from mottle.io.atomic_write import staged
from mottle.schema.model import Column, Role, Unit
from mottle.studio.screens.base import Mark, Screen, number_of, text_of
from mottle.studio.state import Opened, Studio, schema_text

SHOWN_ROWS = 50
_LONGEST_CELL = 80  # letters that are shown
_DEMO, _DEMO_ROWS = "population.csv", 2000
_TABLES = (
    *(".csv", ".tsv", ".tab", ".txt", ".parquet", ".pq", ".arrow", ".feather", ".ipc"),
    *(".xlsx", ".xlsm", ".xlsb", ".xls", ".ods", ".sav", ".zsav", ".por", ".dta", ".sas7bdat"),
    *(".xpt", ".gz"),
)
_MOST_FILES = 200


def _measure(studio: Studio) -> Mark:
    return Mark.OPEN if studio.opened is None else Mark.DONE


def _content(studio: Studio) -> dict[str, Any]:
    opened = studio.opened
    return {
        "files": files_of(studio),
        "demo": None if (studio.project.folder / _DEMO).exists() else _DEMO,
        "opened": opened,
        "rows": [] if opened is None else _rows(opened),
        "unit": None if opened is None else _unit(studio, opened),
    }


def files_of(studio: Studio) -> list[str]:
    """Names of the tables in the folder itself."""
    folder = studio.project.folder
    found = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.suffix.lower() not in _TABLES:
            continue
        if path.is_file() and path.resolve().parent == folder:
            found.append(path.name)
    return found[:_MOST_FILES]


def _rows(opened: Opened) -> list[list[str]]:
    """The first rows as text."""
    part = opened.table.slice(0, SHOWN_ROWS)
    columns = [[_shown(value) for value in column.to_pylist()] for column in part.columns]
    return [list(row) for row in zip(*columns, strict=True)]


def _shown(value: object) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= _LONGEST_CELL else text[: _LONGEST_CELL - 1] + "…"


def _unit(studio: Studio, opened: Opened) -> dict[str, Any]:
    """What one row is taken for, and which columns might say whose row it is."""
    schema = studio.project.schema()
    names = opened.table.column_names
    person = schema.person
    if person is not None:
        said = "visit"
    elif schema.unit is Unit.ROW:
        said = "row"
    else:
        said = "person"
    return {"said": said, "names": names, "person": names.index(person) if person in names else -1}


async def _open(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Open one of the files that the page lists."""
    await asyncio.to_thread(studio.open, text_of(body, "file"))
    return {"to": "/"}


async def _demo(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Generate people, write them into the folder and open them."""
    await asyncio.to_thread(_write_demo, studio.project.folder)
    await asyncio.to_thread(studio.open, _DEMO)
    return {"to": "/"}


def _write_demo(folder: Path) -> None:
    with staged(folder, [_DEMO], overwrite=False) as stage:
        pyarrow.csv.write_csv(population(_DEMO_ROWS, seed=1), stage / _DEMO)


async def _say_unit(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Write what one row is into the schema."""
    await asyncio.to_thread(_write_unit, studio, text_of(body, "unit"), body)
    return {}


def _write_unit(studio: Studio, said: str, body: Mapping[str, Any]) -> None:
    opened = studio.opened
    if opened is None or said not in ("person", "visit", "row"):
        raise UsageError("It is not said what one row is.", "Choose one of the answers.")
    schema = studio.project.schema()
    columns = {column.name: column for column in schema.columns}
    if schema.person is not None:
        columns[schema.person] = Column(name=schema.person, role=Role.IDENTIFYING)
    unit: Unit | None = {"person": Unit.PERSON, "row": Unit.ROW, "visit": None}[said]
    if said == "visit":
        names, place = opened.table.column_names, number_of(body, "column")
        if place >= len(names):
            raise UsageError("There is no such column.", "Load the page again.")
        columns[names[place]] = Column(name=names[place], role=Role.PERSON)
    new = schema.model_copy(update={"columns": tuple(columns.values()), "unit": unit})
    if said != "visit":
        new = new.model_copy(update={"per_person": None})
    text = schema_text(studio.project.state.toml, new, studio.project.folder)
    studio.project.change(toml=text)


OPEN = Screen(
    "open",
    "Open",
    _measure,
    _content,
    {"open": _open, "demo": _demo, "unit": _say_unit},
)
