"""Expected counts of selected groups out of very many, such as the non-empty cells of a cube."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.queries.group_by.columns import grouping_columns
from mottle.queries.group_by.kernel import add_up, kernel_input
from mottle.queries.group_by.two_tables import count_pairs
from mottle.typing import Float64Array, Int32Array

if TYPE_CHECKING:
    from mottle.queries.engine import Queries


def expected_counts(queries: Queries, groups: pa.Table) -> Float64Array:
    """Return the expected counts of selected groups.

    ``groups`` has a row of values for each, all different; every column is grouped by its single
    values. The memory needed is that of the selected groups, however many combinations there are.
    """
    names = groups.column_names
    queries = queries.answering(names)
    columns = grouping_columns(queries, names, {}, None)
    keys = np.zeros(groups.num_rows, np.int64)
    exists = np.ones(groups.num_rows, np.bool_)
    for name in names:
        labels = columns[name].labels
        values = groups.column(name).combine_chunks().cast(labels.type)
        places = pc.index_in(values, value_set=labels)
        exists &= pc.is_valid(places).to_numpy(zero_copy_only=False)
        keys = keys * len(labels) + pc.fill_null(places, 0).to_numpy()
    order = np.argsort(keys[exists], kind="stable")
    selected = keys[exists][order]
    expected = np.zeros(len(selected))
    if queries.two_tables is not None and any(name not in queries.names for name in names):
        found, counted = count_pairs(queries, names, {}, columns)[:2]
        places = np.searchsorted(selected, found)
        hit = (places < len(selected)) & (selected[np.minimum(places, len(selected) - 1)] == found)
        expected += np.bincount(places[hit], counted[hit], minlength=len(selected))
    else:
        prepared = kernel_input(queries, names, columns)
        distinct, times = _count_distinct(prepared.codes)
        totals = np.zeros((4, len(selected)))
        add_up(*prepared._replace(codes=distinct), np.ones(len(times)), times, selected, totals)
        expected = totals[0]
    answers = np.zeros(groups.num_rows)
    answers[np.flatnonzero(exists)[order]] = expected
    return answers


def _count_distinct(codes: Int32Array) -> tuple[Int32Array, Float64Array]:
    """Distinct combinations of cells, and the number of records that have each."""
    keys = np.zeros(codes.shape[1], np.int64)
    for column in codes:
        _, keys = np.unique(keys * (int(column.max()) + 1) + column, return_inverse=True)
    _, first, times = np.unique(keys, return_index=True, return_counts=True)
    return np.ascontiguousarray(codes[:, first]), times.astype(np.float64)
