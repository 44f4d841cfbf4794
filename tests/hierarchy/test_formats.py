"""A format is one registered object: it is found by its name and by what a file holds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mottle import Hierarchy, UsageError
from mottle.hierarchy.formats import FORMATS, HierarchyFormat, detect_format


class Indented(HierarchyFormat):
    """An outline: a group per line, its leaves indented below it."""

    name = "indented"
    title = "an outline"

    def detect(self, text: str) -> bool:
        return text.startswith("outline\n")

    def read(self, text: str, *, name: str, delimiter: str) -> list[list[str]]:
        rows, group = [], ""
        for line in text.splitlines()[1:]:
            if line.startswith(" "):
                rows.append([line.strip(), group, "*"])
            group = group if line.startswith(" ") else line
        return rows

    def write(self, rows) -> str:
        lines = ["outline"]
        for leaf, group, _ in rows:
            lines += [] if group in lines else [group]
            lines.append(f" {leaf}")
        return "\n".join(lines) + "\n"


@pytest.fixture
def indented() -> Iterator[None]:
    FORMATS.add(Indented())
    yield
    del FORMATS._items["indented"]


def test_a_registered_format_is_read_and_written_without_any_other_change(indented, tmp_path):
    file = tmp_path / "places.txt"
    places = Hierarchy.from_rows([("Italy", "Europe", "*"), ("Peru", "America", "*")])
    places.write(file, layout="indented")
    assert file.read_text().startswith("outline\nEurope\n Italy\n")
    assert Hierarchy.read(file) == places


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a;*\nb;*\n", "arx"),
        ('"a";"*"\n', "arx"),
        ("distinct;*\nother;*\n", "arx"),
        ("", "arx"),
        ("neither;nor\n", "arx"),
        ("distinct\nname x\n\nA has a b\n", "amnesia"),
        ("range\r\nname x\r\n", "amnesia"),
        ("distinct\n", "arx"),
    ],
)
def test_formats_are_recognized_by_the_content(text, name):
    assert detect_format(text).name == name


def test_unknown_formats_are_refused_with_a_suggestion(tmp_path):
    with pytest.raises(UsageError, match="Did you mean 'amnesia'"):
        Hierarchy.from_rows([("a", "*")]).write(tmp_path / "x.csv", layout="amnesi")
