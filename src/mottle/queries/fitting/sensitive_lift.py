"""Adjust the distributions inside a record's cells to its sensitive value (co-occurrence lift).

Sensitive values are published unchanged, and some of them occur with some quasi-identifying values
more often than with others. The *lift* of a value v by a sensitive value s measures how much more
often: the share of v among the records with s, divided by its share among all records. A record's
probabilities are multiplied by the lifts and normalized; counting with these probabilities gives
better lifts, and so on. Few records are weak evidence, so every lift is shrunk towards 1. The total
of each value over the whole table does not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mottle.queries.cells.cells import CellDistribution
from mottle.typing import Float64Array, Int64Array
from mottle.utils.compiled import inner_kernel, kernel

MAX_CONTEXTS = 500  # combinations of sensitive values that are distinguished
ROUNDS = 25
_PRIOR_RECORDS = 80.0  # shrinkage: records without any lift that are added to every estimate
_MAX_ENTRIES = 8_000_000  # values of cells, and lifts; a larger column is left unchanged
_MAX_FACTOR = 2.0  # a round corrects the total of a value by at most this factor
_TINY = 1e-300


def sensitive_contexts(sensitive: Sequence[CellDistribution], records: int) -> Int64Array:
    """[n]: the number of each record's combination of sensitive values.

    A column that would make more than `MAX_CONTEXTS` combinations is left out.

    >>> sensitive_contexts([], 3)
    array([0, 0, 0])
    """
    contexts = np.zeros(records, np.int64)
    for cells in sensitive:
        joint = contexts * len(cells.first) + cells.of_row
        values, places = np.unique(joint, return_inverse=True)
        if len(values) <= MAX_CONTEXTS:
            contexts = places.ravel()
    return contexts


def apply_lift(cells: CellDistribution, contexts: Int64Array) -> CellDistribution:
    """Split cells by context and multiply the probabilities of their values by lifts."""
    number = int(contexts.max(initial=0)) + 1
    keys = cells.of_row * np.int64(number) + contexts
    distinct, of_row = np.unique(keys, return_inverse=True)
    cell_of_pair, context_of_pair = np.divmod(distinct, number)
    sizes = (cells.last - cells.first)[cell_of_pair]
    atoms = len(cells.atoms.measure)
    entries = int(sizes.sum())
    exact = np.all(cells.last - cells.first + cells.missing <= 1)
    if exact or max(entries, number * (atoms + 1)) > _MAX_ENTRIES:
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


@kernel
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
    """Improve ``lifted`` and ``lifted_missing``, initially the probabilities without lifts."""
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
                evidence = lifts[context, atom] + _PRIOR_RECORDS * share
                lifts[context, atom] = evidence / ((held[context] + _PRIOR_RECORDS) * share)
        for again in range(2):
            for pair in range(len(rows)):
                own = lifts[context_of[pair]]
                total = missing[pair] * own[atoms] * correction[atoms]
                for entry in range(offsets[pair], offsets[pair + 1]):
                    atom = atom_of[entry]
                    lifted[entry] = chances[entry] * own[atom] * correction[atom]
                    total += lifted[entry]
                if total <= 0.0:  # no value is left with a positive probability: undo
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
                    correction[atom] *= min(max(ratio, 1 / _MAX_FACTOR), _MAX_FACTOR)


@inner_kernel
def _add_up(
    offsets: Int64Array,
    atom_of: Int64Array,
    rows: Float64Array,
    chances: Float64Array,
    missing: Float64Array,
    sums: Float64Array,
) -> None:
    """Add the expected number of records of each value to ``sums``; the missing value last."""
    for pair in range(len(rows)):
        for entry in range(offsets[pair], offsets[pair + 1]):
            sums[atom_of[entry]] += rows[pair] * chances[entry]
        sums[len(sums) - 1] += rows[pair] * missing[pair]
