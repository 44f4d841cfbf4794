"""Cut an order into segments at the cheapest places, by dynamic programming (SET12 §4.1).

Equation 1: with C(i) the least sum of distances at breakpoints over all ways to cut the first i
records into segments of m to M records,

    C(i) = min { C(j) + H(r_j, r_{j+1}) : i - M ≤ j ≤ i - m },   C(0) = 0.

There is no breakpoint before the first record, so the distance at j = 0 counts as 0.
"""

from __future__ import annotations

import numpy as np

from mottle.typing import Int32Array, Int64Array
from mottle.utils.compiled import kernel

SHORTEST, LONGEST = 300, 350  # records in a segment (SET12 §5.1)


def segments(
    distances: Int32Array | Int64Array, shortest: int = SHORTEST, longest: int = LONGEST
) -> Int64Array:
    """Cut an order of n records; return the first place of every segment, then n.

    ``distances`` [n] holds the distance from each record to the next. Not every n can be cut into
    segments of ``shortest`` to ``longest`` records (400 cannot be cut into 300 to 350); in that
    case the bounds are widened by as little as segments of equal size need.

    >>> segments(np.array([5, 1, 5, 0, 5, 9]), 2, 4)
    array([0, 4, 6])
    >>> segments(np.array([5, 1, 0, 2, 5, 9]), 3, 5)
    array([0, 3, 6])
    """
    records = len(distances)
    shortest, longest = feasible_bounds(records, shortest, longest)
    before = _best_cuts(np.asarray(distances, np.int64), shortest, longest)
    cuts = [records]
    while cuts[-1] > 0:
        cuts.append(int(before[cuts[-1]]))
    return np.array(cuts[::-1], np.int64)


def feasible_bounds(records: int, shortest: int, longest: int) -> tuple[int, int]:
    """The bounds, widened if ``records`` records cannot be cut within them.

    >>> feasible_bounds(650, 300, 350), feasible_bounds(400, 300, 350), feasible_bounds(9, 300, 350)
    ((300, 350), (300, 400), (9, 350))
    """
    fewest, most = -(-records // longest), records // shortest
    if fewest <= most:
        return shortest, longest
    parts = max(most, 1)  # prefer longer segments to shorter ones: they only take more time
    return min(shortest, records // parts), max(longest, -(-records // parts))


@kernel
def _best_cuts(distances: Int64Array, shortest: int, longest: int) -> Int64Array:
    """For every i, the last breakpoint j of the best way to cut the first i records."""
    records = distances.size
    unreachable = np.iinfo(np.int64).max
    cost = np.full(records + 1, unreachable)
    before = np.full(records + 1, -1)
    cost[0] = 0
    for i in range(shortest, records + 1):
        for j in range(max(i - longest, 0), i - shortest + 1):
            if cost[j] != unreachable:
                through = cost[j] + (distances[j - 1] if j > 0 else 0)
                if through < cost[i]:
                    cost[i], before[i] = through, j
    return before
