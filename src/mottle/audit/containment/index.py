"""An index of originals by their codes that finds those inside a box without looking at each.

Equal originals are one *point*, equal published records one *box* (an interval list per column).
A tree halves the widest column repeatedly until every leaf is one point. The points inside a box
are then a few whole branches of the tree (its *pieces*), found from the root by skipping branches
outside the box and stopping at branches that lie inside it. Counts are kept per branch, so pairs of
an original and a record are never listed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mottle.audit.containment.coded_columns import CodedColumn, offsets_of
from mottle.audit.containment.compact import compact_column, concatenate_ranges, group_rows
from mottle.typing import Float64Array, Int32Array, Int64Array
from mottle.utils import parallel
from mottle.utils.compiled import inner_kernel, kernel


class Tree(NamedTuple):
    """The tree over points; children come after their parent, the right one after the left."""

    low: Int32Array  # [nodes, columns]: smallest code below the node
    high: Int32Array  # [nodes, columns]: largest code below the node
    first: Int64Array  # [nodes]: the points below are first .. last - 1 in the order of the tree
    last: Int64Array  # [nodes]
    left: Int64Array  # [nodes]: the left child, -1 for a leaf
    parent: Int64Array  # [nodes]: -1 for the root


class RecordBoxes(NamedTuple):
    """Published records as boxes: for every column one of the column's distinct cells."""

    cells: Int32Array  # [boxes, columns]
    first_cell: Int64Array  # [columns]: where the cells of each column begin in ``offsets``
    offsets: Int64Array  # where the intervals of each cell begin
    lowest: Int32Array  # first code of each interval
    highest: Int32Array  # last code of each interval


class Pieces(NamedTuple):
    """The branches inside every box."""

    offsets: Int64Array  # [boxes + 1]: where the branches of each box begin
    nodes: Int64Array  # the root of each branch

    @property
    def boxes(self) -> Int64Array:
        """The box of every piece."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


@dataclass(frozen=True)
class ContainmentIndex:
    """Originals and published records, joined by containment."""

    tree: Tree
    boxes: RecordBoxes
    place_of: Int64Array  # [originals]: the position of its point in the order of the tree
    box_of: Int64Array  # [records]: the box of each record
    weights: Int64Array  # [points]: originals at each point, in the order of the tree
    multiplicities: Int64Array  # [boxes]: records of each box

    @cached_property
    def pieces(self) -> Pieces:
        """The branches inside every box."""
        return self.pieces_of(np.arange(len(self.multiplicities)))

    def pieces_of(self, boxes: Int64Array) -> Pieces:
        """The branches inside some of the boxes."""
        parts = parallel.over_rows(
            lambda first, last: _find_pieces(self.tree, self.boxes, boxes, first, last), len(boxes)
        )
        counts = np.concatenate([counts for counts, _ in parts])
        return Pieces(offsets_of(counts), np.concatenate([nodes for _, nodes in parts]))

    def matches_of_points(self) -> Int64Array:
        """For each point: the number of published records that contain it."""
        pieces = self.pieces
        weights = self.multiplicities[pieces.boxes]
        added = np.bincount(pieces.nodes, weights, len(self.tree.left)).astype(np.int64)
        return _push_down(self.tree, added)

    def originals_in(self, pieces: Pieces) -> Int64Array:
        """For each box of ``pieces``: the number of originals inside."""
        up_to = offsets_of(self.weights)
        inside = up_to[self.tree.last[pieces.nodes]] - up_to[self.tree.first[pieces.nodes]]
        sums = offsets_of(inside)
        return sums[pieces.offsets[1:]] - sums[pieces.offsets[:-1]]

    def pairs(self) -> tuple[Int64Array, Int64Array]:
        """All pairs of a point and a box that contains it: points, then boxes."""
        pieces = self.pieces
        first, last = self.tree.first[pieces.nodes], self.tree.last[pieces.nodes]
        return concatenate_ranges(first, last - first), np.repeat(pieces.boxes, last - first)

    def pair_count(self) -> int:
        """The number of pairs of a point and a box that contains it."""
        nodes = self.pieces.nodes
        return int((self.tree.last[nodes] - self.tree.first[nodes]).sum())

    def by_node(self) -> tuple[Int64Array, Int64Array]:
        """The pieces by node of the tree: where those of each node begin, and their boxes."""
        pieces = self.pieces
        order = np.argsort(pieces.nodes, kind="stable")
        counts = np.bincount(pieces.nodes, minlength=len(self.tree.left))
        return offsets_of(counts), pieces.boxes[order]

    def branches(self, points: int = 2048) -> Int64Array:
        """Nodes that together cover all points, none with more than ``points`` below it."""
        size = self.tree.last - self.tree.first
        above = np.where(self.tree.parent < 0, size[0], size[self.tree.parent])
        return np.flatnonzero((size <= points) & ((above > points) | (self.tree.parent < 0)))


def build_index(columns: list[CodedColumn], people: Int64Array | None = None) -> ContainmentIndex:
    """Index the originals (all, or the rows ``people``) against all published records.

    Building takes O(points · columns · log of the domains); the time of a search is proportional to
    the branches it has to open, which depends on how narrow the boxes are in their narrowest
    columns.
    """
    compacted = [compact_column(column, people) for column in columns]
    point_of, points = group_rows(np.stack([each.codes for each in compacted], axis=1))
    box_of, boxes = group_rows(np.stack([each.cell_of for each in compacted], axis=1))
    widths = np.array([each.mean_width for each in compacted])
    order = np.arange(len(points))
    tree = _build_tree(points, widths, order)
    place = np.empty(len(points), np.int64)
    place[order] = np.arange(len(points))
    weights = np.bincount(point_of, minlength=len(points))[order]
    sizes = [len(each.offsets) - 1 for each in compacted]
    intervals = offsets_of(np.array([len(each.lowest) for each in compacted]))
    cell_offsets = [
        each.offsets[:-1] + begin for each, begin in zip(compacted, intervals, strict=False)
    ]
    return ContainmentIndex(
        tree=tree,
        boxes=RecordBoxes(
            cells=boxes,
            first_cell=offsets_of(np.array(sizes))[:-1],
            offsets=np.concatenate([*cell_offsets, intervals[-1:]]),
            lowest=np.concatenate([each.lowest for each in compacted]),
            highest=np.concatenate([each.highest for each in compacted]),
        ),
        place_of=place[point_of],
        box_of=box_of,
        weights=weights.astype(np.int64),
        multiplicities=np.bincount(box_of, minlength=len(boxes)).astype(np.int64),
    )


# ------------------------------------------------------------------------------------------- tree


@kernel
def _build_tree(points: Int32Array, widths: Float64Array, order: Int64Array) -> Tree:
    """Build the tree over distinct ``points`` and sort ``order`` into the order of the leaves.

    Each node is halved in the column that is widest, measured by the mean width of a cell there:
    that is where a box is most likely to leave one half out.
    """
    count, columns = points.shape
    nodes = 2 * count - 1
    low = np.empty((nodes, columns), np.int32)
    high = np.empty((nodes, columns), np.int32)
    first = np.zeros(nodes, np.int64)
    last = np.zeros(nodes, np.int64)
    left = np.full(nodes, -1, np.int64)
    parent = np.full(nodes, -1, np.int64)
    last[0] = count
    used = 1
    for node in range(nodes):
        begin, end = first[node], last[node]
        for column in range(columns):
            smallest = largest = points[order[begin], column]
            for place in range(begin + 1, end):
                code = points[order[place], column]
                smallest = min(smallest, code)
                largest = max(largest, code)
            low[node, column] = smallest
            high[node, column] = largest
        if end - begin == 1:
            continue
        widest, most = 0, -1.0
        for column in range(columns):
            extent = (high[node, column] - low[node, column]) / widths[column]
            if extent > most:
                widest, most = column, extent
        pivot = (low[node, widest] + high[node, widest]) // 2
        middle = begin
        for place in range(begin, end):
            if points[order[place], widest] <= pivot:
                order[middle], order[place] = order[place], order[middle]
                middle += 1
        left[node] = used
        for child, start, stop in ((used, begin, middle), (used + 1, middle, end)):
            first[child] = start
            last[child] = stop
            parent[child] = node
        used += 2
    return Tree(low, high, first, last, left, parent)


_OUTSIDE, _ACROSS, _INSIDE = 0, 1, 2


@inner_kernel
def _locate(boxes: RecordBoxes, cell: int, low: int, high: int) -> int:
    """Whether the codes low .. high lie outside a cell, across its border or inside it."""
    begin, end = boxes.offsets[cell], boxes.offsets[cell + 1]
    while end - begin > 1:  # find the last interval that begins at or before ``high``
        middle = (begin + end) // 2
        if boxes.lowest[middle] <= high:
            begin = middle
        else:
            end = middle
    if begin == end or boxes.lowest[begin] > high or boxes.highest[begin] < low:
        return _OUTSIDE
    if boxes.lowest[begin] <= low and high <= boxes.highest[begin]:
        return _INSIDE
    return _ACROSS


@kernel
def _find_pieces(
    tree: Tree, boxes: RecordBoxes, chosen: Int64Array, first: int, last: int
) -> tuple[Int64Array, Int64Array]:
    """Find the branches inside the boxes ``chosen[first:last]``: counts by box, then nodes."""
    columns = tree.low.shape[1]
    counts = np.zeros(last - first, np.int64)
    found = np.empty(16 * (last - first) + 16, np.int64)
    filled = 0
    deepest = 32 * columns + 2  # every step down halves the codes of some column
    stack = np.empty(deepest, np.int64)
    settled = np.zeros((deepest, columns), np.bool_)  # by stack entry: columns known to be inside
    for number in range(first, last):
        cells = boxes.cells[chosen[number]]
        top = 1
        stack[0] = 0
        settled[0] = False
        while top > 0:
            top -= 1
            node = stack[top]
            outside, across = False, False
            for column in range(columns):
                if settled[top, column]:
                    continue
                location = _locate(
                    boxes,
                    boxes.first_cell[column] + cells[column],
                    tree.low[node, column],
                    tree.high[node, column],
                )
                if location == _OUTSIDE:
                    outside = True
                    break
                if location == _INSIDE:
                    settled[top, column] = True
                else:
                    across = True
            if outside:
                continue
            if across:
                stack[top] = tree.left[node]
                stack[top + 1] = tree.left[node] + 1
                settled[top + 1] = settled[top]
                top += 2
                continue
            if filled == found.size:
                larger = np.empty(2 * filled, np.int64)
                larger[:filled] = found
                found = larger
            found[filled] = node
            filled += 1
            counts[number - first] += 1
    return counts, found[:filled].copy()


@kernel
def _push_down(tree: Tree, added: Int64Array) -> Int64Array:
    """Sum by point what was added to the branches above it; modifies ``added``."""
    points = np.empty(tree.last[0], np.int64)
    for node in range(len(tree.left)):
        if tree.parent[node] >= 0:
            added[node] += added[tree.parent[node]]
        if tree.left[node] < 0:
            points[tree.first[node]] = added[node]
    return points
