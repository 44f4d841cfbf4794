"""How often each value occurs, fitted to the ranges and sets of a release.

The uniform assumption takes all values of a cell as equally likely. A release says more. Behind
every record stand m originals, any of which is the true one with equal chance (m, the degree, is on
the certificate). What makes a cell as large as it is occurs among them: both ends of a range, every
member of a set; each of these has the chance 1/m by that alone. The rest follows the distribution
of the column, which the expectation-maximization algorithm fits (Turnbull 1976, for censored data):
share every record out over its cell in proportion to the distribution so far, add up, repeat.
"""

from __future__ import annotations

import numpy as np

from mottle.utility.atoms import Float64s
from mottle.utility.cells import Cells

ROUNDS = 100
_CHANGE = 1e-6  # stop when no value's share changes by more than this
_UNIFORM = 0.05  # of the records taken as spread evenly, so that no value is ruled out by chance


def fit_marginal(cells: Cells, degree: int) -> Cells:
    """The cells with their values weighted by the column's fitted distribution.

    ``degree`` is the least number of originals behind a record, 0 if it is not known.
    """
    even = cells.atoms.prior / max(cells.atoms.prior.sum(), np.finfo(np.float64).tiny)
    weights = even
    missing = 1.0 / (1.0 + len(weights)) if cells.missing_weights.any() else 0.0
    occurring = 1 / degree if degree else 0.0
    fitted = cells.fitted(weights, missing, occurring)
    records = np.bincount(cells.of_row, minlength=len(cells.first)) * fitted.free
    if records.sum() == 0:
        return fitted
    for _ in range(ROUNDS):
        per_weight = records / fitted.mass
        better = _shared_out(cells, per_weight) * weights + _UNIFORM * records.sum() * even
        better_missing = float(per_weight[cells.missing].sum() * missing)
        total = better.sum() + better_missing
        change = np.abs(better / total - weights).max(initial=0.0)
        weights, missing = better / total, better_missing / total
        fitted = cells.fitted(weights, missing, occurring)
        if change < _CHANGE:
            break
    return fitted


def _shared_out(cells: Cells, by_cell: Float64s) -> Float64s:
    """For every atom, the sum of a number over the cells that hold it."""
    slots = len(cells.slot_weights)
    steps = np.bincount(cells.first, by_cell, minlength=slots + 1)
    steps -= np.bincount(cells.last, by_cell, minlength=slots + 1)
    by_slot = np.maximum(np.cumsum(steps)[:slots], 0.0)
    if cells.slots is None:
        return by_slot
    by_atom = np.bincount(cells.slots, by_slot, minlength=len(cells.atoms.measure))
    return by_atom.astype(np.float64)
