"""The release beside its original: answers to questions, and how columns look before and after.

Everything here is for the owner, who may compare with the truth; the figures are those of
`mottle.queries` and of the report.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import UsageError
from mottle.evaluation.answers import Answer, answer, truth_of
from mottle.evaluation.original_rows import Original
from mottle.pipeline.release import Release
from mottle.queries import Queries
from mottle.release.per_person import original_of
from mottle.report.columns import ColumnReport, describe_columns
from mottle.report.subgroups import SubgroupLoss
from mottle.studio.closer import Look, look_at_column, look_at_pair
from mottle.studio.pairs import Pair, joint_of, pairs_of
from mottle.studio.who_pays import who_pays

_SEED = 1  # of the table that is drawn
_MOST_ROWS = 200  # of an answer that is shown


@dataclass(frozen=True)
class Analysis:
    """A release that is read, and the table that it was made from."""

    release: Release
    original: pa.Table
    given: pa.Table  # the project's table: the same, unless rows of a person were put together
    links: Path | None = None  # the owner's

    @classmethod
    def of(cls, release: Release, table: pa.Table, links: Path | None = None) -> Analysis:
        """Put a release and the project's table together."""
        return cls(release, original_of(table, release.certified)[0], table, links)

    @cached_property
    def payers(self) -> list[SubgroupLoss]:
        """The subgroups that lose most."""
        return [] if self.links is None else who_pays(self.release, self.original, self.links)

    @cached_property
    def pairs(self) -> list[Pair]:
        """How much of the associations between columns is kept."""
        return pairs_of(self.original, self._drawn)

    @cached_property
    def _drawn(self) -> pa.Table:
        """A table that analysts draw."""
        return self.release.sample(1, seed=_SEED)[0]

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
        return truth_of(self.original, self.queries)

    def prepare(self) -> Analysis:
        """Do what takes long, so that pages answer quickly."""
        assert self.columns is not None
        assert self._truth is not None
        return self

    def row_with(self, column: int, place: int) -> int:
        """The first record, from 1 on, with one of the widest cells of a column.

        Parameters
        ----------
        column : int
            Its place among `columns`.
        place : int
            The cell's place among its widest ones.

        Returns
        -------
        int
            The record's row.

        Raises
        ------
        UsageError
            There is no such cell.
        """
        try:
            shown = self.columns[column]
            cell, _ = shown.widest[place]
        except IndexError:
            raise UsageError("There is no such cell.", "Load the page again.") from None
        texts = self.release.text_of(self.release.table).column(shown.name)
        found = pc.index(texts, cell).as_py()
        if found < 0:
            raise UsageError("No record has this cell alone.", "Choose another.")
        return int(found) + 1

    def look(self, first: int, second: int | None) -> Look:
        """Take a closer look at one column or two.

        Parameters
        ----------
        first : int
            The column's place among `columns`.
        second : int or None
            That of another one.

        Returns
        -------
        Look
            What is drawn.

        Raises
        ------
        UsageError
            There is nothing to be drawn.
        """
        try:
            one = self.columns[first]
            two = one if second is None else self.columns[second]
        except IndexError:
            raise UsageError("There is no such column.", "Load the page again.") from None
        if one is two:
            return look_at_column(one)
        for name in (one.name, two.name):
            known = all(name in table.column_names for table in (self.original, self._drawn))
            if not known or pa.types.is_nested(self.original.column(name).type):
                raise UsageError(
                    "One of these columns cannot be counted in pairs.", "Choose another."
                )
        joint = joint_of(self.original, self._drawn, one.name, two.name)
        return look_at_pair(one.name, two.name, joint)

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
        found = answer(self.queries, sql, truth=self._truth, most=_MOST_ROWS)
        return self.answers.setdefault(sql, found)
