"""Hierarchies as indented text, and files for Amnesia: written and read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mottle import DataError, Hierarchy, UsageError
from mottle.hierarchy.formats import FORMATS, detect_format

labels = st.text(min_size=1, max_size=6).filter(lambda text: text.strip() and text != "*")


@given(st.lists(st.tuples(labels, st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=12))
def test_any_hierarchy_is_read_back(leaves: list[tuple[str, int, int]]):
    named = {leaf: (f"group {a} of {b}", f"part {b}") for leaf, a, b in leaves}
    hierarchy = Hierarchy.from_rows([(leaf, *groups, "*") for leaf, groups in named.items()])
    text = FORMATS["outline"].write(hierarchy.rows())
    assert detect_format(text).name == "outline"
    rows = FORMATS["outline"].read(text, name="x", delimiter=";")
    assert Hierarchy.from_rows(rows) == hierarchy


def test_branches_may_have_different_depths():
    text = "# by hand\n*\n\tEurope\n\t\tItaly\n\n\tAntarctica\n"
    rows = FORMATS["outline"].read(text, name="x", delimiter=";")
    assert rows == [["Italy", "Europe", "*"], ["Antarctica", "Antarctica", "*"]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Europe\n  Italy\n", "x:1: the first line is not the root"),
        ("*\n  Europe\n    Italy\nAsia\n", "x:4: the line is not below the root"),
        ('*\n  "Italy\n', "x:2: the quotes do not end"),
    ],
)
def test_what_is_no_outline_is_refused_by_line(text: str, words: str):
    with pytest.raises(DataError, match=words):
        FORMATS["outline"].read(text, name="x", delimiter=";")


def test_amnesia_reads_what_is_written(tmp_path):
    rows = [("Rome", "Italy", "Europe", "*"), ("Nice", "France", "Europe", "*")]
    hierarchy = Hierarchy.from_rows([*rows, ("Ulan-Bator", "Mongolia", "Asia", "*")])
    hierarchy.write(tmp_path / "x.txt", layout="amnesia")
    assert Hierarchy.read(tmp_path / "x.txt") == hierarchy
    spaced = Hierarchy.from_rows([("New York", "*"), ("Rome", "*")])
    with pytest.raises(UsageError, match="labels hold spaces"):
        spaced.write(tmp_path / "y.txt", layout="amnesia")
