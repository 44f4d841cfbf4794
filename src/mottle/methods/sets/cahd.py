"""CAHD, the method that SET12 compares with: homogeneous groups along the Gray order.

Ghinita, Kalnis, Tao: Anonymous Publication of Sensitive Transactional Data (IEEE TKDE 2011), after
Ghinita, Tao, Kalnis: On the Anonymization of Sparse High-Dimensional Data (ICDE 2008). Along the
order, each record without a group takes the p - 1 most similar ones out of the α·p nearest with
other labels, unless the remaining records could then no longer be grouped; the records left at the
end form the last group. As in SET12 §5.1, groups are published by bit voting.

Without labels (k-anonymity) no two records are in conflict. Records are similar if their Hamming
distance is small; the papers count common items, which is equivalent for records of one size.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mottle.graph.model import Graph
from mottle.guarantees.capability import Capability
from mottle.guarantees.decisions import DecidesBy
from mottle.guarantees.demand import Demand
from mottle.itemsets.data import Sets
from mottle.itemsets.gray import gray_order
from mottle.itemsets.hamming import hamming
from mottle.methods import Arrangement, MethodContext
from mottle.methods.options import MethodOption
from mottle.methods.sets.base import register
from mottle.typing import Int32Array, Int64Array
from mottle.utils.compiled import inner_kernel, kernel

ALPHA = MethodOption(
    "alpha", 3, "candidates per place in a group (α of the paper)", least=1, most=1000
)
_NONE = -1


@register(
    "cahd",
    title="homogeneous groups along the Gray order (for comparison)",
    paper="Ghinita et al. 2011",
    offers=Capability.K_ANONYMITY | Capability.EQUAL_CAPS,
    cost="O(n · (log n + k) · s) time, O(n) memory",
    decides_by=DecidesBy.BOTH,
    mixed_decision="a group takes the most similar records that have other labels",
    options=(ALPHA,),
)
def cahd(sets: Sets, demand: Demand, context: MethodContext) -> Arrangement:
    """Groups of p = max(k, ℓ) records with different labels."""
    order = gray_order(sets)
    labels = demand.values[order] if demand.capped else np.empty(0, np.int32)
    size = max(demand.degree, demand.diversity) if demand.capped else demand.degree
    members, starts = _group(sets, order, labels, size, context.option(ALPHA))
    sizes = np.diff(starts)
    graph = Graph.rings(order[members].astype(np.int32), starts, sizes.astype(np.int32))
    return Arrangement(graph, {"groups": len(sizes), "last_group": int(sizes[-1])})


class _Remaining(NamedTuple):
    """Records without a group, as a linked list along the order; and their labels."""

    before: Int64Array  # by rank: the record before; _NONE for the first
    after: Int64Array  # by rank: the record after; _NONE for the last
    counts: Int64Array  # by label: number of records
    labels_with: Int64Array  # by count: number of labels that occur that often


@kernel
def _group(
    sets: Sets, order: Int64Array, labels: Int32Array, size: int, alpha: int
) -> tuple[Int64Array, Int64Array]:
    """Ranks sorted by group, and where each group begins."""
    records = order.size
    label_count = labels.max() + 1 if labels.size else 1
    remaining = _Remaining(
        np.arange(-1, records - 1),
        np.append(np.arange(1, records), _NONE),
        np.zeros(label_count, np.int64),
        np.zeros(records + 1, np.int64),
    )
    for label in labels:
        remaining.counts[label] += 1
    for count in remaining.counts:
        remaining.labels_with[count] += 1
    left, highest = records, remaining.counts.max()
    grouped = np.zeros(records, np.bool_)
    members = np.empty(records, np.int64)
    starts = np.empty(records + 1, np.int64)
    groups, placed = 0, 0
    near = np.empty(alpha * size, np.int64)
    distance = np.empty(alpha * size, np.int64)
    taken_in = np.full(label_count, _NONE, np.int64)
    group = np.empty(size, np.int64)
    for rank in range(records):
        if grouped[rank] or (left != size and left < 2 * size):
            continue
        found = _candidates(remaining, labels, rank, near, taken_in)
        if found < size - 1:
            continue
        for number in range(found):
            distance[number] = hamming(sets, order[rank], order[near[number]])
        group[0] = rank
        for place in range(1, size):
            best = 0
            for number in range(1, found):
                if distance[number] < distance[best]:
                    best = number
            group[place] = near[best]
            distance[best] = np.iinfo(np.int64).max
        if labels.size:
            _recount(remaining, labels, group, -1)
            while highest > 0 and remaining.labels_with[highest] == 0:
                highest -= 1
            if highest * size > left - size:
                _recount(remaining, labels, group, 1)
                highest = remaining.counts.max()
                continue
        starts[groups] = placed
        groups += 1
        left -= size
        for member in group:
            grouped[member] = True
            members[placed] = member
            placed += 1
            ahead, behind = remaining.after[member], remaining.before[member]
            if ahead != _NONE:
                remaining.before[ahead] = behind
            if behind != _NONE:
                remaining.after[behind] = ahead
    if left > 0:
        starts[groups] = placed
        groups += 1
        for rank in range(records):
            if not grouped[rank]:
                members[placed] = rank
                placed += 1
    starts[groups] = records
    return members, starts[: groups + 1]


@kernel
def _candidates(
    remaining: _Remaining, labels: Int32Array, rank: int, near: Int64Array, taken_in: Int64Array
) -> int:
    """Find the nearest records in both directions, all with labels different from each other's.

    Their labels also differ from that of ``rank``. Returns how many were found.
    """
    if labels.size:
        taken_in[labels[rank]] = rank
    found = 0
    back, ahead = remaining.before[rank], remaining.after[rank]
    while found < near.size and (back != _NONE or ahead != _NONE):
        if ahead == _NONE or (back != _NONE and rank - back <= ahead - rank):
            candidate = back
            back = remaining.before[back]
        else:
            candidate = ahead
            ahead = remaining.after[ahead]
        if labels.size:
            if taken_in[labels[candidate]] == rank:
                continue
            taken_in[labels[candidate]] = rank
        near[found] = candidate
        found += 1
    return found


@inner_kernel
def _recount(remaining: _Remaining, labels: Int32Array, group: Int64Array, change: int) -> None:
    """Remove the labels of a group from the counts (``change`` -1), or put them back (1)."""
    for member in group:
        label = labels[member]
        remaining.labels_with[remaining.counts[label]] -= 1
        remaining.counts[label] += change
        remaining.labels_with[remaining.counts[label]] += 1
