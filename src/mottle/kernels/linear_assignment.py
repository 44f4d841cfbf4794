"""Minimum-cost perfect matching of a dense square cost matrix, for kernels.

Jonker and Volgenant: A Shortest Augmenting Path Algorithm for Dense and Sparse Linear Assignment
Problems (Computing 38, 1987): column reduction, augmenting row reduction, then shortest augmenting
paths for the rows that are still free.
"""

from __future__ import annotations

import numpy as np

from mottle.typing import Float64Array, Int32Array
from mottle.utils.compiled import inner_kernel, kernel

_FREE = -1


@kernel
def match_rows(
    cost: Float64Array, size: int, column_of: Int32Array, work: Int32Array, prices: Float64Array
) -> None:
    """Fill ``column_of[:size]`` with the cheapest perfect matching of ``cost[:size, :size]``.

    ``work`` [5, ≥ size] and ``prices`` [2, ≥ size] are scratch space. Cost O(size³) at worst; a
    matrix of 300 rows takes about a millisecond.
    """
    row_of, free, todo, parent = work[0], work[1], work[2], work[3]
    price, distance = prices[0], prices[1]
    # Column reduction: each column's price is its cheapest entry; first come, first served. It
    # goes row by row and without branches, so that it is vectorized.
    cheapest = todo
    for column in range(size):
        column_of[column] = _FREE
        cheapest[column] = 0
        price[column] = cost[0, column]
    for row in range(1, size):
        for column in range(size):
            lower = cost[row, column] < price[column]
            price[column] = cost[row, column] if lower else price[column]
            cheapest[column] = row if lower else cheapest[column]
    for column in range(size - 1, -1, -1):
        row_of[column] = _FREE
        if column_of[cheapest[column]] == _FREE:
            column_of[cheapest[column]] = column
            row_of[column] = cheapest[column]
    free_rows = 0
    for row in range(size):
        if column_of[row] == _FREE:
            free[free_rows] = row
            free_rows += 1
    # Augmenting row reduction, twice: a free row takes its cheapest column and raises its price
    # to the point where the second cheapest is as good; the row that held the column is free again.
    for _ in range(2):
        waiting = free_rows
        free_rows = 0
        index = 0
        patience = 4 * size  # a limit, because equal prices can push two rows back and forth
        while index < waiting:
            row = free[index]
            index += 1
            least, second = np.inf, np.inf
            first_column, second_column = 0, 0
            for column in range(size):
                reduced = cost[row, column] - price[column]
                if reduced < second:
                    if reduced < least:
                        second, second_column = least, first_column
                        least, first_column = reduced, column
                    else:
                        second, second_column = reduced, column
            target = first_column
            holder = row_of[target]
            lowers = least < second
            if lowers:
                price[target] -= second - least
            elif holder != _FREE and size > 1:
                target = second_column
                holder = row_of[target]
            column_of[row] = target
            row_of[target] = row
            if holder != _FREE:
                column_of[holder] = _FREE
                if lowers and patience > 0:
                    patience -= 1
                    index -= 1
                    free[index] = holder
                else:
                    free[free_rows] = holder
                    free_rows += 1
    for number in range(free_rows):
        _augment(cost, size, free[number], column_of, row_of, todo, parent, price, distance)


@inner_kernel
def _augment(
    cost: Float64Array,
    size: int,
    start: int,
    column_of: Int32Array,
    row_of: Int32Array,
    todo: Int32Array,
    parent: Int32Array,
    price: Float64Array,
    distance: Float64Array,
) -> None:
    """Give the free row ``start`` a column along a shortest path of reassignments (Dijkstra)."""
    for column in range(size):
        todo[column] = column
        distance[column] = cost[start, column] - price[column]
        parent[column] = start
    # todo[:scanned] are settled, todo[scanned:reached] are at the least distance.
    scanned, reached = 0, 0
    settled = 0  # number of columns whose price changes at the end
    least = 0.0
    end = _FREE
    while end == _FREE:
        if scanned == reached:
            settled = scanned
            least = distance[todo[reached]]
            reached += 1
            for place in range(reached, size):
                column = todo[place]
                if distance[column] <= least:
                    if distance[column] < least:
                        reached = scanned
                        least = distance[column]
                    todo[place] = todo[reached]
                    todo[reached] = column
                    reached += 1
            for place in range(scanned, reached):
                if row_of[todo[place]] == _FREE:
                    end = todo[place]
                    break
        while end == _FREE and scanned < reached:
            column = todo[scanned]
            scanned += 1
            row = row_of[column]
            shift = cost[row, column] - price[column] - least
            for place in range(reached, size):
                other = todo[place]
                through = cost[row, other] - price[other] - shift
                if through < distance[other]:
                    distance[other] = through
                    parent[other] = row
                    if through <= least:
                        if row_of[other] == _FREE:
                            end = other
                            break
                        todo[place] = todo[reached]
                        todo[reached] = other
                        reached += 1
    for place in range(settled):
        price[todo[place]] += distance[todo[place]] - least
    while True:
        row = parent[end]
        row_of[end] = row
        end, column_of[row] = column_of[row], end
        if row == start:
            break
