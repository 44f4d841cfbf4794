"""Item sets from Arrow columns of lists, or of text with a separator between the items."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.itemsets.data import ItemSets
from mottle.typing import Int64Array
from mottle.utils.arrow import as_text

BLANKS = " \t"


def is_list(kind: pa.DataType) -> bool:
    """Whether a type is a list type."""
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def of_lists(lists: pa.ChunkedArray, *, trim: bool) -> ItemSets:
    """Make records from a column of lists; a missing list counts as empty.

    ``trim`` removes blanks around items, and items that are empty after that.
    """
    record_of: list[Int64Array] = []
    items: list[pa.Array] = []
    first = 0
    for chunk in lists.chunks:
        sizes = pc.fill_null(pc.list_value_length(chunk), 0).to_numpy()  # null may hide values
        record_of.append(np.repeat(np.arange(first, first + len(chunk)), sizes))
        items.append(pc.list_flatten(chunk))
        first += len(chunk)
    held_by = np.concatenate(record_of) if record_of else np.empty(0, np.int64)
    values = as_text(pa.chunked_array(items, lists.type.value_type), "item")
    if trim:
        values = pc.utf8_trim(values, BLANKS)
        kept = pc.not_equal(values, "")
        held_by = held_by[np.asarray(kept)]
        values = values.filter(kept)
    return ItemSets.of_pairs(len(lists), held_by, values)


def of_text(values: pa.ChunkedArray, name: str, separator: str) -> ItemSets:
    """Make records from a column of plain values, read as text with a separator between items.

    >>> of_text(pa.chunked_array([["b; a;", ";", None]]), "visited", ";").starts
    array([0, 2, 2, 2])
    """
    return of_lists(pc.split_pattern(as_text(values, name), separator), trim=True)


def trimmed_lists(lists: pa.ChunkedArray) -> pa.ChunkedArray:
    """Lists of text without blanks around items, and without items that are empty after that.

    A missing list is an empty one.

    >>> trimmed_lists(pa.chunked_array([[[" a", ""], None, []]])).to_pylist()
    [['a'], [], []]
    """
    chunks = []
    for chunk in lists.chunks:
        items = pc.utf8_trim(pc.list_flatten(chunk), BLANKS)
        kept = pc.fill_null(pc.not_equal(items, ""), True)
        held_by = pc.list_parent_indices(chunk).filter(kept).to_numpy()
        sizes = np.bincount(held_by, minlength=len(chunk))
        starts = np.concatenate([[0], np.cumsum(sizes)])
        members = pc.cast(items.filter(kept), pa.string())
        chunks.append(pa.ListArray.from_arrays(pa.array(starts, pa.int32()), members))
    return pa.chunked_array(chunks, pa.list_(pa.string()))
