"""What is known of another tool's project, and the folder that is made of it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mottle.hierarchy.tree import Hierarchy
from mottle.io.atomic_write import staged
from mottle.schema.model import Column, Kind, Role, Schema
from mottle.schema.reading import ReadOptions

__all__ = ["Imported", "ImportedColumn", "Setting", "WrittenProject", "write_project"]

SCHEMA, NOTES, TABLE, HIERARCHIES = "mottle.toml", "imported.md", "input.csv", "hierarchies"


@dataclass(frozen=True)
class ImportedColumn:
    """A column as another tool describes it."""

    name: str
    role: Role
    kind: Kind | None = None  # None: by the type of the data
    order: tuple[str, ...] | None = None
    importance: float = 1.0  # of its loss
    hierarchy: Hierarchy | None = None
    remark: str = ""  # stands above the column in mottle.toml


@dataclass(frozen=True)
class Setting:
    """A setting of another tool, and what became of it."""

    setting: str  # in the words of the tool
    becomes: str  # in ours; a reason if there is no counterpart
    kept: bool  # whether it has a counterpart


@dataclass(frozen=True)
class Imported:
    """A project of another tool."""

    tool: str  # as people call it
    columns: tuple[ImportedColumn, ...]
    settings: tuple[Setting, ...]
    guarantee: tuple[str, ...]  # options of ``mottle anonymize``, --k first
    reading: ReadOptions = field(default_factory=ReadOptions)
    rest: Role | None = None  # of columns that the project does not name
    table: bytes | None = None  # the table itself, where the project holds it
    released: bytes | None = None  # the tool's own result, where the project holds it
    survey_weight: str | None = None  # the column of sampling weights
    data: str | None = None  # where the table is, in the words of the project


@dataclass(frozen=True)
class WrittenProject:
    """The folder that was made, and the commands that come next."""

    folder: Path
    files: tuple[str, ...]
    commands: tuple[str, ...]


def write_project(found: Imported, folder: Path, source: str) -> WrittenProject:
    """Write a project as a folder of mottle: schema, hierarchies, table and notes.

    Parameters
    ----------
    found : Imported
        What the project says.
    folder : Path
        A folder that does not exist yet.
    source : str
        The name of the project, for the notes.

    Returns
    -------
    WrittenProject
        What was written.

    Raises
    ------
    StorageError
        The folder exists, or cannot be written.
    """
    released = f"{found.tool.lower()}-output.csv"
    trees = [column for column in found.columns if column.hierarchy is not None]
    files = dict(zip([column.name for column in trees], _file_names(trees), strict=True))
    names = [SCHEMA]
    names += [HIERARCHIES] if files else []
    names += [TABLE] if found.table is not None else []
    names += [released] if found.released is not None else []
    commands = _commands(found, folder, released)
    with staged(folder, [*names, NOTES], overwrite=False) as stage:
        if files:
            (stage / HIERARCHIES).mkdir()
        for column in trees:
            assert column.hierarchy is not None
            column.hierarchy.write(stage / HIERARCHIES / files[column.name])
        for name, content in ((TABLE, found.table), (released, found.released)):
            if content is not None:
                (stage / name).touch(mode=0o600)
                (stage / name).write_bytes(content)
        remarks = {column.name: column.remark for column in found.columns}
        text = _schema(found, files, stage).to_toml(remarks, stage)
        (stage / SCHEMA).write_text(text, encoding="utf-8")
        (stage / NOTES).write_text(_notes(found, source, commands), encoding="utf-8")
    return WrittenProject(folder, (*names, NOTES), commands)


def _schema(found: Imported, files: dict[str, str], folder: Path) -> Schema:
    columns = [
        Column(
            name=column.name,
            role=column.role,
            kind=column.kind,
            order=column.order,
            importance=column.importance,
            hierarchy=column.hierarchy,
            hierarchy_file=folder / HIERARCHIES / files[column.name]
            if column.name in files
            else None,
        )
        for column in found.columns
    ]
    return Schema(
        columns=tuple(columns),
        rest=found.rest,
        reading=found.reading,
        survey_weight=found.survey_weight,
    )


def _file_names(columns: Sequence[ImportedColumn]) -> list[str]:
    """Different names of files, made of the columns' names."""
    names: list[str] = []
    for column in columns:
        name = re.sub(r"[^a-z0-9]+", "_", column.name.lower()).strip("_")[:60] or "column"
        number = 2
        while f"{name}.csv" in names:
            name = f"{name.removesuffix(f'_{number - 1}')}_{number}"
            number += 1
        names.append(f"{name}.csv")
    return names


def _commands(found: Imported, folder: Path, released: str) -> tuple[str, ...]:
    data = found.data or "DATA"
    table = str(folder / TABLE) if found.table is not None else data
    common = [table, "--schema", str(folder / SCHEMA)]
    words = [*common, *found.guarantee, "-o", f"{folder}-released"]
    commands = [shlex.join(["mottle", "anonymize", *words])]
    if found.released is not None:
        result = f"{found.tool.lower()}={folder / released}"
        words = [*common, *found.guarantee[:2], "--methods", "freeform", "--release-of", result]
        commands.append(shlex.join(["mottle", "compare", *words, "-o", f"{folder}-compared"]))
    return tuple(commands)


def _notes(found: Imported, source: str, commands: Sequence[str]) -> str:
    lines = [f"# {source}: what was imported from {found.tool}", ""]
    for title, kept in (("Has no counterpart", False), ("Was carried over", True)):
        entries = [each for each in found.settings if each.kept is kept]
        if entries:
            lines += [f"## {title}", "", f"| {found.tool} | here |", "|---|---|"]
            lines += [f"| {_cell(each.setting)} | {_cell(each.becomes)} |" for each in entries]
            lines.append("")
    lines += ["## Next", "", "Check the role of every column in mottle.toml, then run:", ""]
    return "\n".join([*lines, "```bash", *commands, "```", ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
