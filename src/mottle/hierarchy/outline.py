r"""Hierarchies as indented text, to be read and edited by people.

Every line is a label, indented more than the line of its parent. The first line is the root ``*``;
a line without lines below it is a value. Empty lines and lines that begin with ``#`` are skipped. A
label that begins or ends with a space, begins with ``#`` or ``"``, or holds a line break is written
as a JSON string.

::

    *
      Europe
        France
        Italy
      America
        US
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from mottle.errors import DataError
from mottle.hierarchy.formats import FORMATS, HierarchyFormat
from mottle.hierarchy.validation import ROOT

__all__ = ["Outline"]

_STEP = "  "
_COMMENT = "#"


class Outline(HierarchyFormat):
    r"""Indented text, one label per line.

    Examples
    --------
    >>> text = Outline().write([("Italy", "Europe", "*"), ("US", "America", "*")])
    >>> print(text, end="")
    *
      Europe
        Italy
      America
        US
    >>> Outline().read(text, name="origin.txt", delimiter=";")
    [['Italy', 'Europe', '*'], ['US', 'America', '*']]
    """

    name = "outline"
    title = "indented text"

    def detect(self, text: str) -> bool:
        """Tell whether the first line is the root and others are indented."""
        lines = [line for _, line in _lines(text)]
        return len(lines) > 1 and lines[0] == ROOT and all(line[0] in " \t" for line in lines[1:])

    def read(self, text: str, *, name: str, delimiter: str) -> list[list[str]]:
        """Read one row per value; see `HierarchyFormat.read`. The delimiter does not matter."""
        above: list[tuple[int, str]] = []  # indentation and label of the lines above
        chains: list[list[str]] = []
        is_value = False
        for number, line in _lines(text):
            label = _label(line.strip(), name, number)
            depth = len(line) - len(line.lstrip())
            if not above and label != ROOT:
                raise DataError(
                    f"{name}:{number}: the first line is not the root '*'.",
                    "Begin with a line '*' and indent all others.",
                )
            if above and is_value and depth <= above[-1][0]:
                chains.append([each for _, each in reversed(above)])
            while above and above[-1][0] >= depth:
                above.pop()
            if not above and (chains or is_value):
                raise DataError(
                    f"{name}:{number}: the line is not below the root '*'.", "Indent it."
                )
            above.append((depth, label))
            is_value = True
        if len(above) > 1:
            chains.append([each for _, each in reversed(above)])
        longest = max(map(len, chains), default=0)
        return [[chain[0]] * (longest - len(chain)) + chain for chain in chains]

    def write(self, rows: Sequence[Sequence[str]]) -> str:
        """Write every label once, below its parent; see `HierarchyFormat.write`."""
        lines = [ROOT]
        open_labels: list[str] = [ROOT]
        for row in _in_order(rows):
            chain = _without_repeats(row)
            shared = 0
            while (
                shared < min(len(chain), len(open_labels)) and chain[shared] == open_labels[shared]
            ):
                shared += 1
            lines += [_STEP * depth + _written(chain[depth]) for depth in range(shared, len(chain))]
            open_labels = chain
        return "\n".join(lines) + "\n"


FORMATS.add(Outline())


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines that hold a label, with their numbers."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip() and not line.lstrip().startswith(_COMMENT):
            yield number, line.rstrip()


def _in_order(rows: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Rows such that all rows below a label follow each other, in the order of their first."""
    place: dict[tuple[str, ...], int] = {}
    keys = []
    for row in rows:
        chain = tuple(_without_repeats(row))
        keys.append(
            [place.setdefault(chain[: depth + 1], len(place)) for depth in range(len(chain))]
        )
    order = sorted(range(len(rows)), key=keys.__getitem__)
    return [rows[number] for number in order]


def _without_repeats(row: Sequence[str]) -> list[str]:
    """The labels from the root to the value, each once."""
    return list(dict.fromkeys(reversed(row)))


def _label(written: str, name: str, number: int) -> str:
    if not written.startswith('"'):
        return written
    try:
        label = json.loads(written)
    except ValueError:
        label = None
    if not isinstance(label, str):
        raise DataError(f"{name}:{number}: the quotes do not end.", 'Write a quote as \\".')
    return label


def _written(label: str) -> str:
    plain = label == label.strip() and label[:1] not in ('"', _COMMENT)
    if plain and label.isprintable():
        return label
    return json.dumps(label, ensure_ascii=False)
