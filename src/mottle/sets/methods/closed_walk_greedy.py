"""SET12's ℓ-diversity: ℓ greedy closed walks through the complete graph (Algorithms 1 and 2).

Xue, Karras, Raïssi, Vaidya, Tan: Anonymizing Set-Valued Data by Nonreciprocal Recoding (KDD 2012),
§4.2 and §4.4.

**It does not give what it claims**, and runs only when the paper's randomization is asked for by
name. The ℓ postimages of a record have different labels of their own; but what is published on
them are the labels of whoever is drawn, and these may repeat. An adversary who knows the algorithm
learns from the repeats (docs/guarantees.md). The certificate says how often that happened.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from mottle.errors import GuaranteeError
from mottle.graph import Graph
from mottle.guarantees import Demand, LDiversity
from mottle.methods import Arrangement, Draw, Effort
from mottle.methods._registry import DECIDES_BY_BOTH
from mottle.sets.distance import hamming
from mottle.sets.items import Bools, Int32s, Int64s, Sets, Words
from mottle.sets.methods._registry import register
from mottle.sets.orders import gray_tsp_order
from mottle.xorshift import below

_NONE = -1
_PATIENCE = 20  # steps per record after which a walk is given up


@register(
    "closed-walk-greedy",
    title="the union of ℓ greedy closed walks; only with the paper's unsafe randomization",
    paper="SET12",
    guarantees=(LDiversity,),
    cost="O(ℓ · n²) time at worst, O(n · ℓ) memory",
    unsafe=True,
)
def closed_walk_greedy(sets: Sets, demand: Demand, effort: Effort) -> Arrangement:
    """An ℓ-regular graph in which the postimages of every record have different own labels."""
    order = gray_tsp_order(sets, effort.seed)
    records, diversity = sets.records, demand.diversity
    matches = np.full((records, diversity), _NONE, np.int32)
    state = np.array([effort.seed | 1], np.uint64)
    labels = demand.values[order]
    for round_ in range(diversity):
        if not greedy_assignment(sets, order, labels, matches, round_, state):
            raise GuaranteeError(
                f"The greedy walks found {round_} of {diversity} assignments and then no more.",
                "Choose a smaller ℓ.",
            )
    preimages = np.empty_like(matches)
    for round_ in range(diversity):
        preimages[matches[:, round_], round_] = np.arange(records)
    whole = np.array([0, records], np.int64)
    graph = Graph.explicit(
        order.astype(np.int32), whole, np.array([diversity], np.int32), preimages
    )
    return Arrangement(graph, DECIDES_BY_BOTH, Draw.ROTATION)


class Walk(NamedTuple):
    """The edges of the current walk: Algorithm 1's *visited*."""

    preimage: Int64s  # by edge
    postimage: Int64s  # by edge
    earlier: Int64s  # by edge: the edge by which its preimage left before, or _NONE
    latest: Int64s  # by preimage: its latest edge, or _NONE
    reached: Bools  # by postimage: whether the walk has been there


@njit(cache=True, nogil=True)
def greedy_assignment(
    sets: Sets, order: Int64s, labels: Int32s, matches: Int32s, round_: int, state: Words
) -> bool:
    """Algorithm 1: fill ``matches[:, round_]``, by ranks; False if a walk had nowhere to go.

    The assignment starts as everyone matched with itself, valid or not. Walks begin at records not
    yet processed and end where the first record was matched; the last choice of each record on the
    way counts, so detours are forgotten.
    """
    records = order.size
    longest = _PATIENCE * records
    walk = Walk(
        np.empty(longest, np.int64),
        np.empty(longest, np.int64),
        np.empty(longest, np.int64),
        np.full(records, _NONE, np.int64),
        np.zeros(records, np.bool_),
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
            walk.earlier[edges] = walk.latest[node]
            walk.latest[node] = edges
            walk.reached[picked] = True
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
            walk.latest[walk.preimage[edge]] = _NONE
            walk.reached[walk.postimage[edge]] = False
    return True


@njit(cache=True, nogil=True)
def greedy_pick(
    sets: Sets, order: Int64s, labels: Int32s, matches: Int32s, round_: int, node: int, walk: Walk
) -> int:
    """Algorithm 2: the nearest eligible postimage of ``node`` along the order; _NONE for none.

    Of two equally far it takes the one of smaller Hamming distance. One that the walk has reached
    already is a last resort; between an unreached and a reached one the text prefers the former,
    where the pseudocode looks at the distance first.
    """
    records = order.size
    last_resort = _NONE
    for step in range(records // 2 + 1):
        best, best_distance = _NONE, np.int64(0)
        for side in (1, -1):
            other = (node + side * step) % records
            if side == -1 and other == (node + step) % records:
                continue
            if not _eligible(labels, matches, round_, node, other, walk):
                continue
            distance = hamming(sets, order[node], order[other])
            if best == _NONE:
                better = True
            elif walk.reached[other] != walk.reached[best]:
                better = bool(walk.reached[best])
            else:
                better = bool(distance < best_distance)
            if better:
                best, best_distance = other, distance
        if best != _NONE:
            if not walk.reached[best]:
                return best
            if last_resort == _NONE:
                last_resort = best
    return last_resort


@njit(cache=True, nogil=True)
def _eligible(
    labels: Int32s, matches: Int32s, round_: int, node: int, other: int, walk: Walk
) -> bool:
    """Neither an old match, nor of the label of one, nor an edge of this walk."""
    for earlier in range(round_):
        match = matches[node, earlier]
        if match == other or labels[match] == labels[other]:
            return False
    edge = walk.latest[node] if walk.reached[other] else _NONE
    while edge != _NONE:
        if walk.postimage[edge] == other:
            return False
        edge = walk.earlier[edge]
    return True
