"""Hierarchy files of Amnesia.

Such a file begins with ``distinct``, a few lines ``name …``, ``type …``, ``height …``, and then
has a line ``parent has child child …`` for every inner node, level by level from the leaves up.
"""

from __future__ import annotations

from collections.abc import Sequence

from mottle.errors import DataError, UsageError
from mottle.hierarchy.formats import FORMATS, HierarchyFormat
from mottle.hierarchy.validation import ROOT

__all__ = ["Amnesia"]

_DISTINCT, _RANGE = "distinct", "range"  # the kinds of hierarchy that Amnesia has
_HAS = " has "


class Amnesia(HierarchyFormat):
    r"""Files that Amnesia saves and loads.

    Examples
    --------
    >>> text = "distinct\nname sex\n\nAny has Male Female\n"
    >>> Amnesia().read(text, name="sex.txt", delimiter=";")
    [['Male', 'Any', '*'], ['Female', 'Any', '*']]
    """

    name = "amnesia"
    title = "Amnesia"

    def detect(self, text: str) -> bool:
        """Tell whether the first line names a kind of hierarchy; see `HierarchyFormat.detect`."""
        lines = text.splitlines()
        return len(lines) > 1 and lines[0] in (_DISTINCT, _RANGE)

    def read(self, text: str, *, name: str, delimiter: str) -> list[list[str]]:
        """Read one row per leaf, up to the root ``*`` above Amnesia's own root.

        See `HierarchyFormat.read`; the delimiter does not matter.
        """
        lines = text.splitlines()
        if lines[0] == _RANGE:
            raise DataError(
                f"{name} is a hierarchy of ranges.",
                "Leave it out: ranges such as 20-40 are read without, with cells = 'interval'.",
            )
        parents: dict[str, str] = {}
        for line in lines[1:]:
            parent, has, children = line.strip().partition(_HAS)
            if has:
                parents |= dict.fromkeys(children.split(), parent)
        inner = set(parents.values())
        chains = [_chain(leaf, parents, name) for leaf in parents if leaf not in inner]
        if not chains:
            raise DataError(
                f"{name} has no line 'parent has child …'.", "Save it in Amnesia again."
            )
        depth = max(map(len, chains))
        return [[chain[0]] * (depth - len(chain)) + chain for chain in chains]

    def write(self, rows: Sequence[Sequence[str]]) -> str:
        """Write a line for every inner node, from the leaves up; see `HierarchyFormat.write`.

        Amnesia separates labels by spaces, so labels with spaces are refused.
        """
        if any(len(label.split()) != 1 for row in rows for label in row):
            raise UsageError(
                "Amnesia's files separate labels by spaces, and some labels hold spaces.",
                "Replace the spaces, for instance by '_', or write another format.",
            )
        depth = max((len(row) for row in rows), default=1)
        children: list[dict[str, dict[str, None]]] = [{} for _ in range(depth)]
        for row in rows:
            for level in range(1, len(row)):
                if row[level] != row[level - 1]:
                    children[level].setdefault(row[level], {})[row[level - 1]] = None
        lines = [_DISTINCT, "name hierarchy", "type string", f"height {depth}", ""]
        for nodes in children:
            lines += [f"{parent}{_HAS}{' '.join(below)}" for parent, below in nodes.items()]
        return "\n".join(lines) + "\n"


FORMATS.add(Amnesia())


def _chain(leaf: str, parents: dict[str, str], name: str) -> list[str]:
    """The nodes from a leaf to the root."""
    chain = [leaf]
    while chain[-1] in parents:
        chain.append(parents[chain[-1]])
        if len(chain) > len(parents) + 1:
            raise DataError(f"{name}: a node is its own ancestor.", "Save it in Amnesia again.")
    return chain if chain[-1] == ROOT else [*chain, ROOT]
