"""TopDown: split clusters between two distant records, then repair those that are too small.

Xu, Wang, Pei, Wang, Shi, Fu: Utility-Based Anonymization Using Local Recoding (KDD 2006), as FAST07
§2.2 describes it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mottle.encoding.domain import Codes
from mottle.errors import UsageError
from mottle.graph.model import Graph
from mottle.guarantees.capability import Capability
from mottle.guarantees.demand import Demand
from mottle.kernels.ncp_growth import RANGE, SET, Scales, climb
from mottle.kernels.scales import scales
from mottle.methods.base import Arrangement, MethodContext, register
from mottle.typing import Float64Array, Int32Array, Int64Array
from mottle.utils.compiled import inner_kernel, kernel

MOST_RECORDS = 100_000  # the time is quadratic: above this, minutes become hours
_ROUNDS = 3  # number of times that the farthest record from the last one found is searched for
_END = -1


@register(
    "topdown",
    title="clusters split between distant records, small ones repaired (for comparison)",
    paper="FAST07",
    offers=Capability.K_ANONYMITY,
    cost="O(n²·d) time, O(n·d) memory; up to 100,000 rows",
)
def topdown(codes: Codes, demand: Demand, context: MethodContext) -> Arrangement:
    """Split every cluster of 2k records or more, then let clusters below k merge or borrow.

    Where the papers leave a choice: two clusters merge if they have fewer than 2k records together;
    records are borrowed, nearest first, from clusters that keep k; whichever of the two adds less
    to the loss is done. So groups have k to 2k - 1 records.
    """
    if codes.records > MOST_RECORDS:
        raise UsageError(
            f"Method 'topdown' takes quadratic time; {codes.records:,} rows are more than its"
            f" {MOST_RECORDS:,}.",
            "Use method 'hilbert'.",
        )
    k = demand.degree
    prices, matrix = scales(codes), np.ascontiguousarray(codes.matrix)
    members = np.random.default_rng(context.seed).permutation(codes.records).astype(np.int32)
    starts = _split_all(prices, matrix, k, members)
    cluster_of = _repair_all(prices, matrix, k, members, starts)
    order = np.argsort(cluster_of, kind="stable")
    sizes = np.bincount(cluster_of)
    sizes = sizes[sizes > 0]
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    return Arrangement(Graph.rings(order.astype(np.int32), bounds, sizes.astype(np.int32)))


class GroupBoxes(NamedTuple):
    """The values that each of a few growing sets of records covers."""

    lowest: Float64Array  # [boxes, d] RANGE: weighted position; above highest if all are missing
    highest: Float64Array  # [boxes, d] RANGE: weighted position
    absent: NDArray[np.bool_]  # [boxes, d] RANGE: whether the missing value is covered
    node: Int32Array  # [boxes, d] NODE: the common ancestor
    marks: Int64Array  # [boxes, all codes] SET: the box's current stamp if the code is covered
    stamp: Int64Array  # [boxes]: changes when a box is reused, instead of clearing its marks


def _new_boxes(prices: Scales) -> GroupBoxes:
    """Two boxes that cover nothing yet."""
    shape = (2, len(prices.form))
    return GroupBoxes(
        np.empty(shape),
        np.empty(shape),
        np.empty(shape, np.bool_),
        np.empty(shape, np.int32),
        np.zeros((2, prices.domain_total), np.int64),
        np.zeros(2, np.int64),
    )


@kernel
def _open(prices: Scales, boxes: GroupBoxes, box: int, record: Int32Array) -> None:
    """Make the box cover a single ``record``, given by its codes."""
    boxes.stamp[box] += 1
    for column in range(record.size):
        boxes.lowest[box, column] = np.inf
        boxes.highest[box, column] = -np.inf
        boxes.absent[box, column] = False
        boxes.node[box, column] = prices.node[prices.offset[column] + record[column]]
    _take_in(prices, boxes, box, record)


@inner_kernel
def _take_in(prices: Scales, boxes: GroupBoxes, box: int, record: Int32Array) -> None:
    for column in range(record.size):
        value = prices.offset[column] + record[column]
        if prices.form[column] == SET:
            boxes.marks[box, value] = boxes.stamp[box]
        elif prices.form[column] != RANGE:
            boxes.node[box, column] = climb(prices, boxes.node[box, column], record[column])
        elif record[column] == prices.missing[column]:
            boxes.absent[box, column] = True
        else:
            position = prices.position[value]
            boxes.lowest[box, column] = min(boxes.lowest[box, column], position)
            boxes.highest[box, column] = max(boxes.highest[box, column], position)


@inner_kernel
def _growth(prices: Scales, boxes: GroupBoxes, box: int, record: Int32Array) -> float:
    """The amount by which adding ``record`` would increase the loss of the box."""
    growth = 0.0
    for column in range(record.size):
        value = prices.offset[column] + record[column]
        if prices.form[column] == SET:
            if boxes.marks[box, value] != boxes.stamp[box]:
                growth += prices.step[column]
        elif prices.form[column] != RANGE:
            node = boxes.node[box, column]
            growth += prices.penalty[climb(prices, node, record[column])] - prices.penalty[node]
        elif record[column] == prices.missing[column]:
            if not boxes.absent[box, column]:
                growth += prices.step[column]
        elif boxes.highest[box, column] < boxes.lowest[box, column]:
            growth += prices.step[column]
        else:
            position = prices.position[value]
            growth += max(position - boxes.highest[box, column], 0.0)
            growth += max(boxes.lowest[box, column] - position, 0.0)
    return growth


def _split_all(prices: Scales, matrix: Int32Array, k: int, members: Int32Array) -> Int64Array:
    """First step: divide ``members`` until no cluster has 2k records; return their starts."""
    boxes = _new_boxes(prices)
    aside = np.empty(len(members), np.int32)
    starts = [len(members)]
    pending = [(0, len(members))]
    while pending:
        first, last = pending.pop()
        if last - first < 2 * k:
            starts.append(first)
        else:
            middle = first + _split(prices, matrix, members[first:last], boxes, aside)
            pending += [(first, middle), (middle, last)]
    return np.sort(np.array(starts, np.int64))


@kernel
def _split(
    prices: Scales, matrix: Int32Array, part: Int32Array, boxes: GroupBoxes, aside: Int32Array
) -> int:
    """Divide ``part`` between two distant seeds; return the size of the first cluster.

    Records are added in the order of ``part``, which is random, each to the cluster whose loss it
    increases less.
    """
    one, other = part[0], part[1]
    for _ in range(_ROUNDS):
        one, other = other, _farthest(prices, matrix, part, other, boxes)
    _open(prices, boxes, 0, matrix[one])
    _open(prices, boxes, 1, matrix[other])
    left = right = 0
    for member in part:
        record = matrix[member]
        to_one = _growth(prices, boxes, 0, record) if member != other else np.inf
        to_other = _growth(prices, boxes, 1, record) if member != one else np.inf
        if to_one < to_other or (to_one == to_other and left <= right):
            if to_one > 0.0:
                _take_in(prices, boxes, 0, record)
            part[left] = member
            left += 1
        else:
            if to_other > 0.0:
                _take_in(prices, boxes, 1, record)
            aside[right] = member
            right += 1
    for place in range(right):  # element by element: slices take seconds to compile
        part[left + place] = aside[place]
    return left


@inner_kernel
def _farthest(
    prices: Scales, matrix: Int32Array, part: Int32Array, record: int, boxes: GroupBoxes
) -> int:
    """The record of ``part`` that would lose most in a group with ``record``."""
    _open(prices, boxes, 0, matrix[record])
    farthest, most = part[1] if part[0] == record else part[0], 0.0
    for other in part:
        distance = _growth(prices, boxes, 0, matrix[other])
        if distance > most:
            farthest, most = other, distance
    return int(farthest)


class Clusters(NamedTuple):
    """Clusters as linked lists of records; -1 ends a list."""

    first: Int32Array  # [clusters]: the first record
    following: Int32Array  # [n]: the next record of the same cluster
    home: Int32Array  # [n]: the cluster of every record
    size: Int64Array  # [clusters]
    loss: Float64Array  # [clusters]: weighted NCP


def _repair_all(
    prices: Scales, matrix: Int32Array, k: int, members: Int32Array, starts: Int64Array
) -> Int32Array:
    """Second step: clusters below k records merge or borrow; return the cluster of every record."""
    boxes, clusters = _new_boxes(prices), _new_clusters(members, starts)
    growths, chosen = np.empty(len(members)), np.empty(k, np.int32)

    def measure(cluster: int) -> None:
        clusters.loss[cluster] = _cover(prices, matrix, clusters, cluster, boxes, 0)

    def take_over(cluster: int, records: Int32Array) -> None:
        donors = set(clusters.home[records].tolist())
        _move(clusters, records, cluster)
        for changed in donors | {cluster}:
            if clusters.size[changed] > 0:
                measure(changed)

    for cluster in range(len(clusters.size)):
        measure(cluster)
    for cluster in range(len(clusters.size)):
        while 0 < clusters.size[cluster] < min(k, len(members)):
            wanted = k - int(clusters.size[cluster])
            measure(cluster)  # afterwards box 0 covers it
            partner, merging = _best_partner(prices, matrix, k, clusters, cluster, boxes, growths)
            if _choose_nearest(
                prices, matrix, k, clusters, cluster, boxes, growths, chosen, merging
            ):
                take_over(cluster, chosen[:wanted])
            else:
                take_over(cluster, np.flatnonzero(clusters.home == partner).astype(np.int32))
    return clusters.home


def _new_clusters(members: Int32Array, starts: Int64Array) -> Clusters:
    """The runs of ``members`` between ``starts`` as linked lists."""
    following = np.full(len(members), _END, np.int32)
    following[members[:-1]] = members[1:]
    following[members[starts[1:] - 1]] = _END
    sizes = np.diff(starts)
    home = np.empty(len(members), np.int32)
    home[members] = np.repeat(np.arange(len(sizes)), sizes)
    return Clusters(members[starts[:-1]], following, home, sizes, np.zeros(len(sizes)))


@kernel
def _best_partner(
    prices: Scales,
    matrix: Int32Array,
    k: int,
    clusters: Clusters,
    cluster: int,
    boxes: GroupBoxes,
    growths: Float64Array,
) -> tuple[int, float]:
    """The cluster to merge with and the increase of the loss; box 0 covers ``cluster``.

    Sets ``growths`` to the amount by which every record that can be borrowed would increase the
    loss of ``cluster``; infinite for the others.
    """
    size, loss = clusters.size[cluster], clusters.loss[cluster]
    best, least = _END, np.inf
    growths[:] = np.inf
    for partner in range(clusters.size.size):
        if partner == cluster or clusters.size[partner] == 0:
            continue
        together = size + clusters.size[partner]
        separately = size * loss + clusters.size[partner] * clusters.loss[partner]
        lends = clusters.size[partner] > k
        promising = together < 2 * k
        member = clusters.first[partner]
        while member != _END and (lends or promising):
            growth = _growth(prices, boxes, 0, matrix[member])
            if lends:
                growths[member] = growth
            # The union loses at least as much as the cluster with this one record added.
            promising = promising and together * (loss + growth) - separately < least
            member = clusters.following[member]
        if promising:
            union = _cover(prices, matrix, clusters, cluster, boxes, 1)
            union += _cover_too(prices, matrix, clusters, partner, boxes, 1)
            if together * union - separately < least:
                best, least = partner, together * union - separately
    return best, least


@kernel
def _choose_nearest(
    prices: Scales,
    matrix: Int32Array,
    k: int,
    clusters: Clusters,
    cluster: int,
    boxes: GroupBoxes,
    growths: Float64Array,
    chosen: Int32Array,
    limit: float,
) -> bool:
    """Choose the records nearest to ``cluster`` that bring it to k; false if they add ``limit``.

    Every other cluster keeps k records. The loss that those save by giving records away is not
    counted.
    """
    remaining = clusters.size.copy()
    loss = _cover(prices, matrix, clusters, cluster, boxes, 1)
    before = clusters.size[cluster] * loss
    for place in range(k - clusters.size[cluster]):
        nearest = np.argmin(growths)
        if growths[nearest] == np.inf:
            return False
        loss += _growth(prices, boxes, 1, matrix[nearest])
        if k * loss - before >= limit:
            return False
        _take_in(prices, boxes, 1, matrix[nearest])
        chosen[place] = nearest
        growths[nearest] = np.inf
        home = clusters.home[nearest]
        remaining[home] -= 1
        if remaining[home] == k:
            member = clusters.first[home]
            while member != _END:
                growths[member] = np.inf
                member = clusters.following[member]
    return True


@kernel
def _cover(
    prices: Scales,
    matrix: Int32Array,
    clusters: Clusters,
    cluster: int,
    boxes: GroupBoxes,
    box: int,
) -> float:
    """Make a box cover a cluster; return its loss."""
    _open(prices, boxes, box, matrix[clusters.first[cluster]])
    return _cover_too(prices, matrix, clusters, cluster, boxes, box)


@inner_kernel
def _cover_too(
    prices: Scales,
    matrix: Int32Array,
    clusters: Clusters,
    cluster: int,
    boxes: GroupBoxes,
    box: int,
) -> float:
    """Add a cluster to a box; return the increase of its loss."""
    growth = 0.0
    member = clusters.first[cluster]
    while member != _END:
        growth += _growth(prices, boxes, box, matrix[member])
        _take_in(prices, boxes, box, matrix[member])
        member = clusters.following[member]
    return growth


@kernel
def _move(clusters: Clusters, records: Int32Array, cluster: int) -> None:
    """Move records from their clusters to ``cluster``."""
    for record in records:
        home = clusters.home[record]
        before, here = _END, clusters.first[home]
        while here != record:
            before, here = here, clusters.following[here]
        if before == _END:
            clusters.first[home] = clusters.following[record]
        else:
            clusters.following[before] = clusters.following[record]
        clusters.size[home] -= 1
        clusters.following[record] = clusters.first[cluster]
        clusters.first[cluster] = record
        clusters.home[record] = cluster
        clusters.size[cluster] += 1
