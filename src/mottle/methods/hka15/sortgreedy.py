"""HKA15's SortGreedy: k disjoint assignments, each built from the lightest edges of all.

Doka, Xue, Tsoumakos, Karras, Cuzzocrea, Koziris: Heterogeneous k-Anonymization with High Utility
(2015), section IV.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mottle.encoding.domain import Codes
from mottle.guarantees.capability import Capability
from mottle.guarantees.demand import Demand
from mottle.kernels.nearest_box import BoxIndex, holds, search, take
from mottle.methods.base import Arrangement, MethodContext, register
from mottle.methods.hka15.greedy import NOBODY, backtrack, in_iterations
from mottle.typing import Float64Array, Int32Array, Int64Array
from mottle.utils import parallel
from mottle.utils.compiled import inner_kernel, kernel

SHORTLIST = 8  # nearest boxes that equal originals search for together
_EDGES_PER_CALL = 4096  # edges per call of the kernel, so that Ctrl-C is noticed between


class Shortlists(NamedTuple):
    """The nearest available boxes of every group of equal originals, as of their last search."""

    starts: Int64Array  # [groups + 1] first original of every group, then n
    group_of: Int32Array  # [n]
    weights: Float64Array  # [groups, SHORTLIST]
    boxes: Int32Array  # [groups, SHORTLIST]
    length: Int32Array  # [groups]


@register(
    "sortgreedy",
    title="k - 1 rounds: the pair of records that adds the least loss joins first",
    paper="HKA15",
    offers=Capability.K_ANONYMITY,
    cost="O(k·n³·d) time at worst, in practice about k·n^1.0 to k·n^1.3; O(n·(k + d)) memory",
)
def sortgreedy(codes: Codes, demand: Demand, context: MethodContext) -> Arrangement:
    """Build the graph in k - 1 assignments of the lightest edges (HKA15 Algorithm 2).

    Edges e_ij between an original S_i and a box T_j are picked by ascending (w_ij, i, j) if both
    ends are still unmatched; originals left over are matched by backtracking as in Greedy, here
    among predecessors and successors.

    The paper sorts all n² edges; here every original is in a heap with its lightest available edge,
    found by a search tree (`mottle.kernels.nearest_box`) and searched again when its box has been
    taken: the same edges in the same order. Measured with k = 10, time grows as n^1.0 on ADULT
    (3,000 to 30,162 records: the more there are, the more have equal ones to search with) and n^1.3
    on four numbers.
    """
    return in_iterations(codes, demand, context, _assign)


def _assign(index: BoxIndex, box_of: Int32Array) -> int:
    """Fill ``box_of`` with one assignment; return the number of originals left to backtracking."""
    n = len(box_of)
    lists = _empty_shortlists(index)
    weight, choice = np.empty(n), np.empty(n, np.int32)
    parallel.over_blocks(
        lambda first, last: _first_choices(index, lists, first, last, weight, choice),
        lists.starts,
    )
    heap = np.argsort(weight, kind="stable")
    edges = n
    while edges > 0:
        edges = _pick_edges(index, lists, weight, choice, heap, edges, box_of)
    unmatched = np.flatnonzero(box_of == NOBODY)
    for original in unmatched.tolist():
        backtrack(index, original, box_of)
    return len(unmatched)


def _empty_shortlists(index: BoxIndex) -> Shortlists:
    n = len(index.ordered)
    differs = np.any(index.ordered[1:] != index.ordered[:-1], axis=1)
    starts = np.concatenate([[0], np.flatnonzero(differs) + 1, [n]])
    groups = len(starts) - 1
    return Shortlists(
        starts=starts,
        group_of=np.repeat(np.arange(groups, dtype=np.int32), np.diff(starts)),
        weights=np.empty((groups, SHORTLIST)),
        boxes=np.empty((groups, SHORTLIST), np.int32),
        length=np.zeros(groups, np.int32),
    )


@kernel
def _first_choices(
    index: BoxIndex,
    lists: Shortlists,
    first: int,
    last: int,
    weight: Float64Array,
    choice: Int32Array,
) -> None:
    """Set the lightest edge of every original in the groups ``first .. last - 1``."""
    for original in range(lists.starts[first], lists.starts[last]):
        weight[original], choice[original] = _lightest_edge(index, lists, original)


@inner_kernel
def _lightest_edge(index: BoxIndex, lists: Shortlists, original: int) -> tuple[float, int]:
    """Weight and box of an original's lightest edge to an available box; infinite for none.

    Equal originals differ only in the boxes that already hold them, whose weight is 0. If all boxes
    on the shortlist are such, the original searches separately.
    """
    n = index.ordered.shape[0]
    group = lists.group_of[original]
    weights, boxes = lists.weights[group], lists.boxes[group]
    fresh = False
    while True:
        for place in range(lists.length[group]):
            box = boxes[place]
            if index.first[index.entry_of[box]] < n:
                if weights[place] > 0.0 or not holds(index, box, original):
                    return weights[place], box
                fresh = True
        if fresh:
            weights, boxes = np.empty(1, np.float64), np.empty(1, np.int32)
        found = search(index, original, original if fresh else NOBODY, weights, boxes)
        if found == 0:
            return np.inf, NOBODY
        if fresh:
            return weights[0], boxes[0]
        lists.length[group] = found


@kernel
def _pick_edges(
    index: BoxIndex,
    lists: Shortlists,
    weight: Float64Array,
    choice: Int32Array,
    heap: Int64Array,
    edges: int,
    box_of: Int32Array,
) -> int:
    """Pick the lightest of ``edges`` edges in the heap repeatedly; return how many remain."""
    n = index.ordered.shape[0]
    for _ in range(_EDGES_PER_CALL):
        if edges == 0:
            break
        original = heap[0]
        box = choice[original]
        if box != NOBODY and index.first[index.entry_of[box]] == n:
            weight[original], choice[original] = _lightest_edge(index, lists, original)
        else:
            if box != NOBODY:
                box_of[original] = box
                take(index, box)
            edges -= 1
            heap[0] = heap[edges]
        _sift_down(heap, edges, weight)
    return edges


@inner_kernel
def _sift_down(heap: Int64Array, size: int, weight: Float64Array) -> None:
    """Sift the original on top down to its place by (weight, position)."""
    original = heap[0]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and _lighter(weight, heap[child + 1], heap[child]):
            child += 1
        if not _lighter(weight, heap[child], original):
            break
        heap[place] = heap[child]
        place = child
    heap[place] = original


@inner_kernel
def _lighter(weight: Float64Array, one: int, other: int) -> bool:
    """Whether the edge of ``one`` is picked before that of ``other``."""
    return bool(weight[one] < weight[other] or (weight[one] == weight[other] and one < other))
