"""Published totals of how often values occur, projected onto the atoms of a column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.queries.cells.atoms import Values
from mottle.queries.cells.cells import CellDistribution
from mottle.queries.cells.from_columns import as_floats, on_grid
from mottle.queries.cells.interval_atoms import DiscreteIntervals, RealIntervals
from mottle.release.column import PublishedColumn
from mottle.typing import Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class TotalsByAtom:
    """Numbers of records, by groups of atoms that are counted together."""

    group_of: Int64Array  # [atoms + 1]: the group of every atom, and of the missing value
    counts: Float64Array  # [groups]: the number of records
    missing: bool = True  # whether a value is missing at all

    @classmethod
    def of(cls, cells: CellDistribution, column: PublishedColumn) -> TotalsByAtom | None:
        """Project a column's totals; None if it has none, or they are for other records."""
        totals = column.totals
        if totals is None or sum(totals.counts) != len(cells.of_row):
            return None
        values = pc.cast(pa.array(totals.values, pa.string()), column.value_type)
        if column.form is not None and column.form.has_intervals:
            group_of = _by_start(cells, values)
        else:
            assert isinstance(cells.atoms, Values)
            named = pc.index_in(cells.atoms.values, value_set=values.cast(cells.atoms.values.type))
            group_of = pc.fill_null(named, len(values)).to_numpy().astype(np.int64)
        missing = max(totals.missing, 0)
        counts = np.array(totals.counts, np.float64)
        return cls(np.append(group_of, missing), counts, totals.missing >= 0)

    def count(self, share: Float64Array) -> float | None:
        """Return how many records have values that conditions cover; None if that is not stated.

        ``share`` [atoms + 1] is the covered part of every atom, and of the missing value.
        """
        lowest, highest = np.full((2, len(self.counts)), np.inf)
        highest = -highest
        places = slice(None if self.missing else -1)
        np.minimum.at(lowest, self.group_of[places], share[places])
        np.maximum.at(highest, self.group_of[places], share[places])
        some = np.isfinite(lowest)
        if np.any(lowest[some] != highest[some]) or np.any(highest[some] % 1.0 != 0):
            return None
        return float(self.counts[some & (highest == 1.0)].sum())

    def by_group(self, by_atom: Float64Array) -> Float64Array:
        """[groups]: the sum of ``by_atom`` over the atoms of each group."""
        sums = np.bincount(self.group_of, by_atom, minlength=len(self.counts))
        return sums.astype(np.float64)


def _by_start(cells: CellDistribution, values: pa.Array) -> Int64Array:
    """[atoms]: the group of each, where groups begin at ``values``; no atom lies in two groups."""
    atoms = cells.atoms
    if isinstance(atoms, DiscreteIntervals):
        grid = on_grid(values, values, atoms.value_type, atoms.origin)
        assert grid is not None
        return _last_before(grid.low, atoms.starts[:-1])
    if isinstance(atoms, RealIntervals):
        points = np.repeat(atoms.ends, 2)[:-1]  # an interval begins at the point before it
        return _last_before(as_floats(values), points)
    assert isinstance(atoms, Values)
    places = pc.index_in(values.cast(atoms.values.type), value_set=atoms.values).to_numpy()
    return _last_before(places, np.arange(len(atoms.values)))


def _last_before(begin: Int64Array | Float64Array, places: Int64Array | Float64Array) -> Int64Array:
    """[places]: the last of the starts ``begin`` that is not above each place."""
    found: Int64Array = np.maximum(np.searchsorted(begin, places, side="right") - 1, 0)
    return found
