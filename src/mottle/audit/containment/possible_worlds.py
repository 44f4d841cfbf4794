"""Item sets and the possible worlds they are published as: which sets lie in which cell.

A set lies in a cell if it holds every certain item, holds no items other than those of the base and
the uncertain ones, and differs from the base in at most as many items as the cell's distance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.audit.containment.item_lists import as_published_nodes
from mottle.audit.containment.lists import distinct_lists
from mottle.hierarchy.tree import Hierarchy
from mottle.itemsets.data import NO_BITMAPS, Sets
from mottle.itemsets.gray import gray_order
from mottle.typing import BoolArray, Int32Array, Int64Array
from mottle.utils import parallel
from mottle.utils.compiled import inner_kernel, kernel

_RECORDS_AT_ONCE = 1 << 15  # records whose votes are counted at once


class ItemLists(NamedTuple):
    """Lists of items: list r is items[starts[r]:starts[r + 1]], ascending."""

    starts: Int64Array  # [lists + 1]
    items: Int32Array

    @property
    def sizes(self) -> Int64Array:
        """The number of items of each list."""
        return np.diff(self.starts)


class WorldsColumn(NamedTuple):
    """Originals and published cells of one column in a common numbering of items."""

    values: ItemLists  # [originals]
    known: BoolArray  # [originals]: whether the original has a set
    base: ItemLists  # [records]
    uncertain: ItemLists  # [records]
    distance: Int32Array  # [records]: -1 where only missing is possible
    missing: BoolArray  # [records]: whether the value may be missing
    universe: int  # number of distinct items


def read_worlds_column(
    values: pa.Array, cells: pa.StructArray, hierarchy: Hierarchy | None = None
) -> WorldsColumn:
    """Number the items of originals (lists, null for missing) and of published cells jointly.

    Where items have a hierarchy, originals hold the nodes that cells name in place of items.
    Cells of a release of sets do not say whether the set may be missing: none is.
    """
    base, uncertain, distance, *flags = cells.flatten()
    missing = flags[0] if flags else pa.nulls(len(cells), pa.bool_())
    if hierarchy is not None:
        named = pa.concat_arrays([pc.unique(part.flatten()) for part in (base, uncertain)])
        values = as_published_nodes(values, named, hierarchy)
    parts = [part.flatten() for part in (values, base, uncertain)]
    coded = pa.concat_arrays(parts).dictionary_encode()
    codes = np.split(coded.indices.to_numpy(), np.cumsum([len(part) for part in parts])[:-1])
    lists = [
        _ascending(part, own) for part, own in zip((values, base, uncertain), codes, strict=True)
    ]
    return WorldsColumn(
        values=lists[0],
        known=values.is_valid().to_numpy(zero_copy_only=False),
        base=lists[1],
        uncertain=lists[2],
        distance=pc.fill_null(distance, -1).to_numpy().astype(np.int32),
        missing=pc.fill_null(missing, False).to_numpy(zero_copy_only=False),
        universe=len(coded.dictionary),
    )


def _ascending(lists: pa.ListArray, items: Int32Array) -> ItemLists:
    sizes = pc.fill_null(pc.list_value_length(lists), 0).to_numpy().astype(np.int64)
    list_of = np.repeat(np.arange(len(sizes)), sizes)
    ordered = items[np.lexsort((items, list_of))].astype(np.int32)
    return ItemLists(np.concatenate([[0], np.cumsum(sizes)]), ordered)


# ------------------------------------------------------------------------------------ containment


def members_of_cells(worlds: WorldsColumn) -> tuple[Int32Array, Int64Array, Int32Array]:
    """Codes of the originals (0 for missing, else one per set), and the codes inside each cell.

    The second and third result are where the codes of each record begin, and the codes, ascending.
    The cost is proportional to the sets that share a certain item with a cell or, where it has no
    certain item, begin with one of its items.
    """
    first, number = distinct_lists(worlds.values.starts, worlds.values.items[:, None])
    own = number[worlds.known]
    occurring = np.unique(own)
    sets = _take_lists(worlds.values, first[occurring])
    order = gray_order(Sets(sets.starts, sets.items, NO_BITMAPS, worlds.universe))
    code_of = np.zeros(len(first), np.int32)
    code_of[occurring[order]] = np.arange(1, len(occurring) + 1)
    codes = np.where(worlds.known, code_of[number], 0).astype(np.int32)
    index = _build_set_index(_take_lists(sets, order), worlds.universe)
    cells, cell_of = _distinct_cells(worlds)
    parts = parallel.over_rows(
        lambda low, high: _sets_inside(worlds, index, cells[low:high]), len(cells)
    )
    counts = np.concatenate([part[0] for part in parts])
    inside = ItemLists(
        np.concatenate([[0], np.cumsum(counts)]), np.concatenate([part[1] for part in parts])
    )
    by_record = _take_lists(inside, cell_of)
    return codes, by_record.starts, by_record.items


class _SetIndex(NamedTuple):
    """Distinct sets, and the sets by item, to find those that may lie in a cell."""

    starts: Int64Array  # [sets + 1]
    items: Int32Array
    holding_starts: Int64Array  # [items + 1]
    holding: Int32Array  # by item: the sets that hold it
    begin_starts: Int64Array  # [items + 1]
    begin: Int32Array  # by item: the sets whose first item it is
    empty: int  # the number of the empty set, -1 if there is none


def _build_set_index(sets: ItemLists, universe: int) -> _SetIndex:
    sizes = sets.sizes
    some = np.flatnonzero(sizes > 0)
    holding = _by_item(sets.items, np.repeat(np.arange(len(sizes)), sizes), universe)
    begin = _by_item(sets.items[sets.starts[some]], some, universe)
    nothing = np.flatnonzero(sizes == 0)
    return _SetIndex(*sets, *holding, *begin, int(nothing[0]) if len(nothing) else -1)


def _by_item(items: Int32Array, sets: Int64Array, universe: int) -> tuple[Int64Array, Int32Array]:
    counts = np.bincount(items, minlength=universe)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return starts, sets[np.argsort(items, kind="stable")].astype(np.int32)


def _distinct_cells(worlds: WorldsColumn) -> tuple[Int64Array, Int32Array]:
    """One record of each distinct cell, and the number of every record's cell among these."""
    records = len(worlds.distance)
    heads = np.stack([worlds.distance, worlds.missing, worlds.base.sizes], axis=1)
    sizes = 3 + worlds.base.sizes + worlds.uncertain.sizes
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    words = np.empty(starts[-1], np.int32)
    words[starts[:-1, None] + np.arange(3)] = heads
    at = starts[:-1] + 3
    for part in (worlds.base, worlds.uncertain):
        words[np.repeat(at - part.starts[:-1], part.sizes) + np.arange(len(part.items))] = (
            part.items
        )
        at = at + part.sizes
    if records == 0:
        return np.empty(0, np.int64), np.empty(0, np.int32)
    return distinct_lists(starts, words[:, None])


@kernel
def _sets_inside(
    worlds: WorldsColumn, index: _SetIndex, records: Int64Array
) -> tuple[Int64Array, Int32Array]:
    """Codes of the sets inside the cells of records: counts by record, then the codes."""
    counts = np.zeros(records.size, np.int64)
    found = np.empty(16 * records.size + 16, np.int32)
    filled = 0
    in_base = np.zeros(worlds.universe, np.bool_)
    doubtful = np.zeros(worlds.universe, np.bool_)
    for number, record in enumerate(records):
        base = worlds.base.items[worlds.base.starts[record] : worlds.base.starts[record + 1]]
        uncertain = worlds.uncertain.items[
            worlds.uncertain.starts[record] : worlds.uncertain.starts[record + 1]
        ]
        in_base[base] = True
        doubtful[uncertain] = True
        certain, rarest, fewest = 0, -1, 0
        for item in base:
            if not doubtful[item]:
                certain += 1
                holders = index.holding_starts[item + 1] - index.holding_starts[item]
                if rarest < 0 or holders < fewest:
                    rarest, fewest = item, holders
        begun = filled
        if worlds.missing[record]:
            found, filled = _append(found, filled, 0)
        if worlds.distance[record] >= 0:
            if rarest >= 0:
                for at in range(index.holding_starts[rarest], index.holding_starts[rarest + 1]):
                    candidate = index.holding[at]
                    if _lies_in(worlds, index, record, candidate, in_base, doubtful, certain):
                        found, filled = _append(found, filled, candidate + 1)
            else:
                if index.empty >= 0 and base.size <= worlds.distance[record]:
                    found, filled = _append(found, filled, index.empty + 1)
                for item in uncertain:  # nothing is certain, so these include the base
                    for at in range(index.begin_starts[item], index.begin_starts[item + 1]):
                        candidate = index.begin[at]
                        if _lies_in(worlds, index, record, candidate, in_base, doubtful, certain):
                            found, filled = _append(found, filled, candidate + 1)
        found[begun:filled] = np.sort(found[begun:filled])
        counts[number] = filled - begun
        in_base[base] = False
        doubtful[uncertain] = False
    return counts, found[:filled].copy()


@inner_kernel
def _lies_in(
    worlds: WorldsColumn,
    index: _SetIndex,
    record: int,
    candidate: int,
    in_base: BoolArray,
    doubtful: BoolArray,
    certain: int,
) -> bool:
    """Whether a set lies in the cell of a record whose items are marked."""
    size = index.starts[candidate + 1] - index.starts[candidate]
    shared = 0
    for at in range(index.starts[candidate], index.starts[candidate + 1]):
        item = index.items[at]
        if in_base[item]:
            shared += 1
            certain -= not doubtful[item]
        elif not doubtful[item]:
            return False
    held = worlds.base.starts[record + 1] - worlds.base.starts[record]
    return bool(certain == 0 and size + held - 2 * shared <= worlds.distance[record])


@inner_kernel
def _append(found: Int32Array, filled: int, code: int) -> tuple[Int32Array, int]:
    if filled == found.size:
        larger = np.empty(2 * filled, np.int32)
        larger[:filled] = found
        found = larger
    found[filled] = code
    return found, filled + 1


def _take_lists(lists: ItemLists, chosen: Int64Array | Int32Array) -> ItemLists:
    sizes = lists.sizes[chosen]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    moved = np.repeat(lists.starts[:-1][chosen] - starts[:-1], sizes)
    return ItemLists(starts, lists.items[moved + np.arange(starts[-1])])


# ----------------------------------------------------------------------------- the owner's links


def mismatched_cells(worlds: WorldsColumn, offsets: Int64Array, originals: Int32Array) -> BoolArray:
    """For each record: whether its cell differs from its preimages' votes (SET12 §4).

    The preimages of record r are originals[offsets[r]:offsets[r + 1]].
    """
    records = len(offsets) - 1
    mismatched = np.zeros(records, np.bool_)
    for first in range(0, records, _RECORDS_AT_ONCE):
        last = min(first + _RECORDS_AT_ONCE, records)
        edges = originals[offsets[first] : offsets[last]]
        mismatched[first:last] = _mismatched(worlds, np.arange(first, last), offsets, edges)
    return mismatched


def _mismatched(
    worlds: WorldsColumn, records: Int64Array, offsets: Int64Array, edges: Int32Array
) -> BoolArray:
    """As `mismatched_cells`, for consecutive records and their edges."""
    count, universe = len(records), worlds.universe
    degrees = np.diff(offsets)[records]
    record_of = np.repeat(np.arange(count), degrees)
    voting = worlds.known[edges]
    voters = np.bincount(record_of[voting], minlength=count)
    held = _take_lists(worlds.values, edges)  # preimages without a set hold nothing
    edge_of = np.repeat(np.arange(len(edges)), held.sizes)
    keys = record_of[edge_of] * universe + held.items
    distinct, votes = np.unique(keys, return_counts=True)
    whose = distinct // max(universe, 1)
    base = distinct[2 * votes > voters[whose]]
    uncertain = distinct[votes < voters[whose]]
    mismatched = (voters < degrees) != worlds.missing[records]
    for expected, published in ((base, worlds.base), (uncertain, worlds.uncertain)):
        stated = _take_lists(published, records)
        stated_keys = np.repeat(np.arange(count), stated.sizes) * universe + stated.items
        mismatched[np.setxor1d(expected, stated_keys) // max(universe, 1)] = True
    shared = np.bincount(edge_of[np.isin(keys, base)], minlength=len(edges))
    base_sizes = np.bincount(base // max(universe, 1), minlength=count)
    distances = held.sizes + base_sizes[record_of] - 2 * shared
    furthest = np.full(count, -1)
    np.maximum.at(furthest, record_of[voting], distances[voting])
    return np.asarray(mismatched | (furthest != worlds.distance[records]), np.bool_)
