"""A column whose values are sets of items: which sets occur, and which integer each is.

Sets are numbered by their rank in the Gray order (`mottle.itemsets.gray`), the most frequent items
first: neighbours then differ in few and rare items, so that every method that goes by the order of
codes has a meaningful one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import DataError
from mottle.itemsets.arrow import BLANKS, is_list, of_lists, of_text
from mottle.itemsets.data import NO_BITMAPS, ItemSets, Sets
from mottle.itemsets.gray import gray_order
from mottle.itemsets.hamming import steps
from mottle.typing import Int32Array

LISTS = pa.list_(pa.string())


@dataclass(frozen=True, eq=False)
class SetDomain:
    """The sets that occur in a column."""

    names: pa.Array  # [items]: the text of every item
    sets: Sets  # [size]: the items of every code; the missing value, the last one, holds none
    mean_items: float  # items that a record holds; a missing value counts as one
    notes: tuple[str, ...] = ()  # what was done to items on the way; no items

    @property
    def universe(self) -> int:
        """Number of different items."""
        return len(self.names)


def encode_sets(
    values: pa.ChunkedArray, name: str, separator: str
) -> tuple[SetDomain, pa.Array, Int32Array]:
    """The domain of a column, its sets as lists, and the code of every row; -1 for missing.

    Of the missing value, nothing is in the lists; it has a place in the domain's sets.

    >>> domain, sets, codes = encode_sets(pa.chunked_array([["b;a", "a", None, ""]]), "x", ";")
    >>> sets.to_pylist(), codes
    ([[], ['a', 'b'], ['a']], array([ 1,  2, -1,  0], dtype=int32))
    """
    data = read_sets(values, name, separator)
    present = values.is_valid().to_numpy()
    rows = np.flatnonzero(present)
    lists = Sets(data.starts, data.items, NO_BITMAPS, data.universe).take(rows)
    frequent_first = np.argsort(-np.bincount(data.items, minlength=data.universe), kind="stable")
    order = gray_order(lists, frequent_first)
    differs = np.ones(len(order), np.bool_)
    differs[1:] = steps(lists, order)[:-1] > 0
    codes = np.full(len(values), -1, np.int32)
    codes[rows[order]] = np.cumsum(differs) - 1
    distinct = lists.take(order[differs])
    missing = len(values) - len(rows)
    domain = SetDomain(
        names=data.names,
        sets=_with_empty(distinct) if missing else distinct,
        mean_items=(len(data.items) + missing) / len(values) if len(values) else 0.0,
        notes=tuple(f"Column '{name}': {note}" for note in data.notes),
    )
    return domain, as_lists(distinct, data.names), codes


def read_sets(values: pa.ChunkedArray, name: str, separator: str) -> ItemSets:
    """The sets of a column of lists or of text; a missing one holds nothing."""
    if is_list(values.type):
        return of_lists(values, trim=False)
    return of_text(values, name, separator)


def sorted_lists(values: pa.ChunkedArray, name: str, separator: str) -> pa.ChunkedArray:
    """The sets of a column as lists of text, each item once and in order; null for missing.

    >>> column = pa.chunked_array([["b;a;b", None, ";"]])
    >>> sorted_lists(column, "visited", ";").to_pylist()
    [['a', 'b'], None, []]
    """
    if len(values) == 0:
        return pa.chunked_array([pa.array([], LISTS)])
    data = read_sets(values, name, separator)
    lists = as_lists(Sets(data.starts, data.items, NO_BITMAPS, data.universe), data.names)
    known = values.is_valid().combine_chunks()
    return pa.chunked_array([pc.if_else(known, lists, pa.scalar(None, LISTS))])


def as_text_of_items(lists: pa.ChunkedArray, name: str, separator: str) -> pa.ChunkedArray:
    """Lists of items as text that `sorted_lists` reads back; the empty set is a separator.

    >>> sets = pa.chunked_array([[["a", "b"], [], None]], pa.list_(pa.string()))
    >>> as_text_of_items(sets, "visited", ";").to_pylist()
    ['a;b', ';', None]
    """
    items = pc.list_flatten(lists)
    trimmed = pc.utf8_trim(items, BLANKS)
    unclear = pc.or_(pc.match_substring(items, separator), pc.not_equal(items, trimmed))
    if pc.any(pc.or_(unclear, pc.equal(trimmed, ""))).as_py():
        raise DataError(
            f"Column '{name}' has items that text cannot hold: empty, with blanks around them, or"
            f" with the separator '{separator}' inside.",
            "Write Parquet instead.",
        )
    joined = pc.binary_join(lists, separator)
    return pc.if_else(pc.equal(joined, ""), separator, joined)


def as_lists(sets: Sets, names: pa.Array) -> pa.Array:
    """Sets as Arrow lists of text."""
    members = names.take(pa.array(sets.items))
    return pa.ListArray.from_arrays(pa.array(sets.starts, pa.int32()), members)


def _with_empty(sets: Sets) -> Sets:
    """The same sets and, at the end, one that holds nothing."""
    return sets._replace(starts=np.append(sets.starts, sets.starts[-1]))
