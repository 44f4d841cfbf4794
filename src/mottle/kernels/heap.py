"""A heap of numbered items with changing keys, for kernels; the lowest key is on top."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mottle.typing import Int64Array
from mottle.utils.compiled import kernel

NEVER = 1 << 62  # the key of an item that must not come to the top


class Heap(NamedTuple):
    """A binary heap of the items 0 .. m - 1, none of which is ever removed."""

    items: Int64Array  # [m]: the heap; items[0] has the lowest key
    places: Int64Array  # [m]: the place of each item in the heap
    keys: Int64Array  # [m]: the key of each item


def heap_of(keys: Int64Array) -> Heap:
    """Make a heap of all items with their keys.

    >>> heap = heap_of(np.array([30, 10, 20]))
    >>> settle(heap, 1, 40)
    >>> int(heap.items[0])
    2
    """
    items = np.argsort(keys, kind="stable")
    places = np.empty(len(items), np.int64)
    places[items] = np.arange(len(items))
    return Heap(items.astype(np.int64), places, np.array(keys, np.int64))


@kernel
def settle(heap: Heap, item: int, key: int) -> None:
    """Change the key of an item. Cost O(log m)."""
    heap.keys[item] = key
    place = heap.places[item]
    while place > 0:
        above = heap.items[(place - 1) // 2]
        if heap.keys[above] <= key:
            break
        heap.items[place] = above
        heap.places[above] = place
        place = (place - 1) // 2
    while 2 * place + 1 < heap.items.size:
        child = 2 * place + 1
        other = min(child + 1, heap.items.size - 1)
        if heap.keys[heap.items[other]] < heap.keys[heap.items[child]]:
            child = other
        below = heap.items[child]
        if heap.keys[below] >= key:
            break
        heap.items[place] = below
        heap.places[below] = place
        place = child
    heap.items[place] = item
    heap.places[item] = place
