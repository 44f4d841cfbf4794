"""Orders from recursive splits: separate records with an item from those without, repeatedly.

The Gray order, which uses one order of items for all records, is such a splitting. Here every piece
is split by the item that divides it most evenly, which adapts to what the records of the piece
already have in common: baskets with bread and milk are split by other items than baskets with
neither. The part that holds the item is reflected, as in the Gray code.
"""

from __future__ import annotations

import numpy as np

from mottle.itemsets.data import Sets
from mottle.typing import Float64Array, Int32Array, Int64Array
from mottle.utils import parallel
from mottle.utils.compiled import inner_kernel, kernel

_PIECES = 64  # approximate number of pieces that are distributed over the cores


def split_order(
    sets: Sets, weights: Int32Array, piece: int, item_weights: Float64Array | None = None
) -> Int64Array:
    """Records in the order of their pieces, split until these have at most ``piece`` records.

    ``weights`` are the weights of records. The evenness of an item is multiplied by its
    ``item_weights``. Cost O(items held · depth of the splits); the depth is about log n for records
    that hold half of all items.

    >>> from mottle.itemsets.data import ItemSets
    >>> sets = ItemSets.of(["ax", "b", "a", "bx", "ax", "b"]).sets()
    >>> split_order(sets, np.ones(6, np.int32), piece=1)
    array([1, 5, 3, 0, 4, 2])
    """
    if item_weights is None:
        item_weights = np.ones(sets.universe)
    order = np.arange(sets.records)
    large = max(piece, sets.records // _PIECES, 2)
    whole = np.array([[0, sets.records, 0]])
    pieces = _split(sets, weights, large, item_weights, order, whole)
    pieces = pieces[np.argsort(pieces[:, 0])]
    parallel.over_blocks(
        lambda first, last: _split(sets, weights, piece, item_weights, order, pieces[first:last]),
        np.append(pieces[:, 0], sets.records),
    )
    return order


@kernel
def _split(
    sets: Sets,
    weights: Int32Array,
    piece: int,
    item_weights: Float64Array,
    order: Int64Array,
    pieces: Int64Array,
) -> Int64Array:
    """Split pieces of ``order``, in place, until they have at most ``piece`` records.

    A piece is (first place, end, whether it is reflected). Returns the pieces at the end.
    """
    largest, together = 0, 0
    for first, last, _ in pieces:
        largest = max(largest, last - first)
        together += last - first
    spare = np.empty(largest, np.int64)
    holding = np.zeros(
        sets.universe, np.int64
    )  # by item: weight of the piece's records that hold it
    seen = np.empty(sets.universe, np.int64)
    todo = np.empty((largest + 1, 3), np.int64)
    left = np.empty((together, 3), np.int64)
    found = 0
    for number in range(len(pieces)):
        for at in range(3):  # element by element, because slices take seconds to compile
            todo[0, at] = pieces[number, at]
        waiting = 1
        while waiting > 0:
            waiting -= 1
            first, last, reflected = todo[waiting]
            item = -1
            if last - first > piece:
                item = _most_even(sets, weights, order[first:last], item_weights, holding, seen)
            if item < 0:  # small enough, or all records are equal
                left[found, 0], left[found, 1], left[found, 2] = first, last, reflected
                found += 1
                continue
            middle, border = 0, 0
            for wanted in (reflected, 1 - reflected):
                for place in range(first, last):
                    if _holds(sets, order[place], item) == wanted:
                        spare[middle] = order[place]
                        middle += 1
                if wanted == reflected:
                    border = first + middle
            for place in range(first, last):
                order[place] = spare[place - first]
            todo[waiting, 0], todo[waiting, 1], todo[waiting, 2] = first, border, 0
            todo[waiting + 1, 0], todo[waiting + 1, 1], todo[waiting + 1, 2] = border, last, 1
            waiting += 2
    return left[:found]


@inner_kernel
def _most_even(
    sets: Sets,
    weights: Int32Array,
    piece: Int64Array,
    item_weights: Float64Array,
    holding: Int64Array,
    seen: Int64Array,
) -> int:
    """The item that divides a piece most evenly; -1 if none does."""
    distinct, total = 0, 0
    for record in piece:
        total += weights[record]
        for at in range(sets.starts[record], sets.starts[record + 1]):
            item = sets.items[at]
            if holding[item] == 0:
                seen[distinct] = item
                distinct += 1
            holding[item] += weights[record]
    best, most = -1, 0.0
    for number in range(distinct):
        item = seen[number]
        even = min(holding[item], total - holding[item]) * item_weights[item]
        if even > most:
            best, most = item, even
        holding[item] = 0
    return int(best)


@inner_kernel
def _holds(sets: Sets, record: int, item: int) -> int:
    """1 if the record holds the item, else 0 (binary search in its list)."""
    low, high = sets.starts[record], sets.starts[record + 1]
    while low < high:
        middle = (low + high) // 2
        if sets.items[middle] < item:
            low = middle + 1
        else:
            high = middle
    return int(low < sets.starts[record + 1] and sets.items[low] == item)
