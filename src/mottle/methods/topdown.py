"""TopDown: split clusters between two far records, then repair those that became too small.

Xu, Wang, Pei, Wang, Shi, Fu: Utility-Based Anonymization Using Local Recoding (KDD 2006), as FAST07
§2.2 describes it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mottle.coding import Codes, Float64s
from mottle.errors import UsageError
from mottle.graph import Graph, Int32s, Int64s
from mottle.growth import RANGE, SET, Scales, _climb, scales
from mottle.guarantees import KAnonymity
from mottle.methods._registry import Arrangement, Effort, register

MOST_RECORDS = 100_000  # quadratic: above, minutes become hours
_ROUNDS = 3  # of looking for the farthest record; more find hardly anything farther
_END = -1


@register(
    "topdown",
    title="split clusters between far-apart records, repair small ones (for comparison)",
    paper="FAST07",
    guarantees=(KAnonymity,),
    cost="O(n²·d) time, O(n·d) memory; up to 100,000 rows",
)
def topdown(codes: Codes, guarantee: KAnonymity, effort: Effort) -> Arrangement:
    """Split every cluster of 2k records or more, then let clusters below k merge or borrow.

    Where the papers leave a choice: two clusters merge when they have fewer than 2k records
    together; records are borrowed, nearest first, from clusters that keep k; of the two, what adds
    less to the loss is done. So groups have k to 2k - 1 records.
    """
    if codes.records > MOST_RECORDS:
        raise UsageError(
            f"Method 'topdown' takes quadratic time; {codes.records:,} rows are more than its"
            f" {MOST_RECORDS:,}.",
            "Use method 'hilbert'.",
        )
    k = guarantee.k
    prices, matrix = scales(codes), np.ascontiguousarray(codes.matrix)
    members = np.random.default_rng(effort.seed).permutation(codes.records).astype(np.int32)
    starts = _split_all(prices, matrix, k, members)
    cluster_of = _repair_all(prices, matrix, k, members, starts)
    order = np.argsort(cluster_of, kind="stable")
    sizes = np.bincount(cluster_of)
    sizes = sizes[sizes > 0]
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    return Arrangement(Graph.rings(order.astype(np.int32), bounds, sizes.astype(np.int32)))


class Boxes(NamedTuple):
    """What each of a few growing sets of records covers."""

    lowest: Float64s  # [boxes, d] RANGE: weighted positions; above highest for missing alone
    highest: Float64s  # [boxes, d]
    absent: NDArray[np.bool_]  # [boxes, d] RANGE: whether the missing value is covered
    node: Int32s  # [boxes, d] NODE: the common ancestor
    marks: Int64s  # [boxes, all codes] SET: the box's stamp where the code is covered
    stamp: Int64s  # [boxes]


@njit(cache=True, nogil=True)
def _new_boxes(prices: Scales) -> Boxes:
    shape = (2, prices.form.size)
    return Boxes(
        np.empty(shape), np.empty(shape), np.empty(shape, np.bool_), np.empty(shape, np.int32),
        np.zeros((2, prices.position.size), np.int64), np.zeros(2, np.int64),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _open(prices: Scales, boxes: Boxes, box: int, record: Int32s) -> None:
    """Let the box cover ``record`` (its codes) alone."""
    boxes.lowest[box] = np.inf
    boxes.highest[box] = -np.inf
    boxes.absent[box] = False
    boxes.stamp[box] += 1
    for column in range(record.size):
        boxes.node[box, column] = prices.node[prices.offset[column] + record[column]]
    _take_in(prices, boxes, box, record)


@njit(cache=True, nogil=True)
def _take_in(prices: Scales, boxes: Boxes, box: int, record: Int32s) -> None:
    for column in range(record.size):
        value = prices.offset[column] + record[column]
        if prices.form[column] == SET:
            boxes.marks[box, value] = boxes.stamp[box]
        elif prices.form[column] != RANGE:
            boxes.node[box, column] = _climb(prices, boxes.node[box, column], record[column])
        elif record[column] == prices.missing[column]:
            boxes.absent[box, column] = True
        else:
            position = prices.position[value]
            boxes.lowest[box, column] = min(boxes.lowest[box, column], position)
            boxes.highest[box, column] = max(boxes.highest[box, column], position)


@njit(cache=True, nogil=True)
def _growth(prices: Scales, boxes: Boxes, box: int, record: Int32s) -> float:
    """What taking in ``record`` would add to the loss of the box."""
    growth = 0.0
    for column in range(record.size):
        value = prices.offset[column] + record[column]
        if prices.form[column] == SET:
            if boxes.marks[box, value] != boxes.stamp[box]:
                growth += prices.step[column]
        elif prices.form[column] != RANGE:
            node = boxes.node[box, column]
            growth += prices.penalty[_climb(prices, node, record[column])] - prices.penalty[node]
        else:
            lowest, highest = boxes.lowest[box, column], boxes.highest[box, column]
            is_missing = record[column] == prices.missing[column]
            if lowest > highest or (is_missing and not boxes.absent[box, column]):
                growth += prices.step[column] if is_missing == (lowest <= highest) else 0.0
            elif not is_missing:
                position = prices.position[value]
                growth += max(position - highest, 0.0) + max(lowest - position, 0.0)
    return growth


@njit(cache=True, nogil=True)
def _split_all(prices: Scales, matrix: Int32s, k: int, members: Int32s) -> Int64s:
    """First step: divide ``members`` until no cluster has 2k records; returns their starts."""
    boxes = _new_boxes(prices)
    aside = np.empty(members.size, np.int32)
    is_start = np.zeros(members.size + 1, np.bool_)
    is_start[members.size] = True
    pending = [(0, members.size)]
    while len(pending) > 0:
        first, last = pending.pop()
        is_start[first] = True
        if last - first >= 2 * k:
            middle = first + _split(prices, matrix, members[first:last], boxes, aside)
            pending.append((first, middle))
            pending.append((middle, last))
    return np.flatnonzero(is_start)


@njit(cache=True, nogil=True)
def _split(prices: Scales, matrix: Int32s, part: Int32s, boxes: Boxes, aside: Int32s) -> int:
    """Divide ``part`` between two far-apart seeds; returns the size of the first cluster.

    Records come in the order of ``part``, which is random, and join the cluster they cost less.
    """
    one, other = part[0], part[1]
    for _ in range(_ROUNDS):
        one, other = other, _farthest(prices, matrix, part, other, boxes)
    _open(prices, boxes, 0, matrix[one])
    _open(prices, boxes, 1, matrix[other])
    left = right = 0
    for member in part:
        record = matrix[member]
        preference = _growth(prices, boxes, 0, record) - _growth(prices, boxes, 1, record)
        if member == one:
            preference = -1.0
        elif member == other:
            preference = 1.0
        if preference < 0.0 or (preference == 0.0 and left <= right):
            _take_in(prices, boxes, 0, record)
            part[left] = member
            left += 1
        else:
            _take_in(prices, boxes, 1, record)
            aside[right] = member
            right += 1
    part[left:] = aside[:right]
    return left


@njit(cache=True, nogil=True)
def _farthest(prices: Scales, matrix: Int32s, part: Int32s, record: int, boxes: Boxes) -> int:
    """The record of ``part`` that would lose most in one group with ``record``."""
    _open(prices, boxes, 0, matrix[record])
    farthest, most = part[1] if part[0] == record else part[0], 0.0
    for other in part:
        distance = _growth(prices, boxes, 0, matrix[other])
        if distance > most:
            farthest, most = other, distance
    return farthest


class Clusters(NamedTuple):
    """Clusters as linked lists of records; -1 ends a list."""

    first: Int32s  # [clusters]
    following: Int32s  # [n]: the next record of the same cluster
    home: Int32s  # [n]: the cluster of every record
    size: Int64s  # [clusters]
    loss: Float64s  # [clusters]: weighted NCP


@njit(cache=True, nogil=True)
def _repair_all(prices: Scales, matrix: Int32s, k: int, members: Int32s, starts: Int64s) -> Int32s:
    """Second step: let clusters below k records merge or borrow; the cluster of every record."""
    count = starts.size - 1
    clusters = Clusters(
        np.full(count, _END, np.int32), np.empty(members.size, np.int32),
        np.empty(members.size, np.int32), np.zeros(count, np.int64), np.zeros(count),
    )  # fmt: skip
    boxes = _new_boxes(prices)
    for cluster in range(count):
        for place in range(starts[cluster], starts[cluster + 1]):
            _push(clusters, cluster, members[place])
        clusters.loss[cluster] = _cover(prices, matrix, clusters, cluster, boxes, 0)
    growths = np.empty(members.size)
    chosen = np.empty(k, np.int32)
    for cluster in range(count):
        while 0 < clusters.size[cluster] < k and clusters.size[cluster] < members.size:
            _cover(prices, matrix, clusters, cluster, boxes, 0)
            partner, merging = _best_partner(prices, matrix, k, clusters, cluster, boxes, growths)
            borrowing = _choose_nearest(prices, matrix, k, clusters, cluster, boxes, growths, chosen)
            if borrowing < merging:
                for member in chosen[: k - clusters.size[cluster]].copy():
                    donor = clusters.home[member]
                    _remove(clusters, member)
                    _push(clusters, cluster, member)
                    clusters.loss[donor] = _cover(prices, matrix, clusters, donor, boxes, 1)
            else:
                while clusters.size[partner] > 0:
                    member = clusters.first[partner]
                    _remove(clusters, member)
                    _push(clusters, cluster, member)
            clusters.loss[cluster] = _cover(prices, matrix, clusters, cluster, boxes, 0)
    return clusters.home


@njit(cache=True, nogil=True)
def _best_partner(
    prices: Scales, matrix: Int32s, k: int, clusters: Clusters, cluster: int, boxes: Boxes,
    growths: Float64s,
) -> tuple[int, float]:  # fmt: skip
    """The cluster to merge with and what that adds to the loss; box 0 covers ``cluster``.

    Sets ``growths`` to what every record outside would add to ``cluster``: the union of two
    clusters loses at least as much as one with the costliest record of the other.
    """
    size, loss = clusters.size[cluster], clusters.loss[cluster]
    best, least = _END, np.inf
    for partner in range(clusters.size.size):
        if partner == cluster or clusters.size[partner] == 0:
            continue
        most = 0.0
        member = clusters.first[partner]
        while member != _END:
            growths[member] = _growth(prices, boxes, 0, matrix[member])
            most = max(most, growths[member])
            member = clusters.following[member]
        together = size + clusters.size[partner]
        apart = size * loss + clusters.size[partner] * clusters.loss[partner]
        if together < 2 * k and together * (loss + most) - apart < least:
            union = _cover(prices, matrix, clusters, cluster, boxes, 1)
            union += _cover_too(prices, matrix, clusters, partner, boxes, 1)
            if together * union - apart < least:
                best, least = partner, together * union - apart
    return best, least


@njit(cache=True, nogil=True)
def _choose_nearest(
    prices: Scales, matrix: Int32s, k: int, clusters: Clusters, cluster: int, boxes: Boxes,
    growths: Float64s, chosen: Int32s,
) -> float:  # fmt: skip
    """Choose the records nearest to ``cluster`` that bring it to k; what they add to the loss.

    Every other cluster keeps k records. What theirs saves by giving some away is not counted.
    """
    remaining = clusters.size.copy()
    loss = _cover(prices, matrix, clusters, cluster, boxes, 1)
    for place in range(k - clusters.size[cluster]):
        nearest, least = _END, np.inf
        for member in range(growths.size):
            home = clusters.home[member]
            if remaining[home] > k and growths[member] < least:
                nearest, least = member, growths[member]
        if nearest == _END:
            return np.inf
        chosen[place] = nearest
        growths[nearest] = np.inf
        remaining[clusters.home[nearest]] -= 1
        loss += _growth(prices, boxes, 1, matrix[nearest])
        _take_in(prices, boxes, 1, matrix[nearest])
    return k * loss - clusters.size[cluster] * clusters.loss[cluster]


@njit(cache=True, nogil=True)
def _cover(
    prices: Scales, matrix: Int32s, clusters: Clusters, cluster: int, boxes: Boxes, box: int
) -> float:
    """Let a box cover a cluster; returns its loss."""
    _open(prices, boxes, box, matrix[clusters.first[cluster]])
    return _cover_too(prices, matrix, clusters, cluster, boxes, box)


@njit(cache=True, nogil=True)
def _cover_too(
    prices: Scales, matrix: Int32s, clusters: Clusters, cluster: int, boxes: Boxes, box: int
) -> float:
    """Take a cluster into a box; returns what that adds to its loss."""
    growth = 0.0
    member = clusters.first[cluster]
    while member != _END:
        growth += _growth(prices, boxes, box, matrix[member])
        _take_in(prices, boxes, box, matrix[member])
        member = clusters.following[member]
    return growth


@njit(cache=True, nogil=True)
def _push(clusters: Clusters, cluster: int, member: int) -> None:
    clusters.following[member] = clusters.first[cluster]
    clusters.first[cluster] = member
    clusters.home[member] = cluster
    clusters.size[cluster] += 1


@njit(cache=True, nogil=True)
def _remove(clusters: Clusters, member: int) -> None:
    cluster = clusters.home[member]
    clusters.size[cluster] -= 1
    if clusters.first[cluster] == member:
        clusters.first[cluster] = clusters.following[member]
        return
    before = clusters.first[cluster]
    while clusters.following[before] != member:
        before = clusters.following[before]
    clusters.following[before] = clusters.following[member]
