"""Questions to a release: counts, sums, averages and cubes, with bounds and a standard error.

Every published record stands for one true record inside its cells. It satisfies conditions with the
product over columns of the share of its cell that they cover: of its values, weighted by how likely
the whole release makes them (`fitting`, `lifting`), or all alike under the papers' uniform
assumption (FAST07 §6.3, HET §5). Expected counts are sums of these products, with the variance of
independent records; the bounds count the records that satisfy the conditions whatever their true
values are, and those that may.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numba import njit

from mottle.errors import UsageError, did_you_mean
from mottle.queries.aggregates import Summands
from mottle.queries.cells.cells import IMPOSSIBLE, CellDistribution
from mottle.queries.cells.from_columns import cells_of, exact_column
from mottle.queries.cells.item_cells import ItemCells
from mottle.queries.conditions import Condition, Conditions, Where, check_column, read_where
from mottle.queries.estimate import Estimate, Estimates
from mottle.queries.fitting.degrees import guess_degrees, tell_apart
from mottle.queries.fitting.known_totals import TotalsByAtom
from mottle.queries.fitting.marginals import fit_marginal
from mottle.queries.fitting.sensitive_lift import contexts_of, lift
from mottle.queries.group_by import all_groups
from mottle.queries.two_tables import TwoTables
from mottle.schema.model import Role
from mottle.typing import Float64Array, Int32Array, Int64Array
from mottle.utils import parallel

if TYPE_CHECKING:
    from mottle.release.data import ReleaseData

FITS = ("fitted", "uniform")
_KNOWN = (Condition(),)
_SHARES_AT_ONCE = 1 << 22
_RECORDS_AT_ONCE = 512


@dataclass(frozen=True, eq=False)
class Queries:
    """What questions are asked of: a release, or an ordinary table, for which all is certain.

    Built once in O(n) for all questions; a count then costs one pass over the records with a
    table look-up for each condition.

    >>> ages = pa.table({"age": [20, 30, 30, 40]})
    >>> Queries.of(ages).count({"age": (25, 35)})
    Estimate(expected=2.0, certain=2.0, possible=2.0, error=0.0)
    """

    names: tuple[str, ...]  # of the columns in `codes`
    cells: tuple[CellDistribution, ...]  # of every column
    codes: Int32Array  # [columns, n]: the cell of every record
    apart: TwoTables | None = None  # sensitive values, when published in a table of their own
    lacking: Mapping[str, UsageError] = field(default_factory=dict)  # columns, and what they lack

    @classmethod
    def of(cls, source: ReleaseData | pa.Table, fit: str = FITS[0]) -> Queries:
        """Prepare a release or a table for questions."""
        if fit not in FITS:
            raise UsageError(f"There is no fit '{fit}'.", did_you_mean(str(fit), FITS))
        table = source if isinstance(source, pa.Table) else source.table
        if isinstance(source, pa.Table):
            columns = [exact_column(name, table.column(name)) for name in table.column_names]
        else:
            columns = list(source.columns)
        cells, lacking = [], {}
        for column in columns:
            try:
                cells.append(cells_of(table.column(column.name), column))
            except UsageError as error:  # its order or hierarchy is not there
                lacking[column.name] = error
        if fit == FITS[0] and not isinstance(source, pa.Table):
            cells = _fitted(cells, source)
        if not isinstance(source, pa.Table):
            cells = [_calibrated(every, source) for every in cells]
        codes = np.empty((len(cells), table.num_rows), np.int32)
        for place, every in enumerate(cells):
            codes[place] = every.of_row
        sensitive = None if isinstance(source, pa.Table) else source.sensitive
        return cls(
            names=tuple(every.name for every in cells),
            cells=tuple(replace(every, of_row=codes[at]) for at, every in enumerate(cells)),
            codes=codes,
            apart=None if sensitive is None else TwoTables.of(table, sensitive),
            lacking=lacking,
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that can be asked about."""
        return self.names if self.apart is None else (*self.names, *self.apart.columns)

    @property
    def records(self) -> int:
        """The number of records n."""
        return len(self.codes.T)

    def check(self, name: str) -> None:
        """Raise unless there is such a column and it can be asked about."""
        if name in self.lacking:
            raise self.lacking[name]
        check_column(name, self.columns)

    def read(self, where: Where | None) -> dict[str, Conditions]:
        """Conditions by column, after checking that all can be asked about."""
        for name in where if isinstance(where, Mapping) else ():
            self.check(name)
        return read_where(where, self.columns)

    def column(self, name: str) -> CellDistribution:
        """The cells of a column; of the second table's rows for sensitive values apart."""
        self.check(name)
        if name in self.names:
            return self.cells[self.names.index(name)]
        assert self.apart is not None
        return self.apart.columns[name]

    def count(self, where: Where | None = None) -> Estimate:
        """How many records satisfy all conditions."""
        return self._count(self.read(where))

    def counts(self, wheres: Sequence[Where]) -> Estimates:
        """The answers to many questions, by all cores."""
        asked = [self.read(where) for where in wheres]
        answers = np.empty((4, len(asked)))
        together: list[Mapping[str, Conditions]] = []
        first, size = 0, 0
        for number, conditions in enumerate(asked, start=1):
            together.append(conditions)
            size += sum(len(self.column(name).first) for name in conditions)
            if size > _SHARES_AT_ONCE or number == len(asked):
                answers[:, first:number] = self._count_together(together)
                together, first, size = [], number, 0
        return Estimates(*answers)

    def total(self, column: str, where: Where | None = None) -> Estimate:
        """The sum of a number column over the records that satisfy all conditions."""
        return self._summands(column, where).total()

    def average(self, column: str, where: Where | None = None) -> Estimate:
        """The mean of a number column over the records that satisfy all conditions.

        Records without a number do not count. The mean over no records is NaN.
        """
        return self._summands(column, where).average()

    def group_by(
        self,
        columns: Sequence[str],
        where: Where | None = None,
        breaks: Mapping[str, Sequence[object]] | None = None,
    ) -> pa.Table:
        """Counts for every combination of the columns' values that may occur.

        ``breaks`` groups a number or date column by ranges: breaks 30 and 50 make three of them.
        """
        return all_groups.group_by(self, columns, where, breaks)

    def cube(
        self,
        columns: Sequence[str],
        where: Where | None = None,
        breaks: Mapping[str, Sequence[object]] | None = None,
    ) -> pa.Table:
        """`group_by` for every subset of the columns, one below the other."""
        return all_groups.cube(self, columns, where, breaks)

    def likelihoods(self, conditions: Mapping[str, Conditions]) -> Float64Array:
        """How likely each record satisfies conditions: exactly 1 for certain, -1 for impossible."""
        own, hidden = self.split(conditions)
        places, starts, shares = self._shares(own)
        likely = np.empty(self.records)
        parallel.over_rows(
            lambda first, last: _multiply(self.codes, places, starts, shares, first, last, likely),
            self.records,
        )
        if hidden:
            assert self.apart is not None
            others = self.apart.shares(hidden)
            impossible = (likely < 0) | (others < 0)
            likely = np.where(impossible, IMPOSSIBLE, likely * others)
        return likely

    def split(
        self, conditions: Mapping[str, Conditions]
    ) -> tuple[dict[str, Conditions], dict[str, Conditions]]:
        """Conditions on the columns of the records, and those on sensitive values apart."""
        own = {name: wanted for name, wanted in conditions.items() if name in self.names}
        return own, {name: wanted for name, wanted in conditions.items() if name not in own}

    def _count(self, conditions: Mapping[str, Conditions]) -> Estimate:
        expected, certain, possible, error = self._count_together([conditions])[:, 0].tolist()
        return Estimate(expected, certain, possible, error)

    def _count_together(self, asked: Sequence[Mapping[str, Conditions]]) -> Float64Array:
        """Rows expected, certain, possible, error; a column for each question."""
        own = [self.split(conditions)[0] for conditions in asked]
        answers = np.empty((4, len(asked)))
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
            lambda first, last: _add_up(
                self.codes, widths, places, starts, shares, first, last, answers
            ),
            np.arange(len(asked) + 1),
        )
        for question, conditions in enumerate(asked):
            hidden = self.split(conditions)[1]
            if hidden:
                assert self.apart is not None
                found = self.apart.count(self.likelihoods(own[question]) > 0, hidden)
                answers[:, question] = found.expected, found.certain, found.possible, found.error
        return answers

    def _summands(self, column: str, where: Where | None) -> Summands:
        self.check(column)
        conditions = {column: _KNOWN, **self.read(where)}
        if column in self.names:
            cells = self.column(column)
            moments = cells.moments(conditions.pop(column))
            by_row = type(moments)(*(part[cells.of_row] for part in moments))
        else:
            assert self.apart is not None
            conditions, hidden = self.split(conditions)
            by_row = self.apart.moments(column, hidden)
        return Summands.of(self.likelihoods(conditions), by_row)

    def _shares(
        self, conditions: Mapping[str, Conditions]
    ) -> tuple[Int64Array, Int64Array, Float64Array]:
        """The columns asked about, and one after the other the shares of their cells."""
        places = np.array([self.names.index(name) for name in conditions], np.int64)
        shares = [
            self.cells[place].shares(wanted)
            for place, wanted in zip(places.tolist(), conditions.values(), strict=True)
        ]
        starts = np.cumsum([0, *(len(part) for part in shares)])[:-1].astype(np.int64)
        return places, starts, np.concatenate([np.empty(0), *shares])


def _fitted(cells: Sequence[CellDistribution], release: ReleaseData) -> list[CellDistribution]:
    """Columns by their fitted distributions, lifted by sensitive values where totals are known."""
    described = {column.name: column for column in release.columns}
    sensitive = [every for every in cells if described[every.name].role is Role.SENSITIVE]
    contexts = contexts_of(sensitive, release.table.num_rows)
    generalized = [every for every in cells if described[every.name].form is not None]
    guessed = guess_degrees(
        generalized,
        None if release.certified is None else release.certified.degree,
        release.table.num_rows,
    )
    fitted = []
    for every in cells:
        column = described[every.name]
        if column.form is None or isinstance(every, ItemCells):
            fitted.append(every)
            continue
        known = TotalsByAtom.of(every, column)
        if guessed is not None:
            every, degrees = tell_apart(every, guessed)
        else:  # the largest bounds the chances of what is known to occur; totals say the rest
            one = _degree(release, highest=known is not None)
            degrees = np.full(len(every.first), one)
        better = fit_marginal(every, degrees, known)
        fitted.append(better if known is None else lift(better, contexts))
    return fitted


def _calibrated(cells: CellDistribution, release: ReleaseData) -> CellDistribution:
    """Sets of items with as many told wrongly as the certificate says."""
    loss = None if release.certified is None else release.certified.ncp.get(cells.name)
    if loss is None or not isinstance(cells, ItemCells):
        return cells
    return cells.calibrated(float(loss), _degree(release))


def _degree(release: ReleaseData, *, highest: bool = False) -> int:
    """How many originals stand behind every record, at least or at most, by the certificate."""
    if release.certified is None:
        return 0
    return release.certified.degree.max if highest else release.certified.degree.min


@njit(cache=True, nogil=True)
def _add_up(
    codes: Int32Array,
    widths: Int64Array,
    places: Int64Array,
    starts: Int64Array,
    shares: Float64Array,
    first: int,
    last: int,
    answers: Float64Array,
) -> None:
    """Answer questions ``first .. last - 1`` by one pass over the records for each.

    Records are taken a few hundred at a time and column by column, without a branch, which is
    several times faster than leaving a record at the first column that rules it out.
    """
    likely, least = np.empty(_RECORDS_AT_ONCE), np.empty(_RECORDS_AT_ONCE)
    for question in range(first, last):
        expected, squares, certain, possible = 0.0, 0.0, 0, 0
        for begin in range(0, codes.shape[1], _RECORDS_AT_ONCE):
            rows = min(_RECORDS_AT_ONCE, codes.shape[1] - begin)
            likely[:rows] = 1.0
            least[:rows] = 1.0
            for at in range(widths[question], widths[question + 1]):
                column = codes[places[at], begin : begin + rows]
                table = shares[starts[at] :]
                for row in range(rows):
                    share = table[column[row]]
                    likely[row] *= share
                    least[row] = min(least[row], share)
            for row in range(rows):
                satisfied = likely[row] if least[row] >= 0.0 else 0.0
                expected += satisfied
                squares += satisfied * satisfied
                certain += satisfied == 1.0
                possible += least[row] >= 0.0
        answers[0, question] = expected
        answers[1, question] = certain
        answers[2, question] = possible
        answers[3, question] = np.sqrt(max(expected - squares, 0.0))


@njit(cache=True, nogil=True)
def _multiply(
    codes: Int32Array,
    places: Int64Array,
    starts: Int64Array,
    shares: Float64Array,
    first: int,
    last: int,
    likely: Float64Array,
) -> None:
    """The likelihoods of records ``first .. last - 1``, as of `Queries.likelihoods`."""
    for row in range(first, last):
        product = 1.0
        for at in range(len(places)):
            share = shares[starts[at] + codes[places[at], row]]
            if share < 0.0:
                product = -1.0
                break
            product *= share
        likely[row] = product
