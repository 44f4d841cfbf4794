"""Expected counts of some groups out of very many: the cells of a cube that have records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from mottle.queries.group_by.all_groups import all_grouped, kernel_arguments
from mottle.queries.group_by.two_tables import paired
from mottle.typing import Float64Array, Int32Array, Int64Array

if TYPE_CHECKING:
    from mottle.queries.engine import Queries


def expected_at(queries: Queries, groups: pa.Table) -> Float64Array:
    """Expected counts of some groups: a row of values for each, all different.

    Every column is grouped by its single values. Memory is that of the groups asked for, however
    many combinations there are.
    """
    names = groups.column_names
    grouped = all_grouped(queries, names, {}, None)
    keys = np.zeros(groups.num_rows, np.int64)
    known = np.ones(groups.num_rows, np.bool_)
    for name in names:
        labels = grouped[name].labels
        values = groups.column(name).combine_chunks().cast(labels.type)
        places = pc.index_in(values, value_set=labels)
        known &= pc.is_valid(places).to_numpy(zero_copy_only=False)
        keys = keys * len(labels) + pc.fill_null(places, 0).to_numpy()
    order = np.argsort(keys[known], kind="stable")
    expected = np.zeros(len(order))
    asked = keys[known][order]
    if queries.apart is not None and any(name not in queries.names for name in names):
        found, counted = paired(queries, names, {}, grouped)[:2]
        places = np.searchsorted(asked, found)
        hit = (places < len(asked)) & (asked[np.minimum(places, len(asked) - 1)] == found)
        expected += np.bincount(places[hit], counted[hit], minlength=len(asked))
    else:
        codes, offsets, width, shared, shares = kernel_arguments(queries, names, grouped)
        once, times = _counted(codes)
        _add_up_at(once, times, offsets, width, shared, shares, asked, expected)
    answers = np.zeros(groups.num_rows)
    answers[np.flatnonzero(known)[order]] = expected
    return answers


def _counted(codes: Int32Array) -> tuple[Int32Array, Int64Array]:
    """Records with the same cells once, and how many there are of each."""
    keys = np.zeros(codes.shape[1], np.int64)
    for column in codes:
        _, keys = np.unique(keys * (int(column.max()) + 1) + column, return_inverse=True)
    _, first, times = np.unique(keys, return_index=True, return_counts=True)
    return np.ascontiguousarray(codes[:, first]), times


@njit(cache=True, nogil=True)
def _add_up_at(
    codes: Int32Array,
    times: Int64Array,
    offsets: Int64Array,
    columns: Int64Array,
    groups: Int64Array,
    shares: Float64Array,
    asked: Int64Array,
    expected: Float64Array,
) -> None:
    """Add every record's shares to those of its groups that are asked for, which ascend."""
    width = columns[0]
    at = np.zeros(width + 1, np.int64)
    group = np.zeros(width + 1, np.int64)
    share = np.ones(width + 1)
    for row in range(codes.shape[1]):
        depth = 0
        share[0] = times[row]
        at[0] = offsets[codes[0, row]]
        while depth >= 0:
            if depth == width:
                place = np.searchsorted(asked, group[depth])
                if place < len(asked) and asked[place] == group[depth]:
                    expected[place] += share[depth]
                depth -= 1
                continue
            entry = at[depth]
            if entry == offsets[codes[depth, row] + 1]:
                depth -= 1
                continue
            at[depth] += 1
            group[depth + 1] = group[depth] + groups[entry]
            share[depth + 1] = share[depth] * shares[entry]
            depth += 1
            if depth < width:
                at[depth] = offsets[codes[depth, row]]
