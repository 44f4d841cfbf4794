"""BuReL: homogeneous groups that take records in proportion from buckets of similar frequency.

Cao, Karras: Publishing Microdata with a Robust Privacy Guarantee (PVLDB 2012), the method that HET
compares with for β-likeness, in three steps: *bu*cketize sensitive values, *re*allocate bucket
sizes to groups, and fi*l*l the groups with similar records.
"""

from __future__ import annotations

import numpy as np

from mottle.encoding.domain import Codes
from mottle.graph.model import Graph
from mottle.guarantees.capability import Capability
from mottle.guarantees.decisions import DecidesBy
from mottle.guarantees.demand import Demand, allowed
from mottle.methods.base import Arrangement, MethodContext, register
from mottle.methods.buckets.bucketization import in_proportion
from mottle.methods.orders import ORDER, ORDER_OPTIONS, order_by
from mottle.methods.several_columns import merged_starts, tightest
from mottle.typing import Float64Array, Int64Array
from mottle.utils.compiled import inner_kernel, kernel

_UNEQUAL = 2  # most records per bucket by which the halves of a group may differ


@register(
    "burel",
    title="groups with a proportional share of each bucket of similarly frequent sensitive values",
    paper="HET",
    offers=Capability.CAPS,
    cost="O(n log n + n·d) time, O(n·d) memory",
    decides_by=DecidesBy.BOTH,
    mixed_decision="a group takes of each bucket of values the records nearest to it",
    options=ORDER_OPTIONS,
)
def burel(codes: Codes, demand: Demand, context: MethodContext) -> Arrangement:
    """Bucketize, reallocate, fill.

    A bucket is bound by the lowest cap of its values: as long as its share of a group is within
    that cap, so is the share of each of its values, whichever records are taken. With several
    sensitive columns the values are those of the tightest one, and neighbouring groups are merged
    until all are within their caps.
    """
    order = order_by(context.option(ORDER), codes, context)
    values, counts, value_caps = tightest(demand)
    bucket_of, caps = bucketize(counts, value_caps)
    buckets = bucket_of[values[order]]
    sizes = np.bincount(buckets, minlength=len(caps))
    groups = reallocate(sizes, caps, demand.degree)
    places = fill(buckets, groups, np.random.default_rng(context.seed))
    starts = np.concatenate([[0], np.cumsum(groups.sum(axis=1))])
    if demand.sensitive_codes.shape[1] > 1:
        places, starts = _merged(order, places, starts, demand)
    graph = Graph.rings(order[places].astype(np.int32), starts, np.diff(starts).astype(np.int32))
    return Arrangement(graph, {"buckets": len(caps), "groups": len(starts) - 1})


def _merged(
    order: Int64Array, places: Int64Array, starts: Int64Array, demand: Demand
) -> tuple[Int64Array, Int64Array]:
    """Groups along the curve, merged until all sensitive columns are within their caps."""
    means = np.add.reduceat(places, starts[:-1]) / np.diff(starts)
    along = np.argsort(means, kind="stable")
    groups = np.split(places, starts[1:-1])
    sorted_places = np.concatenate([groups[group] for group in along])
    sorted_starts = np.concatenate([[0], np.cumsum(np.diff(starts)[along])])
    return sorted_places, merged_starts(order[sorted_places], sorted_starts, demand)


def bucketize(counts: Int64Array, caps: Float64Array) -> tuple[Int64Array, Float64Array]:
    """The bucket of every value, with as few buckets as possible, and the cap of every bucket.

    Values are sorted by cap, which for β-likeness is by frequency, and cut into runs whose total
    number of records is within the cap of the run's first value. With P(j) the number of records
    of the first j values, the fewest runs for them are 1 + the fewest for the first i, where i is
    the smallest with P(j) ≤ P(i) + cap_i·n: fewer values never need more runs.

    >>> bucketize(np.array([10, 10, 20, 60]), np.array([0.2, 0.2, 0.4, 1.0]))
    (array([0, 0, 1, 2]), array([0.2, 0.4, 1. ]))
    """
    order = np.lexsort((counts, caps))
    within = allowed(caps[order], int(counts.sum()))
    end = np.concatenate([[0], np.cumsum(counts[order])])
    first = np.searchsorted(end[:-1] + within, end[1:])  # by value: start of the run that it ends
    begins = [len(counts)]
    while begins[-1] > 0:
        begins.append(int(first[begins[-1] - 1]))
    edges = np.array(begins[::-1])
    bucket_of = np.empty(len(counts), np.int64)
    bucket_of[order] = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
    return bucket_of, caps[order][edges[:-1]]


def reallocate(sizes: Int64Array, caps: Float64Array, least: int) -> Int64Array:
    """[groups, buckets]: the number of records of every bucket that each group gets.

    All buckets are halved recursively, as long as both groups are within the caps and have at least
    ``least`` records (the paper's binary tree; equal nodes are split in the same way).
    """
    known: dict[bytes, list[Int64Array]] = {}
    leaves = []
    pending = [sizes.astype(np.int64)]
    while pending:
        node = pending.pop()
        key = node.tobytes()
        if key not in known:
            known[key] = halves(node, caps, least)
        if known[key]:
            pending += known[key][::-1]
        else:
            leaves.append(node)
    return np.stack(leaves)


def halves(sizes: Int64Array, caps: Float64Array, least: int) -> list[Int64Array]:
    """Two groups that share the buckets about equally, or an empty list if that breaks a cap.

    The first group gets half of bucket j, or as much more or less as the caps of both groups
    require. If buckets are close to their caps, groups of equal size may be impossible while groups
    that differ by a few records are possible; the paper does not say how it rounds.

    >>> [half.tolist() for half in halves(np.array([2, 3, 3]), np.full(3, 0.5), 2)]
    [[1, 1, 2], [1, 2, 1]]
    """
    total = int(sizes.sum())
    for first in range(total // 2, max(total // 2 - _UNEQUAL * len(sizes), least - 1), -1):
        lowest = np.maximum(sizes - allowed(caps, total - first), 0)
        highest = np.minimum(sizes, allowed(caps, first))
        if np.all(lowest <= highest) and lowest.sum() <= first <= highest.sum():
            group = np.clip(in_proportion(sizes, first), lowest, highest)
            missing = first - int(group.sum())
            group += in_proportion(highest - group, max(missing, 0))
            group -= in_proportion(group - lowest, max(-missing, 0))
            return [group, sizes - group]
    return []


def fill(buckets: Int64Array, groups: Int64Array, random: np.random.Generator) -> Int64Array:
    """Places along the curve, group after group: each group takes the records nearest to a seed.

    ``buckets`` [n] are the buckets of the records along the curve. A group's seed is a random
    record that has not been taken; from every bucket the group takes those nearest to the seed.
    """
    by_bucket = np.argsort(buckets, kind="stable")
    sizes = np.bincount(buckets, minlength=groups.shape[1])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return _fill(by_bucket, starts, groups, random.permutation(len(buckets)))


@kernel
def _fill(
    by_bucket: Int64Array, starts: Int64Array, groups: Int64Array, seeds: Int64Array
) -> Int64Array:
    """The records of every group; ``by_bucket`` are the places by bucket, ascending.

    ``starts`` is where each bucket begins. Slots are numbered by bucket and place, with a border
    slot before and after every bucket. ``lower`` leads from a slot to the last free one before it;
    ``upper`` leads towards the first free one from it on, which is found by following the links and
    shortening them.
    """
    n, buckets = by_bucket.size, starts.size - 1
    place_of = np.empty(n + 2 * buckets, np.int64)
    lower = np.arange(-1, n + 2 * buckets - 1)
    upper = np.arange(n + 2 * buckets)
    there = np.ones(n, np.bool_)
    for bucket in range(buckets):
        border = starts[bucket] + 2 * bucket
        place_of[border] = -n - n  # farther away than any record
        for slot in range(starts[bucket], starts[bucket + 1]):
            place_of[border + 1 + slot - starts[bucket]] = by_bucket[slot]
        place_of[starts[bucket + 1] + 2 * bucket + 1] = 3 * n
    filled = np.empty(n, np.int64)
    count, next_seed = 0, 0
    for group in range(groups.shape[0]):
        while not there[seeds[next_seed]]:
            next_seed += 1
        seed = seeds[next_seed]
        for bucket in range(buckets):
            first = starts[bucket] + 2 * bucket + 1
            nearest = first + np.searchsorted(by_bucket[starts[bucket] : starts[bucket + 1]], seed)
            above = _first_there(upper, nearest)
            for _ in range(groups[group, bucket]):
                below = lower[above]
                slot = below if seed - place_of[below] <= place_of[above] - seed else above
                filled[count] = place_of[slot]
                there[place_of[slot]] = False
                count += 1
                upper[slot] = slot + 1
                following = _first_there(upper, slot)
                lower[following] = lower[slot]
                above = following if slot == above else above
    return filled


@inner_kernel
def _first_there(upper: Int64Array, slot: int) -> int:
    """The first slot from ``slot`` on whose record has not been taken."""
    last = slot
    while upper[last] != last:
        last = upper[last]
    while upper[slot] != last:
        upper[slot], slot = last, upper[slot]
    return int(last)
