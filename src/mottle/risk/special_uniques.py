"""Which values single rows out: minimal sample uniques and SUDA scores.

A combination of columns singles a row out if no other row has the same values in them; it is
*minimal* if it does not without any one of these columns. Rows that few columns suffice for are at
risk first: Elliot, Manning and Ford (2002) score every minimal sample unique of k columns by
Π (d − i) for i = k … m, d being the number of columns and m the largest size that is searched, and
a row by the sum. sdcMicro has it as ``suda2``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, prod

import numpy as np

from mottle.typing import BoolArray, Float64Array, Int64Array

_COUNTED = 1 << 22  # possible combinations of values up to which they are counted in a table
_WORK = 400_000_000  # rows times combinations of columns that are looked at


@dataclass(frozen=True)
class SpecialUniques:
    """Minimal sample uniques up to a size."""

    largest: int  # number of columns of the largest combinations that were searched
    scores: Float64Array  # [rows]: SUDA score; 0 for rows that no such combination singles out
    by_size: Mapping[int, int]  # number of minimal sample uniques by number of columns
    contributions: Mapping[str, float]  # share of all scores that combinations with a column make
    by_column: Mapping[str, Float64Array]  # the part of each row's score with that column in it

    @property
    def rows(self) -> int:
        """Rows that some combination of at most ``largest`` columns singles out."""
        return int(np.count_nonzero(self.scores))


def special_uniques(
    codes: Int64Array, names: Sequence[str], largest: int = 3, work: int = _WORK
) -> SpecialUniques:
    """Find all minimal sample uniques of at most ``largest`` columns.

    Parameters
    ----------
    codes : int64 array of shape (columns, rows)
        The values as ranks from 0.
    names : sequence of str
        The names of the columns.
    largest : int, optional
        The most columns of a combination.
    work : int, optional
        Rows times combinations that are looked at; sizes beyond it are left out.

    Returns
    -------
    SpecialUniques
        The uniques, their scores, and what every column contributes.

    Examples
    --------
    Only the first row has age 0; the others need both columns:

    >>> found = special_uniques(np.array([[0, 1, 1, 2, 2], [0, 0, 1, 0, 1]]), ["age", "sex"])
    >>> found.by_size, found.scores.tolist()
    ({1: 1, 2: 4}, [1.0, 1.0, 1.0, 1.0, 1.0])
    """
    columns, rows = codes.shape
    largest = _affordable(columns, rows, min(largest, columns), work)
    sizes = [int(column.max(initial=0)) + 1 for column in codes]
    by_column = {name: np.zeros(rows) for name in names}
    scores = np.zeros(rows)
    by_size: dict[int, int] = {}
    smaller: dict[tuple[int, ...], BoolArray] = {}
    for size in range(1, largest + 1):
        score = float(prod(columns - i for i in range(size, min(largest, columns - 1) + 1)))
        found: dict[tuple[int, ...], BoolArray] = {}
        for chosen in combinations(range(columns), size):
            single = _single(codes, sizes, chosen)
            minimal = single.copy()
            for without in combinations(chosen, size - 1):
                if without:
                    minimal &= ~smaller[without]
            found[chosen] = single
            by_size[size] = by_size.get(size, 0) + int(np.count_nonzero(minimal))
            scores[minimal] += score
            for place in chosen:
                by_column[names[place]][minimal] += score
        smaller = found
    total = scores.sum()
    return SpecialUniques(
        largest=largest,
        scores=scores,
        by_size=by_size,
        contributions={
            name: float(part.sum() / total) if total else 0.0 for name, part in by_column.items()
        },
        by_column=by_column,
    )


def _affordable(columns: int, rows: int, largest: int, work: int) -> int:
    """The largest size of combinations whose search takes no more than the given work."""
    done = 0
    for size in range(1, largest + 1):
        done += comb(columns, size) * rows
        if done > work and size > 1:
            return size - 1
    return largest


def _single(codes: Int64Array, sizes: Sequence[int], chosen: Sequence[int]) -> BoolArray:
    """Whether each row is the only one with its values in the chosen columns."""
    keys, span = np.zeros(codes.shape[1], np.int64), 1
    for place in chosen:
        if span * sizes[place] > _COUNTED:
            keys = np.ravel(np.unique(keys, return_inverse=True)[1])
            span = int(keys.max(initial=0)) + 1
        keys = keys * sizes[place] + codes[place]
        span *= sizes[place]
    if span > _COUNTED:
        keys = np.ravel(np.unique(keys, return_inverse=True)[1])
    single: BoolArray = np.bincount(keys)[keys] == 1
    return single
