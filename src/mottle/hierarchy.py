"""Value hierarchies in ARX's CSV layout: reading, linting, lowest common ancestors and their NCP.

A file has no header, one row per leaf and one column per level: the leaf (level 0), its
generalizations from narrow to wide, and the root ``*`` in the last column of every row.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mottle.errors import DataError, StorageError, UsageError, did_you_mean

ROOT = "*"
FINDINGS_SHOWN = 10  # an error message names this many findings and counts the rest
_DELIMITERS = {",": "','", ";": "';'", "\t": "a tab ('\\t')", "|": "'|'"}
_Lines = list[tuple[int, Sequence[str]]]  # 1-based number and cells of every row that has any


class Severity(StrEnum):
    """Whether a finding stops the hierarchy from being used."""

    ERROR = "error"
    WARNING = "warning"


class FindingCode(StrEnum):
    """What can be wrong with a hierarchy."""

    NO_ROWS = "no-rows"
    SINGLE_COLUMN = "single-column"
    RAGGED_ROW = "ragged-row"
    EMPTY_CELL = "empty-cell"
    DUPLICATE_LEAF = "duplicate-leaf"
    ROOT_MISSING = "root-missing"
    TWO_PARENTS = "two-parents"  # one label of a level below two labels of the next level
    AMBIGUOUS_LABEL = "ambiguous-label"  # one label, two levels, different leaves
    NESTED_LABEL = "nested-label"  # a node named like its parent, which has more leaves
    MISSING_LEAF = "missing-leaf"  # a value of the data that is no leaf
    UNUSED_LEAF = "unused-leaf"  # a leaf that is no value of the data


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a hierarchy, and where.

    ``label`` is the hierarchy's label or, for a missing leaf, the value of the data. The latter
    must not reach a log, so ``label`` is left out of the ``repr`` and of that ``message``.
    """

    code: FindingCode
    message: str
    row: int | None = None  # 1-based
    level: int | None = None  # 0 is the leaf
    severity: Severity = Severity.ERROR
    label: str | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """A tree over the values of a column; a node is a label and stands for the leaves below it.

    Leaves are numbered by the in-order traversal of the tree (FAST07, section 6), so the leaves
    below a node are consecutive. A label that is repeated from one level to the next is one node.

    >>> europe_first = Hierarchy.from_rows([
    ...     ("Italy", "Europe", "*"), ("US", "America", "*"), ("France", "Europe", "*"),
    ... ])
    >>> europe_first.leaves
    ('Italy', 'France', 'US')
    >>> europe_first.labels
    ('Italy', 'France', 'US', 'Europe', 'America', '*')
    """

    leaves: tuple[str, ...]  # in in-order position
    labels: tuple[str, ...]  # of every node: first the leaves, last the root
    ancestors: NDArray[np.int32]  # [leaves, depth]: column 0 the leaf itself, last column the root
    cardinality: NDArray[np.int64]  # [nodes]: number of leaves below the node

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[str]], *, name: str = "hierarchy") -> Hierarchy:
        """Build a hierarchy from rows (leaf, level 1, …, ``*``), or raise what ``lint`` finds.

        >>> Hierarchy.from_rows([("Male", "*"), ("Female", "*")]).leaves
        ('Male', 'Female')
        """
        rows = [row for row in _refuse_errors(rows, name) if row]
        labels, codes = _number_labels(rows)
        depth = codes.shape[1]
        # Codes count first appearances, so sorting by them from the root down walks the tree in
        # order and keeps the file's order among siblings.
        codes = codes[np.lexsort(codes.T)]
        # A label repeated over levels covers the most leaves at its highest level (lint sees to
        # it); that is what a reader of the label takes it for, hence the node it denotes.
        height = np.zeros(len(labels), np.int64)
        first_leaf = np.zeros(len(labels), np.int64)
        cardinality = np.zeros(len(labels), np.int64)
        for level in range(depth):
            present, first, count = np.unique(
                codes[:, level], return_index=True, return_counts=True
            )
            height[present], first_leaf[present], cardinality[present] = level, first, count
        height[codes[:, 0]] = 0  # a leaf stays a leaf when its label is repeated upwards
        order = np.lexsort((first_leaf, height))
        node_of_code = np.empty(len(labels), np.int32)
        node_of_code[order] = np.arange(len(labels), dtype=np.int32)
        ordered = tuple(labels[code] for code in order)
        ancestors, cardinality = node_of_code[codes], cardinality[order]
        for array in (ancestors, cardinality):
            array.setflags(write=False)
        return cls(ordered[: len(rows)], ordered, ancestors, cardinality)

    @classmethod
    def read(
        cls, path: str | PathLike[str], *, delimiter: str = ";", encoding: str = "utf-8-sig"
    ) -> Hierarchy:
        r"""Read a hierarchy from a file in ARX's layout.

        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "sex.csv")
        ...     _ = file.write_text("Male;*\nFemale;*\n", encoding="utf-8")
        ...     Hierarchy.read(file).leaves
        ('Male', 'Female')
        """
        rows = read_rows(path, delimiter=delimiter, encoding=encoding)
        last_cells = [row[-1] for row in rows if row]
        for other, shown in _DELIMITERS.items():
            if other != delimiter and last_cells and all(other in cell for cell in last_cells):
                raise DataError(
                    f"{path}: split at {delimiter!r}, no row ends in the root '*'.",
                    f"Is the delimiter {shown}?",
                )
        return cls.from_rows(rows, name=str(path))

    def write(self, path: str | PathLike[str]) -> None:
        """Write the hierarchy in ARX's layout; ``read`` gives an equal hierarchy back.

        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "sex.csv")
        ...     Hierarchy.from_rows([("Male", "*"), ("Female", "*")]).write(file)
        ...     file.read_text(encoding="utf-8").split()
        ['Male;*', 'Female;*']
        """
        # csv quotes neither of these by itself, and a reader drops or splits at them unquoted
        fragile = any(mark in label for label in self.labels for mark in "\r\ufeff")
        text = io.StringIO(newline="")
        csv.writer(
            text,
            delimiter=";",
            lineterminator="\n",
            quoting=csv.QUOTE_ALL if fragile else csv.QUOTE_MINIMAL,
        ).writerows(self.rows())
        try:
            Path(path).write_bytes(text.getvalue().encode())
        except OSError as error:
            raise StorageError(f"{path} cannot be written: {error.strerror}.") from error

    def check_covers(self, values: Iterable[str]) -> None:
        """Raise ``DataError`` unless every value is a leaf.

        >>> Hierarchy.from_rows([("Male", "*"), ("Female", "*")]).check_covers(["Male", "Male"])
        """
        missing = {value for value in values if value not in self._position}
        if missing:
            raise DataError(
                f"The hierarchy lacks {len(missing):,} of the distinct values of the data.",
                "Add one row per missing value; lint(rows, values=…) finds them.",
            )

    def lowest_common_ancestor(self, values: Iterable[str]) -> str:
        """Label of the lowest node that has all values below it.

        >>> sizes = Hierarchy.from_rows([("S", "small", "*"), ("M", "big", "*"), ("L", "big", "*")])
        >>> sizes.lowest_common_ancestor(["L", "M"]), sizes.lowest_common_ancestor(["L", "S"])
        ('big', '*')
        """
        return self.labels[self._lowest_common_node(values)]

    def ncp(self, values: Iterable[str]) -> float:
        """Normalized certainty penalty of publishing the values' lowest common ancestor (FAST07).

        NCP = 0 if card(u) = 1, else card(u) / |A|, with u the lowest common ancestor, card(u) the
        number of its leaves and |A| that of all leaves of the hierarchy.

        >>> sizes = Hierarchy.from_rows([("S", "small", "*"), ("M", "big", "*"), ("L", "big", "*")])
        >>> sizes.ncp(["S"]), round(sizes.ncp(["M", "L"]), 2), sizes.ncp(["S", "L"])
        (0.0, 0.67, 1.0)
        """
        leaves = int(self.cardinality[self._lowest_common_node(values)])
        return 0.0 if leaves == 1 else leaves / len(self.leaves)

    def common_ancestors(
        self, low: NDArray[np.integer], high: NDArray[np.integer]
    ) -> NDArray[np.int32]:
        """Node of the lowest common ancestor of the leaves at positions low[i] to high[i].

        Leaves are in in-order position, so a set of leaves has the ancestors of its two ends.

        >>> sizes = Hierarchy.from_rows([("S", "small", "*"), ("M", "big", "*"), ("L", "big", "*")])
        >>> nodes = sizes.common_ancestors(np.array([0, 0, 1]), np.array([0, 1, 2]))
        >>> [sizes.labels[node] for node in nodes]
        ['S', '*', 'big']
        """
        chains = self.ancestors[low]
        level = (chains == self.ancestors[high]).argmax(axis=1)
        nodes: NDArray[np.int32] = chains[np.arange(len(chains)), level]
        return nodes

    def contains(self, node_label: str, leaf: str) -> bool:
        """Whether the leaf is below the node.

        >>> Hierarchy.from_rows([("S", "small", "*"), ("M", "big", "*")]).contains("big", "S")
        False
        """
        self.check_covers([leaf])
        return bool((self.ancestors[self._position[leaf]] == self._find_node(node_label)).any())

    def leaves_under(self, node_label: str) -> tuple[str, ...]:
        """All leaves below the node, in in-order position.

        >>> sizes = Hierarchy.from_rows([("S", "small", "*"), ("M", "big", "*"), ("L", "big", "*")])
        >>> sizes.leaves_under("big")
        ('M', 'L')
        """
        below = (self.ancestors == self._find_node(node_label)).any(axis=1)
        return tuple(self.leaves[position] for position in np.flatnonzero(below))

    @property
    def root(self) -> int:
        """The node of the root."""
        return len(self.labels) - 1

    @cached_property
    def extents(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Positions of the first and the last leaf below every node."""
        first = np.full(len(self.labels), len(self.leaves), np.int64)
        last = np.full(len(self.labels), -1, np.int64)
        for level in self.ancestors.T:
            np.minimum.at(first, level, np.arange(len(level)))
            np.maximum.at(last, level, np.arange(len(level)))
        return first, last

    def rows(self) -> list[tuple[str, ...]]:
        """The hierarchy as the rows of ARX's layout."""
        return [tuple(self.labels[node] for node in chain) for chain in self.ancestors.tolist()]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hierarchy):
            return NotImplemented
        return self.labels == other.labels and np.array_equal(self.ancestors, other.ancestors)

    def __hash__(self) -> int:
        return hash(self.labels)

    @cached_property
    def _position(self) -> dict[str, int]:
        return {leaf: position for position, leaf in enumerate(self.leaves)}

    @cached_property
    def _node(self) -> dict[str, int]:
        return {label: node for node, label in enumerate(self.labels)}

    def _find_node(self, label: str) -> int:
        if label not in self._node:
            raise UsageError(
                f"The hierarchy has no node {label!r}.", did_you_mean(label, self.labels)
            )
        return self._node[label]

    def _lowest_common_node(self, values: Iterable[str]) -> int:
        distinct = set(values)
        if not distinct:
            raise UsageError("No values have no lowest common ancestor.", "Give at least one.")
        self.check_covers(distinct)
        positions = [self._position[value] for value in distinct]
        return int(self.common_ancestors(np.array([min(positions)]), np.array([max(positions)]))[0])


def read_rows(
    path: str | PathLike[str], *, delimiter: str = ";", encoding: str = "utf-8-sig"
) -> list[list[str]]:
    r"""Read the cells of a hierarchy file as they are, for ``lint``; an empty line is ``[]``.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "sex.csv")
    ...     _ = file.write_text("Male;*\nFemale\n", encoding="utf-8")
    ...     read_rows(file)
    [['Male', '*'], ['Female']]
    """
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise UsageError(f"The delimiter {delimiter!r} cannot separate cells.", "Try ';' or ','.")
    try:
        with open(path, encoding=encoding, newline="") as file:
            return list(csv.reader(file, delimiter=delimiter, strict=True))
    except OSError as error:
        raise StorageError(
            f"{path} cannot be read: {error.strerror}.", "Check the path and its permissions."
        ) from error
    except LookupError as error:
        raise UsageError(f"There is no encoding {encoding!r}.", "Try 'utf-8'.") from error
    except UnicodeError as error:
        raise DataError(
            f"{path} is not text in the encoding {encoding!r}.",
            "Name its encoding, for example encoding='latin-1', or save the file as UTF-8.",
        ) from error
    except csv.Error as error:
        raise DataError(f"{path} is not valid CSV: {error}.", "Look for a stray quote.") from error


def lint(
    rows: Iterable[Sequence[str]],
    *,
    values: Iterable[str] | None = None,
    name: str = "hierarchy",
) -> list[Finding]:
    """Everything that is wrong with the rows of a hierarchy, in the order of the rows.

    With ``values``, also the values of the data that are no leaf and the leaves that are no value.
    Empty rows are skipped. A node named like its parent, as ``Africa`` below ``Africa``, is
    tolerated with a warning: the label then denotes all leaves of the parent.

    >>> for finding in lint([("Male", "*"), ("Female", "")], values=["Male", "Male"], name="sex"):
    ...     print(finding.severity, finding.code, finding.message, sep=" | ")
    warning | unused-leaf | sex:2: the leaf 'Female' is not in the data.
    error | empty-cell | sex:2: level 1 is empty.
    """
    lines = [(number, row) for number, row in enumerate(rows, start=1) if row]
    findings = [*_row_findings(lines)]
    findings += _label_findings(lines)
    if values is not None:
        findings += _value_findings(lines, values)
    findings.sort(key=lambda finding: (finding.row or 0, finding.level or 0))
    return [
        replace(finding, message=f"{_place(name, finding.row)}: {finding.message}")
        for finding in findings
    ]


def _place(name: str, row: int | None) -> str:
    return name if row is None else f"{name}:{row}"


def _refuse_errors(rows: Iterable[Sequence[str]], name: str) -> list[Sequence[str]]:
    """Give the rows back if ``lint`` finds no error."""
    rows = list(rows)
    errors = [finding for finding in lint(rows, name=name) if finding.severity is Severity.ERROR]
    if errors:
        shown = [finding.message for finding in errors[:FINDINGS_SHOWN]]
        if len(errors) > FINDINGS_SHOWN:
            shown.append(f"… and {len(errors) - FINDINGS_SHOWN:,} more.")
        raise DataError(
            "\n  ".join([f"{name} is not a hierarchy:", *shown]),
            "\nEvery row is leaf;level 1;…;* with one parent per label; correct these rows.",
        )
    return rows


def _depth(lines: _Lines) -> int:
    """Number of cells that most rows have."""
    return Counter(len(row) for _, row in lines).most_common(1)[0][0]


def _number_labels(rows: Sequence[Sequence[str]]) -> tuple[list[str], NDArray[np.int32]]:
    """Labels by first appearance, and the number of every cell's label."""
    number: dict[str, int] = {}
    codes = [[number.setdefault(label, len(number)) for label in row] for row in rows]
    return list(number), np.array(codes, dtype=np.int32)


def _row_findings(lines: _Lines) -> Iterator[Finding]:
    """What is wrong with a row by itself, and leaves that appear twice."""
    if not lines:
        yield Finding(FindingCode.NO_ROWS, "there are no rows.")
        return
    depth = _depth(lines)
    if depth == 1:
        yield Finding(FindingCode.SINGLE_COLUMN, "rows have one cell; a leaf and '*' are needed.")
    first_row: dict[str, int] = {}
    for number, row in lines:
        if len(row) != depth:
            message = f"the row has {len(row)} cells where most have {depth}."
            yield Finding(FindingCode.RAGGED_ROW, message, number)
        for level, label in enumerate(row):
            if not label.strip():
                yield Finding(FindingCode.EMPTY_CELL, f"level {level} is empty.", number, level)
        leaf, last = row[0], row[-1]
        if len(row) > 1 and last.strip() and last != ROOT:
            message = f"the last level is {last!r}, not the root '*'."
            yield Finding(FindingCode.ROOT_MISSING, message, number, len(row) - 1, label=last)
        if leaf.strip() and first_row.setdefault(leaf, number) != number:
            message = f"the leaf {leaf!r} is already in row {first_row[leaf]}."
            yield Finding(FindingCode.DUPLICATE_LEAF, message, number, 0, label=leaf)


def _label_findings(lines: _Lines) -> Iterator[Finding]:
    """Labels that do not denote one node, over the rows that are long enough to tell."""
    depth = _depth(lines) if lines else 1
    whole = [
        (number, [*row[:-1], ROOT])  # a wrong root is reported already
        for number, row in lines
        if len(row) == depth and all(label.strip() for label in row)
    ]
    if depth == 1 or not whole:
        return
    numbers = [number for number, _ in whole]
    labels, codes = _number_labels([row for _, row in whole])
    yield from _two_parents(numbers, labels, codes)
    yield from _ambiguous_labels(numbers, labels, codes)


def _two_parents(
    numbers: list[int], labels: list[str], codes: NDArray[np.int32]
) -> Iterator[Finding]:
    for level in range(1, codes.shape[1] - 1):
        pairs = codes[:, level].astype(np.int64) * len(labels) + codes[:, level + 1]
        _, first = np.unique(pairs, return_index=True)
        parent_of: dict[int, tuple[int, int]] = {}
        for position in np.sort(first).tolist():
            child, parent = codes[position, level : level + 2].tolist()
            row = numbers[position]
            known_parent, known_row = parent_of.setdefault(child, (parent, row))
            if known_parent != parent:
                message = (
                    f"level {level} {labels[child]!r} is below {labels[parent]!r} here but below "
                    f"{labels[known_parent]!r} in row {known_row}."
                )
                yield Finding(FindingCode.TWO_PARENTS, message, row, level, label=labels[child])


def _ambiguous_labels(
    numbers: list[int], labels: list[str], codes: NDArray[np.int32]
) -> Iterator[Finding]:
    """Compare the rows of a label at each level with those at the level where it was last seen."""
    rows = np.arange(len(codes))
    last_level = np.full(len(labels), -1)
    last_count = np.zeros(len(labels), np.int64)
    leaf_labels = np.bincount(codes[:, 0], minlength=len(labels)) > 0
    for level in range(codes.shape[1]):
        here = codes[:, level]
        present, first = np.unique(here, return_index=True)
        first_row = dict(zip(present.tolist(), first.tolist(), strict=True))
        count = np.bincount(here, minlength=len(labels))
        seen_at = last_level[here]
        in_both = (seen_at >= 0) & (codes[rows, seen_at] == here)
        shared = np.bincount(here[in_both], minlength=len(labels))
        # Rows that have the label below but not here make it a label with two parents, which is
        # reported as such; so here it is enough to look for rows that have it only here.
        differs = (last_level >= 0) & (shared != count)
        nested = (last_level == level - 1) & (shared == last_count) & ~leaf_labels
        for code in np.flatnonzero(differs):
            label = labels[code]
            row = numbers[first_row[int(code)]]
            message = (
                f"{label!r} stands for other leaves at level {level} than at level "
                f"{last_level[code]}"
            )
            if nested[code]:
                message += "; it is taken for those at the higher level."
                kind, severity = FindingCode.NESTED_LABEL, Severity.WARNING
            else:
                message += "."
                kind, severity = FindingCode.AMBIGUOUS_LABEL, Severity.ERROR
            yield Finding(kind, message, row, level, severity, label)
        last_level[present] = level
        last_count[present] = count[present]


def _value_findings(lines: _Lines, values: Iterable[str]) -> Iterator[Finding]:
    """Values of the data without a leaf, never named in a message, and leaves without a value."""
    in_data = dict.fromkeys(values)
    leaves = {row[0]: number for number, row in reversed(lines) if row[0].strip()}
    missing = [value for value in in_data if value not in leaves]
    for position, value in enumerate(missing, start=1):
        message = f"a value of the data is not a leaf ({position:,} of {len(missing):,})."
        yield Finding(FindingCode.MISSING_LEAF, message, level=0, label=value)
    for leaf, number in leaves.items():
        if leaf not in in_data:
            message = f"the leaf {leaf!r} is not in the data."
            yield Finding(FindingCode.UNUSED_LEAF, message, number, 0, Severity.WARNING, leaf)
