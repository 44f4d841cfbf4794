"""Freeform for sets: clusters around common items or optimal assignments, then refinement. Ours.

The loss is the error of bit voting: a wrong bit costs a record 1 / (its number of items), so that
the mean loss is SET12's error rate. Records are ordered by recursive splits
(`mottle.orderings.item_splits`). Sparse records, which share only few of many items, are put into
boxes by the items they share (`mottle.methods.sets._clusters`). Dense ones, and pairs, are matched
like tables (`mottle.methods.freeform`). The refinement is that of tables.
"""

from __future__ import annotations

import numpy as np

from mottle.graph.model import Graph
from mottle.guarantees.capability import Capability
from mottle.guarantees.demand import Demand
from mottle.itemsets.data import Sets
from mottle.kernels.ncp_growth import Scales
from mottle.kernels.scales import bit_scales
from mottle.methods import Arrangement, MethodContext
from mottle.methods.freeform import block_size, block_starts, match_in_blocks
from mottle.methods.refinement import DEALT_TOGETHER, Orders, mean_loss, refine
from mottle.methods.sets._cluster_boxes import boxes
from mottle.methods.sets._clusters import memberships
from mottle.methods.sets.base import register
from mottle.orderings.item_splits import split_order
from mottle.typing import Int32Array, Int64Array

PART = 100_000  # records that are clustered together: bounds memory and keeps time linear
_PAIRS = 2  # highest degree at which matching is better than clusters
_PAIRED_TOGETHER = 2_000  # block size at that degree: with a single layer, blocks may be large
_PAIRS_DEALT_TOGETHER = 400  # records in an exchange of the refinement at that degree
_UNIT = 1 << 16  # weight of a wrong bit of a record that holds one item
_LARGEST_SUM = (1 << 30) - 1  # largest sum of the weights of a box


@register(
    "freeform",
    title="individual candidates for every record: by common items, then refinement",
    paper="mottle, after SET12 and HKA15",
    offers=Capability.K_ANONYMITY,
    cost="O(n · k · (block + s)) time, refinement until the time limit; O(n · (k + s)) memory",
)
def freeform(sets: Sets, demand: Demand, context: MethodContext) -> Arrangement:
    """Put records into boxes, part by part of the order by splits, then refine across parts.

    With ``context.seconds`` = 0 there is no refinement.
    """
    degree = demand.degree
    weights, metric = bit_weights(sets), voting_error(sets, degree)
    pairs = degree <= _PAIRS
    order = split_order(sets, weights, piece=1)
    ordered = np.ascontiguousarray(order[:, None], np.int32)
    starts = block_starts(sets.records, PART)
    preimages = np.empty((sets.records, degree), np.int32)
    clustered = 0
    for first, last in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        part = sets.take(order[first:last])._replace(words=sets.words[:0])
        given = None if pairs else memberships(part, degree)
        if given is None:
            size = _PAIRED_TOGETHER if pairs else block_size(last - first, degree)
            cuts = block_starts(last - first, size)
            found = match_in_blocks(metric, ordered[first:last], cuts, degree)
        else:
            found = boxes(given, last - first, degree)
            clustered += len(given.starts) - 1
        preimages[first:last] = found + first
    facts: dict[str, object] = {"order": "splits", "clusters": clustered, "refinement": None}
    if context.seconds == 0:
        context.on_progress(mean_loss(metric, ordered, preimages))
    else:
        together = _PAIRS_DEALT_TOGETHER if pairs else DEALT_TOGETHER
        orders = set_orders(sets, order, weights, together)
        refined = refine(metric, ordered, orders, preimages, context, together=together)
        facts["refinement"] = {"passes": refined.passes, "ended": refined.ended}
    whole = np.array([0, sets.records], np.int64)
    degrees = np.array([degree], np.int32)
    return Arrangement(Graph.explicit(order.astype(np.int32), whole, degrees, preimages), facts)


def bit_weights(sets: Sets, unit: int = _UNIT) -> Int32Array:
    """Weight of a wrong bit of every record: ``unit`` / (its number of items)."""
    return np.maximum(np.rint(unit / np.maximum(sets.sizes, 1)), 1).astype(np.int32)


def voting_error(sets: Sets, degree: int) -> Scales:
    """The error rate as the loss of boxes of ``degree`` records."""
    unit = min(_UNIT, _LARGEST_SUM // (degree + 1))
    step = 1 / (unit * degree)
    return bit_scales(sets.starts, sets.items, sets.universe, bit_weights(sets, unit), step)


def set_orders(
    sets: Sets, rows: Int64Array, weights: Int32Array, together: int = DEALT_TOGETHER
) -> Orders:
    """Orders from recursive splits, with a different random item weighting each time.

    ``rows`` [n] are the records that the originals of a refinement stand for; ``together`` is the
    number of records in one exchange.
    """

    def order(originals: Int32Array, number: int, random: np.random.Generator) -> Int64Array:
        shown = rows[originals]
        item_weights = random.random(sets.universe)
        in_turn = split_order(sets.take(shown), weights[shown], together, item_weights)
        return np.roll(in_turn, random.integers(len(shown)))

    return order
