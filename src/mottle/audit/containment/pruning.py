"""NH10's pruning on grouped records: exact, and without listing the matches.

Originals at one point have the same matches, and records with one box the same preimages; both lie
in one strongly connected component (each may be exchanged with the other). Therefore points,
branches of the index and boxes form a graph with the same components: a point leads up to all
branches it lies in, a branch to the boxes that contain it, and a box back to the points whose
records it holds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, maximum_flow

from mottle.audit.containment.coded_columns import offsets_of
from mottle.audit.containment.index import ContainmentIndex
from mottle.typing import Int64Array


@dataclass(frozen=True)
class Pruned:
    """The matches left when those in no assignment are struck out."""

    of_points: Int64Array  # [points]: matches of an original at each point
    of_boxes: Int64Array  # [boxes]: matches of a published record of each box
    components: int  # number of connected components of the remaining matches
    component_of_point: Int64Array
    component_of_box: Int64Array


@dataclass(frozen=True)
class Network:
    """Arrows between points, branches and boxes, which are numbered consecutively.

    Records that were dropped are one additional box, which contains everybody.
    """

    tails: Int64Array
    heads: Int64Array
    points: int
    branches: int
    boxes: int

    @classmethod
    def of(cls, index: ContainmentIndex, dropped: int = 0) -> Network:
        """All paths from a point over branches to the boxes that contain it."""
        tree, pieces = index.tree, index.pieces
        points, branches = len(index.weights), len(tree.left)
        boxes = len(index.multiplicities) + (dropped > 0)
        leaves = np.flatnonzero(tree.left < 0)
        below = np.flatnonzero(tree.parent >= 0)
        first_box = points + branches
        root = np.full(int(dropped > 0), points)  # leads to the box of dropped records
        arrows = (
            (tree.first[leaves], points + leaves),
            (points + below, points + tree.parent[below]),
            (points + pieces.nodes, first_box + pieces.boxes),
            (root, np.full(len(root), first_box + boxes - 1)),
        )
        return cls(
            tails=np.concatenate([tails for tails, _ in arrows]).astype(np.int64),
            heads=np.concatenate([heads for _, heads in arrows]).astype(np.int64),
            points=points,
            branches=branches,
            boxes=boxes,
        )

    @property
    def size(self) -> int:
        """Number of vertices."""
        return self.points + self.branches + self.boxes


def prune(index: ContainmentIndex, owners: Int64Array | None, dropped: int = 0) -> Pruned | None:
    """Strike out the matches that lie in no assignment; None when there is no assignment.

    ``owners`` is the original of every published record under some assignment; without it, an
    assignment is searched for by a maximum flow.
    """
    network = Network.of(index, dropped)
    back = _arrows_back(index, network, owners, dropped)
    if back is None:
        return None
    tails = np.concatenate([network.tails, back[0]])
    heads = np.concatenate([network.heads, back[1]])
    arrows = csr_array((np.ones(len(tails), np.int8), (tails, heads)), (network.size,) * 2)
    _, labels = connected_components(arrows, directed=True, connection="strong")
    component: Int64Array = labels.astype(np.int64)
    of_point = component[: network.points]
    of_box = component[network.points + network.branches :][: len(index.multiplicities)]
    return Pruned(
        *_effective(index, of_point, of_box),
        components=len(np.unique(of_point)),
        component_of_point=of_point,
        component_of_box=of_box,
    )


def _arrows_back(
    index: ContainmentIndex, network: Network, owners: Int64Array | None, dropped: int
) -> tuple[Int64Array, Int64Array] | None:
    """Arrows from boxes back to the points of their records, or back along a flow."""
    if owners is None:
        return _flow(index, network, dropped)
    first_box = network.points + network.branches
    tails, heads = first_box + index.box_of, index.place_of[owners]
    if dropped:
        left_out = np.ones(len(index.place_of), np.bool_)
        left_out[owners] = False
        heads = np.concatenate([heads, index.place_of[left_out]])
        tails = np.concatenate([tails, np.full(dropped, network.size - 1)])
    return tails, heads


def _flow(
    index: ContainmentIndex, network: Network, dropped: int
) -> tuple[Int64Array, Int64Array] | None:
    """Arrows against a flow that brings every original to a published record of its own."""
    people = int(index.weights.sum())
    demands = np.append(index.multiplicities, dropped) if dropped else index.multiplicities
    source, sink = network.size, network.size + 1
    first_box = network.points + network.branches
    tails = np.concatenate(
        [network.tails, np.full(network.points, source), first_box + np.arange(network.boxes)]
    )
    heads = np.concatenate([network.heads, np.arange(network.points), np.full(network.boxes, sink)])
    capacities = np.concatenate([np.full(len(network.tails), people), index.weights, demands])
    graph = csr_array(
        (capacities.astype(np.int32), (tails, heads)), (network.size + 2, network.size + 2)
    )
    found = maximum_flow(graph, source, sink)
    if found.flow_value < people:
        return None
    flow = found.flow.tocoo()
    used = (flow.data > 0) & (flow.coords[0] < source) & (flow.coords[1] < source)
    return flow.coords[1][used].astype(np.int64), flow.coords[0][used].astype(np.int64)


def _effective(
    index: ContainmentIndex, of_point: Int64Array, of_box: Int64Array
) -> tuple[Int64Array, Int64Array]:
    """For each point and each box: the matches inside its own component.

    Sorted by component and then by position, the points of a branch that lie in one component are
    consecutive: matches are added to whole runs, and people are counted in them.
    """
    pieces = index.pieces
    boxes = pieces.boxes
    points = len(of_point)
    place = np.arange(points)
    order = np.lexsort((place, of_point))
    keys = (of_point * (points + 1) + place)[order]
    wanted = of_box[boxes] * (points + 1)
    begin = np.searchsorted(keys, wanted + index.tree.first[pieces.nodes])
    end = np.searchsorted(keys, wanted + index.tree.last[pieces.nodes])
    steps = np.zeros(points + 1, np.int64)
    np.add.at(steps, begin, index.multiplicities[boxes])
    np.add.at(steps, end, -index.multiplicities[boxes])
    of_points = np.empty(points, np.int64)
    of_points[order] = np.cumsum(steps)[:-1]
    people = offsets_of(index.weights[order])
    inside = offsets_of(people[end] - people[begin])
    return of_points, inside[pieces.offsets[1:]] - inside[pieces.offsets[:-1]]


def disjoint_assignments(
    index: ContainmentIndex, pruned: Pruned, most: int, dropped: int = 0
) -> int:
    """The number of assignments without a common match, up to ``most`` (NH10 Definition 7)."""
    most = min(most, int(pruned.of_points.min()), int(pruned.of_boxes.min()))
    least = 0
    while least < most:
        middle = most if least == 0 else (least + most + 1) // 2  # the upper bound usually holds
        if _has_regular_subgraph(index, pruned, middle, dropped):
            least = middle
        else:
            most = middle - 1
    return least


def _has_regular_subgraph(
    index: ContainmentIndex, pruned: Pruned, degree: int, dropped: int
) -> bool:
    """Whether ``degree`` units can flow through every record, at most one along each match.

    By König's theorem that is equivalent to ``degree`` disjoint assignments. Spread evenly over the
    originals at a point and the records of a box, a flow between these is a flow between records;
    it may be fractional, but where there is such a flow, there is an integral one.
    """
    points, boxes = index.pairs()
    same = pruned.component_of_point[points] == pruned.component_of_box[boxes]
    points, boxes = points[same], boxes[same]
    multiplicities = index.multiplicities
    if dropped:
        points = np.concatenate([points, np.arange(len(index.weights))])
        boxes = np.concatenate([boxes, np.full(len(index.weights), len(multiplicities))])
        multiplicities = np.append(multiplicities, dropped)
    first_box = len(index.weights)
    size = first_box + len(multiplicities)
    source, sink = size, size + 1
    tails = np.concatenate([points, np.full(first_box, source), np.arange(first_box, size)])
    heads = np.concatenate(
        [first_box + boxes, np.arange(first_box), np.full(size - first_box, sink)]
    )
    along = index.weights[points] * multiplicities[boxes]
    capacities = np.concatenate([along, degree * index.weights, degree * multiplicities])
    wanted = degree * int(index.weights.sum())
    graph = csr_array(
        (np.minimum(capacities, wanted).astype(np.int32), (tails, heads)), (size + 2, size + 2)
    )
    return bool(maximum_flow(graph, source, sink).flow_value == wanted)
