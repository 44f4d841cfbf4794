"""Projects as ARX saves them: the layout of its archive, with generated content."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

JAVA_OBJECT = b"\xac\xed\x00\x05"  # how every .dat file begins; never to be opened


@dataclass(frozen=True)
class Attribute:
    """One attribute of ``definition.xml``."""

    name: str
    role: str  # IDENTIFYING, QUASI_IDENTIFYING, SENSITIVE, INSENSITIVE
    datatype: str = "String"
    hierarchy: Sequence[Sequence[str]] = ()
    more: Mapping[str, str] = field(default_factory=dict)  # further elements

    def xml(self) -> str:
        parts = {"name": self.name, "type": f"{self.role}_ATTRIBUTE", "datatype": self.datatype}
        if self.hierarchy:
            parts |= {"ref": f"hierarchies/{self.name}.csv", "min": "All", "max": "All"}
        lines = [
            f"\t\t<{tag}>{escape(text)}</{tag}>" for tag, text in {**parts, **self.more}.items()
        ]
        return "\n".join(["\t<assigment>", *lines, "\t</assigment>"])


def config_xml(
    criteria: Sequence[str], weights: Mapping[str, float], suppression: float = 0.05
) -> str:
    """The configuration of a project."""
    entries = "".join(
        f"\t\t<attributeWeight>\n\t\t\t<attribute>{escape(name)}</attribute>\n"
        f"\t\t\t<weight>{weight}</weight>\n\t\t</attributeWeight>\n"
        for name, weight in weights.items()
    )
    models = "".join(f"\t\t<criterion>{escape(text)}</criterion>\n" for text in criteria)
    return (
        "<config>\n\t<suppressTuplesInNonAnonymousOutput>false</suppressTuplesInNonAnonymousOutput>\n"
        "\t<practicalMonotonicity>false</practicalMonotonicity>\n"
        f"\t<relativeMaxOutliers>{suppression}</relativeMaxOutliers>\n"
        "\t<metric>Loss</metric>\n"
        f"\t<attributeWeights>\n{entries}\t</attributeWeights>\n"
        f"\t<criteria>\n{models}\t</criteria>\n</config>\n"
    )


def parts_of_project(
    attributes: Sequence[Attribute],
    rows: Sequence[Sequence[object]],
    *,
    criteria: Sequence[str] = ("5-anonymity",),
    weights: Mapping[str, float] | None = None,
    delimiter: str = ";",
    output: Sequence[Sequence[object]] | None = None,
) -> dict[str, bytes]:
    """The files of a project by name, as ARX writes them."""
    header = [attribute.name for attribute in attributes]
    definition = "\n".join(
        ["<definition>", *(each.xml() for each in attributes), "</definition>\n"]
    )
    parts = {
        "metadata.xml": "<metadata>\n\t<version>3.9.1</version>\n\t<vocabulary>2.0</vocabulary>\n"
        "</metadata>\n",
        "project.dat": JAVA_OBJECT,
        "project.xml": f"<project>\n\t<name>example</name>\n\t<separator>{escape(delimiter)}"
        '</separator>\n\t<escape>"</escape>\n\t<quote>"</quote>\n\t<linebreak>UNIX</linebreak>\n'
        "</project>\n",
        "data/input.csv": _csv([header, *rows], delimiter),
        "input/config.dat": JAVA_OBJECT,
        "input/config.xml": config_xml(criteria, weights or {}),
        "input/definition.xml": definition,
    }
    for attribute in attributes:
        if attribute.hierarchy:
            parts[f"input/hierarchies/{attribute.name}.csv"] = _csv(attribute.hierarchy, delimiter)
    if output is not None:
        parts["data/output.csv"] = _csv([header, *output], delimiter)
    parts |= {"lattice.dat": JAVA_OBJECT, "filter.dat": JAVA_OBJECT}
    return {
        name: content if isinstance(content, bytes) else content.encode()
        for name, content in parts.items()
    }


def write_project(path: Path, parts: Mapping[str, bytes]) -> Path:
    """Write the archive."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def _csv(rows: Sequence[Sequence[object]], delimiter: str) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue()
