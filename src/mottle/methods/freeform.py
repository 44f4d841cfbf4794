"""Freeform generalization: optimal assignments inside blocks, then anytime refinement. Ours.

The idea of k disjoint assignments, each the cheapest given the earlier ones, is HKA15's (and its
full version's Hungarian variant). Theirs costs O(k · n³) over all records; inside blocks of an
order that keeps similar records together it is linear in n. Refinement across blocks then improves
on the optimum per iteration, which is greedy with respect to the iterations.

Where people have several rows, no record gets two preimages of one person. Blocks are cut so that
nobody has more than a k-th part of one (`mottle.methods.people`), and an assignment is the cheapest
among those that keep this.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from mottle.encoding.domain import Codes
from mottle.encoding.encode import along_orders
from mottle.graph.model import Graph
from mottle.guarantees.capability import Capability
from mottle.guarantees.demand import Demand
from mottle.kernels.box_growths import add_growths, make_candidates, prepare
from mottle.kernels.linear_assignment import match_rows
from mottle.kernels.ncp_growth import FORBIDDEN, Scales
from mottle.kernels.scales import scales
from mottle.methods._refinement_orders import refinement_orders
from mottle.methods.base import Arrangement, Chunking, MethodContext, SetColumns, register
from mottle.methods.mondrian import mondrian
from mottle.methods.nh.nh import lexicographic_partitions, rings_of_people
from mottle.methods.people import blocks_of_people, next_of_same, ring_around
from mottle.methods.refinement import DEALT_TOGETHER, PASSES, dealt_together, mean_loss, refine
from mottle.orderings import by_cardinality, lexicographic
from mottle.orderings.hilbert import hilbert
from mottle.orderings.unit_cube import place as placed
from mottle.typing import Float64Array, Int32Array, Int64Array
from mottle.utils import parallel
from mottle.utils.compiled import inner_kernel, kernel

BLOCK = 300  # records that are matched with each other
LARGEST_BLOCK = 1_200  # a layer of a larger block takes so long that rings are the better start
_PAIRS = 1.5e8  # pairs of records in all layers up to which blocks may be larger: a few seconds
_SAMPLED_BLOCKS = 160  # blocks of each order that are matched to choose an order (24 are too few)
_SAMPLED_DEGREE = 4  # layers of these blocks: enough to distinguish the orders, and cheap
_STUCK = -1  # preimages of a block without a further matching


@register(
    "freeform",
    title="individual ranges for every record: optimal matching in blocks, then refinement",
    paper="mottle, after HKA15",
    offers=Capability.K_ANONYMITY | Capability.PEOPLE,
    cost="O(n · k · block · d) time, refinement until the time limit; O(n · (k + d)) memory",
    sets=SetColumns.VOTED,
    chunking=Chunking(bytes_per_edge=60, offers=Capability.K_ANONYMITY | Capability.PEOPLE),
    options=(PASSES,),
    follows_objective=True,
)
def freeform(codes: Codes, demand: Demand, context: MethodContext) -> Arrangement:
    """Match inside blocks of the best of three orders, or start with rings; refine across blocks.

    With ``context.seconds`` = 0 there is no refinement. Blocks grow with k, and with them the time
    for each edge: above a k of `LARGEST_BLOCK` / 3 all records start in rings, in constant time for
    each edge.
    """
    degree = demand.degree
    if context.seconds == 0 and block_size(codes.records, degree) > LARGEST_BLOCK:
        ring = _rings(codes, demand)  # without a list of its edges, which are many at such a degree
        degrees = np.full(len(ring.starts) - 1, degree, np.int32)
        graph = Graph.rings(ring.order.astype(np.int32), ring.starts, degrees)
        return Arrangement(graph, {"order": ring.name, "refinement": None})
    metric = scales(codes, degree, context.objective)
    blocks, ordered, preimages = _best_start(codes, metric, demand, context)
    starts = blocks.starts
    members = blocks.order.astype(np.int32)
    facts: dict[str, object] = {"order": blocks.name, "refinement": None}
    if context.seconds == 0:
        context.on_progress(mean_loss(metric, ordered, preimages))
        local = preimages - np.repeat(starts[:-1], np.diff(starts))[:, None]
        degrees = np.full(len(starts) - 1, degree, np.int32)
        return Arrangement(Graph.explicit(members, starts, degrees, local), facts)
    together = dealt_together(degree) if metric.lists is None else DEALT_TOGETHER
    orders = refinement_orders(codes, ordered, together)
    people = None if demand.people is None else demand.people[blocks.order]
    ncp = scales(codes, degree)
    refined = refine(
        metric, ordered, orders, preimages, context, together=together, people=people, ncp=ncp
    )
    facts["refinement"] = {"passes": refined.passes, "ended": refined.ended}
    whole = np.array([0, len(ordered)], np.int64)
    graph = Graph.explicit(members, whole, np.array([degree], np.int32), preimages)
    return Arrangement(graph, facts)


class BlockOrder(NamedTuple):
    """Records in an order that keeps similar ones together, cut into blocks."""

    name: str
    order: Int64Array  # [n]
    starts: Int64Array  # [blocks + 1]


class _Start(NamedTuple):
    """The starting point of the refinement."""

    blocks: BlockOrder
    ordered: Int32Array  # [n, d]: the codes in that order
    preimages: Int32Array  # [n, degree]: places in that order


def _best_start(codes: Codes, metric: Scales, demand: Demand, context: MethodContext) -> _Start:
    """Records matched in blocks; or NH10's rings, which are better if many records are equal."""
    degree, people = demand.degree, demand.people
    ring = _rings(codes, demand)
    in_rings = np.ascontiguousarray(codes.matrix[ring.order])
    rings = _Start(ring, in_rings, ring_preimages(ring.starts, degree))
    if block_size(codes.records, degree) > LARGEST_BLOCK:
        return rings
    blocks = _best_block_order(codes, degree, context)
    if people is not None:
        cut = blocks_of_people(people[blocks.order], block_size(codes.records, degree), degree)
        if cut is None:  # somebody has so many rows that blocks would be too large to be matched
            return rings
        blocks = BlockOrder(blocks.name, blocks.order[cut.places], cut.starts)
    ordered = np.ascontiguousarray(codes.matrix[blocks.order])
    matched = _Start(blocks, ordered, _matched(metric, ordered, blocks, demand))
    return min(matched, rings, key=lambda start: mean_loss(metric, start.ordered, start.preimages))


def _rings(codes: Codes, demand: Demand) -> BlockOrder:
    """NH10's partitions, as blocks."""
    if demand.people is None:
        members, starts = lexicographic_partitions(codes, demand.degree)
    else:
        members, starts = rings_of_people(codes, demand)
    return BlockOrder("rings", members.astype(np.int64), starts)


def _matched(metric: Scales, ordered: Int32Array, blocks: BlockOrder, demand: Demand) -> Int32Array:
    """Preimages by matching in blocks; by a ring where the first layers leave no matching."""
    degree = demand.degree
    if demand.people is None:
        return match_in_blocks(metric, ordered, blocks.starts, degree)
    people = demand.people[blocks.order]
    preimages = match_in_blocks(metric, ordered, blocks.starts, degree, people)
    for first, last in stuck_blocks(preimages, blocks.starts):
        ring = first + ring_around(people[first:last], degree)
        around = (np.arange(last - first)[:, None] + np.arange(degree)) % (last - first)
        preimages[ring] = ring[around]
    return preimages


def stuck_blocks(preimages: Int32Array, starts: Int64Array) -> list[tuple[int, int]]:
    """First and last place of the blocks that were not matched completely."""
    blocks = np.flatnonzero(preimages[starts[:-1], 0] == _STUCK)
    return [(int(starts[block]), int(starts[block + 1])) for block in blocks]


def ring_preimages(starts: Int64Array, degree: int) -> Int32Array:
    """[n, degree]: for every place, itself and the places after it, around its block.

    >>> ring_preimages(np.array([0, 3, 5]), 2).tolist()
    [[0, 1], [1, 2], [2, 0], [3, 4], [4, 3]]
    """
    sizes = np.diff(starts).astype(np.int32)
    first, size = np.repeat(starts[:-1].astype(np.int32), sizes), np.repeat(sizes, sizes)
    place = np.arange(len(first), dtype=np.int32) - first
    layers = np.arange(degree, dtype=np.int32)
    preimages: Int32Array = (place[:, None] + layers).astype(np.int32, copy=False)
    preimages %= size[:, None]  # in place, because there may be many
    preimages += first[:, None]
    return preimages


def block_orders(codes: Codes, degree: int) -> Iterator[BlockOrder]:
    """Orders that may be best; which one is depends on the number of columns with few values."""
    size = block_size(codes.records, degree)
    cuts = block_starts(codes.records, size)
    by_values = lexicographic(codes.matrix, codes.sizes, by_cardinality(codes.sizes))
    yield BlockOrder("lexicographic", by_values, cuts)
    if len(cuts) > 2:
        yield BlockOrder("hilbert", hilbert(placed(codes)), cuts)
        medians = mondrian(along_orders(codes), Demand(size // 2), MethodContext()).graph
        yield BlockOrder("median cuts", medians.members.astype(np.int64), medians.starts)


def _best_block_order(codes: Codes, degree: int, context: MethodContext) -> BlockOrder:
    """The order that loses least in a sample of its blocks."""
    tried = min(degree, _SAMPLED_DEGREE)
    metric = scales(codes, tried, context.objective)
    return min(block_orders(codes, degree), key=partial(_sampled_loss, codes, metric, tried))


def _sampled_loss(codes: Codes, metric: Scales, degree: int, blocks: BlockOrder) -> float:
    last = len(blocks.starts) - 2
    sample = np.unique(np.linspace(0, last, min(last + 1, _SAMPLED_BLOCKS)).astype(np.int64))
    rows = [blocks.order[blocks.starts[block] : blocks.starts[block + 1]] for block in sample]
    starts = np.concatenate([[0], np.cumsum([len(block) for block in rows])]).astype(np.int64)
    ordered = np.ascontiguousarray(codes.matrix[np.concatenate(rows)])
    return mean_loss(metric, ordered, match_in_blocks(metric, ordered, starts, degree))


def match_in_blocks(
    metric: Scales,
    ordered: Int32Array,
    starts: Int64Array,
    degree: int,
    people: Int32Array | None = None,
) -> Int32Array:
    """Preimages [n, degree] of every record, all inside its block.

    With ``people`` [n] no record has two preimages of one person. A layer may then leave the next
    one no matching; the block's preimages are `_STUCK` in that case.
    """
    preimages = np.empty((len(ordered), degree), np.int32)
    siblings = np.arange(len(ordered)) if people is None else next_of_same(people, starts)

    def match(first: int, last: int) -> None:
        _match_blocks(metric, ordered, starts, first, last, siblings, preimages)

    parallel.over_blocks(match, starts)
    return preimages


def block_size(records: int, degree: int) -> int:
    """Number of records that are matched with each other: enough for a choice at every layer.

    In small tables it grows with k, because there it is cheap: up to 20 k.

    >>> [block_size(records, 50) for records in (500, 3_000, 30_000)], block_size(30_000, 200)
    ([500, 1000, 300], 600)
    """
    affordable = int(min(20 * degree, _PAIRS / (records * degree), LARGEST_BLOCK))
    return min(max(BLOCK, 3 * degree, affordable), records)


def block_starts(records: int, size: int) -> Int64Array:
    """Starts of blocks of about ``size`` records, all of nearly the same size, and the end."""
    blocks = max(round(records / size), 1)
    return np.linspace(0, records, blocks + 1).astype(np.int64)


@kernel
def _match_blocks(
    metric: Scales,
    ordered: Int32Array,
    starts: Int64Array,
    first: int,
    last: int,
    siblings: Int64Array,
    preimages: Int32Array,
) -> None:
    """Fill the preimages of blocks ``first .. last - 1``.

    Layer 0 is the record itself; each further layer is the cheapest assignment that repeats no
    edge, nor any place reached from it by ``siblings`` [n], which leads around the places of a
    person.
    """
    degree, columns = preimages.shape[1], ordered.shape[1]
    largest = int(np.int64(0))  # of a literal 0 Numba would compile everything below twice
    for block in range(first, last):
        largest = max(largest, starts[block + 1] - starts[block])
    candidates = make_candidates(metric, largest)
    cost = np.empty((largest, largest))
    marks, counts = (
        np.zeros(metric.position.size, np.int32),
        np.zeros(metric.position.size, np.int32),
    )
    mark = int(np.int64(0))  # a literal 0 would make Numba compile `prepare` a second time
    column_of = np.empty(largest, np.int32)
    work, prices = np.empty((5, largest), np.int32), np.empty((2, largest))
    # If boxes vote or are read by frequencies, even a member of cost 0 changes the costs of others.
    any_changes = metric.lists is not None or metric.reading is not None
    grown = np.empty(largest, np.bool_)  # records whose costs must be computed again
    for block in range(first, last):
        start, size = starts[block], starts[block + 1] - starts[block]
        for place in range(size):
            grown[place] = True
            preimages[start + place, 0] = start + place
            for column in range(columns):
                candidates.codes[column, place] = ordered[start + place, column]
        mark = prepare(metric, candidates, size, marks, mark)
        for layer in range(1, degree):
            boxes = preimages[start : start + size]
            add_growths(metric, ordered, boxes, layer, candidates, size, grown, marks, counts, cost)
            for place in range(size):
                if grown[place]:
                    for member in range(layer):
                        _forbid(cost[place], int(np.int64(boxes[place, member])), start, siblings)
            match_rows(cost, size, column_of, work, prices)
            stuck = False
            for place in range(size):
                match = column_of[place]
                preimages[start + place, layer] = start + match
                stuck = stuck or cost[place, match] >= FORBIDDEN
                grown[place] = any_changes or cost[place, match] > 0.0
                _forbid(cost[place], start + match, start, siblings)
            if stuck:
                for place in range(size):
                    for every in range(degree):
                        preimages[start + place, every] = _STUCK
                break


@inner_kernel
def _forbid(cost: Float64Array, member: int, start: int, siblings: Int64Array) -> None:
    """Forbid a preimage and all others of the same person in the costs of one record."""
    cost[member - start] = FORBIDDEN
    other = siblings[member]
    while other != member:
        cost[other - start] = FORBIDDEN
        other = siblings[other]
