"""FAST07 §3: optimal k-anonymous groups of records along a one-dimensional order.

Ghinita, Karras, Kalnis, Mamoulis: Fast Data Anonymization with Low Information Loss (VLDB 2007).
Opt(i) is the least loss of the first i records and OptI([b, e]) = |G|·NCP(G) that of the group of
records b to e; then

    Opt(i) = min over k ≤ s < 2k of Opt(i - s) + OptI([i - s + 1, i])

because cutting a group of 2k or more records in two never increases the loss. The table of OptI
(§5.1) is filled for many i at once, on all cores; the minimum is then taken from left to right. In
one dimension OptI is so cheap that it needs no table.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mottle.encoding.domain import Codes
from mottle.graph.model import Graph
from mottle.kernels.ncp_growth import RANGE, SET, Scales, climb
from mottle.kernels.scales import scales
from mottle.methods.base import Arrangement
from mottle.typing import Float64Array, Int32Array, Int64Array
from mottle.utils import parallel
from mottle.utils.compiled import inner_kernel, kernel

_TABLE_ENTRIES = 1 << 22  # entries of OptI that are kept at a time: 32 MB
_TABLE_ROWS = 1 << 13  # fewest rows that are kept at a time, so that all cores have work
_TABLE_LIMIT = 1 << 25  # limit on the entries of these rows, if k is large: 256 MB


def arrange(order: NDArray[np.int64], starts: Int64Array) -> Arrangement:
    """Make groups of consecutive records complete blocks."""
    sizes = np.diff(starts).astype(np.int32)
    return Arrangement(Graph.rings(order.astype(np.int32), starts, sizes))


def boxed_groups(codes: Codes, order: NDArray[np.int64], k: int) -> Int64Array:
    """Starts of the groups with the least loss, then n. Cost O(n·k·d)."""
    columns = np.ascontiguousarray(codes.matrix[order].T)
    prices = scales(codes)
    records = codes.records
    optimum, group_size = _nothing_grouped(records)
    rows = max(_TABLE_ENTRIES // k, min(_TABLE_ROWS, _TABLE_LIMIT // k), 1)
    table = np.empty((min(rows, records), k))
    for origin in range(k, records + 1, rows):
        end = min(origin + rows, records + 1)
        _fill_in_parallel(prices, columns, k, origin, end, table)
        _take_minima(table, origin, end, k, optimum, group_size)
    return _trace_back(group_size)


def short_groups(gaps: Float64Array, k: int) -> Int64Array:
    """Starts of the groups with the least |G|·extent in one dimension (HilbFast, iDistFast, §5.1).

    ``gaps`` [n - 1] are the distances from each record to the next. Cost O(n·k).
    """
    optimum, group_size = _nothing_grouped(len(gaps) + 1)
    _take_shortest(gaps, k, optimum, group_size)
    return _trace_back(group_size)


def _nothing_grouped(records: int) -> tuple[Float64Array, Int32Array]:
    """Initial Opt of every prefix and size of its last group: a short prefix is one group."""
    optimum = np.full(records + 1, np.inf)
    optimum[0] = 0.0
    return optimum, np.arange(records + 1, dtype=np.int32)


def _fill_in_parallel(
    prices: Scales, columns: Int32Array, k: int, origin: int, end: int, table: Float64Array
) -> None:
    parallel.over_rows(
        lambda first, last: _fill_with_losses(
            prices, columns, k, origin, origin + first, origin + last, table
        ),
        end - origin,
    )


def _trace_back(group_size: Int32Array) -> Int64Array:
    """Starts of the groups from the size of the last group of every prefix."""
    starts = [len(group_size) - 1]
    while starts[-1] > 0:
        starts.append(starts[-1] - int(group_size[starts[-1]]))
    return np.array(starts[::-1], np.int64)


@kernel
def _take_minima(
    table: Float64Array,
    first: int,
    last: int,
    k: int,
    optimum: Float64Array,
    group_size: Int32Array,
) -> None:
    """Lines 1-7 of Fig. 3 for the prefixes of ``first .. last - 1`` records."""
    for end in range(first, last):
        best = np.inf
        for size in range(k, min(2 * k - 1, end) + 1):
            total = optimum[end - size] + table[end - first, size - k]
            if total < best:
                best = total
                group_size[end] = size
        optimum[end] = best
        _count_from_least(optimum, end, k)


@kernel
def _take_shortest(
    gaps: Float64Array, k: int, optimum: Float64Array, group_size: Int32Array
) -> None:
    """Lines 1-7 of Fig. 3 for all prefixes; the cost of a group is its size times its extent."""
    for end in range(k, optimum.size):
        extent = 0.0
        for gap in gaps[end - k : end - 1][::-1]:
            extent += gap
        best = np.inf
        for size in range(k, min(2 * k - 1, end) + 1):
            total = optimum[end - size] + size * extent
            if total < best:
                best = total
                group_size[end] = size
            if size < end:
                extent += gaps[end - size - 1]
        optimum[end] = best
        _count_from_least(optimum, end, k)


@inner_kernel
def _count_from_least(optimum: Float64Array, end: int, k: int) -> None:
    """Every k prefixes, subtract the least of the optima still in reach from all of them.

    Only differences among them matter, and these stay exact even if one long gap has made all the
    sums large.
    """
    if end % k == 0 and end >= 2 * k:
        in_reach = optimum[end - 2 * k + 2 : end + 1]
        in_reach -= in_reach.min()


@kernel
def _fill_with_losses(
    prices: Scales,
    columns: Int32Array,
    k: int,
    origin: int,
    first: int,
    last: int,
    table: Float64Array,
) -> None:
    """Set ``table[end - origin, size - k]`` to size · NCP of the ``size`` records before ``end``.

    The box of a group grows backwards from ``end`` record by record, column after column.
    """
    marks = np.zeros(prices.position.size, np.int32)
    losses = np.empty(2 * k)
    for end in range(first, last):
        longest = min(2 * k - 1, end)
        losses[:] = 0.0
        for column in range(columns.shape[0]):
            codes = columns[column, end - longest : end][::-1]
            offset = prices.offset[column]
            step = prices.step[column]
            if prices.form[column] == SET:
                loss = -step
                for place in range(longest):
                    if marks[offset + codes[place]] != end:
                        marks[offset + codes[place]] = end
                        loss += step
                    losses[place] += loss
            elif prices.form[column] == RANGE:
                missing = prices.missing[column]
                lowest, highest = np.inf, -np.inf
                or_missing = 0.0
                for place in range(longest):
                    if codes[place] == missing:
                        or_missing = step
                    else:
                        position = prices.position[offset + codes[place]]
                        lowest = min(lowest, position)
                        highest = max(highest, position)
                    if highest >= lowest:
                        losses[place] += highest - lowest + or_missing
            else:
                node = prices.node[offset + codes[0]]
                for place in range(longest):
                    node = climb(prices, node, codes[place])
                    losses[place] += prices.penalty[node]
        for size in range(k, longest + 1):
            table[end - origin, size - k] = size * losses[size - 1]
