"""The screen on which a table is chosen, and it is said what one row is."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.csv

from mottle.datasets import population
from mottle.errors import MottleError, UsageError
from mottle.io.atomic_write import staged
from mottle.io.projects.imported import NOTES
from mottle.schema.model import Column, Role, Unit
from mottle.schema.reading import ReadOptions
from mottle.studio.dropped import ARX, TABLES
from mottle.studio.elsewhere import open_arx, open_database, projects_of
from mottle.studio.layout import DROPPED
from mottle.studio.recent import recent, remember
from mottle.studio.screens.base import Mark, Screen, number_of, text_of
from mottle.studio.state import Opened, Studio, schema_text
from mottle.utils.untrusted.text import read_text

SHOWN_ROWS = 50
_LONGEST_CELL = 80  # letters that are shown
_DEMO, _DEMO_ROWS = "population.csv", 2000
_LONGEST_NOTES = 20_000  # letters of what an imported project says that are shown
_MOST_FILES = 200
_UNITS = {**{str(unit): unit for unit in Unit}, "visit": None}  # answers to: what is one row?


def _measure(studio: Studio) -> Mark:
    return Mark.OPEN if studio.opened is None else Mark.DONE


def _content(studio: Studio) -> dict[str, Any]:
    fault: MottleError | None = None
    opened: Opened | None = None
    unit: dict[str, Any] | None = None
    try:
        opened = studio.opened
        unit = None if opened is None else _unit(studio, opened)
    except MottleError as error:  # another table can be opened here
        fault = error
    folder, wishes = studio.project.folder, studio.project.state.wishes
    notes = folder / NOTES
    return {
        "fault": fault,
        "files": files_of(studio),
        "arx": files_of(studio, (ARX,)),
        "projects": projects_of(studio),
        "recent": [str(each) for each in recent() if each != folder],
        "current_folder": str(folder),
        "folder_name": folder.name or str(folder),
        "here": "." if folder == studio.places.folders[0] else folder.name,
        "dropped": wishes.data is not None and wishes.data.startswith(f"{DROPPED}/"),
        "address": wishes.address,
        "database_table": wishes.table,
        "notes": read_text(notes)[:_LONGEST_NOTES] if notes.is_file() else None,
        "demo": None if (folder / _DEMO).exists() else _DEMO,
        "opened": opened,
        "rows": [] if opened is None else _rows(opened),
        "reading": "" if opened is None else _reading(opened.found.reading),
        "unit": unit,
    }


def files_of(studio: Studio, suffixes: tuple[str, ...] = TABLES) -> list[str]:
    """Names of the tables, or of other files, in the folder itself."""
    folder = studio.project.folder
    found = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.suffix.lower() not in suffixes:
            continue
        if path.is_file() and path.resolve().parent == folder:
            found.append(path.name)
    return found[:_MOST_FILES]


def _rows(opened: Opened) -> list[list[str]]:
    """The first rows as text."""
    part = opened.table.slice(0, SHOWN_ROWS)
    columns = [[_shown(value) for value in column.to_pylist()] for column in part.columns]
    return [list(row) for row in zip(*columns, strict=True)]


def _reading(reading: ReadOptions) -> str:
    """How the file was read, where that is not as most files are written."""
    signs = {None: "", ",": "", "\t": "tabs", ";": "semicolons", "|": "bars", " ": "blanks"}
    said = {
        "encoding": "" if reading.encoding == "utf-8" else reading.encoding,
        "columns separated by": signs.get(reading.delimiter, f"'{reading.delimiter}'"),
        "decimal mark": reading.decimal,
        "thousands separated by": reading.thousands,
        "dates written": ", ".join(reading.date_format),
        "taken for missing": ", ".join(reading.missing),
        "sheet": reading.sheet,
        "names of columns in row": reading.header_row,
    }
    return "; ".join(f"{words} {value}" for words, value in said.items() if value)


def _shown(value: object) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= _LONGEST_CELL else text[: _LONGEST_CELL - 1] + "…"


def _unit(studio: Studio, opened: Opened) -> dict[str, Any]:
    """What one row is taken for, and which columns might say whose row it is."""
    schema = studio.project.schema()
    names = opened.table.column_names
    person = schema.person
    said = "visit" if person is not None else str(schema.unit or Unit.PERSON)
    return {"said": said, "names": names, "person": names.index(person) if person in names else -1}


async def _open(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Open one of the files that the page lists."""
    await asyncio.to_thread(studio.open, text_of(body, "file"))
    return {"to": "/"}


async def _import(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Make a project of one of ARX that the page lists."""
    name = text_of(body, "file")
    if name not in files_of(studio, (ARX,)):
        raise UsageError("This is not a file of the studio's folder.", "Choose another.")
    await asyncio.to_thread(open_arx, studio, studio.file(name))
    return {"to": "/"}


async def _database(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Read a table of a database."""
    address, table, password = (text_of(body, name) for name in ("address", "table", "password"))
    await asyncio.to_thread(open_database, studio, address, table, password)
    return {"to": "/"}


async def _project(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Go on with another project that the page lists."""
    name = text_of(body, "project")
    if name not in projects_of(studio):
        raise UsageError("There is no such project.", "Load the page again.")
    studio.switch(studio.places.folders[0] / name)
    return {"to": "/"}


async def _recent(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Go on with a project of another folder, as if the studio had been started with it."""
    folder = text_of(body, "folder")
    if folder not in [str(each) for each in recent()]:
        raise UsageError("There is no such project.", "Load the page again.")
    studio.move(Path(folder))
    remember(studio.project.folder)
    return {"to": "/"}


async def drop(studio: Studio, name: str, modified: str, parts: AsyncIterator[bytes]) -> None:
    """Take a file that was dropped on the page, and open it.

    Parameters
    ----------
    studio : Studio
        The state.
    name : str
        The file's name, with letters of addresses escaped.
    modified : str
        When it was changed, in milliseconds since 1970.
    parts : async iterator of bytes
        Its content.

    Raises
    ------
    MottleError
        It is too large, has a name that cannot be used, or cannot be read; then it is not kept.
    """
    try:
        plain_name = unquote(name, errors="strict")
    except UnicodeDecodeError:
        raise UsageError("The file has no readable name.", "Give it another name.") from None
    when = int(modified) / 1000 if re.fullmatch("[0-9]{1,14}", modified) else None
    path = await studio.dropped.receive(plain_name, parts, when)
    try:
        if path.suffix.lower() == ARX:
            await asyncio.to_thread(open_arx, studio, path)
            path.unlink()
        else:
            name = str(path.relative_to(studio.project.folder))
            await asyncio.to_thread(studio.open, name)
    except MottleError:
        path.unlink(missing_ok=True)
        raise


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
    if opened is None or said not in _UNITS:
        raise UsageError("It is not said what one row is.", "Choose one of the answers.")
    schema = studio.project.schema()
    columns = {column.name: column for column in schema.columns}
    if schema.person is not None:
        columns[schema.person] = Column(name=schema.person, role=Role.IDENTIFYING)
    unit = _UNITS[said]
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
    {
        "open": _open,
        "demo": _demo,
        "unit": _say_unit,
        "arx": _import,
        "database": _database,
        "project": _project,
        "recent": _recent,
    },
)
