"""Answers to questions in SQL, beside what the original says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import pyarrow as pa

from mottle.errors import MottleError
from mottle.queries import Estimate, Queries
from mottle.utils.lazy import lazy_module

if TYPE_CHECKING:
    from mottle.queries.sql import answer as sql_answer
else:  # most releases have no questions of their owner
    sql_answer = lazy_module("mottle.queries.sql.answer")

_PARTS = ("", "_low", "_high", "_error", "_reliable")


@dataclass(frozen=True)
class Figure:
    """One number of an answer, with what the original says."""

    estimate: Estimate
    reliable: bool
    truth: float | None  # None: the original cannot answer the question

    @property
    def error(self) -> float | None:
        """How far the answer is off, as a share of the truth."""
        if self.truth is None:
            return None
        return abs(self.estimate.expected - self.truth) / max(abs(self.truth), 1.0)


@dataclass(frozen=True)
class Answer:
    """The answer to one question: a row for each group."""

    sql: str
    groups: tuple[str, ...]  # headings of what is grouped by
    labels: tuple[str, ...]  # headings of the figures
    rows: tuple[tuple[tuple[str, ...], tuple[Figure, ...]], ...]
    left_out: int  # rows that are not shown

    @property
    def error(self) -> float | None:
        """The median error of all figures."""
        found = [figure.error for _, figures in self.rows for figure in figures]
        known = [error for error in found if error is not None]
        return median(known) if known else None


def answer(release: Queries, sql: str, *, truth: Queries | None, most: int) -> Answer:
    """Answer a question from a release and, if it is there, from the original.

    Parameters
    ----------
    release : Queries
        The release.
    sql : str
        A SELECT statement on the table ``release``.
    truth : Queries or None
        The original, with the columns of the release.
    most : int
        Rows of the answer that are kept.

    Returns
    -------
    Answer
        Expected values with errors, bounds and the truth.

    Raises
    ------
    UsageError
        The release cannot answer the question.
    """
    found = sql_answer.query(release, sql)
    true = None
    if truth is not None:
        try:
            true = sql_answer.query(truth, sql)
        except MottleError:  # such as a condition on a group of values, which originals do not have
            true = None
    labels = tuple(
        name
        for name in found.column_names
        if all(f"{name}{part}" in found.column_names for part in _PARTS)
    )
    parts = {f"{label}{part}" for label in labels for part in _PARTS}
    groups = tuple(name for name in found.column_names if name not in parts)
    truths = {} if true is None else _by_group(true, groups, labels)
    rows = [
        (
            key := tuple(_text(row[name]) for name in groups),
            tuple(_figure(row, label, truths.get((*key, label))) for label in labels),
        )
        for row in found.slice(0, most).to_pylist()
    ]
    return Answer(sql, groups, labels, tuple(rows), max(found.num_rows - most, 0))


def truth_of(original: pa.Table, release: Queries) -> Queries:
    """The original as questions are asked of it: the columns that the release has."""
    names = set(release.columns)
    return Queries.of(original.select([each for each in original.column_names if each in names]))


def _by_group(
    table: pa.Table, groups: Sequence[str], labels: Sequence[str]
) -> dict[tuple[str, ...], float]:
    """The true figures by group and label."""
    return {
        (*(_text(row[name]) for name in groups), label): float(row[label])
        for row in table.to_pylist()
        for label in labels
        if row.get(label) is not None
    }


def _figure(row: Mapping[str, object], label: str, truth: float | None) -> Figure:
    expected, low, high, error, reliable = (row[f"{label}{part}"] for part in _PARTS)
    estimate = Estimate(_number(expected), _number(low), _number(high), _number(error))
    return Figure(estimate, bool(reliable), truth)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else float("nan")


def _text(value: object) -> str:
    return "missing" if value is None else str(value)
