"""Pairs of columns: how much of their association a table that analysts draw has kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.typing import Int64Array

_BINS = 6  # of columns of numbers
_MOST_VALUES = 12  # of other columns; the rest counts as one
_MOST_COLUMNS = 12
_MOST_PAIRS = 8


@dataclass(frozen=True)
class Pair:
    """The association of two columns, as Cramér's V without its bias."""

    first: str
    second: str
    before: float
    after: float


def pairs_of(original: pa.Table, drawn: pa.Table) -> list[Pair]:
    """Compare the strongest associations of the original with those of a drawn table.

    Parameters
    ----------
    original : pyarrow.Table
        The original.
    drawn : pyarrow.Table
        A table that the release allows, as `Release.sample` draws it.

    Returns
    -------
    list of Pair
        The pairs that are associated most, the strongest first.
    """
    names = [
        name
        for name in original.column_names
        if name in drawn.column_names and not pa.types.is_nested(original.column(name).type)
    ][:_MOST_COLUMNS]
    coded = {name: _coded(original.column(name), drawn.column(name)) for name in names}
    found = [
        Pair(
            first,
            second,
            cramers_v(coded[first][0], coded[second][0]),
            cramers_v(coded[first][1], coded[second][1]),
        )
        for first, second in combinations(names, 2)
    ]
    return sorted(found, key=lambda pair: -max(pair.before, pair.after))[:_MOST_PAIRS]


def cramers_v(first: Sequence[int] | Int64Array, second: Sequence[int] | Int64Array) -> float:
    """Return Cramér's V, corrected for its bias (Bergsma 2013).

    Parameters
    ----------
    first, second : sequence of int
        Codes of two columns.

    Returns
    -------
    float
        From 0, independent, to 1.

    Examples
    --------
    >>> cramers_v([0, 0, 1, 1] * 50, [0, 1, 0, 1] * 50), cramers_v([0, 1] * 50, [0, 1] * 50) > 0.99
    (0.0, True)
    """
    _, one = np.unique(first, return_inverse=True)
    _, two = np.unique(second, return_inverse=True)
    rows, columns, n = int(one.max()) + 1, int(two.max()) + 1, len(one)
    if min(rows, columns) < 2:
        return 0.0
    table = np.bincount(one * columns + two, minlength=rows * columns).reshape(rows, columns)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    mean_square = float(((table - expected) ** 2 / expected).sum()) / n
    corrected = max(mean_square - (rows - 1) * (columns - 1) / (n - 1), 0.0)
    least = min(size - (size - 1) ** 2 / (n - 1) for size in (rows, columns))
    return float(np.sqrt(corrected / max(least - 1, 1e-12)))


def _coded(before: pa.ChunkedArray, after: pa.ChunkedArray) -> tuple[Int64Array, Int64Array]:
    """Codes of a column in both tables, by the same few values or ranges."""
    numeric = pa.types.is_integer(before.type) or pa.types.is_floating(before.type)
    if numeric and pc.count_distinct(before).as_py() > _MOST_VALUES:
        columns = [
            column.cast(pa.float64()).fill_null(np.nan).to_numpy() for column in (before, after)
        ]
        known = columns[0][~np.isnan(columns[0])]
        ends = np.unique(np.quantile(known, np.arange(1, _BINS) / _BINS))
        one, two = (
            np.where(np.isnan(column), len(ends) + 1, np.searchsorted(ends, column))
            for column in columns
        )
        return one.astype(np.int64), two.astype(np.int64)
    texts = [column.cast(pa.string()).combine_chunks() for column in (before, after)]
    counts = pc.value_counts(texts[0])
    order = np.argsort(-counts.field("counts").to_numpy(zero_copy_only=False), kind="stable")
    values = counts.field("values").take(pa.array(order[:_MOST_VALUES]))
    codes = [pc.index_in(text, values).fill_null(len(values)) for text in texts]
    return tuple(code.to_numpy(zero_copy_only=False).astype(np.int64) for code in codes)
