"""Projects of ARX (``.deid``): a zip archive with the table, its definition and hierarchies.

ARX documents the layout by its source alone: ``metadata.xml``, ``project.xml`` with the delimiter,
``data/input.csv``, ``input/definition.xml``, ``input/config.xml`` and ``input/hierarchies/*.csv``.
Files that end in ``.dat`` hold serialized Java objects and are never opened.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

import pyarrow as pa

from mottle.errors import DataError, MottleError, UsageError
from mottle.hierarchy.formats import FORMATS
from mottle.hierarchy.tree import Hierarchy
from mottle.hierarchy.validation import ROOT
from mottle.io.external.cells import intervals
from mottle.io.projects.arx_criteria import criteria_of
from mottle.io.projects.imported import Imported, ImportedColumn, Setting
from mottle.io.text.encodings import decode
from mottle.io.text.notation import DateFormat
from mottle.schema.model import Kind, Role
from mottle.schema.reading import ReadOptions
from mottle.utils.untrusted.archive import Archive, open_archive
from mottle.utils.untrusted.xml import Element, parse_xml

__all__ = ["read_arx"]

_METADATA, _PROJECT = "metadata.xml", "project.xml"
_DEFINITION, _CONFIG, _FOLDER = "input/definition.xml", "input/config.xml", "input/"
_INPUT, _OUTPUT = "data/input.csv", "data/output.csv"
_ROLES = {
    "IDENTIFYING_ATTRIBUTE": Role.IDENTIFYING,
    "QUASI_IDENTIFYING_ATTRIBUTE": Role.QUASI_IDENTIFYING,
    "SENSITIVE_ATTRIBUTE": Role.SENSITIVE,
    "INSENSITIVE_ATTRIBUTE": Role.INSENSITIVE,
}
_NUMBERS, _DATES = ("Integer", "Decimal"), ("Date/Time", "Date")
_ORDERED = ("Ordinal", "OrderedString")
_USUAL_WEIGHT = 0.5  # of an attribute, in ARX
_LEAST_IMPORTANCE = 0.01  # a column whose loss does not count at all would be published as one cell
_ALL = "All"  # generalization levels
_DECIMAL_COMMA = ("DE", "FR", "ES", "IT", "NL", "PT", "PL", "CS", "DA", "FI", "SV", "RU")
_NO_VALUE = ("NULL", "*")  # cells in which ARX has no value


@dataclass
class _Findings:
    """What is collected while a project is read."""

    settings: list[Setting] = field(default_factory=list)
    formats: list[str] = field(default_factory=list)  # of dates
    decimal_comma: bool = False

    def carried(self, setting: str, becomes: str) -> None:
        self.settings.append(Setting(setting, becomes, kept=True))

    def lost(self, setting: str, why: str) -> None:
        self.settings.append(Setting(setting, why, kept=False))


def read_arx(path: str | PathLike[str], *, hierarchies: bool = True) -> Imported:
    """Read a project of ARX.

    Parameters
    ----------
    path : str or path-like
        The ``.deid`` file.
    hierarchies : bool
        Whether hierarchies are used; without them, values are published as sets, which lose less.

    Returns
    -------
    Imported
        Columns, table, hierarchies, and what has no counterpart.

    Raises
    ------
    StorageError
        The file cannot be read.
    DataError
        It is not a project of ARX, or parts of it are missing or damaged.
    """
    name = Path(path).name
    found = _Findings()
    with open_archive(path) as archive:
        if _METADATA not in archive and _DEFINITION not in archive:
            raise DataError(
                f"{name} has neither {_METADATA} nor {_DEFINITION}, so it is not a project of ARX.",
                "Give the file that ARX saved, with the ending .deid.",
            )
        delimiter = _delimiter(archive, name)
        table = _text(archive, _INPUT, name)
        released = _text(archive, _OUTPUT, name)
        config = _xml(archive, _CONFIG, name) if _CONFIG in archive else Element("config")
        weights = _weights(config)
        definition = _xml(archive, _DEFINITION, name)
        columns = [
            _column(each, archive, delimiter, weights, hierarchies, found, name)
            for each in definition.all("assigment")  # ARX's own spelling
        ]
    _check_columns(columns, table, delimiter, name)
    criteria = criteria_of(list(_criteria(config)))
    found.settings += criteria.settings
    _options(config, found)
    if criteria.k is None:
        found.lost("no k-anonymity", "choose --k yourself; 10 is proposed")
    guarantee = criteria.options if criteria.k is not None else ("--k", "10", *criteria.options)
    return Imported(
        "ARX",
        tuple(columns),
        tuple(found.settings),
        guarantee,
        _reading(table, delimiter, found),
        rest=Role.IDENTIFYING if table is not None else None,
        table=None if table is None else table.encode(),
        released=None if released is None else released.encode(),
    )


def _xml(archive: Archive, part: str, name: str) -> Element:
    if part not in archive:
        raise DataError(f"{name} has no {part}.", "Save the project in ARX again.")
    try:
        return parse_xml(archive.read(part))
    except ValueError as error:
        raise DataError(
            f"{part} in {name} cannot be used: {error}.", "Save the project in ARX again."
        ) from None


def _text(archive: Archive, part: str, name: str) -> str | None:
    """A table of the project; ARX writes UTF-8, earlier versions the system's encoding."""
    if part not in archive:
        return None
    return decode(Path(name, part), archive.read_table(part), None)


def _delimiter(archive: Archive, name: str) -> str:
    found = _xml(archive, _PROJECT, name).value("separator") if _PROJECT in archive else None
    return found if found is not None and len(found) == 1 and found not in '"\r\n' else ";"


def _weights(config: Element) -> dict[str, float]:
    found = {}
    for group in config.all("attributeWeights"):
        for each in group.all("attributeWeight"):
            weight = _number(each.value("weight"))
            if weight is not None and each.value("attribute") is not None:
                found[str(each.value("attribute"))] = weight
    return found


def _number(text: str | None) -> float | None:
    """A number that is finite and not negative; None for anything else."""
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _criteria(config: Element) -> Iterator[str]:
    for group in config.all("criteria"):
        yield from (each.text for each in group.all("criterion"))


def _options(config: Element, found: _Findings) -> None:
    """Settings of the whole project."""
    limit = _number(config.value("relativeMaxOutliers"))
    if limit:
        found.lost(f"suppression limit {limit:.0%}", "none; every row is published")
    if config.value("metric"):
        found.lost(
            f"utility measure {str(config.value('metric'))[:60]}",
            "none; GCP, the mean width of the published cells, is minimized",
        )
    if config.value("practicalMonotonicity") == "true":
        found.lost("practical monotonicity", "none; no lattice is searched")


def _column(
    assigned: Element,
    archive: Archive,
    delimiter: str,
    weights: dict[str, float],
    hierarchies: bool,
    found: _Findings,
    project: str,
) -> ImportedColumn:
    name, role = assigned.value("name"), _ROLES.get(assigned.value("type") or "")
    if not name or role is None:
        raise DataError(
            f"{_DEFINITION} in {project} has a column without a name or a known type.",
            "Save the project in ARX again.",
        )
    if assigned.value("responseVariable") == "true":
        found.carried(f"'{name}' is a response variable", f"--target {name} in 'mottle compare'")
    kind, order = _kind(assigned, name, role, found)
    if role is not Role.QUASI_IDENTIFYING:
        return ImportedColumn(name, role, None)
    _notice_transformation(assigned, name, found)
    importance = _importance(name, weights.get(name), found)
    tree, remark = None, ""
    if assigned.value("ref"):
        tree, remark = _hierarchy(assigned, archive, delimiter, name, kind, found)
    if tree is not None and not hierarchies:
        found.lost(f"hierarchy of '{name}'", "left out by --no-hierarchies: sets of values")
        tree, remark = None, ""
    if tree is not None:
        kind, order = Kind.HIERARCHY, None
    return ImportedColumn(name, role, kind, order, importance, tree, remark)


def _kind(
    assigned: Element, name: str, role: Role, found: _Findings
) -> tuple[Kind | None, tuple[str, ...] | None]:
    """The kind of a column by its data type in ARX, and the order of its values."""
    datatype, format_ = assigned.value("datatype"), assigned.value("format")
    if (assigned.value("locale") or "").upper()[:2] in _DECIMAL_COMMA and datatype == "Decimal":
        found.decimal_comma = True
    if datatype in _NUMBERS:
        return Kind.NUMBER, None
    if datatype in _DATES:
        if format_ and format_.lower() not in ("yyyy-mm-dd", "default"):
            try:
                found.formats.append(DateFormat.of(format_).text)
            except UsageError:
                if role is Role.QUASI_IDENTIFYING:
                    found.lost(f"date format of '{name}'", "none; write dates as 2024-12-31")
                return None, None
        return Kind.DATE, None
    if datatype in _ORDERED and format_ and format_ != "Default":
        values = tuple(dict.fromkeys(line for line in format_.splitlines() if line))
        if len(values) > 1:
            return Kind.ORDERED, values
    return None, None


def _notice_transformation(assigned: Element, name: str, found: _Findings) -> None:
    function = assigned.value("microAggregationFunction")
    if function:
        found.lost(f"microaggregation of '{name}' ({function[:40]})", "none; it is generalized")
    levels = [assigned.value(level) or _ALL for level in ("min", "max")]
    if levels != [_ALL, _ALL]:
        shown = " to ".join(level[:10] for level in levels)
        found.lost(f"levels {shown} of '{name}'", "none; every level may be used")


def _importance(name: str, weight: float | None, found: _Findings) -> float:
    if weight is None or weight == _USUAL_WEIGHT:
        return 1.0
    importance = max(weight / _USUAL_WEIGHT, _LEAST_IMPORTANCE)
    found.carried(f"weight {weight:g} of '{name}'", f"importance {importance:g} of its loss")
    return importance


def _hierarchy(
    assigned: Element,
    archive: Archive,
    delimiter: str,
    name: str,
    kind: Kind | None,
    found: _Findings,
) -> tuple[Hierarchy | None, str]:
    """The hierarchy of a column if it is needed, and a remark for mottle.toml."""
    part, setting = f"{_FOLDER}{assigned.value('ref')}", f"hierarchy of '{name}'"
    if part not in archive:
        found.lost(setting, "it is not in the project")
        return None, ""
    try:
        text = decode(Path(part), archive.read(part), None)
        rows = FORMATS["arx"].read(text, name=part, delimiter=delimiter)
        rows = _to_the_root([row for row in rows if row])
        tree = Hierarchy.from_rows(rows, name=part)
    except MottleError as error:
        found.lost(setting, f"none; {_one_line(error.problem)}")
        return None, "ARX's hierarchy of this column is not a tree and was left out."
    inner = [label for label in tree.labels[len(tree.leaves) :] if label != ROOT]
    if not inner and kind is None:
        found.carried(setting, "not needed: it has no level between the values and '*'")
        return None, ""
    if kind in (Kind.NUMBER, Kind.DATE, Kind.ORDERED) and _are_intervals(inner, kind):
        found.carried(setting, f"not needed: a {kind} is published as a range of its values")
        return None, "ARX's hierarchy of this column is not needed: ranges lose less."
    found.carried(setting, "hierarchy")
    return tree, ""


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text)[:200]


def _to_the_root(rows: Sequence[list[str]]) -> list[list[str]]:
    """Rows that end in the root; ARX's need not."""
    if rows and all(row[-1] == ROOT for row in rows):
        return list(rows)
    return [[*row, ROOT] for row in rows]


def _are_intervals(labels: Sequence[str], kind: Kind) -> bool:
    """Whether a range of values says as much as every label does, and cells can be read so."""
    if kind == Kind.ORDERED:
        return False
    known = pa.array([0]) if kind == Kind.NUMBER else pa.array([0], pa.date32())
    return intervals(labels, known)[1] == 0


def _check_columns(
    columns: Sequence[ImportedColumn], table: str | None, delimiter: str, name: str
) -> None:
    if not columns:
        raise DataError(f"{_DEFINITION} in {name} has no columns.", "Save the project again.")
    if table is None:
        return
    try:
        header = next(csv.reader(io.StringIO(table, newline=""), delimiter=delimiter), [])
    except csv.Error:
        header = []
    absent = [column.name for column in columns if column.name not in header]
    if absent:
        raise DataError(
            f"{_INPUT} in {name} has no column '{absent[0]}', which {_DEFINITION} describes.",
            "Save the project in ARX again.",
        )


def _reading(table: str | None, delimiter: str, found: _Findings) -> ReadOptions:
    if table is None:
        return ReadOptions()
    border = f'[{re.escape(delimiter)}\\r\\n"]'
    missing = [
        word for word in _NO_VALUE if re.search(f"{border}{re.escape(word)}(?:{border}|$)", table)
    ]
    return ReadOptions(
        missing=tuple(missing),
        delimiter=delimiter,
        decimal="," if found.decimal_comma and delimiter != "," else None,
        date_format=tuple(dict.fromkeys(found.formats)),
    )
