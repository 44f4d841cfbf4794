"""Columns in as few codes as occur, and equal rows and cells merged."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mottle.audit.containment.coded_columns import CodedColumn, offsets_of
from mottle.audit.containment.lists import distinct_lists
from mottle.typing import Int32Array, Int64Array
from mottle.utils.sorting import grouped

_LARGEST_KEY = 1 << 62


def group_rows(rows: NDArray[np.integer]) -> tuple[Int64Array, Int32Array]:
    """Group equal rows: the group of every row, and one row of each group.

    >>> groups, distinct = group_rows(np.array([[1, 2], [3, 4], [1, 2]], np.int32))
    >>> groups, distinct.tolist()
    (array([0, 1, 0]), [[1, 2], [3, 4]])
    """
    keys, several = np.zeros(len(rows), np.int64), 1
    for column in rows.T:
        values = int(column.max(initial=0)) + 1
        if several * values > _LARGEST_KEY:
            found, keys = np.unique(keys, return_inverse=True)
            several = len(found)
        keys = keys * values + column
        several *= values
    first, groups = grouped(keys, several - 1)
    return groups, np.ascontiguousarray(rows[first], np.int32)


def concatenate_ranges(first: Int64Array, sizes: Int64Array) -> Int64Array:
    """The ranges first, first + 1, … of the given sizes, one after the other.

    >>> concatenate_ranges(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - ends + sizes, sizes)


class CompactColumn(NamedTuple):
    """A column in the codes that occur among the originals; equal cells occur once."""

    codes: Int32Array  # [originals]
    cell_of: Int32Array  # [records]: the cell of each record
    offsets: Int64Array  # [cells + 1]: where the intervals of each cell begin
    lowest: Int32Array  # first code of each interval
    highest: Int32Array  # last code of each interval
    mean_width: float  # mean width of a record's cell, in codes


def compact_column(column: CodedColumn, people: Int64Array | None) -> CompactColumn:
    """Reduce cells to the codes that occur in them, and join neighbouring intervals."""
    codes = column.codes if people is None else column.codes[people]
    present, dense = np.unique(codes, return_inverse=True)
    low = np.searchsorted(present, column.lowest, side="left")
    high = np.searchsorted(present, column.highest, side="right") - 1
    cell_of = np.repeat(np.arange(len(column.offsets) - 1), np.diff(column.offsets))
    some = low <= high
    low, high, cell_of = low[some], high[some], cell_of[some]
    begins = np.ones(len(low), np.bool_)
    begins[1:] = (cell_of[1:] != cell_of[:-1]) | (low[1:] > high[:-1] + 1)
    ends = np.append(begins[1:], True)[: len(begins)]
    low, high, cell_of = low[begins], high[ends], cell_of[begins]
    counts = np.bincount(cell_of, minlength=len(column.offsets) - 1)
    width = float((high - low + 1).sum()) / max(len(counts), 1)
    bounds = np.stack([low, high], axis=1).astype(np.int32)
    first, number = distinct_lists(offsets_of(counts), bounds)
    kept = bounds[concatenate_ranges(offsets_of(counts)[first], counts[first])]
    return CompactColumn(
        codes=dense.ravel().astype(np.int32),
        cell_of=number,
        offsets=offsets_of(counts[first]),
        lowest=np.ascontiguousarray(kept[:, 0]),
        highest=np.ascontiguousarray(kept[:, 1]),
        mean_width=max(width, 1e-9),
    )
