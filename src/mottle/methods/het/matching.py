"""HET's Algorithm 2: match buckets record by record, with one of three rules to match a pair.

A *place* is a record's index inside its block, which consists of μ consecutive buckets of c records
each. Box i of bucket b, a published record under construction, takes in one record of every bucket.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mottle.kernels.linear_assignment import match_rows
from mottle.kernels.ncp_growth import FORBIDDEN, Scales, add_growth
from mottle.typing import Float64Array, Int32Array, Int64Array
from mottle.utils import parallel
from mottle.utils.compiled import inner_kernel, kernel

GREEDY, SORTGREEDY, HUNGARIAN = 0, 1, 2
ANY_VALUE = -1  # the value of a record that may share a box with any other
_NOBODY = -1


class BucketBlocks(NamedTuple):
    """Records in blocks of buckets of equal size; every bucket is matched separately."""

    starts: Int64Array  # [blocks + 1]: first record of every block, then n
    degrees: Int32Array  # [blocks]: number of buckets in each block
    block_of: Int32Array  # [buckets]: the block of each bucket
    number: Int32Array  # [buckets]: index of each bucket in its block

    @classmethod
    def of(cls, starts: Int64Array, degrees: Int32Array) -> BucketBlocks:
        """Blocks that begin at ``starts``, each with as many buckets as its degree."""
        blocks = np.arange(len(degrees), dtype=np.int32)
        number = np.concatenate([np.arange(degree, dtype=np.int32) for degree in degrees])
        return cls(starts, degrees, np.repeat(blocks, degrees), number)

    @property
    def largest_bucket(self) -> int:
        """Number of records in the largest bucket, which is the size of the largest matrix."""
        return int((np.diff(self.starts) // self.degrees).max())


def match_buckets(
    metric: Scales, ordered: Int32Array, values: Int32Array, blocks: BucketBlocks, rule: int
) -> tuple[Int32Array, float]:
    """The edges of all blocks, as `Graph.explicit` takes them, and the mean loss.

    ``ordered`` [n, d] and ``values`` [n] are the records, sorted by block; two records with the
    same value never share a box, unless the value is `ANY_VALUE`. For every bucket b the buckets
    b + 1, b + 2, … (modulo μ) are matched to its boxes, which grow each time (lines 2-11). Cost
    O(n·c·d) for the weights in addition to the matching itself, and 8·c² bytes per core.
    """
    edge_starts = np.concatenate([[0], np.cumsum(np.diff(blocks.starts) * blocks.degrees)])
    edges = np.empty(int(edge_starts[-1]), np.int32)
    sizes = (np.diff(blocks.starts) // blocks.degrees)[blocks.block_of]
    losses = parallel.over_blocks(
        lambda first, last: _match_some(
            metric, ordered, values, blocks, edge_starts, first, last, rule, edges
        ),
        np.concatenate([[0], np.cumsum(sizes)]),
        rows_at_once=2048,
    )
    return edges, float(sum(losses) / len(ordered))


@kernel
def _match_some(
    metric: Scales,
    ordered: Int32Array,
    values: Int32Array,
    blocks: BucketBlocks,
    edge_starts: Int64Array,
    first: int,
    last: int,
    rule: int,
    edges: Int32Array,
) -> float:
    """Algorithm 2 for the buckets ``first .. last - 1``; return the sum of their boxes' losses."""
    largest, deepest = 0, 0
    for unit in range(first, last):
        block = blocks.block_of[unit]
        degree = blocks.degrees[block]
        largest = max(largest, (blocks.starts[block + 1] - blocks.starts[block]) // degree)
        deepest = max(deepest, degree)
    boxes = np.empty((largest, deepest), np.int32)
    candidates = np.empty((ordered.shape[1], largest), np.int32)
    cost = np.empty((largest, largest))
    marks = np.zeros(metric.position.size, np.int32)
    seen_by = np.zeros(values.max() + 2, np.int32)  # by value: the last box it was found in
    mark = 0
    match = np.empty(largest, np.int32)
    work, prices = np.empty((5, largest), np.int32), np.empty((2, largest))
    loss = 0.0
    for unit in range(first, last):
        block, own = blocks.block_of[unit], blocks.number[unit]
        start, degree = blocks.starts[block], blocks.degrees[block]
        size = (blocks.starts[block + 1] - start) // degree
        for box in range(size):  # line 4: the self match
            boxes[box, 0] = start + own * size + box
            edges[edge_starts[block] + (own * size + box) * degree + own] = own * size + box
        for step in range(1, degree):  # line 6
            other = (own + step) % degree
            begin = start + other * size
            for place in range(size):
                for column in range(ordered.shape[1]):
                    candidates[column, place] = ordered[begin + place, column]
            for box in range(size):  # lines 7-8
                mark += 1
                add_growth(
                    metric, ordered, boxes[box], step, candidates, size, marks, mark, cost[box]
                )
                _forbid_repeats(values, boxes[box], step, begin, size, seen_by, mark, cost[box])
            if rule == GREEDY:  # line 9
                match_greedily(cost, size, match, work)
            elif rule == SORTGREEDY:
                match_lightest(cost, size, match, work, prices)
            else:
                match_rows(cost, size, match, work, prices)
            for box in range(size):  # lines 10-11
                boxes[box, step] = begin + match[box]
                place = other * size + match[box]
                edges[edge_starts[block] + (own * size + box) * degree + other] = place
                loss += cost[box, match[box]]
    return loss


@inner_kernel
def _forbid_repeats(
    values: Int32Array,
    box: Int32Array,
    members: int,
    begin: int,
    size: int,
    seen_by: Int32Array,
    mark: int,
    growth: Float64Array,
) -> None:
    """Forbid every candidate whose value the box already has. Theorem 2: enough remain."""
    seen = False
    for member in range(members):
        value = values[box[member]]
        if value != ANY_VALUE:
            seen_by[value] = mark
            seen = True
    for place in range(size if seen else 0):
        value = values[begin + place]
        if value != ANY_VALUE and seen_by[value] == mark:
            growth[place] = FORBIDDEN


@inner_kernel
def match_greedily(cost: Float64Array, size: int, match: Int32Array, work: Int32Array) -> None:
    """HKA15's Greedy on a pair of buckets: each record in turn to the free box it widens least.

    Fills ``match[box]`` with the record of ``cost[:size, :size]``; ``work`` [5, ≥ size] is scratch
    space. With equal weights the first box is taken. O(size²), plus chains of substitutions at dead
    ends.
    """
    free = work[0]
    for box in range(size):
        match[box] = _NOBODY
        free[box] = box
    for record in range(size):
        lightest = _NOBODY
        weight = np.inf
        for place in range(size - record):
            if cost[free[place], record] < weight:
                lightest, weight = place, cost[free[place], record]
            elif cost[free[place], record] == weight and free[place] < free[lightest]:
                lightest = place
        box = free[lightest]
        if weight >= FORBIDDEN:
            box = _augment(cost, size, record, match, work[1], work[2], work[3])
            lightest = 0
            while free[lightest] != box:
                lightest += 1
        else:
            match[box] = record
        free[lightest] = free[size - record - 1]


@inner_kernel
def match_lightest(
    cost: Float64Array, size: int, match: Int32Array, work: Int32Array, prices: Float64Array
) -> None:
    """HKA15's SortGreedy on a pair of buckets: repeatedly the lightest edge with both ends free.

    The result is as if all edges were sorted by weight, box and record. Instead, every box stores
    its lightest edge and searches for the next one only when that record has been taken. About
    O(size² log size).
    """
    lightest, taken_by = work[4], work[0]  # by box its lightest record; by record its box
    weight = prices[0]
    for box in range(size):
        match[box] = _NOBODY
        taken_by[box] = _NOBODY
    for box in range(size):
        _look_again(cost, size, box, taken_by, lightest, weight)
    left = size
    while left > 0:
        box = _NOBODY
        for other in range(size):
            if match[other] == _NOBODY and (box == _NOBODY or weight[other] < weight[box]):
                box = other
        if weight[box] >= FORBIDDEN:
            break
        if taken_by[lightest[box]] != _NOBODY:
            _look_again(cost, size, box, taken_by, lightest, weight)
        else:
            match[box] = lightest[box]
            taken_by[lightest[box]] = box
            left -= 1
    for record in range(size if left else 0):
        if taken_by[record] == _NOBODY:
            _augment(cost, size, record, match, work[1], work[2], work[3])


@inner_kernel
def _look_again(
    cost: Float64Array,
    size: int,
    box: int,
    taken_by: Int32Array,
    lightest: Int32Array,
    weight: Float64Array,
) -> None:
    weight[box] = np.inf
    for record in range(size):
        if taken_by[record] == _NOBODY and cost[box, record] < weight[box]:
            lightest[box], weight[box] = record, cost[box, record]


@inner_kernel
def _augment(
    cost: Float64Array,
    size: int,
    record: int,
    match: Int32Array,
    reached_from: Int32Array,
    queue: Int32Array,
    box_of: Int32Array,
) -> int:
    """Free a box for the record by a shortest chain of substitutions; return the box now taken.

    Such a chain exists: by Theorem 2 some assignment avoids all forbidden edges, so one that does
    not contain all records can be augmented (Berge). If the theorem does not apply and there is no
    chain, the record gets a free box that is forbidden, as in the Hungarian algorithm.
    """
    for box in range(size):
        reached_from[box] = _NOBODY
        if match[box] != _NOBODY:
            box_of[match[box]] = box
    box_of[record] = _NOBODY
    queue[0] = record
    head, tail = 0, 1
    free = _NOBODY
    while free == _NOBODY:
        if head == tail:
            box = 0
            while match[box] != _NOBODY:
                box += 1
            match[box] = record
            return box
        mover = queue[head]
        head += 1
        for box in range(size):
            if reached_from[box] != _NOBODY or cost[box, mover] >= FORBIDDEN:
                continue
            reached_from[box] = mover
            if match[box] == _NOBODY:
                free = box
                break
            queue[tail] = match[box]
            tail += 1
    box = free
    while box != _NOBODY:
        mover = reached_from[box]
        match[box] = mover
        box = box_of[mover]
    return free
