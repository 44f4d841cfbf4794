"""Fit how often each value of a column occurs to the ranges and sets of a release.

The uniform assumption treats all values of a cell as equally likely. A release contains more
information. Behind every record stand m originals, each of which is the true one with the same
probability (m, its degree, is derived from the certificate, see `mottle.queries.fitting.degrees`).
The values that make a cell as large as it is occur among them: both ends of a range, every member
of a set; each of these has probability 1/m for that reason alone. The rest follows the distribution
of the column.

If the release states how often values occur (`mottle.release.value_totals`), the distribution is
the one for which all records together give these totals (iterative proportional fitting).
Otherwise, and within groups of values that are counted together, it is fitted by expectation
maximization (Turnbull 1976, for censored data): distribute every record over its cell in proportion
to the current distribution, add up, repeat.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mottle.queries.cells.cells import CellDistribution, Occurs
from mottle.queries.fitting.known_totals import TotalsByAtom
from mottle.typing import BoolArray, Float64Array, Int64Array

ROUNDS = 200
# Iteration stops when no value's share changes by more than `_SHARE_TOLERANCE` and no total is off
# by more than `_TOTAL_TOLERANCE` records.
_SHARE_TOLERANCE = 1e-6
_TOTAL_TOLERANCE = 0.05
# Share of the records that is spread evenly, so that no value is ruled out by chance.
_UNIFORM_SHARE = 0.05
# A round multiplies the weight of a group by at most this factor.
_MAX_FACTOR = 5.0
# Lowest weight: no possible value is ever ruled out.
_MIN_WEIGHT = 1e-12


def fit_marginal(
    cells: CellDistribution,
    degrees: Int64Array,
    totals: TotalsByAtom | None = None,
    *,
    rows: Float64Array | None = None,
    rounds: int = ROUNDS,
) -> CellDistribution:
    """Return the cells with their values weighted by the column's fitted distribution.

    ``degrees`` [cells] are the numbers of originals behind the records of each, 0 if unknown;
    ``rows`` [cells] the numbers of records, by default as `CellDistribution.of_row` has them.
    """
    even = cells.atoms.prior / max(cells.atoms.prior.sum(), np.finfo(np.float64).tiny)
    even = np.append(even, 0.0)  # the missing value comes last
    weights = even.copy()
    weights[-1] = 1.0 / len(weights) if cells.missing_weights.any() else 0.0
    occurring = np.where(degrees > 0, 1 / np.maximum(degrees, 1), 0.0) if degrees.any() else None
    fitted = cells.fitted(weights[:-1], weights[-1], occurring)
    if rows is None:
        rows = np.bincount(cells.of_row, minlength=len(cells.first)).astype(np.float64)
    records = rows * fitted.free
    if records.sum() == 0:
        return fitted
    wanted = np.empty(0)
    if totals is not None:
        wanted = np.maximum(totals.counts - totals.by_group(_occurring(fitted, rows)), 0.0)
    mass = fitted.mass
    evenly = _UNIFORM_SHARE * records.sum() * even
    sets = _Sets.of(cells)
    for _ in range(rounds):
        by_cell = records / mass
        sums = sum_by_atom(cells, by_cell) if sets is None else sets.sum_by_atom(by_cell)
        shared = sums * weights
        better = shared + evenly
        off = 0.0
        if totals is not None:
            found = totals.by_group(shared)
            off = np.abs(found - wanted).max(initial=0.0)
            better = _match_totals(totals, wanted, weights, found, better)
        better /= better.sum()
        change = np.abs(better - weights).max(initial=0.0)
        weights = better
        if change < _SHARE_TOLERANCE and off < _TOTAL_TOLERANCE:
            break
        if sets is None:
            mass = cells.mass_of(weights[:-1], weights[-1])
        else:
            mass = sets.mass_of(weights)
    return cells.fitted(weights[:-1], weights[-1], occurring)


@dataclass(frozen=True, eq=False)
class _Sets:
    """Cells that are sets of which each has slots of its own, for sums that are made many times."""

    atoms: int
    atom_of: Int64Array  # [slots]: the atom of each, set by set
    sizes: Int64Array  # [sets]: how many slots each has
    starts: Int64Array  # [sets that have any]: the first slot of each
    filled: BoolArray | None  # [sets]: which have slots; None if all have
    set_of: Int64Array | None  # [cells]: the set of each; None if every cell is one of its own
    missing: BoolArray | None  # [cells]: whether the value may be missing; None if it never is

    @classmethod
    def of(cls, cells: CellDistribution) -> _Sets | None:
        """None if cells are ranges, or share slots."""
        whole = cells if cells.before is None else cells.before
        if cells.slots is None or whole.slots is not cells.slots or len(whole.first) == 0:
            return None
        ends = np.append(0, whole.last)
        if ends[-1] != len(cells.slots) or np.any(whole.first != ends[:-1]):
            return None
        sizes = whole.last - whole.first
        filled = None if sizes.all() else sizes > 0
        return cls(
            len(cells.atoms.measure),
            cells.slots,
            sizes,
            whole.first if filled is None else whole.first[filled],
            filled,
            None if whole is cells else cells.before_of,
            cells.missing if cells.missing.any() else None,
        )

    def sum_by_atom(self, by_cell: Float64Array) -> Float64Array:
        """[atoms + 1]: as the function of this name."""
        by_set = by_cell
        if self.set_of is not None:
            by_set = _added_up(self.set_of, by_cell, len(self.sizes))
        found = _added_up(self.atom_of, np.repeat(by_set, self.sizes), self.atoms + 1)
        if self.missing is not None:
            found[-1] = by_cell[self.missing].sum()
        return found

    def mass_of(self, weights: Float64Array) -> Float64Array:
        """[cells]: as `CellDistribution.mass_of`; ``weights`` [atoms + 1]."""
        by_set = np.add.reduceat(weights.take(self.atom_of), self.starts)
        if self.filled is not None:
            of_filled, by_set = by_set, np.zeros(len(self.sizes))
            by_set[self.filled] = of_filled
        mass: Float64Array = by_set if self.set_of is None else by_set.take(self.set_of)
        if self.missing is not None:
            mass[self.missing] += weights[-1]
        mass[mass <= 0] = 1.0
        return mass


def _added_up(place_of: Int64Array, numbers: Float64Array, places: int) -> Float64Array:
    """[places]: the sums of the numbers of each; zeros where there are no numbers."""
    return np.bincount(place_of, numbers, minlength=places).astype(np.float64, copy=False)


def _match_totals(
    totals: TotalsByAtom,
    wanted: Float64Array,
    weights: Float64Array,
    found: Float64Array,
    better: Float64Array,
) -> Float64Array:
    """Move the weights of groups, which have ``found`` records, towards the totals.

    The proportions of ``better`` within a group are kept.
    """
    ratio = wanted / np.maximum(found, _MIN_WEIGHT)
    of_group = totals.by_group(weights) * np.minimum(
        np.maximum(ratio, 1 / _MAX_FACTOR), _MAX_FACTOR
    )
    within = better / np.maximum(totals.by_group(better), _MIN_WEIGHT)[totals.group_of]
    possible = better > 0
    return np.where(possible, np.maximum(of_group[totals.group_of] * within, _MIN_WEIGHT), 0.0)


def _occurring(cells: CellDistribution, rows: Float64Array) -> Float64Array:
    """[atoms + 1]: expected records that each value has because it is known to occur."""
    by_cell = rows * cells.fixed
    if cells.occurs is not Occurs.ENDS:
        return sum_by_atom(cells, by_cell)
    some, several = cells.last > cells.first, cells.last > cells.first + 1
    ends = np.concatenate([cells.first[some], cells.last[several] - 1])
    by_end = np.concatenate([by_cell[some], by_cell[several]])
    atoms = ends if cells.slots is None else cells.slots[ends]
    counted = np.bincount(atoms, by_end, minlength=len(cells.atoms.measure))
    return np.append(counted, by_cell[cells.missing].sum())


def sum_by_atom(cells: CellDistribution, by_cell: Float64Array) -> Float64Array:
    """[atoms + 1]: the sum of ``by_cell`` over the cells of each atom; the missing value last."""
    slots = len(cells.slot_weights)
    steps = np.bincount(cells.first, by_cell, minlength=slots + 1)
    steps -= np.bincount(cells.last, by_cell, minlength=slots + 1)
    by_slot = np.maximum(np.cumsum(steps)[:slots], 0.0)
    missing = by_cell[cells.missing].sum()
    if cells.slots is None:
        return np.append(by_slot, missing)
    by_atom = np.bincount(cells.slots, by_slot, minlength=len(cells.atoms.measure))
    return np.append(by_atom, missing)
