"""Into how many blocks `buckets` cuts a table that comes in stretches: one number for all of it.

The rule is that of a table in memory (`methods.buckets.deepest_cut`): the most blocks of equal size
along the order of quasi-identifiers that all keep the caps. Chunks are then whole blocks, so how
many rows memory holds decides nothing that a sensitive value could be read from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mottle import workers
from mottle.coding import Float64s
from mottle.errors import UsageError
from mottle.graph import Int32s, Int64s
from mottle.guarantees import ROUNDING, Demand
from mottle.methods.buckets import LARGEST_REST, bucket_count, most_blocks, rest_of, tried_blocks

Stretch = tuple[int, int]  # first row along the order, and the one after the last


class Trial(NamedTuple):
    """What one stretch of rows says about cuts into so many blocks."""

    violated: NDArray[np.bool_]  # [tried]: some block inside the stretch breaks a cap
    borders: Int64s  # [parts, 4]: tried, block, mark, count, of blocks that the stretch cuts off


def tried_cuts(demand: Demand, rows: int) -> Int64s:
    """Numbers of blocks to try, the highest first."""
    tried = [most_blocks(rows, bucket_count(demand))]
    while tried[-1] > 1:
        tried.append(tried[-1] - max(tried[-1] // 40, 1))
    return np.array(tried, np.int64)


def block_starts(rows: int, blocks: int) -> Int64s:
    """First rows of so many blocks of equal size, and the end.

    >>> block_starts(10, 3)
    array([ 0,  3,  6, 10])
    """
    return np.arange(blocks + 1) * rows // blocks


def try_cuts(
    marks: Int32s, first: int, rows: int, tried: Int64s, caps: Float64s, alive: NDArray[np.bool_]
) -> Trial:
    """Look at the marks [n, systems] of a stretch that begins at row ``first`` of the order."""
    found = workers.over_rows(
        lambda begin, end: [
            _try_cut(marks, first, rows, tried[place], caps) if alive[place] else None
            for place in range(begin, end)
        ],
        len(tried),
    )
    results = [result for part in found for result in part]
    violated = np.array([result is not None and result[0] for result in results], np.bool_)
    parts = [
        np.column_stack([np.full(len(result[1]), place), result[1]])
        for place, result in enumerate(results)
        if result is not None and not result[0]
    ]
    return Trial(violated, np.concatenate([np.empty((0, 4), np.int64), *parts]))


def broken_by_borders(borders: Int64s, rows: int, tried: Int64s, caps: Float64s) -> Int64s:
    """Which of the tried cuts have a block that breaks a cap across stretches."""
    if len(borders) == 0:
        return np.empty(0, np.int64)
    block, which = np.unique(borders[:, :3], axis=0, return_inverse=True)
    counts = np.bincount(which.ravel(), weights=borders[:, 3])
    return np.unique(block[counts > _most(block, rows, tried, caps), 0])


def _most(block: Int64s, rows: int, tried: Int64s, caps: Float64s) -> Int64s:
    """How often each mark may occur in its block, for rows of tried, block, mark."""
    blocks = tried[block[:, 0]]
    sizes = (block[:, 1] + 1) * rows // blocks - block[:, 1] * rows // blocks
    most: Int64s = np.floor(caps[block[:, 2]] * sizes + ROUNDING).astype(np.int64)
    return most


def choose_cut(
    demand: Demand,
    rows: int,
    kept: Int64s,
    values_of: Callable[[Sequence[Stretch]], list[Int32s]],
) -> int:
    """The first of the cuts that keep the caps whose buckets can hold most of the records."""
    count = bucket_count(demand)
    limit = rows
    for blocks in kept.tolist():
        if blocks > limit or blocks == 1:
            continue
        starts = block_starts(rows, blocks)
        stretches = [(int(starts[b]), int(starts[b + 1])) for b in tried_blocks(starts)]
        if rest_of(demand, values_of(stretches), count) <= LARGEST_REST:
            return int(blocks)
        limit = blocks - max(blocks // 4, 1)
    return 1


def aligned_cuts(rows: int, blocks: int, chunks: int) -> Int64s:
    """First rows of the chunks, each of whole blocks; refuses fewer blocks than chunks."""
    if blocks < chunks:
        raise UsageError(
            f"The sensitive guarantee needs blocks of {rows // blocks:,} rows, more than the"
            f" {rows // chunks:,} of a chunk.",
            "Give more memory (or larger chunks), or ask for a weaker guarantee.",
        )
    starts = block_starts(rows, blocks)
    return starts[np.arange(chunks + 1) * blocks // chunks]


@njit(cache=True, nogil=True)
def _try_cut(
    marks: Int32s, first: int, rows: int, blocks: int, caps: Float64s
) -> tuple[bool, Int64s]:
    """Whether a block breaks a cap; else block, mark and count of the blocks at both ends."""
    counts = np.zeros(caps.size, np.int64)
    borders = np.empty((2 * min(caps.size, marks.size), 3), np.int64)
    filled = 0
    position = 0
    while position < len(marks):
        block = (first + position) * blocks // rows
        while (block + 1) * rows // blocks <= first + position:
            block += 1
        while block * rows // blocks > first + position:
            block -= 1
        begin, end = block * rows // blocks, (block + 1) * rows // blocks
        stop = min(end - first, len(marks))
        cut_off = begin < first or end > first + len(marks)
        for row in range(position, stop):
            for system in range(marks.shape[1]):
                mark = marks[row, system]
                counts[mark] += 1
                if counts[mark] > np.floor(caps[mark] * (end - begin) + ROUNDING):
                    return True, borders[:0]
        for row in range(position, stop):
            for system in range(marks.shape[1]):
                mark = marks[row, system]
                if cut_off and counts[mark] > 0:
                    borders[filled, 0] = block
                    borders[filled, 1] = mark
                    borders[filled, 2] = counts[mark]
                    filled += 1
                counts[mark] = 0
        position = stop
    return False, borders[:filled]
