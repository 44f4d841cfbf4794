"""Pairs of columns: how much of their association a table that analysts draw has kept.

Columns are looked at by a few values or ranges, the same in the original and in the drawn table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.typing import Float64Array, Int64Array

_BINS = 6  # of columns of numbers
_MOST_VALUES = 12  # of other columns; the rest counts as one
_MOST_COLUMNS = 12
_MOST_PAIRS = 8
_MISSING, _OTHERS = "missing", "all others"


@dataclass(frozen=True)
class Pair:
    """The association of two columns, as Cramér's V without its bias."""

    first: str
    second: str
    before: float
    after: float


@dataclass(frozen=True)
class Coded:
    """A column by a few values or ranges."""

    labels: tuple[str, ...]
    before: Int64Array  # [n]: places among the labels, in the original
    after: Int64Array  # [n]: and in the drawn table


@dataclass(frozen=True)
class Joint:
    """How often two columns have each pair of values or ranges together."""

    first: Coded
    second: Coded
    before: Float64Array  # [values of the first, values of the second]: shares in the original
    after: Float64Array  # and in the drawn table


def joint_of(original: pa.Table, drawn: pa.Table, first: str, second: str) -> Joint:
    """Count pairs of values in the original and in a drawn table.

    Parameters
    ----------
    original, drawn : pyarrow.Table
        The original, and a table that the release allows.
    first, second : str
        Two columns of both.

    Returns
    -------
    Joint
        The shares of all pairs.
    """
    one, two = (coded(original.column(name), drawn.column(name)) for name in (first, second))
    sizes = len(one.labels), len(two.labels)
    before, after = (
        np.bincount(rows * sizes[1] + columns, minlength=sizes[0] * sizes[1]) / max(len(rows), 1)
        for rows, columns in ((one.before, two.before), (one.after, two.after))
    )
    return Joint(one, two, before.reshape(sizes), after.reshape(sizes))


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
    seen = {name: coded(original.column(name), drawn.column(name)) for name in names}
    found = [
        Pair(
            first,
            second,
            cramers_v(seen[first].before, seen[second].before),
            cramers_v(seen[first].after, seen[second].after),
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


def coded(before: pa.ChunkedArray, after: pa.ChunkedArray) -> Coded:
    """Look at a column of both tables by the same few values or ranges."""
    numeric = is_on_a_line(before.type)
    if numeric and pc.count_distinct(before).as_py() > _MOST_VALUES:
        columns = [on_a_line(column.cast(before.type)) for column in (before, after)]
        known = np.flatnonzero(~np.isnan(columns[0]))
        in_turn = known[np.argsort(columns[0][known], kind="stable")]
        last = in_turn[(len(in_turn) - 1) * np.arange(1, _BINS) // _BINS]  # rows where bins end
        ends, first = np.unique(columns[0][last], return_index=True)
        words = [_end(before[int(row)].as_py()) for row in last[first]]
        labels = [*(f"to {word}" for word in words), f"above {words[-1]}", _MISSING]
        places = [
            np.where(np.isnan(column), len(ends) + 1, np.searchsorted(ends, column))
            for column in columns
        ]
    else:
        texts = [column.cast(pa.string()).combine_chunks() for column in (before, after)]
        counts = pc.value_counts(texts[0])
        order = np.argsort(-counts.field("counts").to_numpy(zero_copy_only=False), kind="stable")
        values = counts.field("values").take(pa.array(order[:_MOST_VALUES]))
        labels = [*(_MISSING if each is None else each for each in values.to_pylist()), _OTHERS]
        if numeric:  # in their order, and not by how often they occur
            inside = np.argsort(on_a_line(values.cast(before.type)), kind="stable")
            values = values.take(pa.array(inside))
            labels = [*(labels[place] for place in inside), _OTHERS]
        places = [
            pc.index_in(text, values).fill_null(len(values)).to_numpy(zero_copy_only=False)
            for text in texts
        ]
    used = np.unique(np.concatenate(places))  # what does not occur needs no row
    one, two = (np.searchsorted(used, each).astype(np.int64) for each in places)
    return Coded(tuple(labels[place] for place in used), one, two)


def is_on_a_line(kind: pa.DataType) -> bool:
    """Whether values of a type are numbers or times."""
    types = pa.types
    numbers = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    return bool(numbers or types.is_date(kind) or types.is_timestamp(kind))


def on_a_line(values: pa.ChunkedArray | pa.Array) -> Float64Array:
    """Numbers or times as places on a line; NaN where a value is missing."""
    if pa.types.is_date(values.type):
        values = values.cast(pa.timestamp("ms"))
    if pa.types.is_timestamp(values.type):
        values = values.cast(pa.int64())
    numbers = pc.fill_null(pc.cast(values, pa.float64(), safe=False), np.nan)
    return np.asarray(numbers, np.float64)


def _end(value: object) -> str:
    """The end of a range, in few letters."""
    return f"{value:,.6g}" if isinstance(value, int | float) else str(value)
