"""The release beside its original: answers to questions, and how columns look before and after.

Everything here is for the owner, who may compare with the truth; the figures are those of
`mottle.queries` and of the report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median

import pyarrow as pa

from mottle.errors import MottleError
from mottle.evaluation.original_rows import Original
from mottle.pipeline.release import Release
from mottle.queries import Estimate, Queries
from mottle.queries.sql.answer import query
from mottle.release.per_person import original_of
from mottle.report.columns import ColumnReport, describe_columns
from mottle.report.subgroups import SubgroupLoss
from mottle.studio.pairs import Pair, pairs_of
from mottle.studio.who_pays import who_pays

_PARTS = ("", "_low", "_high", "_error", "_reliable")
_SEED = 1  # of the table that is drawn
_MOST_ROWS = 200  # of an answer that is shown


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


@dataclass(frozen=True)
class Analysis:
    """A release that is read, and the table that it was made from."""

    release: Release
    original: pa.Table
    links: Path | None = None  # the owner's

    @classmethod
    def of(cls, release: Release, table: pa.Table, links: Path | None = None) -> Analysis:
        """Put a release and the project's table together."""
        return cls(release, original_of(table, release.certified)[0], links)

    @cached_property
    def payers(self) -> list[SubgroupLoss]:
        """The subgroups that lose most."""
        return [] if self.links is None else who_pays(self.release, self.original, self.links)

    @cached_property
    def pairs(self) -> list[Pair]:
        """How much of the associations between columns is kept."""
        return pairs_of(self.original, self.release.sample(1, seed=_SEED)[0])

    @cached_property
    def columns(self) -> list[ColumnReport]:
        """Every column before and after, as an internal report shows it."""
        return describe_columns(self.release, Original.of(self.original, self.release).tallies())

    @cached_property
    def answers(self) -> dict[str, Answer]:
        """The questions that were asked, by their SQL, the last one at the end."""
        return {}

    @cached_property
    def queries(self) -> Queries:
        """The release as questions are asked of it."""
        return self.release.queries()

    @cached_property
    def _truth(self) -> Queries:
        names = set(self.queries.columns)
        kept = [name for name in self.original.column_names if name in names]
        return Queries.of(self.original.select(kept))

    def prepare(self) -> Analysis:
        """Do what takes long, so that pages answer quickly."""
        assert self.columns is not None
        assert self._truth is not None
        return self

    def ask(self, sql: str) -> Answer:
        """Answer a question from the release, and from the original.

        Parameters
        ----------
        sql : str
            A SELECT statement on the table ``release``.

        Returns
        -------
        Answer
            Expected values with errors, bounds and the truth.

        Raises
        ------
        UsageError
            The release cannot answer the question.
        """
        if sql in self.answers:
            return self.answers.setdefault(sql, self.answers.pop(sql))
        found = query(self.queries, sql)
        try:
            true = query(self._truth, sql)
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
            for row in found.slice(0, _MOST_ROWS).to_pylist()
        ]
        left_out = max(found.num_rows - _MOST_ROWS, 0)
        self.answers[sql] = Answer(sql, groups, labels, tuple(rows), left_out)
        return self.answers[sql]


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
