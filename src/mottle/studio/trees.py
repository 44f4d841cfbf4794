"""Editing a hierarchy: its nodes as a nested list, and what grouping, splitting and naming do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mottle.errors import UsageError
from mottle.hierarchy.formats import FORMATS
from mottle.hierarchy.tree import Hierarchy

_MOST_NODES = 400  # that a page shows


@dataclass(frozen=True)
class Node:
    """A node of the tree with those below it."""

    number: int  # in `Hierarchy.labels`
    label: str
    leaves: int  # values below it, or 1 for a value
    children: tuple[Node, ...]


def nodes_of(hierarchy: Hierarchy) -> Node:
    """Return the tree from its root on."""
    first, _ = hierarchy.extents
    below: dict[int, list[int]] = {}
    for number, parent in enumerate(hierarchy.parents.tolist()):
        if number != hierarchy.root:
            below.setdefault(parent, []).append(number)

    def node(number: int) -> Node:
        children = sorted(below.get(number, []), key=lambda child: int(first[child]))
        label, leaves = hierarchy.labels[number], int(hierarchy.cardinality[number])
        return Node(number, label, leaves, tuple(node(child) for child in children))

    return node(hierarchy.root)


def is_shown_whole(hierarchy: Hierarchy) -> bool:
    """Whether a page shows all nodes."""
    return len(hierarchy.labels) <= _MOST_NODES


def grouped(hierarchy: Hierarchy, chosen: Sequence[int], name: str) -> Hierarchy:
    """Put some nodes with the same parent below a new one.

    Parameters
    ----------
    hierarchy : Hierarchy
        The tree.
    chosen : sequence of int
        Numbers of nodes.
    name : str
        The label of the new node.

    Returns
    -------
    Hierarchy
        The tree with one node more.

    Raises
    ------
    UsageError
        They have different parents, or the name is taken.
    """
    wanted = set(chosen)
    _check_name(hierarchy, name)
    parents = {int(hierarchy.parents[number]) for number in _checked(hierarchy, wanted)}
    if len(wanted) < 2 or len(parents) != 1:
        raise UsageError("These cannot be grouped.", "Choose two or more below the same node.")

    def change(node: Node) -> Node:
        children = [change(child) for child in node.children]
        if node.number in parents:
            inside = tuple(child for child in children if child.number in wanted)
            if len(inside) == len(children):
                raise UsageError("These are all values of their node.", "Leave some out.")
            place = children.index(inside[0])
            children = [child for child in children if child.number not in wanted]
            children.insert(place, Node(-1, name, sum(each.leaves for each in inside), inside))
        return Node(node.number, node.label, node.leaves, tuple(children))

    return _built(change(nodes_of(hierarchy)))


def split(hierarchy: Hierarchy, number: int) -> Hierarchy:
    """Take a node away; those below it move up to its parent."""
    _checked(hierarchy, {number})
    if number < len(hierarchy.leaves):
        raise UsageError("A value cannot be split.", "Choose a group.")

    def change(node: Node) -> Node:
        children: list[Node] = []
        for child in map(change, node.children):
            children += child.children if child.number == number else [child]
        return Node(node.number, node.label, node.leaves, tuple(children))

    return _built(change(nodes_of(hierarchy)))


def renamed(hierarchy: Hierarchy, number: int, name: str) -> Hierarchy:
    """Give a group another name."""
    _checked(hierarchy, {number})
    _check_name(hierarchy, name)
    if number < len(hierarchy.leaves):
        raise UsageError("Values keep their names.", "Choose a group.")

    def change(node: Node) -> Node:
        label = name if node.number == number else node.label
        return Node(node.number, label, node.leaves, tuple(map(change, node.children)))

    return _built(change(nodes_of(hierarchy)))


def moved(hierarchy: Hierarchy, chosen: Sequence[int], to: int) -> Hierarchy:
    """Move nodes into a group; a group that is left empty is taken away."""
    wanted = _checked(hierarchy, set(chosen))
    if not wanted:
        raise UsageError("Nothing is chosen.", "Tick what is to be moved.")
    if to != hierarchy.root:
        _checked(hierarchy, {to})
    if to < len(hierarchy.leaves):
        raise UsageError("A value has nothing below it.", "Choose a group.")
    above, place = set(), to
    while place != hierarchy.root:
        above.add(place)
        place = int(hierarchy.parents[place])
    if above & wanted:
        raise UsageError("A group cannot be moved into itself.", "Choose another.")
    taken: list[Node] = []

    def without(node: Node) -> Node | None:
        children = []
        for child in node.children:
            if child.number in wanted:
                taken.append(child)
            elif (kept := without(child)) is not None:
                children.append(kept)
        if node.children and not children and node.number not in (to, hierarchy.root):
            return None
        return Node(node.number, node.label, node.leaves, tuple(children))

    def change(node: Node) -> Node:
        children = tuple(map(change, node.children))
        more = tuple(taken) if node.number == to else ()
        return Node(node.number, node.label, node.leaves, children + more)

    left = without(nodes_of(hierarchy))
    assert left is not None
    return _built(change(left))


def _checked(hierarchy: Hierarchy, numbers: set[int]) -> set[int]:
    if not all(0 <= number < len(hierarchy.labels) for number in numbers):
        raise UsageError("There is no such node.", "Load the page again.")
    if hierarchy.root in numbers:
        raise UsageError("The root stands for all values and stays.", "Choose others.")
    return numbers


def _check_name(hierarchy: Hierarchy, name: str) -> None:
    if not name or name in hierarchy.labels:
        raise UsageError("The name is empty, or taken.", "Type another.")


def _built(root: Node) -> Hierarchy:
    """The hierarchy of a tree, all values equally deep."""
    chains: list[list[str]] = []

    def walk(node: Node, above: list[str]) -> None:
        chain = [node.label, *above]
        if not node.children:
            chains.append(chain)
        for child in node.children:
            walk(child, chain)

    walk(root, [])
    deepest = max(map(len, chains))
    rows = [[chain[0]] * (deepest - len(chain)) + chain for chain in chains]
    return Hierarchy.from_rows(rows)


def outline(hierarchy: Hierarchy) -> str:
    """The hierarchy as indented text."""
    return FORMATS["outline"].write(hierarchy.rows())
