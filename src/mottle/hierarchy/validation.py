"""Validation of value hierarchies: lists everything that is wrong with a file, by row and level."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

__all__ = ["ROOT", "FindingCode", "HierarchyFinding", "Severity", "lint", "number_labels"]

ROOT = "*"
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
    MISSING_LEAF = "missing-leaf"  # a value of the data that is not a leaf
    UNUSED_LEAF = "unused-leaf"  # a leaf that is not a value of the data


@dataclass(frozen=True)
class HierarchyFinding:
    """One thing that is wrong with a hierarchy, and where.

    ``label`` is the hierarchy's label or, for a missing leaf, the value of the data. Leaves are
    values of the data as well and must not reach a log, so ``label`` is left out of the ``repr``
    and of the ``message``; ``mottle hierarchy lint``, which was asked about the file, prints it.
    """

    code: FindingCode
    message: str  # names the file and the row
    row: int | None = None  # 1-based
    level: int | None = None  # 0 is the leaf
    severity: Severity = Severity.ERROR
    label: str | None = field(default=None, repr=False)


def lint(
    rows: Iterable[Sequence[str]],
    *,
    values: Iterable[str] | None = None,
    name: str = "hierarchy",
) -> list[HierarchyFinding]:
    """List everything that is wrong with the rows of a hierarchy.

    Empty rows are skipped. A node with the same name as its parent, such as ``Africa`` below
    ``Africa``, is tolerated with a warning: the label then denotes all leaves of the parent.

    Parameters
    ----------
    rows : iterable of sequence of str
        One row per leaf: the leaf, its generalizations from narrow to wide, and ``*``.
    values : iterable of str, optional
        Values of the data. With them, values that are not leaves and leaves that are not values
        are reported too.
    name : str
        What the rows are called in messages.

    Returns
    -------
    list of HierarchyFinding
        Errors and warnings, in the order of the rows.

    Examples
    --------
    >>> for finding in lint([("Male", "*"), ("Female", "")], values=["Male", "Male"], name="sex"):
    ...     print(finding.severity, finding.code, finding.message, sep=" | ")
    warning | unused-leaf | sex:2: the leaf is not in the data.
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


def _depth(lines: _Lines) -> int:
    """Number of cells that most rows have."""
    return Counter(len(row) for _, row in lines).most_common(1)[0][0]


def number_labels(rows: Sequence[Sequence[str]]) -> tuple[list[str], NDArray[np.int32]]:
    """Number the labels by first appearance.

    Parameters
    ----------
    rows : sequence of sequence of str
        Rows of equal length.

    Returns
    -------
    labels : list of str
        The distinct labels.
    codes : int32 array of shape (rows, levels)
        The number of every cell's label.
    """
    number: dict[str, int] = {}
    codes = [[number.setdefault(label, len(number)) for label in row] for row in rows]
    return list(number), np.array(codes, dtype=np.int32)


def _row_findings(lines: _Lines) -> Iterator[HierarchyFinding]:
    """What is wrong with a row by itself, and leaves that appear twice."""
    if not lines:
        yield HierarchyFinding(FindingCode.NO_ROWS, "there are no rows.")
        return
    depth = _depth(lines)
    if depth == 1:
        yield HierarchyFinding(
            FindingCode.SINGLE_COLUMN, "rows have one cell; a leaf and '*' are needed."
        )
    first_row: dict[str, int] = {}
    for number, row in lines:
        if len(row) != depth:
            message = f"the row has {len(row)} cells where most have {depth}."
            yield HierarchyFinding(FindingCode.RAGGED_ROW, message, number)
        for level, label in enumerate(row):
            if not label.strip():
                yield HierarchyFinding(
                    FindingCode.EMPTY_CELL, f"level {level} is empty.", number, level
                )
        leaf, last = row[0], row[-1]
        if len(row) > 1 and last.strip() and last != ROOT:
            message = "the last level is not the root '*'."
            yield HierarchyFinding(
                FindingCode.ROOT_MISSING, message, number, len(row) - 1, label=last
            )
        if leaf.strip() and first_row.setdefault(leaf, number) != number:
            message = f"the leaf is already in row {first_row[leaf]}."
            yield HierarchyFinding(FindingCode.DUPLICATE_LEAF, message, number, 0, label=leaf)


def _label_findings(lines: _Lines) -> Iterator[HierarchyFinding]:
    """Labels that do not denote one node, over the rows of full length."""
    depth = _depth(lines) if lines else 1
    whole = [
        (number, [*row[:-1], ROOT])  # a wrong root is reported already
        for number, row in lines
        if len(row) == depth and all(label.strip() for label in row)
    ]
    if depth == 1 or not whole:
        return
    numbers = [number for number, _ in whole]
    labels, codes = number_labels([row for _, row in whole])
    yield from _two_parents(numbers, labels, codes)
    yield from _ambiguous_labels(numbers, labels, codes)


def _two_parents(
    numbers: list[int], labels: list[str], codes: NDArray[np.int32]
) -> Iterator[HierarchyFinding]:
    for level in range(1, codes.shape[1] - 1):
        pairs = codes[:, level].astype(np.int64) * len(labels) + codes[:, level + 1]
        _, first = np.unique(pairs, return_index=True)
        parent_of: dict[int, tuple[int, int]] = {}
        for position in np.sort(first).tolist():
            child, parent = codes[position, level : level + 2].tolist()
            row = numbers[position]
            known_parent, known_row = parent_of.setdefault(child, (parent, row))
            if known_parent != parent:
                message = f"the label of level {level} has another parent in row {known_row}."
                yield HierarchyFinding(
                    FindingCode.TWO_PARENTS, message, row, level, label=labels[child]
                )


def _ambiguous_labels(
    numbers: list[int], labels: list[str], codes: NDArray[np.int32]
) -> Iterator[HierarchyFinding]:
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
                f"the label of level {level} stands for other leaves there than at level "
                f"{last_level[code]}"
            )
            if nested[code]:
                message += "; it denotes those at the higher level."
                kind, severity = FindingCode.NESTED_LABEL, Severity.WARNING
            else:
                message += "."
                kind, severity = FindingCode.AMBIGUOUS_LABEL, Severity.ERROR
            yield HierarchyFinding(kind, message, row, level, severity, label)
        last_level[present] = level
        last_count[present] = count[present]


def _value_findings(lines: _Lines, values: Iterable[str]) -> Iterator[HierarchyFinding]:
    """Values of the data without a leaf, and leaves without a value."""
    in_data = dict.fromkeys(values)
    leaves = {row[0]: number for number, row in reversed(lines) if row[0].strip()}
    missing = [value for value in in_data if value not in leaves]
    for position, value in enumerate(missing, start=1):
        message = f"a value of the data is not a leaf ({position:,} of {len(missing):,})."
        yield HierarchyFinding(FindingCode.MISSING_LEAF, message, level=0, label=value)
    for leaf, number in leaves.items():
        if leaf not in in_data:
            message = "the leaf is not in the data."
            yield HierarchyFinding(
                FindingCode.UNUSED_LEAF, message, number, 0, Severity.WARNING, leaf
            )
