"""Text files of Amnesia: hierarchies, templates, and the anonymization rules that it exports.

A hierarchy names its column. A file of rules begins with ``Anonymization rules:`` and has, for
every quasi-identifier, its name, lines ``value->published value`` and an empty line. A template,
with which Amnesia runs from the command line, has a line ``column: true,string,hierarchy`` for
every column, between lines of slashes, and a line ``k: 3``.
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
_TEMPLATE = re.compile(r"^/{5,}\s*check columns", re.MULTILINE)
_COLUMN = re.compile(r"^(?P<name>.+?):\s*(?P<used>true|false)\s*,\s*(?P<rest>[^,]+(,.*)?)$")
_K = re.compile(r"^k:\s*(?P<k>\d{1,7})\s*$", re.MULTILINE)


def read_amnesia(path: str | PathLike[str]) -> Imported:
    """Read what text files of Amnesia say about a table.

    Parameters
    ----------
    path : str or path-like
        A hierarchy, a template, a file of anonymization rules, or a folder of such files.

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
    texts = {file: _text(file) for file in files}
    templates = [file for file, text in texts.items() if _TEMPLATE.search(text)]
    if len(templates) > 1:
        raise DataError(
            f"{templates[0].name} and {templates[1].name} are both templates.", "Give one of them."
        )
    for file, text in texts.items():
        for column in () if file in templates else _columns(file, text, settings):
            if column.name in columns:
                raise DataError(
                    f"Column '{column.name}' is described twice, again in {file.name}.",
                    "Give one hierarchy for each column, and hierarchies or rules.",
                )
            columns[column.name] = column
    if templates:
        stem = templates[0].name
        return _of_template(texts[templates[0]], stem, columns, settings)
    settings.append(Setting("k, and the solution that was chosen", "choose --k yourself", False))
    settings.append(
        Setting("columns without a hierarchy", "give each a role in mottle.toml", False)
    )
    return Imported("Amnesia", tuple(columns.values()), tuple(settings), ("--k", "10"))


def _text(file: Path) -> str:
    try:
        return decode(file, read_bytes(file), None).replace("\r\n", "\n")
    except ValueError as error:
        raise DataError(f"{file.name} cannot be used: {error}.", "Give a text file.") from None


def _of_template(
    text: str, name: str, known: dict[str, ImportedColumn], settings: list[Setting]
) -> Imported:
    """All columns of a table and k, as a template states them."""
    columns: dict[str, ImportedColumn] = {}
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("/") or _K.fullmatch(line.strip()):
            continue
        found = _COLUMN.fullmatch(line.strip())
        if found is None:
            if line.strip() == "k:":
                continue
            raise DataError(
                f"{name} has a line that is not 'column: true,type,hierarchy'.",
                "Write the template in Amnesia again, and fill it in.",
            )
        column = found["name"]
        kind, _, hierarchy = (part.strip() for part in found["rest"].partition(","))
        if found["used"] == "false":
            columns[column] = ImportedColumn(column, Role.IDENTIFYING)
            becomes = "identifying: removed"
        elif hierarchy:
            described = known.get(column)
            columns[column] = described or ImportedColumn(
                column, Role.QUASI_IDENTIFYING, _kind(kind)
            )
            becomes = "quasi-identifying"
            if described is None:
                what = f"hierarchy of '{column}'"
                settings.append(Setting(what, "none: no file in the folder has it", kept=False))
        else:
            columns[column] = ImportedColumn(column, Role.INSENSITIVE)
            becomes = "insensitive: published as it is, as Amnesia does; make it quasi-identifying"
            becomes += " if others may know it"
        settings.append(Setting(f"column '{column}'", becomes, kept=True))
    settings += [
        Setting(f"hierarchy of '{column}'", "left out: the template does not use it", kept=False)
        for column in known
        if column not in columns or columns[column] is not known[column]
    ]
    stated = _K.search(text)
    k = max(int(stated["k"]), 2) if stated else 10
    words = Setting(f"k: {stated['k']}", f"--k {k}", True) if stated else None
    settings.append(words or Setting("k is not filled in", "choose --k yourself", False))
    return Imported("Amnesia", tuple(columns.values()), tuple(settings), ("--k", str(k)))


def _columns(file: Path, text: str, settings: list[Setting]) -> list[ImportedColumn]:
    if text.startswith(_RULES):
        return _of_rules(text, file.name, settings)
    if not FORMATS["amnesia"].detect(text):
        raise DataError(
            f"{file.name} is neither a hierarchy nor a file of rules nor a template of Amnesia.",
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
