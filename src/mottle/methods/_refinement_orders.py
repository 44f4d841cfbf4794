"""Orders of records for refinement: for coded tables, and for tables with columns of sets.

Sets have an order of their own, from recursive splits (`mottle.orderings.item_splits`) into records
that hold an item and records that do not. The other columns take part as if they were items: having
one value of a category, or exceeding a threshold. The item to split by is chosen by how evenly it
splits, multiplied by the cost of misreporting it and a random number, so that every pass finds
different neighbours.
"""

from __future__ import annotations

import numpy as np

from mottle.encoding.domain import Codes
from mottle.itemsets.data import NO_BITMAPS, Sets
from mottle.methods.refinement import DEALT_TOGETHER, Orders, table_orders
from mottle.orderings.item_splits import split_order
from mottle.typing import Float64Array, Int32Array, Int64Array


def refinement_orders(codes: Codes, ordered: Int32Array, together: int = DEALT_TOGETHER) -> Orders:
    """Orders for a refinement of originals with the codes ``ordered``, in sets of ``together``."""
    if all(domain.sets is None for domain in codes.domains):
        return table_orders(ordered, codes.sizes, together)
    items, costs = _as_items(codes, ordered)

    def order(originals: Int32Array, number: int, random: np.random.Generator) -> Int64Array:
        shown = items.take(originals)
        alike = np.ones(len(originals), np.int32)
        item_weights = costs * random.random(len(costs))
        in_turn = split_order(shown, alike, together, item_weights)
        return np.roll(in_turn, random.integers(len(in_turn)))

    return order


def _as_items(codes: Codes, matrix: Int32Array) -> tuple[Sets, Float64Array]:
    """Records as sets of items, for columns of any kind, and the cost of every item."""
    held_by, items, costs, before = [], [], [], 0
    for column, domain in enumerate(codes.domains):
        records, own, cost = domain.form.as_items(domain, matrix[:, column])
        held_by.append(records)
        items.append(own + before)
        costs.append(cost * domain.column.importance)
        before += len(cost)
    keys = np.sort(np.concatenate(held_by) * before + np.concatenate(items))
    sizes = np.bincount(keys // max(before, 1), minlength=len(matrix))
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    listed = (keys % max(before, 1)).astype(np.int32)
    return Sets(starts, listed, NO_BITMAPS, before), np.concatenate(costs)
