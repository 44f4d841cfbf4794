"""The command ``mottle import``: from another tool's project to a folder of mottle."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from mottle.cli._console import print_json
from mottle.cli._terminal import out, print_command
from mottle.cli.commands import Import
from mottle.errors import UsageError
from mottle.io.projects.amnesia import read_amnesia
from mottle.io.projects.arx import read_arx
from mottle.io.projects.imported import NOTES, Imported, WrittenProject, write_project
from mottle.io.projects.sdcmicro import read_sdcmicro


def run(command: Import) -> None:
    """Read the project, write the folder and say what comes next."""
    found = _read(command)
    folder = command.output or Path(command.file.stem or command.tool)
    if folder.exists():
        raise UsageError(f"{folder} exists already.", "Name a new folder with -o FOLDER.")
    written = write_project(found, folder, command.file.name)
    if command.as_json:
        facts = {
            "tool": found.tool,
            "folder": str(written.folder),
            "files": written.files,
            "columns": {column.name: column.role for column in found.columns},
            "settings": [asdict(each) for each in found.settings],
            "commands": written.commands,
        }
        print_json(json.dumps(facts, indent=2, ensure_ascii=False))
        return
    _show(found, written)


def _read(command: Import) -> Imported:
    match command.tool.lower():
        case "arx":
            return read_arx(command.file, hierarchies=not command.no_hierarchies)
        case "sdcmicro":
            return read_sdcmicro(command.file)
        case _:
            return read_amnesia(command.file)


def _show(found: Imported, written: WrittenProject) -> None:
    for title, kept in (("Carried over", True), ("No counterpart", False)):
        entries = [each for each in found.settings if each.kept is kept]
        if entries:
            out.print(f"{title}:", highlight=False)
        for each in entries:
            text = f"  {each.setting}: {each.becomes}"
            out.print(text, highlight=False, markup=False, soft_wrap=True)
    out.print(
        f"Wrote {', '.join(written.files)} to {written.folder}; {NOTES} has the lists above.",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    out.print("Check the role of every column in mottle.toml, then:", highlight=False)
    for command in written.commands:
        print_command(command)
