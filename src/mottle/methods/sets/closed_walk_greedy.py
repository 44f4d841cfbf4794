"""SET12's ℓ-diversity: ℓ greedy closed walks through the complete graph (Algorithms 1 and 2).

Xue, Karras, Raïssi, Vaidya, Tan: Anonymizing Set-Valued Data by Nonreciprocal Recoding (KDD 2012),
§4.2 and §4.4.

**It does not give what it claims**, and runs only if the paper's randomization is asked for by
name. The ℓ postimages of a record have different labels of their own; but the labels published on
them are those of the drawn preimages, and these may repeat. An adversary who knows the algorithm
learns from the repetitions (docs/guarantees.md). The certificate says how often that happened.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mottle.errors import GuaranteeError
from mottle.graph.model import Graph
from mottle.guarantees.capability import Capability
from mottle.guarantees.decisions import DecidesBy
from mottle.guarantees.demand import Demand
from mottle.itemsets.data import Sets
from mottle.itemsets.hamming import hamming
from mottle.methods import Arrangement, Draw, MethodContext
from mottle.methods.sets.base import register
from mottle.orderings.gray_tsp import gray_tsp_order
from mottle.typing import BoolArray, Int32Array, Int64Array, UInt64Array
from mottle.utils.compiled import inner_kernel, kernel
from mottle.utils.xorshift import below

_NONE = -1
_PATIENCE = 20  # steps per record after which a walk is abandoned


@register(
    "closed-walk-greedy",
    title="the union of ℓ greedy closed walks; only with the paper's unsafe randomization",
    paper="SET12",
    offers=Capability.EQUAL_CAPS,
    cost="O(ℓ · n²) time at worst, O(n · ℓ) memory",
    unsafe=True,
    decides_by=DecidesBy.BOTH,
    mixed_decision="a walk goes to the nearest set whose label it has not met",
)
def closed_walk_greedy(sets: Sets, demand: Demand, context: MethodContext) -> Arrangement:
    """An ℓ-regular graph in which the postimages of every record have different own labels."""
    records, diversity = sets.records, demand.diversity
    if demand.degree > diversity:
        raise GuaranteeError(
            f"Method 'closed-walk-greedy' gives every record ℓ = {diversity} matches, and k ="
            f" {demand.degree} are asked for.",
            "Choose k at most ℓ, or another method.",
        )
    order = gray_tsp_order(sets, context.seed)
    matches = np.full((records, diversity), _NONE, np.int32)
    state = np.array([context.seed | 1], np.uint64)
    labels = demand.values[order]
    for round_ in range(diversity):
        if not greedy_assignment(sets, order, labels, matches, round_, state):
            raise GuaranteeError(
                f"The greedy walks found only {round_} of {diversity} assignments.",
                "Choose a smaller ℓ.",
            )
    preimages = np.empty_like(matches)
    for round_ in range(diversity):
        preimages[matches[:, round_], round_] = np.arange(records)
    whole = np.array([0, records], np.int64)
    graph = Graph.explicit(
        order.astype(np.int32), whole, np.array([diversity], np.int32), preimages
    )
    return Arrangement(graph, draw=Draw.ROTATION)


class Walk(NamedTuple):
    """The edges of the current walk: Algorithm 1's *visited*."""

    preimage: Int64Array  # by edge
    postimage: Int64Array  # by edge
    latest: Int64Array  # by preimage: its latest edge, or _NONE
    earlier: Int64Array  # by discovering edge: the preimage's discovering edge before, or _NONE
    discovery: Int64Array  # by preimage: its latest edge to a newly reached postimage, or _NONE
    tried: Int64Array  # by preimage: the distance up to which it has tried reached postimages
    resort: Int64Array  # by preimage: the postimage it took at that distance, or _NONE
    reached: BoolArray  # by postimage: whether the walk has reached it
    ahead: Int64Array  # by rank: itself if not reached, else a link towards the next unreached one
    behind: Int64Array  # the same in the other direction; ranks are cyclic
    unreached: Int64Array  # by label: number of unreached postimages with it; last, of all of them


@kernel
def greedy_assignment(
    sets: Sets,
    order: Int64Array,
    labels: Int32Array,
    matches: Int32Array,
    round_: int,
    state: UInt64Array,
) -> bool:
    """Algorithm 1: fill ``matches[:, round_]``, by ranks; false if a walk cannot be continued.

    The assignment starts with every record matched with itself, valid or not. Walks begin at
    records not yet processed and end where the first record was matched; only the last choice of
    each record on the way counts, so detours are forgotten.
    """
    records = order.size
    longest = _PATIENCE * records
    walk = Walk(
        np.empty(longest, np.int64),
        np.empty(longest, np.int64),
        np.full(records, _NONE, np.int64),
        np.empty(longest, np.int64),
        np.full(records, _NONE, np.int64),
        np.zeros(records, np.int64),
        np.full(records, _NONE, np.int64),
        np.zeros(records, np.bool_),
        np.arange(records),
        np.arange(records),
        np.append(np.bincount(labels), records),
    )
    holder_of = np.arange(records)  # by postimage: its preimage in the assignment
    processed = np.zeros(records, np.bool_)
    waiting = np.arange(records)
    for place in range(records - 1, 0, -1):
        other = below(state, place + 1)
        waiting[place], waiting[other] = waiting[other], waiting[place]
    for start in waiting:
        if processed[start]:
            continue
        edges, node, picked = 0, int(start), _NONE
        while picked != start:
            picked = greedy_pick(sets, order, labels, matches, round_, node, walk)
            if picked == _NONE or edges == longest:
                return False
            walk.preimage[edges], walk.postimage[edges] = node, picked
            walk.latest[node] = edges
            if not walk.reached[picked]:
                walk.earlier[edges] = walk.discovery[node]
                walk.discovery[node] = edges
                _reach(walk, labels, picked)
            edges += 1
            node = int(holder_of[picked])
        node, picked = int(start), _NONE
        while picked != start:
            picked = int(walk.postimage[walk.latest[node]])
            matches[node, round_] = picked
            processed[node] = True
            displaced = int(holder_of[picked])
            holder_of[picked] = node
            node = displaced
        for edge in range(edges):
            walked = walk.preimage[edge]
            walk.latest[walked], walk.discovery[walked] = _NONE, _NONE
            walk.tried[walked], walk.resort[walked] = 0, _NONE
            _leave(walk, labels, int(walk.postimage[edge]))
    return True


@inner_kernel
def _reach(walk: Walk, labels: Int32Array, postimage: int) -> None:
    walk.reached[postimage] = True
    walk.ahead[postimage] = (postimage + 1) % walk.ahead.size
    walk.behind[postimage] = (postimage - 1) % walk.behind.size
    walk.unreached[labels[postimage]] -= 1
    walk.unreached[-1] -= 1


@inner_kernel
def _leave(walk: Walk, labels: Int32Array, postimage: int) -> None:
    if walk.reached[postimage]:
        walk.reached[postimage] = False
        walk.ahead[postimage] = postimage
        walk.behind[postimage] = postimage
        walk.unreached[labels[postimage]] += 1
        walk.unreached[-1] += 1


@kernel
def _next(pointers: Int64Array, rank: int) -> int:
    """The first unreached rank from this one on, if there is any; shortens the links on the way."""
    while pointers[rank] != rank:
        pointers[rank] = pointers[pointers[rank]]
        rank = pointers[rank]
    return rank


@inner_kernel
def greedy_pick(
    sets: Sets,
    order: Int64Array,
    labels: Int32Array,
    matches: Int32Array,
    round_: int,
    node: int,
    walk: Walk,
) -> int:
    """Algorithm 2: the nearest eligible postimage of ``node`` along the order; _NONE for none.

    Of two at the same distance it takes the one with the smaller Hamming distance. One that the
    walk has already reached is a last resort; between an unreached and a reached one the text
    prefers the former, whereas the pseudocode compares distances first. Reached ones are skipped by
    links, so that a walk does not look at all of them at every step.
    """
    open_to_it = walk.unreached[-1]
    for earlier in range(round_):
        open_to_it -= walk.unreached[labels[matches[node, earlier]]]
    if open_to_it > 0:
        return _nearest_unreached(sets, order, labels, matches, round_, node, walk)
    return _last_resort(sets, order, labels, matches, round_, node, walk)


@inner_kernel
def _last_resort(
    sets: Sets,
    order: Int64Array,
    labels: Int32Array,
    matches: Int32Array,
    round_: int,
    node: int,
    walk: Walk,
) -> int:
    """The nearest eligible postimage if the walk has reached all of them; _NONE for none.

    The nearer eligible ones have already been taken: the search continues where it ended.
    """
    records = order.size
    for step in range(walk.tried[node], records // 2 + 1):
        best, best_distance = _NONE, np.int64(0)
        for side in (1, -1):
            other = (node + side * step) % records
            if side == -1 and other == (node + step) % records:
                continue
            if other == walk.resort[node] or not _eligible(
                labels, matches, round_, node, other, walk
            ):
                continue
            distance = hamming(sets, order[node], order[other])
            if best == _NONE or distance < best_distance:
                best, best_distance = other, distance
        if best != _NONE:
            again = walk.resort[node] != _NONE and walk.tried[node] == step
            walk.tried[node] = step + 1 if again else step
            walk.resort[node] = _NONE if again else best
            return best
    return _NONE


@inner_kernel
def _nearest_unreached(
    sets: Sets,
    order: Int64Array,
    labels: Int32Array,
    matches: Int32Array,
    round_: int,
    node: int,
    walk: Walk,
) -> int:
    """The nearest postimage that the walk has not reached and whose label is new to ``node``."""
    records = order.size
    ahead, behind = _next(walk.ahead, node), _next(walk.behind, node)
    while True:
        forwards, backwards = (ahead - node) % records, (node - behind) % records
        if forwards <= backwards and _new_label(labels, matches, round_, node, ahead):
            if (
                forwards == backwards
                and _new_label(labels, matches, round_, node, behind)
                and hamming(sets, order[node], order[behind])
                < hamming(sets, order[node], order[ahead])
            ):
                return behind
            return ahead
        if backwards <= forwards and _new_label(labels, matches, round_, node, behind):
            return behind
        if forwards <= backwards:
            ahead = _next(walk.ahead, (ahead + 1) % records)
        if backwards <= forwards:
            behind = _next(walk.behind, (behind - 1) % records)


@inner_kernel
def _new_label(labels: Int32Array, matches: Int32Array, round_: int, node: int, other: int) -> bool:
    new = True
    for earlier in range(round_):
        new &= labels[matches[node, earlier]] != labels[other]
    return new


@inner_kernel
def _eligible(
    labels: Int32Array, matches: Int32Array, round_: int, node: int, other: int, walk: Walk
) -> bool:
    """Whether its label differs from earlier matches' and it was not discovered from ``node``."""
    if not _new_label(labels, matches, round_, node, other):
        return False
    edge = walk.discovery[node]
    while edge != _NONE:
        if walk.postimage[edge] == other:
            return False
        edge = walk.earlier[edge]
    return True
