"""Item sets of the original table, read independently of the code that made the release."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.hierarchy.tree import Hierarchy
from mottle.itemsets.arrow import is_list

_BLANKS = " \t"


def as_published_nodes(
    values: pa.ListArray, published: pa.Array, hierarchy: Hierarchy
) -> pa.ListArray:
    """Item sets with every item as the label at or above it that cells name.

    >>> tree = Hierarchy.from_rows([("brie", "cheese", "*"), ("tea", "drinks", "*")])
    >>> sets = pa.array([["brie", "tea"], None])
    >>> as_published_nodes(sets, pa.array(["cheese", "tea"]), tree).to_pylist()
    [['cheese', 'tea'], None]
    """
    named = set(published.to_pylist())
    shown = {}
    for path in hierarchy.rows():
        above = [label for label in path if label in named]
        shown[path[0]] = above[-1] if above else path[0]
    items = pc.list_flatten(values).dictionary_encode()
    labels = pa.array([shown.get(item, item) for item in items.dictionary.to_pylist()], pa.string())
    sizes = pc.fill_null(pc.list_value_length(values), 0).to_numpy()
    offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
    lists = pa.ListArray.from_arrays(offsets, labels.take(items.indices))
    return item_lists(pc.if_else(values.is_valid(), lists, pa.scalar(None, lists.type)), "")


def item_lists(values: pa.Array, separator: str) -> pa.Array:
    """Item sets as lists of text, each item once and in order; null for missing.

    Items in text are trimmed, and empty ones dropped; items of lists are kept unchanged.

    >>> item_lists(pa.array(["b; a;b", None, ";"]), ";").to_pylist()
    [['a', 'b'], None, []]
    """
    as_lists = is_list(values.type)
    lists = values if as_lists else pc.split_pattern(pc.cast(values, pa.string()), separator)
    sizes = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
    rows = np.repeat(np.arange(len(values)), sizes)
    items = pc.cast(pc.list_flatten(lists), pa.string())
    kept = pc.is_valid(items)
    if not as_lists:
        items = pc.utf8_trim(items, _BLANKS)
        kept = pc.not_equal(items, "")
    rows, items = rows[np.asarray(kept)], items.filter(kept).dictionary_encode()
    ranks = pc.rank(items.dictionary).to_numpy() - 1
    pairs = np.stack([rows, ranks[items.indices.to_numpy()]]).astype(np.int64)
    rows, ranks = np.unique(pairs, axis=1)
    offsets = np.searchsorted(rows, np.arange(len(values) + 1)).astype(np.int32)
    names = items.dictionary.take(pc.array_sort_indices(items.dictionary))
    found = pa.ListArray.from_arrays(pa.array(offsets), names.take(pa.array(ranks)))
    return pc.if_else(values.is_valid(), found, pa.scalar(None, found.type))
