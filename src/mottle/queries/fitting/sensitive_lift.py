"""What a record's sensitive value says about its other cells.

Sensitive values are published as they are, and some occur with some quasi-identifiers more often
than with others. How much more often is the *lift* of a value v by a sensitive value s: the share
of v among the records with s, divided by its share among all. A record's chances are multiplied by
the lifts and made to add up to 1; counting with these chances gives better lifts, and so on. Few
records tell little, so every lift is drawn towards 1. What the table as a whole holds of each value
stays as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numba import njit

from mottle.queries.cells.cells import CellDistribution
from mottle.typing import Float64Array, Int64Array

MOST_CONTEXTS = 500  # combinations of sensitive values that are told apart
ROUNDS = 25
_TOWARDS_ONE = 80.0  # records' worth of "no lift" in every lift
_MOST_ENTRIES = 8_000_000  # values of cells, and lifts; beyond, a column is left as it is
_STEP = 2.0
_TINY = 1e-300


def contexts_of(sensitive: Sequence[CellDistribution], records: int) -> Int64Array:
    """[n]: a number for each combination of sensitive values, of as many columns as are not many.

    >>> contexts_of([], 3)
    array([0, 0, 0])
    """
    contexts = np.zeros(records, np.int64)
    for cells in sensitive:
        joint = contexts * len(cells.first) + cells.of_row
        values, places = np.unique(joint, return_inverse=True)
        if len(values) <= MOST_CONTEXTS:
            contexts = places.ravel()
    return contexts


def lift(cells: CellDistribution, contexts: Int64Array) -> CellDistribution:
    """The cells told apart by context, the chances of their values multiplied by lifts."""
    number = int(contexts.max(initial=0)) + 1
    keys = cells.of_row * np.int64(number) + contexts
    distinct, of_row = np.unique(keys, return_inverse=True)
    cell_of_pair, context_of_pair = np.divmod(distinct, number)
    sizes = (cells.last - cells.first)[cell_of_pair]
    atoms = len(cells.atoms.measure)
    entries = int(sizes.sum())
    exact = np.all(cells.last - cells.first + cells.missing <= 1)
    if exact or max(entries, number * (atoms + 1)) > _MOST_ENTRIES:
        return cells
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    pair_of_slot = np.repeat(np.arange(len(sizes)), sizes)
    slots = cells.first[cell_of_pair][pair_of_slot] + np.arange(entries) - offsets[pair_of_slot]
    chances = cells.chances(cell_of_pair[pair_of_slot], slots)
    missing = cells.chance_of_missing[cell_of_pair]
    rows = np.bincount(of_row.ravel(), minlength=len(sizes)).astype(np.float64)
    atom_of = slots if cells.slots is None else cells.slots[slots]
    lifted, lifted_missing = chances.copy(), missing.copy()
    _iterate(
        offsets,
        atom_of,
        context_of_pair,
        rows,
        chances,
        missing,
        np.array([number, atoms]),
        lifted,
        lifted_missing,
    )
    return replace(
        cells,
        slots=atom_of,
        slot_weights=lifted,
        first=offsets[:-1],
        last=offsets[1:],
        missing=cells.missing[cell_of_pair],
        missing_weights=lifted_missing,
        of_row=of_row.ravel().astype(np.int32),
        occurring=None,
        before=cells,
        before_of=cell_of_pair,
    )


@njit(cache=True, nogil=True)
def _iterate(
    offsets: Int64Array,
    atom_of: Int64Array,
    context_of: Int64Array,
    rows: Float64Array,
    chances: Float64Array,
    missing: Float64Array,
    sizes: Int64Array,
    lifted: Float64Array,
    lifted_missing: Float64Array,
) -> None:
    """Improve ``lifted`` and ``lifted_missing``, which begin as the chances without lifts."""
    number, atoms = sizes
    totals, found = np.zeros(atoms + 1), np.empty(atoms + 1)
    _add_up(offsets, atom_of, rows, lifted, lifted_missing, totals)
    records = rows.sum()
    held = np.zeros(number)  # records by context
    for pair in range(len(rows)):
        held[context_of[pair]] += rows[pair]
    correction = np.ones(atoms + 1)
    lifts = np.empty((number, atoms + 1))
    for _ in range(ROUNDS):
        lifts[:] = 0.0
        for pair in range(len(rows)):
            own = lifts[context_of[pair]]
            for entry in range(offsets[pair], offsets[pair + 1]):
                own[atom_of[entry]] += rows[pair] * lifted[entry]
            own[atoms] += rows[pair] * lifted_missing[pair]
        for context in range(number):
            for atom in range(atoms + 1):
                share = max(totals[atom] / records, _TINY)
                evidence = lifts[context, atom] + _TOWARDS_ONE * share
                lifts[context, atom] = evidence / ((held[context] + _TOWARDS_ONE) * share)
        for again in range(2):
            for pair in range(len(rows)):
                own = lifts[context_of[pair]]
                total = missing[pair] * own[atoms] * correction[atoms]
                for entry in range(offsets[pair], offsets[pair + 1]):
                    atom = atom_of[entry]
                    lifted[entry] = chances[entry] * own[atom] * correction[atom]
                    total += lifted[entry]
                if total <= 0.0:  # no value has any chance: as it was
                    for entry in range(offsets[pair], offsets[pair + 1]):
                        lifted[entry] = chances[entry]
                    lifted_missing[pair] = missing[pair]
                    continue
                for entry in range(offsets[pair], offsets[pair + 1]):
                    lifted[entry] /= total
                lifted_missing[pair] = missing[pair] * own[atoms] * correction[atoms] / total
            if again == 0:
                found[:] = 0.0
                _add_up(offsets, atom_of, rows, lifted, lifted_missing, found)
                for atom in range(atoms + 1):
                    ratio = totals[atom] / max(found[atom], _TINY)
                    correction[atom] *= min(max(ratio, 1 / _STEP), _STEP)


@njit(cache=True, nogil=True)
def _add_up(
    offsets: Int64Array,
    atom_of: Int64Array,
    rows: Float64Array,
    chances: Float64Array,
    missing: Float64Array,
    sums: Float64Array,
) -> None:
    """Expected records by value, the missing one last."""
    for pair in range(len(rows)):
        for entry in range(offsets[pair], offsets[pair + 1]):
            sums[atom_of[entry]] += rows[pair] * chances[entry]
        sums[len(sums) - 1] += rows[pair] * missing[pair]
