"""An exact index for the published box that takes in an original at the smallest growth of loss.

A *box* is a published record under construction: it stands for the originals it has taken in. Boxes
are the leaves of a binary tree that halves them by the columns in which they differ most. Every
entry (a node of the tree, or a box) stores by column what bounds the growth of any available box
below it: the extremes of ranges, the union of sets, the common ancestor of hierarchy nodes. A
search opens the most promising branch first and drops those whose bound cannot beat what it has
found.

For a single box the bound is the growth itself, so one function serves both. Floating-point
addition is monotone and columns are added in the same order, so bounds hold to the last bit and
ties are found exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mottle.encoding.domain import Codes
from mottle.kernels.ncp_growth import RANGE, SET, Scales, climb
from mottle.kernels.scales import scales
from mottle.typing import BoolArray, Float64Array, Int32Array, Int64Array
from mottle.utils.compiled import inner_kernel, kernel

LEAF = 8  # number of boxes below a leaf of the tree
_MAY_BE_MISSING, _ONLY_MISSING = 1, 2  # flags in ``mask`` of a range
_BITS = 63  # selects the bit of a code in ``mask``


class BoxIndex(NamedTuple):
    """Boxes and the tree over them. Tree node v has children 2v and 2v + 1; the root is 1.

    Entries are the 2·leaves places of the tree, then the boxes in the tree's order.
    """

    scales: Scales
    ordered: Int32Array  # [n, d] the codes of the originals, by position
    members: Int32Array  # [n, k] row j: the originals box j has taken in
    leaves: int  # a power of two
    entry_of: Int32Array  # [n] the entry of each box
    hashed: BoolArray  # [d] SET: more values than bits, so that a set bit only means "perhaps"
    low: Float64Array  # [entries, d] RANGE: lowest position
    high: Float64Array  # [entries, d] RANGE: highest position; NODE: largest penalty of a box
    mask: Int64Array  # [entries, d] SET: members by code modulo 64; RANGE: flags; NODE: the node
    first: Int32Array  # [entries] the first available box at or below the entry, n if there is none


def build(codes: Codes, ordered: Int32Array, k: int) -> BoxIndex:
    """Build an index in which every box stands for its own original. Cost O(n·(d·log n + k))."""
    n, d = ordered.shape
    leaves = 1 << max(-(-n // LEAF) - 1, 0).bit_length()
    entries = 2 * leaves + n
    metric = scales(codes)
    entry_of = np.empty(n, np.int32)
    by_code = np.ascontiguousarray(np.argsort(ordered, axis=0, kind="stable").T.astype(np.int32))
    entry_of[_tree_order(metric, ordered, leaves, by_code)] = np.arange(2 * leaves, entries)
    index = BoxIndex(
        scales=metric,
        ordered=ordered,
        members=np.full((n, k), -1, np.int32),
        leaves=leaves,
        entry_of=entry_of,
        hashed=codes.sizes > 64,
        low=np.full((entries, d), np.inf),
        high=np.full((entries, d), -np.inf),
        mask=np.zeros((entries, d), np.int64),
        first=np.full(entries, n, np.int32),
    )
    absorb(index, np.arange(n, dtype=np.int32), 0)
    return index


@kernel
def _tree_order(
    scales: Scales, ordered: Int32Array, leaves: int, by_code: Int32Array
) -> Int32Array:
    """Originals in the order of the tree: each node is halved by the column with most benefit.

    The benefit of a column is the sum of the distances between records that are half the node
    apart in its sorted order. ``by_code`` [d, n] are the originals sorted by every column; halving
    keeps each of these rows sorted within a node.
    """
    d, n = by_code.shape
    is_left = np.empty(n, np.bool_)
    right = np.empty(n, np.int32)
    width = leaves  # number of leaves below a node of this level
    while width > 1:
        for leaf in range(0, leaves, width):
            begin, end = leaf * n // leaves, (leaf + width) * n // leaves
            middle = (leaf + width // 2) * n // leaves
            most, best = -1.0, 0
            for column in range(d):
                benefit = 0.0
                for place in range(begin, middle):
                    one = by_code[column, place]
                    other = by_code[column, place + end - middle]
                    benefit += _distance(
                        scales, column, ordered[one, column], ordered[other, column]
                    )
                if benefit > most:
                    most, best = benefit, column
            for place in range(begin, end):
                is_left[by_code[best, place]] = place < middle
            for column in range(d):
                kept, moved = begin, 0
                for place in range(begin, end):
                    original = by_code[column, place]
                    if is_left[original]:
                        by_code[column, kept] = original
                        kept += 1
                    else:
                        right[moved] = original
                        moved += 1
                for place in range(moved):
                    by_code[column, kept + place] = right[place]
        width //= 2
    order: Int32Array = by_code[0]
    return order


@kernel
def _distance(scales: Scales, column: int, one: int, other: int) -> float:
    """Loss of a cell that covers two values."""
    offset = scales.offset[column]
    if one == other:
        return 0.0
    if scales.form[column] == SET or other == scales.missing[column]:
        return float(scales.step[column])
    if scales.form[column] == RANGE:
        return float(abs(scales.position[offset + other] - scales.position[offset + one]))
    return float(scales.penalty[climb(scales, scales.node[offset + one], other)])


@kernel
def absorb(index: BoxIndex, box_of: Int32Array, layer: int) -> float:
    """Add original i to box ``box_of[i]`` as its member ``layer``; all boxes become available.

    Returns the total growth of loss over all boxes. Cost O(n·d).
    """
    total = 0.0
    for original in range(box_of.size):
        box = box_of[original]
        entry = index.entry_of[box]
        index.first[entry] = box
        if layer > 0:
            total += growth(index, original, entry, np.inf)
        index.members[box, layer] = original
        for column in range(index.hashed.size):
            code = index.ordered[original, column]
            place = index.scales.offset[column] + code
            if index.scales.form[column] == SET:
                index.mask[entry, column] |= 1 << (code & _BITS)
            elif index.scales.form[column] == RANGE:
                if code == index.scales.missing[column]:
                    index.mask[entry, column] |= _MAY_BE_MISSING
                else:
                    position = index.scales.position[place]
                    index.low[entry, column] = min(index.low[entry, column], position)
                    index.high[entry, column] = max(index.high[entry, column], position)
                if index.high[entry, column] < index.low[entry, column]:
                    index.mask[entry, column] |= _ONLY_MISSING
                else:
                    index.mask[entry, column] &= _MAY_BE_MISSING
            else:
                node = index.scales.node[place]
                if layer > 0:
                    node = climb(index.scales, index.mask[entry, column], code)
                index.mask[entry, column] = node
                index.high[entry, column] = index.scales.penalty[node]
    for node in range(2 * index.leaves - 1, 0, -1):
        _refresh(index, node)
    return total


@kernel
def take(index: BoxIndex, box: int) -> None:
    """Make a box unavailable and tighten the bounds above it. Cost O(d·log n)."""
    n = index.ordered.shape[0]
    index.first[index.entry_of[box]] = n
    node = _leaf_of(index, box)
    while node > 0:
        _refresh(index, node)
        node >>= 1


@kernel
def _below(index: BoxIndex, node: int) -> tuple[int, int]:
    """First and end of the entries directly below a node: two nodes, or the boxes of a leaf."""
    if node < index.leaves:
        return 2 * node, 2 * node + 2
    n, leaf = index.ordered.shape[0], node - index.leaves
    boxes = 2 * index.leaves
    return boxes + leaf * n // index.leaves, boxes + (leaf + 1) * n // index.leaves


@inner_kernel
def _leaf_of(index: BoxIndex, box: int) -> int:
    """The leaf above a box: the last one whose first entry is not after the box."""
    n = index.ordered.shape[0]
    place = index.entry_of[box] - 2 * index.leaves
    return int(index.leaves + ((place + 1) * index.leaves - 1) // n)


@inner_kernel
def _refresh(index: BoxIndex, node: int) -> None:
    """Bound a node of the tree by the entries directly below it that have available boxes."""
    n = index.ordered.shape[0]
    begin, end = _below(index, node)
    index.first[node] = n
    for entry in range(begin, end):
        if index.first[entry] == n:
            continue
        fresh = index.first[node] == n
        index.first[node] = min(index.first[node], index.first[entry])
        for column in range(index.hashed.size):
            if fresh:
                index.low[node, column] = index.low[entry, column]
                index.high[node, column] = index.high[entry, column]
                index.mask[node, column] = index.mask[entry, column]
                continue
            index.low[node, column] = min(index.low[node, column], index.low[entry, column])
            index.high[node, column] = max(index.high[node, column], index.high[entry, column])
            if index.scales.form[column] == SET or index.scales.form[column] == RANGE:
                index.mask[node, column] |= index.mask[entry, column]
            else:
                other = index.mask[entry, column]
                above = index.mask[node, column]
                above = climb(index.scales, above, index.scales.first_leaf[other])
                above = climb(index.scales, above, index.scales.last_leaf[other])
                index.mask[node, column] = above


@kernel
def growth(index: BoxIndex, original: int, entry: int, limit: float) -> float:
    """Growth of an available box's loss by an original; at a node, a lower bound over all boxes.

    Stops adding columns beyond ``limit``. Cost O(d), and O(k) more per column of more than 64
    values.
    """
    box = index.first[entry] if entry >= 2 * index.leaves else -1
    total = 0.0
    for column in range(index.hashed.size):
        code = index.ordered[original, column]
        form = index.scales.form[column]
        mask = index.mask[entry, column]
        if form == SET:
            if (mask >> (code & _BITS)) & 1 == 0 or (
                index.hashed[column] and box >= 0 and not _has_value(index, box, column, code)
            ):
                total += index.scales.step[column]
        elif form == RANGE:
            if code == index.scales.missing[column]:
                if mask & _MAY_BE_MISSING == 0:
                    total += index.scales.step[column]
            else:
                position = index.scales.position[index.scales.offset[column] + code]
                outside = max(position - index.high[entry, column], 0.0)
                outside += max(index.low[entry, column] - position, 0.0)
                if mask & _ONLY_MISSING != 0:
                    outside = min(outside, index.scales.step[column])
                total += outside
        else:
            above = climb(index.scales, mask, code)
            if above != mask:  # the code is outside every box below
                total += index.scales.penalty[above] - index.high[entry, column]
        if total > limit:
            break
    return total


@inner_kernel
def _has_value(index: BoxIndex, box: int, column: int, code: int) -> bool:
    for member in index.members[box]:
        if member < 0:
            break
        if index.ordered[member, column] == code:
            return True
    return False


@kernel
def holds(index: BoxIndex, box: int, original: int) -> bool:
    """Whether a box has already taken in an original, so that the edge is used."""
    for member in index.members[box]:  # noqa: SIM110 - compiles to less than any()
        if member == original:
            return True
    return False


@kernel
def search(
    index: BoxIndex, original: int, unused_by: int, weights: Float64Array, boxes: Int32Array
) -> int:
    """Fill ``weights`` and ``boxes`` with the nearest available boxes, by (growth, position).

    Boxes that hold the original ``unused_by`` are skipped; it equals ``original`` in all columns,
    or is -1 for no such condition. Returns how many were found, at most the length of ``boxes``.
    """
    n = index.ordered.shape[0]
    room = weights.size
    found = 0
    limit, last = np.inf, n  # growth and position of the worst box in a full list
    home = _leaf_of(index, original)  # opened first, to have a good limit from the start
    home_is_open = False
    pending, bounds = np.empty(64, np.int64), np.empty(64, np.float64)  # a stack of nodes to open
    pending[0], bounds[0] = 1, 0.0
    pending[1], bounds[1] = home, 0.0
    waiting = 2
    while waiting > 0:
        waiting -= 1
        node = pending[waiting]
        if bounds[waiting] > limit or (bounds[waiting] == limit and index.first[node] > last):
            continue
        if node == home:
            if home_is_open:
                continue
            home_is_open = True
        bottom = waiting
        begin, end = _below(index, node)
        for entry in range(begin, end):
            first = index.first[entry]
            if first == n:
                continue
            weight = growth(index, original, entry, limit)
            if weight > limit or (weight == limit and first > last):
                continue
            if node < index.leaves:
                pending[waiting], bounds[waiting] = entry, weight
                waiting += 1
            elif weight > 0.0 or unused_by < 0 or not holds(index, first, unused_by):
                place = min(found, room - 1)
                while place > 0 and _is_before(weight, first, weights[place - 1], boxes[place - 1]):
                    weights[place], boxes[place] = weights[place - 1], boxes[place - 1]
                    place -= 1
                weights[place], boxes[place] = weight, first
                found = min(found + 1, room)
                if found == room:
                    limit, last = weights[room - 1], boxes[room - 1]
        if waiting == bottom + 2 and _is_before(
            bounds[bottom],
            index.first[pending[bottom]],
            bounds[bottom + 1],
            index.first[pending[bottom + 1]],
        ):
            pending[bottom], pending[bottom + 1] = pending[bottom + 1], pending[bottom]
            bounds[bottom], bounds[bottom + 1] = bounds[bottom + 1], bounds[bottom]
    return found


@inner_kernel
def _is_before(weight: float, box: int, other_weight: float, other_box: int) -> bool:
    """Whether the first of two edges is better: lighter, or equal and of the earlier box."""
    return bool(weight < other_weight or (weight == other_weight and box < other_box))
