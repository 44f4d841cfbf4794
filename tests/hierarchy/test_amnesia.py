"""Hierarchy files of Amnesia are read as hierarchies; other files still are what they were."""

from __future__ import annotations

import pytest

from mottle import DataError, Hierarchy

FILE = """distinct
name place
type string
height 3

Europe has Italy Spain
America has Peru

World has Europe America
"""


def test_levels_become_chains_up_to_the_root(tmp_path):
    (tmp_path / "place.txt").write_text(FILE)
    places = Hierarchy.read(tmp_path / "place.txt")
    assert places.leaves == ("Italy", "Spain", "Peru")
    assert places.leaves_under("Europe") == ("Italy", "Spain")
    assert places.leaves_under("World") == places.leaves_under("*") == places.leaves


def test_leaves_of_different_depth_are_leaves(tmp_path):
    text = "distinct\nname x\n\nA has a b\n\nAny has A c\n"
    (tmp_path / "x.txt").write_text(text)
    tree = Hierarchy.read(tmp_path / "x.txt")
    assert tree.leaves_under("Any") == ("a", "b", "c")
    assert tree.leaves_under("c") == ("c",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("range\nname age\n\n0-100 has 0-50 50-100\n", "hierarchy of ranges"),
        ("distinct\nname age\n", "no line 'parent has child"),
        ("distinct\nname x\n\na has b\n\nb has a\n", "no line 'parent has child"),
        ("distinct\nname x\n\na has b\nb has a\na has leaf\n", "its own ancestor"),
    ],
)
def test_what_cannot_be_used_is_refused(tmp_path, text, words):
    (tmp_path / "x.txt").write_text(text)
    with pytest.raises(DataError, match=words):
        Hierarchy.read(tmp_path / "x.txt")


def test_a_leaf_called_distinct_in_arx_layout_stays_a_leaf(tmp_path):
    (tmp_path / "x.csv").write_text("distinct;*\nother;*\n")
    assert Hierarchy.read(tmp_path / "x.csv").leaves == ("distinct", "other")
