"""Item sets that many records have in common: closed frequent itemsets, with their holders.

Uno, Asai, Uchida, Arimura: LCM: An Efficient Algorithm for Enumerating Frequent Closed Item Sets
(FIMI 2003). A set of items is *closed* if its holders have no other item in common. Every closed
set is reached from exactly one other, by adding an item and all items that the remaining holders
have in common; those items must come after the added one, or the larger set belongs to another
parent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mottle.itemsets.data import NO_BITMAPS, Sets
from mottle.typing import Int32Array, Int64Array
from mottle.utils import parallel
from mottle.utils.compiled import kernel


class ClosedSets(NamedTuple):
    """Closed sets of items and the records that hold them."""

    sizes: Int32Array  # number of items of each closed set
    starts: Int64Array  # [closed sets + 1]: where the holders of each begin
    holders: Int32Array  # records


def closed_sets(sets: Sets, support: int, most: int) -> ClosedSets | None:
    """All closed sets of items with at least ``support`` holders; None if there are too many.

    ``most`` bounds the total number of holders of all sets, and thereby memory and roughly time.

    >>> from mottle.itemsets.data import ItemSets
    >>> found = closed_sets(ItemSets.of(["abc", "ab", "ab", "c", "cd"]).sets(), 2, 100)
    >>> sorted(zip(found.sizes.tolist(), np.diff(found.starts).tolist()))
    [(1, 3), (2, 3)]
    """
    ranked = _by_frequency(sets)
    starts, holders = _postings(ranked)
    first_item = int(np.searchsorted(np.diff(starts), support))  # counts ascend with the items
    if first_item == ranked.universe:
        return ClosedSets(np.empty(0, np.int32), np.zeros(1, np.int64), np.empty(0, np.int32))
    parts = parallel.over_blocks(
        lambda first, last: _mine(
            ranked, starts, holders, first_item + first, first_item + last, support, most
        ),
        starts[first_item:] - starts[first_item],
    )
    lengths = np.concatenate([lengths for _, lengths, *_ in parts])
    if any(too_many for *_, too_many in parts) or lengths.sum() > most:
        return None
    return ClosedSets(
        np.concatenate([sizes for sizes, *_ in parts]),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.concatenate([held for *_, held, _ in parts]),
    )


def _by_frequency(sets: Sets) -> Sets:
    """The same records with items numbered by ascending frequency."""
    counts = np.bincount(sets.items, minlength=sets.universe)
    rank_of = np.empty(sets.universe, np.int32)
    rank_of[np.argsort(counts, kind="stable")] = np.arange(sets.universe, dtype=np.int32)
    return Sets(sets.starts, rank_of[sets.items], NO_BITMAPS, sets.universe)


def _postings(sets: Sets) -> tuple[Int64Array, Int32Array]:
    """Where the holders of each item begin, and the holders."""
    held_by = np.repeat(np.arange(sets.records, dtype=np.int32), sets.sizes)
    counts = np.bincount(sets.items, minlength=sets.universe)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return starts, held_by[np.argsort(sets.items, kind="stable")]


@kernel
def _mine(
    sets: Sets,
    starts: Int64Array,
    postings: Int32Array,
    first: int,
    last: int,
    support: int,
    most: int,
) -> tuple[Int32Array, Int64Array, Int32Array, bool]:
    """Sizes, numbers of holders and holders of closed sets whose first item is in a range.

    Pending sets are on a stack; the holders of the topmost one are last in ``stack``.
    """
    sizes, lengths = np.empty(1024, np.int32), np.empty(1024, np.int64)
    held = np.empty(16384, np.int32)
    found, filled = 0, 0
    stack = np.empty(16384, np.int32)
    # Where the holders begin, the item added, and the number of items of the set before it.
    waiting = np.empty((1024, 3), np.int64)
    counts = np.zeros(sets.universe, np.int64)
    offset = np.empty(sets.universe, np.int64)
    seen = np.empty(sets.universe, np.int64)
    for item in range(first, last):
        length = starts[item + 1] - starts[item]
        stack = _room(stack, 0, length)
        stack[:length] = postings[starts[item] : starts[item + 1]]
        waiting[0, 0], waiting[0, 1], waiting[0, 2] = 0, item, 0
        depth, top = 1, length
        while depth > 0:
            depth -= 1
            begin, core, before = waiting[depth]
            holders = stack[begin:top].copy()
            distinct, together = _count(sets, holders, counts, seen)
            common = np.empty(together, np.int64)
            below, number = 0, 0
            for at in range(distinct):
                if counts[seen[at]] == holders.size:
                    common[number] = seen[at]
                    number += 1
                    below += seen[at] < core
            common = common[:number]
            top = begin
            if below == before:
                if filled + holders.size > most:
                    return sizes[:0], lengths[:0], held[:0], True
                if found == sizes.size:
                    sizes = np.append(sizes, np.empty(found, np.int32))
                    lengths = np.append(lengths, np.empty(found, np.int64))
                held = _room(held, filled, holders.size)
                held[filled : filled + holders.size] = holders
                filled += holders.size
                sizes[found], lengths[found] = number, holders.size
                found += 1
                for at in range(distinct):
                    other = seen[at]
                    offset[other] = -1
                    if other > core and support <= counts[other] < holders.size:
                        stack = _room(stack, top, counts[other])
                        if depth == len(waiting):
                            waiting = np.concatenate((waiting, np.empty_like(waiting)))
                        waiting[depth, 0], waiting[depth, 1] = top, other
                        waiting[depth, 2] = (common < other).sum()
                        offset[other] = top
                        top += counts[other]
                        depth += 1
                for record in holders:
                    for at in range(sets.starts[record], sets.starts[record + 1]):
                        other = sets.items[at]
                        if offset[other] >= 0:
                            stack[offset[other]] = record
                            offset[other] += 1
            for at in range(distinct):
                counts[seen[at]] = 0
    return sizes[:found], lengths[:found], held[:filled], False


@kernel
def _count(
    sets: Sets, holders: Int32Array, counts: Int64Array, seen: Int64Array
) -> tuple[int, int]:
    """Count items among holders; return the number of distinct items and the first one's size."""
    distinct = 0
    for record in holders:
        for at in range(sets.starts[record], sets.starts[record + 1]):
            item = sets.items[at]
            if counts[item] == 0:
                seen[distinct] = item
                distinct += 1
            counts[item] += 1
    together = sets.starts[holders[0] + 1] - sets.starts[holders[0]]
    return distinct, together


@kernel
def _room(array: Int32Array, filled: int, more: int) -> Int32Array:
    """The array, or a copy of at least twice the length, with room for ``more`` more entries."""
    if filled + more <= array.size:
        return array
    larger = np.empty(max(2 * array.size, filled + more), np.int32)
    larger[:filled] = array[:filled]
    return larger
