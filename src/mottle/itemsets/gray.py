"""The Gray order of sets: by the rank of their bitmaps in the reflected binary code.

Xue, Karras, Raïssi, Vaidya, Tan: Anonymizing Set-Valued Data by Nonreciprocal Recoding (KDD 2012),
§4.1. Bit p of a code's rank is the parity of the code's bits up to p. Two bitmaps that first differ
at item p agree before it, so their ranks agree before p too; at p the one that holds the item has
rank bit 1 if the number of items before p is even, and 0 if it is odd. Ranks can thus be compared
on sorted item lists, however many items there are: no number of size 2^b is ever computed.

The paper uses the bit order of its table. We order items by code, or as the caller asks.
"""

from __future__ import annotations

import numpy as np

from mottle.itemsets.data import NO_BITMAPS, Sets
from mottle.typing import Int32Array, Int64Array
from mottle.utils.compiled import inner_kernel, kernel

_RUN = 16  # records that are sorted by insertion before runs are merged


def gray_order(sets: Sets, significance: Int64Array | None = None) -> Int64Array:
    """Records by ascending Gray rank; equal records keep their order.

    ``significance`` lists the items from the most significant bit down; the default is by code.
    Cost O(n log n) comparisons, each as long as the common prefix of two records; O(n) memory.

    >>> from mottle.itemsets.data import ItemSets
    >>> sports = ItemSets.of([["jog", "swim"], ["swim", "tennis"], ["jog", "soccer", "swim"]])
    >>> gray_order(sports.sets())
    array([1, 2, 0])
    """
    if significance is not None:
        sets = renumbered(sets, significance)
    order = np.arange(sets.records, dtype=np.int64)
    return _sort(sets.starts, sets.items, order, np.empty_like(order))


def renumbered(sets: Sets, significance: Int64Array) -> Sets:
    """Return the same lists, without bitmaps, items numbered by their place in ``significance``."""
    universe = sets.universe
    place_of = np.empty(universe, np.int64)
    place_of[significance] = np.arange(universe)
    held_by = np.repeat(np.arange(sets.records), sets.sizes)
    keys = np.sort(held_by * universe + place_of[sets.items])
    items = (keys - held_by * universe).astype(np.int32)
    return Sets(sets.starts, items, NO_BITMAPS, universe)


@inner_kernel
def _after(starts: Int64Array, items: Int32Array, one: int, other: int) -> bool:
    """Whether record ``one`` has a higher Gray rank than record ``other``."""
    here, there = starts[one], starts[other]
    held, held_there = starts[one + 1] - here, starts[other + 1] - there
    shared = 0
    while shared < held and shared < held_there and items[here + shared] == items[there + shared]:
        shared += 1
    if shared == held and shared == held_there:
        return False
    if shared == held:
        has_the_item = False
    elif shared == held_there:
        has_the_item = True
    else:
        has_the_item = items[here + shared] < items[there + shared]
    return has_the_item == (shared % 2 == 0)


@kernel
def _sort(
    starts: Int64Array, items: Int32Array, order: Int64Array, spare: Int64Array
) -> Int64Array:
    """Merge sort of ``order``; short runs are sorted by insertion first."""
    size = order.size
    for first in range(0, size, _RUN):
        for place in range(first + 1, min(first + _RUN, size)):
            record = order[place]
            gap = place
            while gap > first and _after(starts, items, order[gap - 1], record):
                order[gap] = order[gap - 1]
                gap -= 1
            order[gap] = record
    width = _RUN
    while width < size:
        for first in range(0, size, 2 * width):
            middle, last = min(first + width, size), min(first + 2 * width, size)
            left, right = first, middle
            for place in range(first, last):
                if left < middle and (
                    right == last or not _after(starts, items, order[left], order[right])
                ):
                    spare[place] = order[left]
                    left += 1
                else:
                    spare[place] = order[right]
                    right += 1
        order, spare = spare, order
        width *= 2
    return order
