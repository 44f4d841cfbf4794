"""Hamming distances between records, on packed bitmaps or on sorted item lists."""

from __future__ import annotations

import numpy as np

from mottle.itemsets.bits import popcount
from mottle.itemsets.data import Sets
from mottle.typing import Int32Array, Int64Array
from mottle.utils import parallel
from mottle.utils.compiled import inner_kernel, kernel


def steps(sets: Sets, order: Int64Array) -> Int32Array:
    """Distances from each record of an order to the next, and from the last back to the first.

    >>> from mottle.itemsets.data import ItemSets
    >>> steps(ItemSets.of(["ab", "bc", "bcd"]).sets(), np.arange(3))
    array([2, 1, 3], dtype=int32)
    """
    found = np.empty(len(order), np.int32)
    parallel.over_rows(lambda first, last: _steps(sets, order, first, last, found), len(order))
    return found


@inner_kernel
def hamming(sets: Sets, one: int, other: int) -> np.int64:
    """Number of items that exactly one of two records holds."""
    different: np.int64 = np.int64(0)
    if sets.words.shape[1] > 0:
        for word in range(sets.words.shape[1]):
            different += np.int64(popcount(sets.words[one, word] ^ sets.words[other, word]))
        return different
    here, end = sets.starts[one], sets.starts[one + 1]
    there, last = sets.starts[other], sets.starts[other + 1]
    different += (end - here) + (last - there)
    while here < end and there < last:
        left, right = sets.items[here], sets.items[there]
        if left == right:
            different -= 2
        here += left <= right
        there += right <= left
    return different


@kernel
def distances_within(sets: Sets, records: Int64Array, distance: Int32Array) -> None:
    """Fill ``distance[:s, :s]`` with the Hamming distances of s records."""
    for one in range(records.size):
        distance[one, one] = 0
        for other in range(one):
            between = hamming(sets, records[one], records[other])
            distance[one, other] = between
            distance[other, one] = between


@kernel
def _steps(sets: Sets, order: Int64Array, first: int, last: int, found: Int32Array) -> None:
    for place in range(first, last):
        after = place + 1 if place + 1 < order.size else 0
        found[place] = hamming(sets, order[place], order[after])
