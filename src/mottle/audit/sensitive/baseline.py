"""The baseline: guesses about a person from the other people of the table, without any record."""

from __future__ import annotations

import numpy as np

from mottle.audit.containment.coded_columns import CodedColumn
from mottle.audit.containment.compact import group_rows
from mottle.typing import Float64Array, Int32Array
from mottle.utils.dependence import leave_one_out

_CELLS = 20_000_000  # people × values that are held in memory at once


def baseline_correctness(
    columns: list[CodedColumn], own: Int32Array, kinds: int
) -> dict[str, Float64Array]:
    """For each person: whether the own value is guessed right from everybody else's, two ways."""
    return {
        "equal quasi-identifiers": _by_equals(columns, own),
        "naïve Bayes": _by_bayes(columns, own, kinds),
    }


def _by_equals(columns: list[CodedColumn], own: Int32Array) -> Float64Array:
    """Guess the most common value of the others with equal quasi-identifiers, or of all others.

    A guess between two values that are equally common is half right.
    """
    group, _ = group_rows(np.stack([column.codes for column in columns], axis=1))
    return leave_one_out(group, own.astype(np.int64))


def _by_bayes(columns: list[CodedColumn], own: Int32Array, kinds: int) -> Float64Array:
    """Guess by naïve Bayes with Laplace's correction on all other people."""
    tables = []
    for column in columns:
        present, rows = np.unique(column.codes, return_inverse=True)
        table = np.bincount(rows.ravel() * kinds + own, minlength=len(present) * kinds)
        tables.append((rows.ravel(), table.reshape(len(present), kinds)))
    totals = np.bincount(own, minlength=kinds)
    right = np.empty(len(own))
    step = max(_CELLS // kinds, 1)
    for first in range(0, len(own), step):
        people = np.arange(first, min(first + step, len(own)))
        mine = own[people]
        with np.errstate(divide="ignore"):
            logs = np.tile(np.log(totals.astype(np.float64)), (len(people), 1))
            logs[np.arange(len(people)), mine] = np.log(totals[mine] - 1.0)
        for rows, table in tables:
            counts = table[rows[people]]
            logs += np.log(counts + 1.0) - np.log(totals + float(len(table)))
            of_mine = counts[np.arange(len(people)), mine]
            logs[np.arange(len(people)), mine] += np.log(np.maximum(of_mine, 1.0)) - np.log(
                of_mine + 1.0
            )
            logs[np.arange(len(people)), mine] += np.log(totals[mine] + float(len(table))) - np.log(
                totals[mine] - 1.0 + len(table)
            )
        right[people] = logs.argmax(axis=1) == mine
    return right
