"""Group-by with sensitive values in a table of their own (Anatomy)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mottle.queries.conditions import Conditions
from mottle.typing import BoolArray, Float64Array, Int64Array

if TYPE_CHECKING:
    from mottle.queries.engine import Queries
    from mottle.queries.group_by.all_groups import Grouped, Shared


def count_apart(
    queries: Queries,
    names: Sequence[str],
    others: Mapping[str, Conditions],
    grouped: Mapping[str, Grouped],
    groups: int,
) -> tuple[Float64Array, Float64Array, Float64Array, Float64Array]:
    """Expected, certain and possible counts of every group, and the variance."""
    keys, *parts = paired(queries, names, others, grouped)
    expected, certain, possible, variance = (
        np.bincount(keys, part, minlength=groups).astype(np.float64) for part in parts
    )
    return expected, certain, possible, variance


def paired(
    queries: Queries,
    names: Sequence[str],
    others: Mapping[str, Conditions],
    grouped: Mapping[str, Grouped],
) -> tuple[Int64Array, Float64Array, Float64Array, Float64Array, Float64Array]:
    """The group and what it gets, for every pair of records and values in a group of the release.

    Both sides are exact. Records are counted by group of the release and by the groups of their own
    columns, sensitive values likewise; each pair of the two within a group of the release is dealt
    out at random (hypergeometric).
    """
    apart = queries.apart
    assert apart is not None
    own, hidden = queries.split(others)
    strides = _strides(names, grouped)
    row_groups, row_keys, among = _tallied(
        queries,
        [name for name in names if name in queries.names],
        strides,
        grouped,
        queries.likelihoods(own) > 0,
        apart.group_of_row,
        np.ones(queries.records),
    )
    value_groups, value_keys, fitting = _tallied(
        queries,
        [name for name in names if name not in queries.names],
        strides,
        grouped,
        apart.fitting(hidden),
        apart.group_of_value,
        apart.counts.astype(np.float64),
    )
    starts = np.searchsorted(value_groups, row_groups, side="left")
    sizes = np.searchsorted(value_groups, row_groups, side="right") - starts
    rows = np.repeat(np.arange(len(row_groups)), sizes)
    values = starts[rows] + np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    drawn, fits, size = among[rows], fitting[values], apart.sizes[row_groups[rows]]
    expected = drawn * fits / size
    rest = (size - drawn) * (size - fits) / (size * np.maximum(size - 1, 1))
    return (
        row_keys[rows] + value_keys[values],
        expected,
        np.maximum(drawn + fits - size, 0),
        np.minimum(drawn, fits),
        expected * rest,
    )


def _strides(names: Sequence[str], grouped: Mapping[str, Grouped]) -> dict[str, int]:
    """What one step in each column adds to the number of a combined group."""
    strides, stride = {}, 1
    for name in reversed(names):
        strides[name] = stride
        stride *= len(grouped[name].labels)
    return strides


def _tallied(
    queries: Queries,
    names: Sequence[str],
    strides: Mapping[str, int],
    grouped: Mapping[str, Grouped],
    fits: BoolArray,
    release_groups: Int64Array,
    weights: Float64Array,
) -> tuple[Int64Array, Int64Array, Float64Array]:
    """Rows of one table that fit, by group of the release and group of their columns."""
    keys = np.zeros(len(fits), np.int64)
    for name in names:
        found = _only_group(grouped[name].shared)[queries.column(name).of_row]
        fits = fits & (found >= 0)
        keys += np.maximum(found, 0) * strides[name]
    chosen = np.stack([release_groups[fits], keys[fits]])
    pairs, inverse = np.unique(chosen, axis=1, return_inverse=True)
    counted = np.bincount(inverse.ravel(), weights[fits], minlength=pairs.shape[1])
    return pairs[0], pairs[1], counted.astype(np.float64)


def _only_group(shared: Shared) -> Int64Array:
    """The one group of every cell of an exact column, -1 where there is none."""
    found = np.full(len(shared.offsets) - 1, -1, np.int64)
    some = np.diff(shared.offsets) > 0
    found[some] = shared.groups[shared.offsets[:-1][some]]
    return found
