"""The loss of a table in the form that kernels take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mottle.encoding.domain import Codes
from mottle.kernels.ncp_growth import BITS, Scales
from mottle.kernels.reading_scales import importance_of, reading_of
from mottle.kernels.vote_growth import PLACES, ItemLists
from mottle.kinds.forms.base import TreeGrowth
from mottle.schema.columns import Objective
from mottle.typing import Float64Array, Int32Array, Int64Array


def scales(codes: Codes, degree: int = 1, objective: Objective | None = None) -> Scales:
    """The loss of ``codes`` in the form that kernels take.

    ``degree`` is the size of boxes, which matters for columns that are published by voting.
    ``objective`` is the loss of the columns that do not name one of their own; None: NCP of all.
    """
    places = np.array([domain.form.room(domain, PLACES) for domain in codes.domains], np.int64)
    offset = np.concatenate([[0], np.cumsum(places)])[:-1]
    step = np.zeros(len(places))
    position = np.zeros(int(places.sum()))
    node = np.zeros(int(places.sum()), np.int32)
    rows = np.zeros(len(places), np.int64)
    lists = [(np.zeros(1, np.int64), np.zeros(0, np.int32))]
    trees: list[TreeGrowth] = []
    nodes = 0
    weights = importance_of(codes, objective)
    for column, domain in enumerate(codes.domains):
        growth = domain.form.growth(domain, weights[column], degree)
        here = slice(offset[column], offset[column] + domain.size)
        step[column] = growth.step
        if growth.position is not None:
            position[here] = growth.position
        if growth.lists is not None:
            rows[column] = sum(len(ends) for ends, _ in lists) - 1
            lists.append(growth.lists)
        if growth.tree is not None:
            node[here] = nodes + growth.tree.node_of_code
            trees.append(replace(growth.tree, parent=growth.tree.parent + nodes))
            nodes += len(growth.tree.parent)
    return Scales(
        form=np.array([domain.form.kernel_code for domain in codes.domains], np.int8),
        step=step,
        missing=np.array([domain.missing for domain in codes.domains], np.int32),
        offset=offset.astype(np.int64),
        position=position,
        node=node,
        parent=_joined([tree.parent for tree in trees], np.int32),
        first_leaf=_joined([tree.first_leaf for tree in trees], np.int32),
        last_leaf=_joined([tree.last_leaf for tree in trees], np.int32),
        penalty=_joined([tree.penalty for tree in trees], np.float64),
        lists=_joined_lists(step, rows, lists) if len(lists) > 1 else None,
        reading=reading_of(codes, objective, weights, offset, len(position), trees),
    )


def bit_scales(
    item_starts: Int64Array, items: Int32Array, universe: int, weights: Int32Array, step: float
) -> Scales:
    """The error of bit voting as the loss of a single column of sets.

    Row r holds ``items[item_starts[r]:item_starts[r + 1]]``, and r is its code. Each wrong bit of
    it costs ``weights[r]`` times ``step``. The weights of a box must add up to less than 2^30.
    """
    nothing = np.zeros(1, np.int32)
    return Scales(
        form=np.array([BITS], np.int8),
        step=np.array([step]),
        missing=np.array([-1], np.int32),
        offset=np.zeros(1, np.int64),
        position=np.zeros(max(PLACES * universe, 1)),
        node=nothing,
        parent=nothing,
        first_leaf=nothing,
        last_leaf=nothing,
        penalty=np.zeros(1),
        lists=ItemLists(
            step=np.array([step]),
            rows=np.zeros(1, np.int64),
            starts=np.ascontiguousarray(item_starts, np.int64),
            items=np.ascontiguousarray(items, np.int32),
            weights=np.ascontiguousarray(weights, np.int32),
        ),
    )


def _joined_lists(
    step: Float64Array, rows: Int64Array, lists: list[tuple[Int64Array, Int32Array]]
) -> ItemLists:
    """The lists of all columns of sets; every list has weight 1."""
    sizes = np.concatenate([sizes for sizes, _ in lists])
    items = np.concatenate([items for _, items in lists])
    return ItemLists(step, rows, np.cumsum(sizes), items, np.ones(len(sizes) - 1, np.int32))


def _joined(arrays: Sequence[NDArray[Any]], dtype: type) -> NDArray[Any]:
    return np.concatenate(arrays).astype(dtype) if arrays else np.zeros(1, dtype)
