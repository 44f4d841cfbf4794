"""How often each value occurs, fitted to the ranges and sets of a release.

The uniform assumption takes all values of a cell as equally likely. A release says more. Behind
every record stand m originals, any of which is the true one with equal chance (m, its degree, is
read off the certificate, `degrees`). What makes a cell as large as it is occurs among them: both
ends of a range, every member of a set; each of these has the chance 1/m by that alone. The rest
follows the distribution of the column.

Where the release says how often values occur (`mottle.release.value_totals`), the distribution is
the one with which all records together give these totals (iterative proportional fitting).
Otherwise, and within groups of values that are counted together, it is fitted by expectation
maximization (Turnbull 1976, for censored data): share every record out over its cell in proportion
to the distribution so far, add up, repeat.
"""

from __future__ import annotations

import numpy as np

from mottle.queries.cells.cells import CellDistribution, Occurs
from mottle.queries.fitting.known_totals import TotalsByAtom
from mottle.typing import Float64Array, Int64Array

ROUNDS = 200
_CHANGE = 1e-6  # stop when no value's share changes by more than this …
_OFF = 0.05  # … and no total is off by more records
_UNIFORM = 0.05  # of the records taken as spread evenly, so that no value is ruled out by chance
_STEP = 5.0  # a round multiplies a group's weight by at most this
_LEAST = 1e-12  # weight: nothing that may be is ever ruled out


def fit_marginal(
    cells: CellDistribution, degrees: Int64Array, known: TotalsByAtom | None = None
) -> CellDistribution:
    """The cells with their values weighted by the column's fitted distribution.

    ``degrees`` [cells] are the numbers of originals behind the records of each, 0 if not known.
    """
    even = cells.atoms.prior / max(cells.atoms.prior.sum(), np.finfo(np.float64).tiny)
    even = np.append(even, 0.0)  # the missing value is the last
    weights = even.copy()
    weights[-1] = 1.0 / len(weights) if cells.missing_weights.any() else 0.0
    occurring = np.where(degrees > 0, 1 / np.maximum(degrees, 1), 0.0) if degrees.any() else None
    fitted = cells.fitted(weights[:-1], weights[-1], occurring)
    rows = np.bincount(cells.of_row, minlength=len(cells.first)).astype(np.float64)
    records = rows * fitted.free
    if records.sum() == 0:
        return fitted
    wanted = np.empty(0)
    if known is not None:
        wanted = np.maximum(known.counts - known.by_group(_occurring(fitted, rows)), 0.0)
    for _ in range(ROUNDS):
        shared = shared_out(cells, records / fitted.mass) * weights
        better = shared + _UNIFORM * records.sum() * even
        off = 0.0
        if known is not None:
            off = np.abs(known.by_group(shared) - wanted).max(initial=0.0)
            better = _matched(known, wanted, weights, shared, better)
        better /= better.sum()
        change = np.abs(better - weights).max(initial=0.0)
        weights = better
        fitted = cells.fitted(weights[:-1], weights[-1], occurring)
        if change < _CHANGE and off < _OFF:
            break
    return fitted


def _matched(
    known: TotalsByAtom,
    wanted: Float64Array,
    weights: Float64Array,
    shared: Float64Array,
    better: Float64Array,
) -> Float64Array:
    """Weights whose groups come nearer to the records wanted, shared out within them as before."""
    found = known.by_group(shared)
    ratio = wanted / np.maximum(found, _LEAST)
    of_group = known.by_group(weights) * np.clip(ratio, 1 / _STEP, _STEP)
    within = better / np.maximum(known.by_group(better), _LEAST)[known.group_of]
    possible = better > 0
    return np.where(possible, np.maximum(of_group[known.group_of] * within, _LEAST), 0.0)


def _occurring(cells: CellDistribution, rows: Float64Array) -> Float64Array:
    """[atoms + 1]: records by values that are known to occur behind them."""
    by_cell = rows * cells.fixed
    if cells.occurs is not Occurs.ENDS:
        return shared_out(cells, by_cell)
    some, several = cells.last > cells.first, cells.last > cells.first + 1
    ends = np.concatenate([cells.first[some], cells.last[several] - 1])
    by_end = np.concatenate([by_cell[some], by_cell[several]])
    atoms = ends if cells.slots is None else cells.slots[ends]
    counted = np.bincount(atoms, by_end, minlength=len(cells.atoms.measure))
    return np.append(counted, by_cell[cells.missing].sum())


def shared_out(cells: CellDistribution, by_cell: Float64Array) -> Float64Array:
    """[atoms + 1]: for every value, the missing one last, the sum of a number over its cells."""
    slots = len(cells.slot_weights)
    steps = np.bincount(cells.first, by_cell, minlength=slots + 1)
    steps -= np.bincount(cells.last, by_cell, minlength=slots + 1)
    by_slot = np.maximum(np.cumsum(steps)[:slots], 0.0)
    missing = by_cell[cells.missing].sum()
    if cells.slots is None:
        return np.append(by_slot, missing)
    by_atom = np.bincount(cells.slots, by_slot, minlength=len(cells.atoms.measure))
    return np.append(by_atom, missing)
