"""Hierarchy files of Amnesia, turned into the rows of ARX's layout.

Such a file begins with ``distinct``, a few lines ``name …``, ``type …``, ``height …``, and then
has a line ``parent has child child …`` for every inner node, level by level from the leaves up.
"""

from __future__ import annotations

from collections.abc import Sequence

from mottle.errors import DataError

_DISTINCT, _RANGE = ["distinct"], ["range"]
_ROOT = "*"


def is_amnesia(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the rows of a hierarchy file are Amnesia's and not ARX's."""
    return len(rows) > 1 and list(rows[0]) in (_DISTINCT, _RANGE)


def amnesia_rows(rows: Sequence[Sequence[str]], name: str) -> list[list[str]]:
    """One row per leaf, from the leaf to the root ``*`` above Amnesia's own root.

    >>> amnesia_rows([["distinct"], ["name sex"], [], ["Any has Male Female"]], "sex")
    [['Male', 'Any', '*'], ['Female', 'Any', '*']]
    """
    if list(rows[0]) == _RANGE:
        raise DataError(
            f"{name} is a hierarchy of ranges.",
            "Leave it out: ranges such as 20-40 are read without, with cells = 'interval'.",
        )
    parents: dict[str, str] = {}
    for row in rows[1:]:
        parent, has, children = (row[0] if row else "").strip().partition(" has ")
        if has:
            parents |= dict.fromkeys(children.split(), parent)
    inner = set(parents.values())
    chains = [_chain(leaf, parents, name) for leaf in parents if leaf not in inner]
    if not chains:
        raise DataError(f"{name} has no line 'parent has child …'.", "Save it in Amnesia again.")
    depth = max(map(len, chains))
    return [[chain[0]] * (depth - len(chain)) + chain for chain in chains]


def _chain(leaf: str, parents: dict[str, str], name: str) -> list[str]:
    chain = [leaf]
    while chain[-1] in parents:
        chain.append(parents[chain[-1]])
        if len(chain) > len(parents) + 1:
            raise DataError(f"{name}: a node is its own ancestor.", "Save it in Amnesia again.")
    return chain if chain[-1] == _ROOT else [*chain, _ROOT]
