"""Group-by with sensitive values in a table of their own (Anatomy)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mottle.queries.conditions import Conditions
from mottle.typing import BoolArray, Float64Array, Int64Array

if TYPE_CHECKING:
    from mottle.queries.engine import Queries
    from mottle.queries.group_by.columns import GroupingColumn, GroupShares


def count_two_tables(
    queries: Queries,
    names: Sequence[str],
    others: Mapping[str, Conditions],
    columns: Mapping[str, GroupingColumn],
    groups: int,
) -> tuple[Float64Array, Float64Array, Float64Array, Float64Array]:
    """Expected, certain and possible counts of every group, and the variance."""
    keys, *parts = count_pairs(queries, names, others, columns)
    expected, certain, possible, variance = (
        np.bincount(keys, part, minlength=groups).astype(np.float64) for part in parts
    )
    return expected, certain, possible, variance


def count_pairs(
    queries: Queries,
    names: Sequence[str],
    others: Mapping[str, Conditions],
    columns: Mapping[str, GroupingColumn],
) -> tuple[Int64Array, Float64Array, Float64Array, Float64Array, Float64Array]:
    """Return a group and its counts for every pair of records and values in a published group.

    The first array holds the numbers of the groups (which may repeat); the others are their
    expected, certain and possible counts, and the variance. Both tables are exact. Records are
    counted by published group and by the groups of their own columns, sensitive values likewise;
    within a published group, values are assigned to records at random (hypergeometric).
    """
    tables = queries.two_tables
    assert tables is not None
    own, sensitive = queries.split_conditions(others)
    strides = _strides(names, columns)
    row_groups, row_keys, among = _count_rows(
        queries,
        [name for name in names if name in queries.names],
        strides,
        columns,
        queries.likelihoods(own) > 0,
        tables.group_of_row,
        np.ones(queries.records),
    )
    value_groups, value_keys, fitting = _count_rows(
        queries,
        [name for name in names if name not in queries.names],
        strides,
        columns,
        tables.select_values(sensitive),
        tables.group_of_value,
        tables.counts.astype(np.float64),
    )
    starts = np.searchsorted(value_groups, row_groups, side="left")
    sizes = np.searchsorted(value_groups, row_groups, side="right") - starts
    rows = np.repeat(np.arange(len(row_groups)), sizes)
    values = starts[rows] + np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    drawn, fits, size = among[rows], fitting[values], tables.sizes[row_groups[rows]]
    expected = drawn * fits / size
    rest = (size - drawn) * (size - fits) / (size * np.maximum(size - 1, 1))
    return (
        row_keys[rows] + value_keys[values],
        expected,
        np.maximum(drawn + fits - size, 0),
        np.minimum(drawn, fits),
        expected * rest,
    )


def _strides(names: Sequence[str], columns: Mapping[str, GroupingColumn]) -> dict[str, int]:
    """What the next group of each column adds to the number of a combined group."""
    strides, stride = {}, 1
    for name in reversed(names):
        strides[name] = stride
        stride *= len(columns[name].labels)
    return strides


def _count_rows(
    queries: Queries,
    names: Sequence[str],
    strides: Mapping[str, int],
    columns: Mapping[str, GroupingColumn],
    fits: BoolArray,
    published_groups: Int64Array,
    weights: Float64Array,
) -> tuple[Int64Array, Int64Array, Float64Array]:
    """Count the rows of one table that fit, by published group and group of their columns."""
    keys = np.zeros(len(fits), np.int64)
    for name in names:
        found = _only_group(columns[name].shares)[queries.column(name).of_row]
        fits = fits & (found >= 0)
        keys += np.maximum(found, 0) * strides[name]
    chosen = np.stack([published_groups[fits], keys[fits]])
    pairs, inverse = np.unique(chosen, axis=1, return_inverse=True)
    counted = np.bincount(inverse.ravel(), weights[fits], minlength=pairs.shape[1])
    return pairs[0], pairs[1], counted.astype(np.float64)


def _only_group(shares: GroupShares) -> Int64Array:
    """[cells]: the one group of each cell of an exact column, -1 where there is none."""
    found = np.full(len(shares.offsets) - 1, -1, np.int64)
    some = np.diff(shares.offsets) > 0
    found[some] = shares.groups[shares.offsets[:-1][some]]
    return found
