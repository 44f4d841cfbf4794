"""Short paths through the records of a segment, its first and last record fixed (SET12 §4.1).

There are two algorithms. *local*, ours: 2-opt and Or-opt moves along lists of near neighbours
(Bentley: Fast Algorithms for Geometric Traveling Salesman Problems, ORSA J. Computing 1992), then
kicks: two adjacent parts of the path are exchanged, the path is repaired around them, and the
result is kept unless it got longer (Martin, Otto, Felten: Large-Step Markov Chains for the TSP,
1991). *genetic*, the paper's: see `mottle.orderings._inver_over`. Both start from the given order
and never return a longer path.
"""

from __future__ import annotations

import numpy as np

from mottle.itemsets.data import Sets
from mottle.itemsets.hamming import distances_within
from mottle.orderings._inver_over import inver_over
from mottle.typing import BoolArray, Int32Array, Int64Array, UInt64Array
from mottle.utils import parallel
from mottle.utils.compiled import inner_kernel, kernel
from mottle.utils.xorshift import below

KICKS = 10  # per record
NEIGHBOURS = 10  # length of the lists of near neighbours
_LONGEST_MOVE = 3  # most records that an Or-opt move takes along
_REACH = 30  # most records that a kick spans
_SHORTEST = 4  # records of a segment below which there is nothing to choose between the ends


def shorten(
    sets: Sets, order: Int64Array, starts: Int64Array, seed: int, *, genetic: bool = False
) -> Int64Array:
    """Reorder the inside of every segment ``order[starts[s]:starts[s + 1]]`` to a shorter path.

    Memory O(longest segment²) per core.

    >>> from mottle.itemsets.data import ItemSets
    >>> sets = ItemSets.of(["a", "abc", "ab", "abcd"]).sets()
    >>> shorten(sets, np.arange(4), np.array([0, 4]), seed=1)
    array([0, 2, 1, 3])
    """
    short_path = inver_over if genetic else local_search
    better = order.copy()
    seeds = np.random.default_rng(seed).integers(1, 2**63, len(starts) - 1).astype(np.uint64)

    def shorten_some(first: int, last: int) -> None:
        for segment in range(first, last):
            records = order[starts[segment] : starts[segment + 1]]
            if len(records) < _SHORTEST:
                continue
            distance = np.empty((len(records), len(records)), np.int32)
            distances_within(sets, records, distance)
            path = short_path(distance, seeds[segment : segment + 1].copy())
            better[starts[segment] : starts[segment + 1]] = records[path]

    parallel.over_blocks(shorten_some, starts, rows_at_once=5_000)
    return better


@kernel
def local_search(distance: Int32Array, state: UInt64Array) -> Int32Array:
    """A short path from record 0 to record size - 1, given ``distance`` [size, size]."""
    size = len(distance)
    near = np.empty((size, min(NEIGHBOURS, size - 1)), np.int32)
    _nearest(distance, size, near.shape[1], near)
    return _search(distance, near, size, state)


@inner_kernel
def _nearest(distance: Int32Array, size: int, neighbours: int, near: Int32Array) -> None:
    """Fill ``near`` with the nearest other records of each record, nearest first."""
    for one in range(size):
        filled = 0
        for other in range(size):
            if other == one:
                continue
            place = filled
            while place > 0 and distance[one, near[one, place - 1]] > distance[one, other]:
                if place < neighbours:
                    near[one, place] = near[one, place - 1]
                place -= 1
            if place < neighbours:
                near[one, place] = other
                filled = min(filled + 1, neighbours)


@inner_kernel
def _search(distance: Int32Array, near: Int32Array, size: int, state: UInt64Array) -> Int32Array:
    """Repair the path 0 .. size - 1 until no move helps, then kick and repair."""
    path = np.arange(size).astype(np.int32)
    place_of = path.copy()
    queue = path.copy()
    waiting = np.ones(size, np.bool_)
    _repair(distance, near, path, place_of, queue, size, waiting)
    kept, kept_places = path.copy(), place_of.copy()
    for _ in range(KICKS * size if size > 4 else 0):
        reach = min(_REACH, size - 2)
        begin = below(state, size - 1 - reach)
        # The parts begin + 1 .. one and one + 1 .. two are exchanged.
        one = begin + 1 + below(state, reach - 1)
        two = one + 1 + below(state, begin + reach - one)
        ends = (path[begin], path[begin + 1], path[one], path[one + 1], path[two], path[two + 1])
        changed = _swap_parts(distance, path, place_of, kept, begin, one, two)
        count = 0
        for node in ends:
            if not waiting[node]:
                waiting[node] = True
                queue[count] = node
                count += 1
        changed -= _repair(distance, near, path, place_of, queue, count, waiting)
        if changed <= 0:
            kept[:] = path
            kept_places[:] = place_of
        else:
            path[:] = kept
            place_of[:] = kept_places
    return path


@inner_kernel
def _swap_parts(
    distance: Int32Array,
    path: Int32Array,
    place_of: Int32Array,
    old: Int32Array,
    begin: int,
    one: int,
    two: int,
) -> int:
    """Exchange places begin+1 .. one and one+1 .. two; return how much longer the path got."""
    place = begin + 1
    for source in range(one + 1, two + 1):
        path[place] = old[source]
        place += 1
    for source in range(begin + 1, one + 1):
        path[place] = old[source]
        place += 1
    for place in range(begin + 1, two + 1):
        place_of[path[place]] = place
    return int(
        distance[old[begin], old[one + 1]]
        + distance[old[two], old[begin + 1]]
        + distance[old[one], old[two + 1]]
        - distance[old[begin], old[begin + 1]]
        - distance[old[one], old[one + 1]]
        - distance[old[two], old[two + 1]]
    )


@inner_kernel
def _repair(
    distance: Int32Array,
    near: Int32Array,
    path: Int32Array,
    place_of: Int32Array,
    queue: Int32Array,
    count: int,
    waiting: BoolArray,
) -> int:
    """Make moves around the waiting records until none helps; return the total gain."""
    size = path.size
    gained = 0
    touched = np.empty(6, np.int32)
    head = 0
    while count > 0:
        node = queue[head]
        head = (head + 1) % size
        count -= 1
        waiting[node] = False
        gain = _two_opt(distance, near, path, place_of, node, touched)
        ends = 4
        if gain == 0:
            gain = _or_opt(distance, near, path, place_of, node, touched)
            ends = 6
        if gain > 0:
            gained += gain
            for end in range(ends):
                if not waiting[touched[end]]:
                    waiting[touched[end]] = True
                    queue[(head + count) % size] = touched[end]
                    count += 1
    return gained


@inner_kernel
def _two_opt(
    distance: Int32Array,
    near: Int32Array,
    path: Int32Array,
    place_of: Int32Array,
    node: int,
    touched: Int32Array,
) -> int:
    """Move a near record next to ``node`` by reversing the part between, if that is shorter."""
    last = path.size - 1
    here = place_of[node]
    for step in (1, -1):
        if here + step < 0 or here + step > last:
            continue
        neighbour = path[here + step]
        for wanted in near[node]:
            closer = distance[node, neighbour] - distance[node, wanted]
            if closer <= 0:
                break
            there = place_of[wanted]
            if there + step < 0 or there + step > last:
                continue
            behind = path[there + step]
            gain = closer + distance[wanted, behind] - distance[neighbour, behind]
            if gain > 0:
                left, right = min(here, there), max(here, there)
                if step == 1:
                    left += 1
                else:
                    right -= 1
                while left < right:
                    path[left], path[right] = path[right], path[left]
                    place_of[path[left]] = left
                    place_of[path[right]] = right
                    left += 1
                    right -= 1
                touched[0], touched[1], touched[2], touched[3] = node, neighbour, wanted, behind
                return int(gain)
    return 0


@inner_kernel
def _or_opt(
    distance: Int32Array,
    near: Int32Array,
    path: Int32Array,
    place_of: Int32Array,
    node: int,
    touched: Int32Array,
) -> int:
    """Move up to three records that end with ``node`` next to a near record, if that is shorter."""
    last = path.size - 1
    here = place_of[node]
    for length in range(1, _LONGEST_MOVE + 1):
        for side in range(1 if length == 1 else 2):
            first = here if side == 0 else here - length + 1
            final = first + length - 1
            if first < 1 or final > last - 1:
                continue
            far = path[final] if side == 0 else path[first]  # the other end of the part that moves
            before, after = path[first - 1], path[final + 1]
            saved = (
                distance[before, path[first]]
                + distance[path[final], after]
                - distance[before, after]
            )
            for wanted in near[node]:
                if saved - distance[node, wanted] <= 0:
                    break
                there = place_of[wanted]
                if first <= there <= final:
                    continue
                for step in (1, -1):
                    if there + step < 0 or there + step > last:
                        continue
                    if first <= there + step <= final:
                        continue
                    behind = path[there + step]
                    gain = (
                        saved
                        + distance[wanted, behind]
                        - distance[node, wanted]
                        - distance[far, behind]
                    )
                    if gain > 0:
                        touched[0], touched[1], touched[2] = before, after, node
                        touched[3], touched[4], touched[5] = far, wanted, behind
                        node_first = step == 1
                        _move(
                            path,
                            place_of,
                            first,
                            length,
                            min(there, there + step),
                            node_first != (side == 0),
                        )
                        return int(gain)
    return 0


@inner_kernel
def _move(
    path: Int32Array, place_of: Int32Array, first: int, length: int, left: int, reverse: bool
) -> None:
    """Move ``path[first : first + length]``, reversed or not, behind place ``left``."""
    moved = path[first : first + length].copy()
    if left < first:
        low, high = left + 1, first + length - 1
        for place in range(first - 1, left, -1):
            path[place + length] = path[place]
        target = left + 1
    else:
        low, high = first, left
        for place in range(first + length, left + 1):
            path[place - length] = path[place]
        target = left - length + 1
    for number in range(length):
        path[target + number] = moved[length - 1 - number] if reverse else moved[number]
    for place in range(low, high + 1):
        place_of[path[place]] = place
