"""Counts of the distinct cells of each column, which is all a report needs to know of its rows.

Rows are read once, a part at a time; only the distinct cells and their counts are kept. A column
with too many distinct cells is described by its first records alone, which are a random sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from mottle.queries import Condition
from mottle.queries.cells.cells import CellDistribution
from mottle.queries.cells.from_columns import cells_of
from mottle.queries.fitting.known_totals import TotalsByAtom
from mottle.queries.fitting.marginals import fit_marginal
from mottle.release.coded_cells import CodedCells
from mottle.release.column import PublishedColumn
from mottle.typing import Float64Array, Int64Array
from mottle.utils.distinct_cells import distinct_cells

MOST_CELLS = 1 << 19
_MOST_FITTED = 1 << 14  # records that a fit is exact for: bars of charts need no more
_ROUNDS = 40  # of a fit, likewise
_COUNT, _PLACE = "count", "place"


@dataclass(frozen=True, eq=False)
class Tally:
    """The distinct cells of a column."""

    column: PublishedColumn
    cells: pa.Array
    counts: Int64Array  # records that have each cell
    whole: bool  # whether all records were counted, not a sample

    @property
    def records(self) -> int:
        """The number of records that were counted."""
        return int(self.counts.sum())

    def values(self) -> tuple[pa.Array, Float64Array]:
        """All values that cells name, the ends of ranges and the members of sets, with weights."""
        weights = self.counts.astype(np.float64)
        if self.column.form is None:
            return self.cells, weights
        return self.column.form.named_values(self.cells, weights)

    def shares(self, conditions: Sequence[Condition], degree: int = 0) -> Float64Array:
        """Shares of records expected, certain and possible to satisfy each: [conditions, 3].

        ``degree`` is the smallest number of originals behind a record, as for `Queries`.
        """
        cells = cells_of(pa.chunked_array([self.cells]), self.column)
        of_cell = np.bincount(cells.of_row, self.counts, minlength=len(cells.first))
        if self.column.form is not None:
            cells = self._fitted(cells, degree)
        found = np.empty((len(conditions), 3))
        for place, condition in enumerate(conditions):
            likely = cells.shares((condition,))
            found[place] = (
                np.maximum(likely, 0.0) @ of_cell,
                of_cell[likely == 1.0].sum(),
                of_cell[likely >= 0.0].sum(),
            )
        return found / max(self.records, 1)

    def _fitted(self, cells: CellDistribution, degree: int) -> CellDistribution:
        """Weight values by the whole release, as for `Queries`; counts stand for rows."""
        everybody = np.broadcast_to(np.int32(0), self.records)
        known = TotalsByAtom.of(replace(cells, of_row=everybody), self.column)
        scale = min(_MOST_FITTED / max(self.records, 1), 1.0)
        counted = np.bincount(cells.of_row, self.counts, minlength=len(cells.first))
        rows = scale * counted.astype(np.float64)
        if known is not None:
            known = replace(known, counts=scale * known.counts)
        degrees = np.full(len(cells.first), degree)
        return fit_marginal(cells, degrees, known, rows=rows, rounds=_ROUNDS)


def tallies(
    parts: Iterable[pa.Table],
    columns: Sequence[PublishedColumn],
    most: int = MOST_CELLS,
    known: Mapping[str, CodedCells] | None = None,
) -> dict[str, Tally]:
    """Count the cells of every column, in one pass over the parts.

    ``known`` are the distinct cells of some columns in all parts together.
    """
    known = {name: one for name, one in (known or {}).items() if len(one.cells) <= most}
    counting = [_Counting(column, most) for column in columns]
    for one in counting:
        if one.column.name in known:
            coded = known[one.column.name]
            one.add_counted(pa.chunked_array([coded.cells]), coded.counts)
    to_read = [one for one in counting if one.column.name not in known]
    for part in parts if to_read else ():
        for one in to_read:
            one.add(part.column(one.column.name))
    return {one.column.name: one.tally() for one in counting}


class _Counting:
    """The cells of a column that have been counted so far.

    Cells are compared by their keys. Of every part the first cell of each key is kept, and its
    place among the kept ones, so that no cell has to be made from its keys again.
    """

    def __init__(self, column: PublishedColumn, most: int) -> None:
        self.column = column
        self._most = most
        self._known: pa.Table | None = None  # keys, counts, and places in the kept cells
        self._waiting: list[pa.Table] = []
        self._kept: list[pa.Array] = []
        self._whole = True

    def add(self, cells: pa.ChunkedArray) -> None:
        """Count more cells, until there are too many distinct ones."""
        if not self._whole:
            return
        self.add_counted(*_distinct(cells))

    def add_counted(self, cells: pa.ChunkedArray, times: Int64Array) -> None:
        """Count cells that occur several times each."""
        keys = self._keys(cells)
        found = _summed(_table(keys, times, np.arange(len(cells))))
        places = sum(map(len, self._kept)) + np.arange(len(found))
        self._kept.append(_plain(cells.take(found.column(_PLACE)).combine_chunks()))
        self._waiting.append(found.set_column(len(keys) + 1, _PLACE, pa.array(places)))
        known = 0 if self._known is None else self._known.num_rows
        if sum(map(len, self._waiting)) > known:
            self._settle()
            assert self._known is not None
            self._whole = self._known.num_rows <= self._most

    def tally(self) -> Tally:
        """The distinct cells, in the order of their first occurrence."""
        self._settle()
        assert self._known is not None
        (cells,) = self._kept
        return Tally(self.column, cells, self._known.column(_COUNT).to_numpy(), self._whole)

    def _settle(self) -> None:
        """Merge what waits; keep one cell of each key, in the order of the keys."""
        if self._known is None and not self._waiting:
            nothing = pa.chunked_array([], self.column.field().type)
            self._kept = [_plain(nothing.combine_chunks())]
            self._known = _table(self._keys(nothing), *np.empty((2, 0), np.int64))
        elif self._waiting:
            parts = [*([] if self._known is None else [self._known]), *self._waiting]
            known = _summed(pa.concat_tables(parts))
            self._kept = [pa.concat_arrays(self._kept).take(known.column(_PLACE).combine_chunks())]
            place = known.num_columns - 1
            self._known = known.set_column(place, _PLACE, pa.array(np.arange(len(known))))
            self._waiting = []

    def _keys(self, cells: pa.ChunkedArray) -> list[pa.ChunkedArray]:
        """Columns that can be grouped by, equal where the cells are."""
        if self.column.form is not None:
            return self.column.form.keys(cells)
        if pa.types.is_dictionary(cells.type):
            cells = cells.cast(cells.type.value_type)
        return [cells]


def _distinct(cells: pa.ChunkedArray) -> tuple[pa.ChunkedArray, Int64Array]:
    """Cells and how often each occurs: the distinct ones where they are found quickly."""
    whole = cells.combine_chunks()
    found = distinct_cells(whole)
    if found is None:
        return cells, np.ones(len(cells), np.int64)
    first, of_cell = found
    return pa.chunked_array([whole.take(pa.array(first))]), np.bincount(of_cell)


def _plain(cells: pa.Array) -> pa.Array:
    """Cells that hold their values, not places in a dictionary."""
    return cells.cast(cells.type.value_type) if pa.types.is_dictionary(cells.type) else cells


def _table(keys: Sequence[pa.ChunkedArray], counts: Int64Array, places: Int64Array) -> pa.Table:
    names = [*(f"key{number}" for number in range(len(keys))), _COUNT, _PLACE]
    return pa.table([*keys, counts, places], names=names)


def _summed(table: pa.Table) -> pa.Table:
    """Merge equal keys and add up their counts, in the order of their first occurrence."""
    keys = table.column_names[:-2]
    summed = table.group_by(keys, use_threads=False).aggregate([(_COUNT, "sum"), (_PLACE, "min")])
    found = summed.select([*keys, f"{_COUNT}_sum", f"{_PLACE}_min"])
    return found.rename_columns([*keys, _COUNT, _PLACE])
