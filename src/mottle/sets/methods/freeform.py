"""Freeform for sets: optimal assignments inside blocks, then anytime refinement. Ours.

The same matching and the same refinement as for tables (`mottle.methods.freeform`), with the error
of bit voting as what is lost: a wrong bit costs a record one part of its size, so that the mean
loss is SET12's error rate. Records lie in an order by splits (`mottle.sets.splits`).
"""

from __future__ import annotations

import numpy as np

from mottle.graph import Graph
from mottle.growth import Scales, bit_scales
from mottle.guarantees import Demand, KAnonymity
from mottle.methods import Arrangement, Effort
from mottle.methods.freeform import block_size, block_starts, match_in_blocks
from mottle.refinement import DEALT_TOGETHER, Orders, mean_loss, refine
from mottle.sets.items import Int32s, Int64s, Sets
from mottle.sets.methods._registry import register
from mottle.sets.splits import split_order

_UNIT = 1 << 16  # weight of a wrong bit of a record that holds one item
_LARGEST_SUM = (1 << 30) - 1  # of the weights of a box


@register(
    "freeform",
    title="every record its own candidates: optimal matching in blocks, refined while it pays",
    paper="mottle, after SET12 and HKA15",
    guarantees=(KAnonymity,),
    cost="O(n · k · (block + s)) time, refinement as long as you let it; O(n · (k + s)) memory",
)
def freeform(sets: Sets, demand: Demand, effort: Effort) -> Arrangement:
    """Match inside blocks of the order by splits, then refine across blocks.

    ``effort.seconds`` = 0 leaves the refinement out.
    """
    degree = demand.degree
    weights, metric = bit_weights(sets), voting_error(sets, degree)
    order = split_order(sets, weights, piece=degree)
    starts = block_starts(sets.records, block_size(sets.records, degree))
    ordered = np.ascontiguousarray(order[:, None], np.int32)
    preimages = match_in_blocks(metric, ordered, starts, degree)
    members = order.astype(np.int32)
    facts: dict[str, object] = {"order": "splits", "refinement": None}
    if effort.seconds == 0:
        effort.tell(mean_loss(metric, ordered, preimages))
        local = preimages - np.repeat(starts[:-1], np.diff(starts))[:, None]
        degrees = np.full(len(starts) - 1, degree, np.int32)
        return Arrangement(Graph.explicit(members, starts, degrees, local), facts)
    refined = refine(metric, ordered, set_orders(sets, order, weights), preimages, effort)
    facts["refinement"] = {"passes": refined.passes, "ended": refined.ended}
    whole = np.array([0, sets.records], np.int64)
    graph = Graph.explicit(members, whole, np.array([degree], np.int32), preimages)
    return Arrangement(graph, facts)


def bit_weights(sets: Sets, unit: int = _UNIT) -> Int32s:
    """What a wrong bit of every record weighs: one part of its size."""
    return np.maximum(np.rint(unit / np.maximum(sets.sizes, 1)), 1).astype(np.int32)


def voting_error(sets: Sets, degree: int) -> Scales:
    """The error rate as the loss of boxes of ``degree`` records."""
    unit = min(_UNIT, _LARGEST_SUM // (degree + 1))
    step = 1 / (unit * degree)
    return bit_scales(sets.starts, sets.items, sets.universe, bit_weights(sets, unit), step)


def set_orders(sets: Sets, rows: Int64s, weights: Int32s) -> Orders:
    """Orders by splits, each time with another taste for items.

    ``rows`` [n] are the records that the originals of a refinement stand for.
    """

    def order(originals: Int32s, number: int, random: np.random.Generator) -> Int64s:
        shown = rows[originals]
        taste = random.random(sets.universe)
        in_turn = split_order(sets.take(shown), weights[shown], DEALT_TOGETHER, taste)
        return np.roll(in_turn, random.integers(len(shown)))

    return order
