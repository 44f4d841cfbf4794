"""Counts, sums, averages and cubes on a release, with bounds and a standard error.

Every published record stands for one true record inside its cells. The probability that it
satisfies the conditions is the product, over columns, of the share of its cell that they cover:
either of its values weighted by how likely the whole release makes them (`mottle.queries.fitting`),
or of all values alike under the papers' uniform assumption (FAST07 §6.3, HET §5). Expected counts
are sums of these products, with the variance of independent records. The bounds count the records
that satisfy the conditions whatever their true values are, and those that may satisfy them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from mottle.errors import UsageError, did_you_mean
from mottle.queries.aggregates import Summands, WeightedSummands
from mottle.queries.calibration import UNRELIABLE_COLUMN, AnswerKind, Calibration
from mottle.queries.cells.cells import IMPOSSIBLE, CellDistribution, Moments
from mottle.queries.cells.from_columns import cells_of, exact_column
from mottle.queries.cells.item_cells import ItemCells
from mottle.queries.cells.items.shares import ShareBounds
from mottle.queries.cells.tails import Tails
from mottle.queries.conditions import Condition, Conditions, Where, check_column, parse_where
from mottle.queries.counting import add_up, multiply
from mottle.queries.estimate import Estimate, Estimates
from mottle.queries.fitting.known_totals import TotalsByAtom
from mottle.queries.fitting.release_cells import FITS as FITS
from mottle.queries.fitting.release_cells import (
    calibrate_items,
    fit_cells,
    share_bounds,
    stated_calibration,
    weight_column,
)
from mottle.queries.group_by import all_groups
from mottle.queries.item_answers import asks_items, count_all_of, narrowed
from mottle.queries.stated_errors import state_average, state_counts, state_one, state_sum
from mottle.queries.two_tables import TwoTables
from mottle.typing import Float64Array, Int32Array, Int64Array
from mottle.utils import parallel

if TYPE_CHECKING:
    from mottle.release.data import ReleaseData

_NOT_MISSING = (Condition(),)
_MAX_SHARES = 1 << 22  # shares of cells that are held in memory for one batch of queries


@dataclass(frozen=True, eq=False)
class Queries:
    """A release, or an ordinary table, prepared for queries.

    Build it with `Queries.of`, once, in O(n) for all queries; a count then costs one pass over the
    records with a table look-up for each condition. All answers on an ordinary table are certain.

    Parameters
    ----------
    names : tuple of str
        Names of the columns in ``codes``.
    cells : tuple of CellDistribution
        The distinct cells of every column.
    codes : int32[columns, n]
        The cell of every record in every column.
    two_tables : TwoTables, optional
        The sensitive values, if they are published in a table of their own (Anatomy).
    unavailable : mapping of str to UsageError
        Columns that cannot be queried, and the error that says what the release lacks for it.
    survey_weight : str, optional
        The published column of sampling weights, as the certificate names it.
    tails : mapping of str to Tails
        Columns with open ends, and these.
    shares : ShareBounds, optional
        Between which shares of a record's candidates hold an item, as the certificate states how
        many candidates records have; None where nothing is known of them.
    unchanged : frozenset of str
        Columns that are published as they are, which belong to the record itself.
    generalized : frozenset of str
        The columns whose cells may stand for several values.
    totals : mapping of str to TotalsByAtom
        How often values occur, for the columns of which the release states it.
    calibration : Calibration, optional
        How far answers are off, as the release states it.
    without_lift : tuple of CellDistribution, optional
        The cells as they are fitted without looking at sensitive values.
    fitted_to : frozenset of str
        The sensitive columns to whose values the others are fitted.

    Examples
    --------
    >>> ages = pa.table({"age": [20, 30, 30, 40]})
    >>> Queries.of(ages).count({"age": (25, 35)})
    Estimate(expected=2.0, certain=2.0, possible=2.0, error=0.0)
    """

    names: tuple[str, ...]
    cells: tuple[CellDistribution, ...]
    codes: Int32Array
    two_tables: TwoTables | None = None
    unavailable: Mapping[str, UsageError] = field(default_factory=dict)
    survey_weight: str | None = None
    tails: Mapping[str, Tails] = field(default_factory=dict)
    shares: ShareBounds | None = None
    unchanged: frozenset[str] = frozenset()
    generalized: frozenset[str] = frozenset()
    totals: Mapping[str, TotalsByAtom] = field(default_factory=dict)
    calibration: Calibration | None = None
    without_lift: tuple[CellDistribution, ...] | None = None
    fitted_to: frozenset[str] = frozenset()

    @classmethod
    def of(cls, source: ReleaseData | pa.Table, fit: str = FITS[0]) -> Queries:
        """Prepare a release or a table for queries.

        Parameters
        ----------
        source : Release or pyarrow.Table
            The data to query.
        fit : {"fitted", "uniform"}, default "fitted"
            How values inside a cell are weighted: by distributions fitted to the whole release, or
            all alike. Bounds do not depend on it.

        Returns
        -------
        Queries

        Raises
        ------
        UsageError
            If there is no such fit.

        Examples
        --------
        >>> Queries.of(pa.table({"age": [20, 30]}), fit="uniform").records
        2
        """
        if fit not in FITS:
            raise UsageError(f"There is no fit '{fit}'.", did_you_mean(str(fit), FITS))
        table = source if isinstance(source, pa.Table) else source.table
        if isinstance(source, pa.Table):
            columns = [exact_column(name, table.column(name)) for name in table.column_names]
        else:
            columns = list(source.columns)
        cells, unavailable = [], {}
        for column in columns:
            try:
                cells.append(cells_of(table.column(column.name), column))
            except UsageError as error:  # the release does not carry its order or hierarchy
                unavailable[column.name] = error
        plain: list[CellDistribution] | None = None
        fitted_to: frozenset[str] = frozenset()
        if fit == FITS[0] and not isinstance(source, pa.Table):
            cells, plain, fitted_to = fit_cells(cells, source)
        if not isinstance(source, pa.Table):
            cells = [calibrate_items(every, source, fit) for every in cells]
            plain = plain and [calibrate_items(every, source, fit) for every in plain]
        described = {column.name: column for column in columns}
        codes = np.empty((len(cells), table.num_rows), np.int32)
        for place, every in enumerate(cells):
            codes[place] = every.of_row
        sensitive = None if isinstance(source, pa.Table) else source.sensitive
        return cls(
            names=tuple(every.name for every in cells),
            cells=tuple(replace(every, of_row=codes[at]) for at, every in enumerate(cells)),
            codes=codes,
            two_tables=None if sensitive is None else TwoTables.of(table, sensitive),
            unavailable=unavailable,
            survey_weight=weight_column(source, [every.name for every in cells]),
            tails={column.name: Tails.of(column) for column in columns if column.rule is not None},
            shares=None if isinstance(source, pa.Table) else share_bounds(source),
            unchanged=frozenset(column.name for column in columns if column.form is None),
            generalized=frozenset(column.name for column in columns if column.form is not None),
            totals={
                every.name: totals
                for every in cells
                if not isinstance(every, ItemCells)
                and fit == FITS[0]
                and (totals := TotalsByAtom.of(every, described[every.name])) is not None
            },
            calibration=stated_calibration(source, fit),
            without_lift=None if plain is None else tuple(plain),
            fitted_to=fitted_to,
        )

    @cached_property
    def unlifted(self) -> Queries:
        """The same, without the fit to sensitive values; itself if there is none."""
        if self.without_lift is None:
            return self
        codes = np.array([every.of_row for every in self.without_lift], np.int32)
        return replace(
            self,
            cells=tuple(
                replace(every, of_row=own)
                for every, own in zip(self.without_lift, codes, strict=True)
            ),
            codes=codes,
            without_lift=None,
            fitted_to=frozenset(),
        )

    def answering(self, columns: Iterable[str]) -> Queries:
        """Return the queries that answer a question about some columns.

        The fit to sensitive values is for questions about them. Others are answered without it: the
        owner's calibration is measured on generalized columns alone, so that its errors are those
        of such answers.

        Parameters
        ----------
        columns : iterable of str
            All columns that the answer depends on.

        Returns
        -------
        Queries
        """
        return self.unlifted if self.generalized.issuperset(columns) else self

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that can be queried."""
        return self.names if self.two_tables is None else (*self.names, *self.two_tables.columns)

    @property
    def unreliable_columns(self) -> tuple[str, ...]:
        """Columns whose cells are so wide that counts with conditions on them are typically off."""
        if self.calibration is None:
            return ()
        errors = self.calibration.facts.columns
        return tuple(name for name in self.names if errors.get(name, 0.0) > UNRELIABLE_COLUMN)

    @property
    def records(self) -> int:
        """The number of records n."""
        return len(self.codes.T)

    def check_column(self, name: str) -> None:
        """Raise unless there is such a column and it can be queried.

        Parameters
        ----------
        name : str
            Name of a column.

        Raises
        ------
        UsageError
            If there is no such column, or the release lacks what a query on it needs.
        """
        if name in self.unavailable:
            raise self.unavailable[name]
        check_column(name, self.columns)

    def parse_where(self, where: Where | None) -> dict[str, Conditions]:
        """Return conditions by column, after checking that all columns can be queried.

        Parameters
        ----------
        where : Where, optional
            Conditions as a user writes them: column → value, (low, high), values, None or
            `Condition`.

        Returns
        -------
        dict of str to tuple of Condition

        Raises
        ------
        UsageError
            If a column cannot be queried, or a condition is not valid.
        """
        for name in where if isinstance(where, Mapping) else ():
            self.check_column(name)
        conditions = parse_where(where, self.columns)
        for name, wanted in conditions.items():
            self.check_tails(name, wanted)
        return conditions

    def check_tails(self, name: str, conditions: Conditions) -> None:
        """Raise if conditions distinguish values that a release does not tell apart.

        Parameters
        ----------
        name : str
            Name of a column.
        conditions : tuple of Condition
            Conditions on its values.

        Raises
        ------
        UsageError
            If the column has an open end, such as 90+, and a condition lies beyond it.
        """
        if name in self.tails:
            self.tails[name].check(conditions)

    def column(self, name: str) -> CellDistribution:
        """Return the cells of a column.

        For sensitive values in a table of their own, these are the cells of that table's rows.

        Parameters
        ----------
        name : str
            Name of a column.

        Returns
        -------
        CellDistribution

        Raises
        ------
        UsageError
            If the column cannot be queried.
        """
        self.check_column(name)
        if name in self.names:
            return self.cells[self.names.index(name)]
        assert self.two_tables is not None
        return self.two_tables.columns[name]

    def count(self, where: Where | None = None, *, weight: str | None = None) -> Estimate:
        """Estimate how many records satisfy all conditions, or how much they weigh.

        Parameters
        ----------
        where : Where, optional
            Conditions by column; all records if not given.
        weight : str, optional
            A column of weights, such as `survey_weight`: every record counts as often as it says.

        Returns
        -------
        Estimate

        Raises
        ------
        UsageError
            If a column cannot be queried, or a condition is not valid.

        Examples
        --------
        >>> table = pa.table({"age": [20, 30, 40], "pw": [100.0, 50.0, 25.0]})
        >>> Queries.of(table).count({"age": (25, None)}, weight="pw").expected
        75.0
        """
        if weight is not None:
            self._weights(weight, _NOT_MISSING)
            return self.total(weight, where)
        return self._count(self.parse_where(where))

    def counts(self, wheres: Sequence[Where]) -> Estimates:
        """Estimate many counts, on all cores.

        Parameters
        ----------
        wheres : sequence of Where
            The conditions of each query.

        Returns
        -------
        Estimates
            One estimate per query, in the same order.

        Raises
        ------
        UsageError
            If a column cannot be queried, or a condition is not valid.

        Examples
        --------
        >>> ages = Queries.of(pa.table({"age": [20, 30, 30, 40]}))
        >>> ages.counts([{"age": 30}, {"age": (None, 30)}]).expected
        array([2., 3.])
        """
        queries = [self.parse_where(where) for where in wheres]
        answers = self.raw_counts(queries)
        doubts = state_counts(self, queries, answers)
        expected, certain, possible, error = answers
        return Estimates(expected, certain, possible, error, doubts)

    def raw_counts(self, queries: Sequence[Mapping[str, Conditions]]) -> Float64Array:
        """Compute many counts, with the error that follows from cells alone.

        Parameters
        ----------
        queries : sequence of mapping of str to tuple of Condition
            Conditions by column, as `parse_where` returns them.

        Returns
        -------
        float64[4, queries]
            Rows expected, certain, possible and error.
        """
        answers = np.empty((4, len(queries)))
        if self.without_lift is not None:
            plain = np.array([self.generalized.issuperset(one) for one in queries], np.bool_)
            if plain.any():
                chosen = [one for one, is_plain in zip(queries, plain, strict=True) if is_plain]
                answers[:, plain] = self.unlifted.raw_counts(chosen)
                others = [one for one, is_plain in zip(queries, plain, strict=True) if not is_plain]
                answers[:, ~plain] = self.raw_counts(others)
                return answers
        batch: list[Mapping[str, Conditions]] = []
        first, size = 0, 0
        for number, conditions in enumerate(queries, start=1):
            batch.append(conditions)
            size += sum(len(self.column(name).first) for name in conditions)
            if size > _MAX_SHARES or number == len(queries):
                answers[:, first:number] = self._count_batch(batch)
                batch, first, size = [], number, 0
        return answers

    def total(
        self, column: str, where: Where | None = None, *, weight: str | None = None
    ) -> Estimate:
        """Estimate the sum of a number column over the records that satisfy all conditions.

        Parameters
        ----------
        column : str
            Name of a number column.
        where : Where, optional
            Conditions by column; all records if not given.
        weight : str, optional
            A column of weights, such as `survey_weight`: every record counts as often as it says.

        Returns
        -------
        Estimate

        Raises
        ------
        UsageError
            If the column does not hold numbers, a column cannot be queried, or a condition is not
            valid.

        Examples
        --------
        >>> Queries.of(pa.table({"age": [20, 30, 40]})).total("age", {"age": (25, None)}).expected
        70.0
        """
        return self._stated(AnswerKind.SUM, column, where, weight)

    def average(
        self, column: str, where: Where | None = None, *, weight: str | None = None
    ) -> Estimate:
        """Estimate the mean of a number column over the records that satisfy all conditions.

        Records without a number do not count. The mean over no records is NaN.

        Parameters
        ----------
        column : str
            Name of a number column.
        where : Where, optional
            Conditions by column; all records if not given.
        weight : str, optional
            A column of weights, such as `survey_weight`: every record counts as often as it says.

        Returns
        -------
        Estimate

        Raises
        ------
        UsageError
            If the column does not hold numbers, a column cannot be queried, or a condition is not
            valid.

        Examples
        --------
        >>> Queries.of(pa.table({"age": [20, 30, 40, None]})).average("age").expected
        30.0
        >>> table = pa.table({"age": [20, 30], "pw": [3.0, 1.0]})
        >>> Queries.of(table).average("age", weight="pw").expected
        22.5
        """
        return self._stated(AnswerKind.AVERAGE, column, where, weight)

    def group_by(
        self,
        columns: Sequence[str],
        where: Where | None = None,
        breaks: Mapping[str, Sequence[object]] | None = None,
    ) -> pa.Table:
        """Count the records of every combination of the columns' values that may occur.

        Parameters
        ----------
        columns : sequence of str
            The columns to group by.
        where : Where, optional
            Conditions by column; all records if not given.
        breaks : mapping of str to sequence, optional
            Group a number or date column by ranges: breaks 30 and 50 make three of them.

        Returns
        -------
        pyarrow.Table
            The columns grouped by, then ``expected``, ``certain``, ``possible`` and ``error``.

        Raises
        ------
        UsageError
            If a column cannot be grouped by, breaks do not ascend, or there are too many groups.

        Examples
        --------
        >>> table = Queries.of(pa.table({"sex": ["f", "m", "f"]})).group_by(["sex"])
        >>> table.select(["sex", "expected"]).to_pylist()
        [{'sex': 'f', 'expected': 2.0}, {'sex': 'm', 'expected': 1.0}]
        """
        return all_groups.group_by(self, columns, where, breaks)

    def cube(
        self,
        columns: Sequence[str],
        where: Where | None = None,
        breaks: Mapping[str, Sequence[object]] | None = None,
    ) -> pa.Table:
        """Group by every subset of the columns, one below the other.

        Parameters
        ----------
        columns : sequence of str
            The columns of the cube.
        where : Where, optional
            Conditions by column; all records if not given.
        breaks : mapping of str to sequence, optional
            Group a number or date column by ranges: breaks 30 and 50 make three of them.

        Returns
        -------
        pyarrow.Table
            As of `group_by`, with ``level`` (the number of columns grouped by) and ``grouped_by``
            (their names). Columns that a row is not grouped by are null.

        Raises
        ------
        UsageError
            If a column cannot be grouped by, breaks do not ascend, or there are too many groups.

        Examples
        --------
        >>> Queries.of(pa.table({"sex": ["f", "m", "f"]})).cube(["sex"]).column("expected")[0]
        <pyarrow.DoubleScalar: 3.0>
        """
        return all_groups.cube(self, columns, where, breaks)

    def likelihoods(self, conditions: Mapping[str, Conditions]) -> Float64Array:
        """Compute how likely each record satisfies conditions.

        Parameters
        ----------
        conditions : mapping of str to tuple of Condition
            Conditions by column, as `parse_where` returns them.

        Returns
        -------
        float64[n]
            A probability; exactly 1 if the record satisfies them for certain, -1 if it cannot.
        """
        own, sensitive = self.split_conditions(conditions)
        places, starts, shares = self._shares(own)
        likely = np.empty(self.records)
        parallel.over_rows(
            lambda first, last: multiply(self.codes, places, starts, shares, first, last, likely),
            self.records,
        )
        if sensitive:
            assert self.two_tables is not None
            others = self.two_tables.shares(sensitive)
            impossible = (likely < 0) | (others < 0)
            likely = np.where(impossible, IMPOSSIBLE, likely * others)
        return likely

    def split_conditions(
        self, conditions: Mapping[str, Conditions]
    ) -> tuple[dict[str, Conditions], dict[str, Conditions]]:
        """Split conditions by the table that holds their column.

        Parameters
        ----------
        conditions : mapping of str to tuple of Condition
            Conditions by column.

        Returns
        -------
        own : dict of str to tuple of Condition
            Conditions on the columns of the records.
        sensitive : dict of str to tuple of Condition
            Conditions on sensitive values in a table of their own.
        """
        own = {name: wanted for name, wanted in conditions.items() if name in self.names}
        return own, {name: wanted for name, wanted in conditions.items() if name not in own}

    def _count(self, conditions: Mapping[str, Conditions]) -> Estimate:
        answers = self.raw_counts([conditions])
        (doubt,) = state_counts(self, [conditions], answers)
        expected, certain, possible, error = answers[:, 0].tolist()
        return Estimate(expected, certain, possible, error, doubt)

    def _stated(
        self, kind: AnswerKind, column: str, where: Where | None, weight: str | None
    ) -> Estimate:
        """A sum or an average with the error that holds."""

        def answer(queries: Queries) -> Estimate:
            summands: Summands | WeightedSummands
            if weight is not None:
                summands = queries._weighted(column, where, weight)
            else:
                summands = queries._summands(column, where)
            return summands.total() if kind is AnswerKind.SUM else summands.average()

        columns = {column, *self.parse_where(where), *([] if weight is None else [weight])}
        stated = state_one(self, kind, columns, answer(self.answering(columns)), answer)
        known = self.calibration is not None and not self.generalized.isdisjoint(columns)
        if not known or weight is not None or column not in self.unchanged:
            return stated
        if kind is AnswerKind.SUM:
            average = self._stated(AnswerKind.AVERAGE, column, where, None)
            return state_sum(stated, self.count(where), average)
        if column not in self.fitted_to:
            return state_average(stated, self._summands(column, where), self._summands(column, {}))
        return stated

    def _count_batch(self, queries: Sequence[Mapping[str, Conditions]]) -> Float64Array:
        """Rows expected, certain, possible, error; a column for each query."""
        quick = [count_all_of(self, conditions) for conditions in queries]
        if all(found is not None for found in quick):
            return np.array(quick, np.float64).T
        own = [self.split_conditions(conditions)[0] for conditions in queries]
        answers = np.empty((4, len(queries)))
        parts = parallel.over_blocks(
            lambda first, last: [self._shares(conditions) for conditions in own[first:last]],
            np.arange(len(own) + 1),
        )
        looked_up = [shares for part in parts for shares in part]
        widths = np.cumsum([0, *(len(places) for places, _, _ in looked_up)])
        before = np.cumsum([0, *(len(shares) for _, _, shares in looked_up)])
        places, starts, shares = (np.concatenate(part) for part in zip(*looked_up, strict=True))
        starts += np.repeat(before[:-1], np.diff(widths))
        parallel.over_blocks(
            lambda first, last: add_up(
                self.codes, widths, places, starts, shares, first, last, answers
            ),
            np.arange(len(queries) + 1),
        )
        for query, conditions in enumerate(queries):
            sensitive = self.split_conditions(conditions)[1]
            if sensitive:
                assert self.two_tables is not None
                found = self.two_tables.count(self.likelihoods(own[query]) > 0, sensitive)
                answers[:, query] = found.expected, found.certain, found.possible, found.error
            if asks_items(self, conditions):
                answers[:, query] = narrowed(self, conditions, tuple(answers[:, query].tolist()))
        return answers

    def _summands(self, column: str, where: Where | None) -> Summands:
        self.check_column(column)
        conditions = {column: _NOT_MISSING, **self.parse_where(where)}
        numbers, conditions = self._numbers(column, conditions)
        return Summands.of(self.likelihoods(conditions), numbers)

    def _weighted(self, column: str, where: Where | None, weight: str) -> WeightedSummands:
        self.check_column(column)
        if column == weight:
            raise UsageError(
                f"Column '{column}' cannot be weighted by itself.", "count adds its numbers up."
            )
        wanted = self.parse_where(where)
        weights = self._weights(weight, wanted.pop(weight, _NOT_MISSING))
        numbers, conditions = self._numbers(column, {column: _NOT_MISSING, **wanted})
        return WeightedSummands.of(self.likelihoods(conditions), numbers, weights)

    def _numbers(
        self, column: str, conditions: Mapping[str, Conditions]
    ) -> tuple[Moments, dict[str, Conditions]]:
        """The numbers of a column by record, and the conditions that are left on others."""
        if column in self.tails:
            self.tails[column].check_bounded(conditions[column])
        if column in self.names:
            others = {name: wanted for name, wanted in conditions.items() if name != column}
            cells = self.column(column)
            moments = cells.moments(conditions[column])
            return Moments(*(part[cells.of_row] for part in moments)), others
        assert self.two_tables is not None
        own, sensitive = self.split_conditions(conditions)
        return self.two_tables.moments(column, sensitive), own

    def _weights(self, weight: str, conditions: Conditions) -> Moments:
        """The weights of all records; UsageError unless they are numbers of 0 or more."""
        self.check_column(weight)
        if weight not in self.names:
            raise UsageError(
                f"Column '{weight}' is published in a table of its own, so that nobody can tell"
                " which record has which weight.",
                "Weight by a column of the records.",
            )
        weights, _ = self._numbers(weight, {weight: conditions})
        if np.any(weights.lowest[weights.share >= 0] < 0):
            raise UsageError(
                f"Column '{weight}' has negative numbers, which are no weights.",
                "Weight by a column of numbers of 0 or more.",
            )
        return weights

    def _shares(
        self, conditions: Mapping[str, Conditions]
    ) -> tuple[Int64Array, Int64Array, Float64Array]:
        """The columns that have conditions, and the shares of their cells, concatenated."""
        places = np.array([self.names.index(name) for name in conditions], np.int64)
        shares = [
            self.cells[place].shares(wanted)
            for place, wanted in zip(places.tolist(), conditions.values(), strict=True)
        ]
        starts = np.cumsum([0, *(len(part) for part in shares)])[:-1].astype(np.int64)
        return places, starts, np.concatenate([np.empty(0), *shares])
