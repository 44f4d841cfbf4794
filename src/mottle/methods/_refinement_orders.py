"""Orders of records for refinement: of a table's codes, and where some columns hold sets.

Sets have an order of their own, by splits (`mottle.orderings.item_splits`): records that hold an
item apart from those that do not, again and again. Beside them the other columns take part as if
they were items: being one value of a category, or lying above a threshold. Which item splits is
chosen by how evenly it does, and by what it costs to tell it wrongly times a random number, so that
every pass finds other neighbours.
"""

from __future__ import annotations

import numpy as np

from mottle.encoding.domain import Codes
from mottle.itemsets.data import NO_BITMAPS, Sets
from mottle.methods.refinement import DEALT_TOGETHER, Orders, table_orders
from mottle.orderings.item_splits import split_order
from mottle.typing import Float64Array, Int32Array, Int64Array


def refinement_orders(codes: Codes, ordered: Int32Array) -> Orders:
    """Orders of the originals of a refinement, whose codes are ``ordered``."""
    if all(domain.sets is None for domain in codes.domains):
        return table_orders(ordered, codes.sizes)
    items, costs = _as_items(codes, ordered)

    def order(originals: Int32Array, number: int, random: np.random.Generator) -> Int64Array:
        shown = items.take(originals)
        alike = np.ones(len(originals), np.int32)
        taste = costs * random.random(len(costs))
        in_turn = split_order(shown, alike, DEALT_TOGETHER, taste)
        return np.roll(in_turn, random.integers(len(in_turn)))

    return order


def _as_items(codes: Codes, matrix: Int32Array) -> tuple[Sets, Float64Array]:
    """Records as sets, whatever their columns are, and what an item costs."""
    held_by, items, costs, before = [], [], [], 0
    for column, domain in enumerate(codes.domains):
        records, own, cost = domain.form.as_items(domain, matrix[:, column])
        held_by.append(records)
        items.append(own + before)
        costs.append(cost * domain.column.weight)
        before += len(cost)
    keys = np.sort(np.concatenate(held_by) * before + np.concatenate(items))
    sizes = np.bincount(keys // max(before, 1), minlength=len(matrix))
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    listed = (keys % max(before, 1)).astype(np.int32)
    return Sets(starts, listed, NO_BITMAPS, before), np.concatenate(costs)
