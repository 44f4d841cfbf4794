"""Grouping, splitting and renaming the nodes of a hierarchy."""

from __future__ import annotations

import pytest

from mottle.errors import MottleError
from mottle.hierarchy.tree import Hierarchy
from mottle.studio import trees

FRUIT = Hierarchy.from_rows([(name, "*") for name in ("apple", "pear", "lemon", "lime")])


def number(hierarchy: Hierarchy, label: str) -> int:
    return hierarchy.labels.index(label)


def test_what_is_grouped_can_be_named_and_split_again() -> None:
    chosen = [number(FRUIT, name) for name in ("lemon", "lime")]
    citrus = trees.grouped(FRUIT, chosen, "sour")
    assert trees.outline(citrus) == "*\n  apple\n  pear\n  sour\n    lemon\n    lime\n"
    named = trees.renamed(citrus, number(citrus, "sour"), "citrus")
    assert named.rows()[2] == ("lemon", "citrus", "*")
    assert trees.split(named, number(named, "citrus")).rows() == FRUIT.rows()
    two = trees.grouped(named, [number(named, "pear"), number(named, "citrus")], "both")
    assert two.rows()[2] == ("lemon", "citrus", "both", "*")


def test_nodes_are_moved_into_groups_and_empty_groups_go() -> None:
    sour = trees.grouped(FRUIT, [number(FRUIT, name) for name in ("lemon", "lime")], "sour")
    pear = trees.moved(sour, [number(sour, "pear")], number(sour, "sour"))
    assert trees.outline(pear) == "*\n  apple\n  sour\n    lemon\n    lime\n    pear\n"
    out = trees.moved(sour, [number(sour, name) for name in ("lemon", "lime")], sour.root)
    assert out.rows() == FRUIT.rows()
    for chosen, to in (([number(sour, "sour")],) * 2, ([], sour.root), ([0], number(sour, "pear"))):
        with pytest.raises(MottleError):
            trees.moved(sour, chosen, to if isinstance(to, int) else to[0])


@pytest.mark.parametrize(
    ("chosen", "name"),
    [([0], "x"), ([0, 1, 2, 3], "x"), ([0, 1], ""), ([0, 1], "lime"), ([0, 4], "x"), ([0, 9], "x")],
)
def test_what_is_no_group_is_refused_without_naming_a_value(chosen, name) -> None:
    with pytest.raises(MottleError) as refused:
        trees.grouped(FRUIT, chosen, name)
    assert not any(leaf in str(refused.value) for leaf in FRUIT.leaves)


def test_values_and_the_root_stay() -> None:
    for change in (
        lambda: trees.split(FRUIT, 0),
        lambda: trees.renamed(FRUIT, 0, "x"),
        lambda: trees.split(FRUIT, FRUIT.root),
    ):
        with pytest.raises(MottleError):
            change()
