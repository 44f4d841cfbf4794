"""The distinct cells of a column of lists or structs, which Arrow itself does not find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mottle.typing import Int32Array, Int64Array, UInt64Array
from mottle.utils.lazy import lazy_module

if TYPE_CHECKING:
    import pyarrow as pa
else:  # forms of cells are known to options, which are read before Arrow is needed
    pa = lazy_module("pyarrow")

__all__ = ["by_distinct_cell", "distinct_cells", "distinct_lists", "numbered"]

_ODD = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_SHIFT = np.uint64(31)
_SEVERAL = np.uint64(1 << 63)  # keys of single members are smaller
_LARGEST_KEY = 1 << 62
_FEW = 256  # cells for which it does not pay


def distinct_cells(cells: pa.Array) -> tuple[Int64Array, Int32Array] | None:
    """Find equal cells.

    Parameters
    ----------
    cells : pyarrow.Array
        Lists of plain values, or structs of such.

    Returns
    -------
    first, of_cell : int64[distinct], int32[n]
        Where each distinct cell occurs first, in this order, and which one every cell is. None
        for missing cells, for numbers with a fraction (0 and -0 are equal, but not their texts) and
        for other types.

    Examples
    --------
    >>> import pyarrow as pa
    >>> first, of_cell = distinct_cells(pa.array([["a"], ["b", "a"], ["a"]]))
    >>> first.tolist(), of_cell.tolist()
    ([0, 1], [0, 1, 0])
    """
    if cells.null_count or not len(cells):
        return None
    if pa.types.is_struct(cells.type):
        keys = _keys_of_structs(cells)
        return None if keys is None else _first_and_number(keys)
    if not pa.types.is_list(cells.type):
        return None
    coded = _codes(cells.flatten())
    if coded is None:
        return None
    offsets = cells.offsets.to_numpy()
    return distinct_lists(coded[0], (offsets - offsets[0]).astype(np.int64))


def by_distinct_cell(function: Callable[[pa.Array], pa.Array], cells: pa.Array) -> pa.Array:
    """Apply a function of single cells to the distinct ones, if these are much fewer.

    Parameters
    ----------
    function : callable
        Takes an array and returns one of the same length, each value by itself.
    cells : pyarrow.Array
        Lists or structs.

    Returns
    -------
    pyarrow.Array
        What the function returns for the cells.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.compute as pc
    >>> by_distinct_cell(pc.list_value_length, pa.array([["a"], ["b", "a"]])).to_pylist()
    [1, 2]
    """
    found = distinct_cells(cells) if len(cells) > _FEW else None
    if found is None or 2 * len(found[0]) > len(cells):
        return function(cells)
    first, of_cell = found
    return function(cells.take(pa.array(first))).take(pa.array(of_cell))


def _codes(values: pa.Array) -> tuple[Int32Array, int] | None:
    """Numbers that are equal where values are, and how many there are."""
    if values.type.num_fields or pa.types.is_floating(values.type):
        return None
    if pa.types.is_null(values.type):
        return np.zeros(len(values), np.int32), 1
    if pa.types.is_dictionary(values.type):
        return None
    coded = values.dictionary_encode("encode")
    return coded.indices.to_numpy(), len(coded.dictionary)


def _keys_of_structs(cells: pa.Array) -> Int64Array | None:
    keys, several = np.zeros(len(cells), np.int64), 1
    for field in cells.flatten():
        coded = _codes(field)
        if coded is None or several * coded[1] > _LARGEST_KEY:
            return None
        keys *= coded[1]
        keys += coded[0]
        several *= coded[1]
    return keys


def distinct_lists(codes: Int32Array, offsets: Int64Array) -> tuple[Int64Array, Int32Array] | None:
    """Find equal lists of codes; those of a single member have this as their key.

    Parameters
    ----------
    codes : int32 array
        The members of all lists.
    offsets : int64 array of shape (n + 1,)
        Where the members of each list begin.

    Returns
    -------
    first, of_list : int64[distinct], int32[n]
        As `distinct_cells`; None if two different lists have the same key, which is most unlikely.

    Examples
    --------
    >>> first, of_list = distinct_lists(np.array([7, 7, 8, 7], np.int32), np.array([0, 1, 3, 4]))
    >>> first.tolist(), of_list.tolist()
    ([0, 1], [0, 1, 0])
    """
    starts, lengths = offsets[:-1], np.diff(offsets)
    if not len(codes):
        return _first_and_number(np.zeros(len(starts), np.int64))
    keys = codes[np.minimum(starts, len(codes) - 1)].astype(np.uint64)
    others = np.flatnonzero(lengths != 1)
    if len(others):
        several = _Lists(codes, starts[others], lengths[others])
        keys[others] = several.hashed()
    first, of_cell = _first_and_number(keys)
    if len(others):
        same = first[of_cell[others]]
        if not (np.array_equal(lengths[same], lengths[others]) and several.equal(starts[same])):
            return None
    return first, of_cell


@dataclass(frozen=True)
class _Lists:
    """Lists of codes."""

    codes: Int32Array  # [members]
    starts: Int64Array  # [lists]
    lengths: Int64Array  # [lists]

    @cached_property
    def places(self) -> Int64Array:
        """Members of every list, list after list: the place of each in its own."""
        before = np.cumsum(self.lengths) - self.lengths
        return np.arange(int(self.lengths.sum())) - np.repeat(before, self.lengths)

    @cached_property
    def members(self) -> Int32Array:
        """Likewise their codes."""
        found: Int32Array = self.codes[np.repeat(self.starts, self.lengths) + self.places]
        return found

    def hashed(self) -> UInt64Array:
        """Sums of mixed numbers; equal for equal lists, and most probably for these alone."""
        mixed = (self.members + 1).astype(np.uint64) * _ODD[0]
        mixed += self.places.astype(np.uint64) * _ODD[1]
        mixed ^= mixed >> _SHIFT
        mixed *= _ODD[2]
        mixed ^= mixed >> _SHIFT
        sums = np.zeros(len(mixed) + 1, np.uint64)
        np.cumsum(mixed, out=sums[1:])
        ends = np.cumsum(self.lengths)
        keys: UInt64Array = (sums[ends] - sums[ends - self.lengths]) | _SEVERAL
        return keys

    def equal(self, starts: Int64Array) -> bool:
        """Whether lists as long as these that begin elsewhere are equal to them."""
        elsewhere = np.repeat(starts.astype(np.int64), self.lengths) + self.places
        return np.array_equal(self.members, self.codes[elsewhere])


def numbered(keys: Int64Array | UInt64Array) -> Int32Array:
    """Number keys in the order in which they occur first.

    Parameters
    ----------
    keys : int64 or uint64 array of shape (n,)
        Any numbers.

    Returns
    -------
    int32 array of shape (n,)
        Equal where keys are.

    Examples
    --------
    >>> numbered(np.array([9, 4, 9])).tolist()
    [0, 1, 0]
    """
    found: Int32Array = pa.array(keys).dictionary_encode().indices.to_numpy()
    return found


def _first_and_number(keys: Int64Array | UInt64Array) -> tuple[Int64Array, Int32Array]:
    """Where each key occurs first, in this order, and which one every key is."""
    of_cell = numbered(keys)
    highest = np.maximum.accumulate(of_cell)
    return np.flatnonzero(np.diff(highest, prepend=-1)), of_cell
