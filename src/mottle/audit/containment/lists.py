"""Finds equal lists of numbers among lists stored one after the other in one array."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.typing import Int32Array, Int64Array


def distinct_lists(offsets: Int64Array, items: Int32Array) -> tuple[Int64Array, Int32Array]:
    """The first occurrence of each distinct list, and the number of every list's distinct one.

    List i is items[offsets[i]:offsets[i + 1]] of items [total, width]; lists are compared by their
    bytes, in Arrow.

    >>> items = np.array([[1], [2], [1], [2]], np.int32)
    >>> first, number = distinct_lists(np.array([0, 2, 2, 4]), items)
    >>> first, number
    (array([0, 1]), array([0, 1, 0], dtype=int32))
    """
    width = items.itemsize * items.shape[1]
    lists = pa.Array.from_buffers(
        pa.large_binary(),
        len(offsets) - 1,
        [None, pa.py_buffer(offsets * width), pa.py_buffer(np.ascontiguousarray(items))],
    )
    number = pc.dictionary_encode(lists).indices.to_numpy().astype(np.int32)
    _, first = np.unique(number, return_index=True)
    return first, number
