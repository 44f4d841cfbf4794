"""Text files of Amnesia: hierarchies, and the anonymization rules that it exports.

A hierarchy names its column. A file of rules begins with ``Anonymization rules:`` and has, for
every quasi-identifier, its name, lines ``value->published value`` and an empty line.
"""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path

from mottle.errors import DataError, MottleError
from mottle.hierarchy.formats import FORMATS
from mottle.hierarchy.tree import Hierarchy
from mottle.hierarchy.validation import ROOT
from mottle.io.projects.imported import Imported, ImportedColumn, Setting
from mottle.io.text.encodings import decode
from mottle.schema.model import Kind, Role
from mottle.utils.untrusted.text import read_bytes

__all__ = ["read_amnesia"]

_RULES = "Anonymization rules:"
_RANGE = "range"
_NAMED = re.compile(r"^(name|type)\s+(.+?)\s*$", re.MULTILINE)
_NUMBERS = ("int", "double", "decimal", "float")
_MOST_FILES = 10_000
_ARROW = "->"


def read_amnesia(path: str | PathLike[str]) -> Imported:
    """Read what text files of Amnesia say about a table.

    Parameters
    ----------
    path : str or path-like
        A hierarchy, a file of anonymization rules, or a folder of such files.

    Returns
    -------
    Imported
        The quasi-identifiers, with their hierarchies.

    Raises
    ------
    StorageError
        A file cannot be read.
    DataError
        A file is something else.
    """
    place = Path(path)
    files = sorted(place.glob("*.txt"))[:_MOST_FILES] if place.is_dir() else [place]
    if not files:
        raise DataError(f"{path} has no .txt files.", "Give the folder of Amnesia's hierarchies.")
    columns: dict[str, ImportedColumn] = {}
    settings: list[Setting] = []
    for file in files:
        for column in _columns(file, settings):
            if column.name in columns:
                raise DataError(
                    f"Column '{column.name}' is described twice, again in {file.name}.",
                    "Give one hierarchy for each column, and hierarchies or rules.",
                )
            columns[column.name] = column
    settings.append(Setting("k, and the solution that was chosen", "choose --k yourself", False))
    settings.append(
        Setting("columns without a hierarchy", "give each a role in mottle.toml", False)
    )
    return Imported("Amnesia", tuple(columns.values()), tuple(settings), ("--k", "10"))


def _columns(file: Path, settings: list[Setting]) -> list[ImportedColumn]:
    try:
        text = decode(file, read_bytes(file), None)
    except ValueError as error:
        raise DataError(f"{file.name} cannot be used: {error}.", "Give a text file.") from None
    if text.startswith(_RULES):
        return _of_rules(text, file.name, settings)
    if not FORMATS["amnesia"].detect(text):
        raise DataError(
            f"{file.name} is neither a hierarchy nor a file of rules that Amnesia saved.",
            f"A hierarchy begins with 'distinct' or 'range', rules with '{_RULES}'.",
        )
    described = {found[1]: found[2] for found in reversed(list(_NAMED.finditer(text)))}
    name = described.get("name") or file.stem
    kind = _kind(described.get("type", ""))
    if text.splitlines()[0] == _RANGE:
        becomes = f"not needed: a {kind or 'number'} is published as a range"
        settings.append(Setting(f"ranges of '{name}'", becomes, kept=True))
        return [ImportedColumn(name, Role.QUASI_IDENTIFYING, kind or Kind.NUMBER)]
    rows = FORMATS["amnesia"].read(text, name=file.name, delimiter=";")
    settings.append(Setting(f"hierarchy of '{name}'", "hierarchy", kept=True))
    tree = Hierarchy.from_rows(rows, name=file.name)
    return [ImportedColumn(name, Role.QUASI_IDENTIFYING, Kind.HIERARCHY, hierarchy=tree)]


def _kind(named: str) -> Kind | None:
    if named in _NUMBERS:
        return Kind.NUMBER
    return Kind.DATE if named == "date" else None


def _of_rules(text: str, name: str, settings: list[Setting]) -> list[ImportedColumn]:
    """The columns of a file of rules, each with a hierarchy of one level."""
    columns = []
    for part in re.split(r"\n\s*\n", text.replace("\r\n", "\n").removeprefix(_RULES).strip("\n")):
        column, *rules = part.strip("\n").split("\n")
        pairs = [rule.rpartition(_ARROW) for rule in rules]
        if not column or any(not arrow for _, arrow, _ in pairs):
            raise DataError(
                f"{name} has a line that is not 'value{_ARROW}published value'.",
                "Export the rules in Amnesia again.",
            )
        rows = [
            [value, label, ROOT] if label != ROOT else [value, value, ROOT]
            for value, _, label in pairs
            if value
        ]
        try:
            tree = Hierarchy.from_rows(rows, name=name)
        except MottleError:
            settings.append(Setting(f"rules of '{column}'", "none; they are no tree", kept=False))
            columns.append(ImportedColumn(column, Role.QUASI_IDENTIFYING))
            continue
        settings.append(Setting(f"rules of '{column}'", "a hierarchy of one level", kept=True))
        columns.append(
            ImportedColumn(column, Role.QUASI_IDENTIFYING, Kind.HIERARCHY, hierarchy=tree)
        )
    return columns
