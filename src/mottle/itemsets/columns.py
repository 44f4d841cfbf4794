"""A column whose values are sets of items: which sets occur, and which integer each is.

Sets are numbered by their rank in the Gray order (`mottle.itemsets.gray`), the most frequent items
first: neighbours then differ in few and rare items, so that every method that goes by the order of
codes has a meaningful one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import DataError
from mottle.hierarchy.tree import Hierarchy
from mottle.itemsets.arrow import BLANKS, is_list, of_lists, of_text
from mottle.itemsets.data import NO_BITMAPS, ItemSets, Sets
from mottle.itemsets.gray import gray_order, renumbered
from mottle.itemsets.hamming import steps
from mottle.itemsets.nodes import ItemNodes
from mottle.typing import Float64Array, Int32Array, Int64Array
from mottle.utils.arrow import as_text

LISTS = pa.list_(pa.string())
_BEFORE, _ESCAPE, _ESCAPED = "\x1f", "\x1e", "\x1e_"  # in the text of a whole set


@dataclass(frozen=True, eq=False)
class SetDomain:
    """The sets that occur in a column."""

    names: pa.Array  # [items]: the text of every item
    sets: Sets  # [size]: the items of every code; the missing value, the last one, holds none
    mean_items: float  # items that a record holds; a missing value counts as one
    notes: tuple[str, ...] = ()  # what was done to items on the way; no items
    nodes: ItemNodes | None = None  # what items are published as; None: themselves
    # What is lost of items because they are published as nodes: the mean NCP of the nodes.
    node_loss: float = 0.0
    items: SetDomain | None = None  # the same codes as sets of items, where these are of nodes

    @property
    def universe(self) -> int:
        """Number of different items."""
        return len(self.names)

    @property
    def hierarchy(self) -> Hierarchy | None:
        """The hierarchy of the items; None if there is none."""
        return None if self.nodes is None else self.nodes.hierarchy

    @cached_property
    def texts(self) -> pa.Array:
        """Every set as `set_texts` writes it, by code; of the missing value that of the empty.

        Texts are of items, also where nodes are published.
        """
        known = self.items or self
        return _texts(known.sets, known.names)

    def as_nodes(self, nodes: ItemNodes, times: Int64Array) -> SetDomain:
        """Return the same codes for sets of nodes.

        Parameters
        ----------
        nodes : ItemNodes
            What items are published as.
        times : int64[size]
            How many records have each code.

        Returns
        -------
        SetDomain
            Several codes may be the same set of nodes.
        """
        shown = nodes.of_sets(ItemSets(self.names, self.sets.starts, self.sets.items))
        sets = Sets(shown.starts, shown.items, NO_BITMAPS, shown.universe)
        merged = int((self.sets.sizes - sets.sizes) @ times) / max(int(times.sum()), 1)
        held = self.holders(times)
        return replace(
            self,
            names=shown.names,
            sets=sets,
            mean_items=self.mean_items - merged,
            nodes=nodes,
            node_loss=float(held @ nodes.costs_of(self.names)) / max(float(held.sum()), 1.0),
            items=self,
        )

    def take(self, codes: Int64Array) -> SetDomain:
        """Return the sets of some codes, or of all in another order."""
        items = None if self.items is None else self.items.take(codes)
        return replace(self, sets=self.sets.take(codes), items=items)

    def in_gray_order(self, times: Int64Array) -> Int64Array:
        """Return the codes in the Gray order of their sets, the most frequent items first.

        ``times`` says how many records have each code; codes of equal sets stay in their order.
        """
        return gray_order(self.sets, np.argsort(-self.holders(times), kind="stable"))

    def holders(self, times: Int64Array) -> Float64Array:
        """[items]: how many records hold each, if ``times`` says how many have each code."""
        every = np.repeat(times, self.sets.sizes)
        return np.bincount(self.sets.items, every, minlength=self.universe).astype(np.float64)


def encode_sets(
    values: pa.ChunkedArray, name: str, separator: str, times: Int64Array | None = None
) -> tuple[SetDomain, pa.Array, Int32Array]:
    """The domain of a column, its sets as lists, and the code of every row; -1 for missing.

    Of the missing value, nothing is in the lists; it has a place in the domain's sets. ``times``
    says how many records each of the values stands for; without it, one each.

    >>> domain, sets, codes = encode_sets(pa.chunked_array([["b;a", "a", None, ""]]), "x", ";")
    >>> sets.to_pylist(), codes
    ([[], ['a', 'b'], ['a']], array([ 1,  2, -1,  0], dtype=int32))
    """
    data = read_sets(values, name, separator)
    present = values.is_valid().to_numpy()
    rows = np.flatnonzero(present)
    lists = Sets(data.starts, data.items, NO_BITMAPS, data.universe).take(rows)
    times = np.ones(len(values), np.int64) if times is None else times
    holders = np.bincount(data.items, np.repeat(times, data.sizes), minlength=data.universe)
    order = gray_order(lists, np.argsort(-holders, kind="stable"))
    differs = np.ones(len(order), np.bool_)
    differs[1:] = steps(lists, order)[:-1] > 0
    codes = np.full(len(values), -1, np.int32)
    codes[rows[order]] = np.cumsum(differs) - 1
    distinct = lists.take(order[differs])
    missing = int(times[~present].sum())
    domain = SetDomain(
        names=data.names,
        sets=_with_empty(distinct) if missing else distinct,
        mean_items=float(holders.sum() + missing) / int(times.sum()) if len(values) else 0.0,
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


def set_texts(values: pa.ChunkedArray, name: str, separator: str) -> pa.ChunkedArray:
    """Every set as one text, equal for equal sets, by which Arrow can count; null for missing.

    `of_set_texts` reads it back. Every item stands behind a separator that no item contains, so
    that the empty set and the set of an empty text differ.

    >>> column = pa.chunked_array([["b;a;b", "a ; b", None, ";"]])
    >>> texts = set_texts(column, "visited", ";")
    >>> texts.to_pylist()
    ['\\x1fa\\x1fb', '\\x1fa\\x1fb', None, '']
    >>> of_set_texts(texts).to_pylist()
    [['a', 'b'], ['a', 'b'], None, []]
    """
    if len(values) == 0:
        return pa.chunked_array([pa.array([], pa.large_string())])
    data = read_sets(values, name, separator)
    texts = _texts(Sets(data.starts, data.items, NO_BITMAPS, data.universe), data.names)
    known = values.is_valid().combine_chunks()
    return pa.chunked_array([pc.if_else(known, texts, pa.scalar(None, pa.large_string()))])


def of_set_texts(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Read lists of items from what `set_texts` wrote."""
    parts = pc.split_pattern(texts.combine_chunks(), _BEFORE)
    parts = pc.list_slice(parts, 1)  # nothing stands before the first separator
    items = pc.replace_substring(
        pc.replace_substring(parts.values, _ESCAPED + "0", _BEFORE), _ESCAPED + "1", _ESCAPE
    )
    lists = type(parts).from_arrays(parts.offsets, items, mask=parts.is_null())
    return pa.chunked_array([lists])


def changed_items(
    values: pa.ChunkedArray, name: str, separator: str
) -> tuple[Int64Array, Int64Array]:
    """[n]: how many items of each row are missing and left out, and repeated and merged.

    >>> changed_items(pa.chunked_array([[["a", None, "a"], None, []]]), "visited", ";")
    (array([1, 0, 0]), array([1, 0, 0]))
    """
    rows = len(values)
    lists = values if is_list(values.type) else pc.split_pattern(as_text(values, name), separator)
    owner, present = [np.empty(0, np.int64)], [np.empty(0, np.bool_)]
    first = 0
    for chunk in lists.chunks:
        sizes = pc.fill_null(pc.list_value_length(chunk), 0).to_numpy()
        items = pc.list_flatten(chunk)
        known = items.is_valid().to_numpy(zero_copy_only=False)
        held_by = np.repeat(np.arange(first, first + len(chunk)), sizes)
        if lists is not values:  # nothing between two separators is no item
            named = pc.not_equal(pc.utf8_trim(items, BLANKS), "").to_numpy(zero_copy_only=False)
            held_by, known = held_by[named], known[named]
        owner.append(held_by)
        present.append(known)
        first += len(chunk)
    held_by, known = np.concatenate(owner), np.concatenate(present)
    missing = np.bincount(held_by[~known], minlength=rows)
    given = np.bincount(held_by[known], minlength=rows)
    kept = read_sets(values, name, separator).sizes if rows else given
    return missing, given - kept


def _texts(sets: Sets, names: pa.Array) -> pa.Array:
    """Every set as one text, its items in the order of their text."""
    sets = renumbered(sets, pc.sort_indices(names).to_numpy().astype(np.int64))
    ordered = pc.cast(names.take(pc.sort_indices(names)), pa.large_string())
    escaped = pc.replace_substring(
        pc.replace_substring(ordered, _ESCAPE, _ESCAPED + "1"), _BEFORE, _ESCAPED + "0"
    )
    marked = pc.binary_join_element_wise(
        pa.scalar("", escaped.type), escaped, pa.scalar(_BEFORE, escaped.type)
    )
    texts = marked.take(pa.array(sets.items))  # one after another: a set is a section of them
    _, ends, content = texts.buffers()
    ends = np.frombuffer(ends, np.int64, len(texts) + 1) if len(texts) else np.zeros(1, np.int64)
    starts = pa.py_buffer(np.ascontiguousarray(ends[sets.starts]))
    return pa.LargeStringArray.from_buffers(sets.records, starts, content)


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
