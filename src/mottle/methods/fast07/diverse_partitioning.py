"""FAST07 §4.2: ℓ-diverse groups of records along a one-dimensional order, in linear time.

The records of each sensitive value, in order, are its *domain*; the first record of each domain
that is not yet in a group belongs to the *frontier*. A group takes ℓ or more records of the
frontier, so all its values differ. What remains must stay *eligible*: no value may have a share of
more than 1/ℓ (condition EG). Fig. 8:

- greedy step: the ℓ first records of the frontier, then the next ones until EG holds;
- fall-back step, when EG never holds: the records of the ℓ most frequent values, and more.

EG is checked in O(1). Let H be the number of remaining records of the most frequent value, R the
number of all remaining records, and slack = R - ℓ·H, which EG keeps at 0 or more. A group of c
records leaves EG true exactly if c ≤ slack, or if it has a record of every value that is most
frequent and c ≤ slack + ℓ. So the greedy step ends after fewer than 2ℓ records, and the fall-back
step takes the larger of ℓ and the number of most frequent values, t: it always succeeds, because
t·H ≤ R implies t ≤ slack + ℓ. With heaps over the m values, all groups together take O(n log m).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mottle.encoding.domain import Codes
from mottle.guarantees.demand import Demand
from mottle.kernels.heap import NEVER, Heap, heap_of, settle
from mottle.kernels.ncp_growth import Scales, box_loss
from mottle.kernels.scales import scales
from mottle.methods.base import Arrangement
from mottle.methods.fast07.partitioning import arrange
from mottle.methods.several_columns import merged_starts, tightest
from mottle.orderings.hilbert import key_distance
from mottle.typing import Int32Array, Int64Array, UInt64Array
from mottle.utils.compiled import inner_kernel, kernel

MIXED_DECISION = "which record completes a group depends on its place and its value"


def arrange_diverse(
    codes: Codes, demand: Demand, order: NDArray[np.int64], keys: UInt64Array | None = None
) -> Arrangement:
    """Groups of at least ℓ different sensitive values, merged along the order up to k records.

    With several sensitive columns, the values are those of the tightest one, and groups are merged
    until all columns are within their caps.

    ``keys`` are the records' places in one dimension, in their order. With keys, the look-ahead
    compares distances between them (Fig. 9); without, it compares losses of groups, which loses
    less.
    """
    group_of, groups = diverse_groups(codes, tightest(demand).values, order, demand.diversity, keys)
    sizes = merged_sizes(np.bincount(group_of, minlength=groups), demand.degree)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    by_group = order[np.argsort(group_of, kind="stable")]
    return arrange(by_group, merged_starts(by_group, starts, demand))


def diverse_groups(
    codes: Codes,
    values: Int32Array,
    order: NDArray[np.int64],
    diversity: int,
    keys: UInt64Array | None = None,
) -> tuple[Int64Array, int]:
    """The group of every record along ``order``, and the number of groups.

    ``values`` are the sensitive values of the records; none may have a share of more than
    1/``diversity``.
    """
    along = values[order]
    looking = _LookAhead(
        keys=np.empty((0, 1), np.uint64) if keys is None else keys,
        prices=scales(codes),
        ordered=np.ascontiguousarray(codes.matrix[order]),
        scratch=np.zeros(int(codes.sizes.sum()), np.int32),
    )
    return _form_groups(_frontier(along), looking, len(along), diversity)


def merged_sizes(sizes: Int64Array, least: int) -> list[int]:
    """Sizes after merging consecutive groups until each has at least ``least`` records.

    If the share of every sensitive value is at most 1/ℓ in each group, it is so in their union.

    >>> merged_sizes(np.array([3, 3, 4, 5, 3]), 5)
    [6, 12]
    """
    merged: list[int] = []
    pending = 0
    for size in sizes.tolist():
        pending += size
        if pending >= least:
            merged.append(pending)
            pending = 0
    if pending:
        merged[-1] += pending
    return merged


class _Frontier(NamedTuple):
    """The domains and how far they are used up. A place is a record's rank along the order."""

    domains: Int64Array  # [n]: places by sensitive value, ascending within each
    next: Int64Array  # [m]: index in ``domains`` of the next record of each value
    left: Int64Array  # [m]: number of records left of each value (H of Fig. 8)
    values_with: Int64Array  # [max + 1]: number of values that have c records left, by c
    nearest: Heap  # values by the place of their next record
    frequent: Heap  # values by records left, most first; ties by the place of the next record


class _LookAhead(NamedTuple):
    """What the look-ahead compares: keys if they are given, otherwise losses."""

    keys: UInt64Array  # [n or 0, words]: places in one dimension, in the order of the records
    prices: Scales
    ordered: Int32Array  # [n, d]: the codes of the records in their order
    scratch: Int32Array  # over all domains, for `box_loss`


def _frontier(along: Int32Array) -> _Frontier:
    counts = np.bincount(along)
    counts = counts[counts > 0]
    domains = np.argsort(along, kind="stable")
    first = np.cumsum(counts) - counts
    heads = domains[first]
    return _Frontier(
        domains=domains,
        next=first,
        left=counts.astype(np.int64),
        values_with=np.bincount(counts).astype(np.int64),
        nearest=heap_of(heads),
        frequent=heap_of((len(along) - counts) * len(along) + heads),
    )


@kernel
def _form_groups(
    frontier: _Frontier, looking: _LookAhead, records: int, diversity: int
) -> tuple[Int64Array, int]:
    """Fig. 8 with the look-ahead of Fig. 9: the group of every place, and the number of groups."""
    values = frontier.left.size
    group_of = np.full(records, -1, np.int64)
    last_group = np.full(values, -1, np.int64)  # the last group that took a record of each value
    chosen = np.empty(values, np.int64)
    members = np.empty(values, np.int32)  # places of the group's records
    ahead = np.empty(diversity, np.int32)
    remaining = records
    group = 0
    mark = 0
    while remaining > 0:
        size = _greedy_step(frontier, diversity, remaining, chosen)
        if size == 0:
            size = _fall_back_step(frontier, diversity, chosen)
        for member in range(size):
            members[member] = _take_next(frontier, chosen[member], records)
            last_group[chosen[member]] = group
        remaining -= size
        while remaining > 0:
            value = frontier.nearest.items[0]
            if last_group[value] == group or not _may_take(frontier, value, diversity, remaining):
                break
            _look(frontier, diversity, ahead)
            mark += 3
            if not _belongs_here(looking, members, size, ahead, mark):
                break
            members[size] = _take_next(frontier, value, records)
            last_group[value] = group
            size += 1
            remaining -= 1
            if looking.keys.size > 0:
                break  # only once, as in the paper: continuing by distances would take too many
        for member in range(size):
            group_of[members[member]] = group
        group += 1
    return group_of, group


@inner_kernel
def _greedy_step(frontier: _Frontier, diversity: int, remaining: int, chosen: Int64Array) -> int:
    """Choose the values of the nearest frontier records; return their number, 0 for failure."""
    largest = frontier.left[frontier.frequent.items[0]]
    slack = remaining - diversity * largest
    most_frequent = 0
    count = 0
    eligible = False
    while not eligible and count < slack + diversity:
        value = frontier.nearest.items[0]
        if frontier.nearest.keys[value] == NEVER:
            break
        settle(frontier.nearest, value, NEVER)  # so that the next one comes to the top
        chosen[count] = value
        count += 1
        most_frequent += frontier.left[value] == largest
        all_of_them = most_frequent == frontier.values_with[largest]
        eligible = count >= diversity and (count <= slack or all_of_them)
    if eligible:
        return count
    for value in chosen[:count]:
        settle(frontier.nearest, value, frontier.domains[frontier.next[value]])
    return 0


@inner_kernel
def _fall_back_step(frontier: _Frontier, diversity: int, chosen: Int64Array) -> int:
    """Choose the values with the most records left; return their number."""
    largest = frontier.left[frontier.frequent.items[0]]
    count = max(diversity, int(frontier.values_with[largest]))
    for place in range(count):
        chosen[place] = frontier.frequent.items[0]
        settle(frontier.frequent, chosen[place], NEVER)
    return count


@inner_kernel
def _take_next(frontier: _Frontier, value: int, records: int) -> int:
    """Move the frontier beyond the next record of ``value``; return that record's place."""
    place = int(frontier.domains[frontier.next[value]])
    frontier.values_with[frontier.left[value]] -= 1
    frontier.left[value] -= 1
    frontier.values_with[frontier.left[value]] += 1
    frontier.next[value] += 1
    near, rare = NEVER, NEVER
    if frontier.left[value] > 0:
        near = frontier.domains[frontier.next[value]]
        rare = (records - frontier.left[value]) * records + near
    settle(frontier.nearest, value, near)
    settle(frontier.frequent, value, rare)
    return place


@inner_kernel
def _may_take(frontier: _Frontier, value: int, diversity: int, remaining: int) -> bool:
    """Whether EG still holds if the group takes one more record, with ``value``."""
    largest = frontier.left[frontier.frequent.items[0]]
    if frontier.left[value] == largest and frontier.values_with[largest] == 1:
        largest -= 1
    return bool(diversity * largest <= remaining - 1)


@inner_kernel
def _look(frontier: _Frontier, diversity: int, ahead: Int32Array) -> None:
    """Set ``ahead`` to the ℓ nearest places of the frontier: r_A first, r_B last (Fig. 9)."""
    values = np.empty(diversity, np.int64)
    for rank in range(diversity):
        values[rank] = frontier.nearest.items[0]
        ahead[rank] = frontier.nearest.keys[values[rank]]
        settle(frontier.nearest, values[rank], NEVER)
    for rank in range(diversity):
        settle(frontier.nearest, values[rank], int(ahead[rank]))


@inner_kernel
def _belongs_here(
    looking: _LookAhead, members: Int32Array, size: int, ahead: Int32Array, mark: int
) -> bool:
    """Whether r_A fits better into the group of ``members[:size]`` than into the next one."""
    if looking.keys.size > 0:
        return bool(_is_nearer(looking.keys, members[:size].min(), ahead))
    return bool(_loses_less(looking, members, size, ahead, mark))


@inner_kernel
def _is_nearer(keys: UInt64Array, first: int, ahead: Int32Array) -> bool:
    """Whether r_A is nearer to the group's first record than to r_B."""
    to_group = key_distance(keys, min(first, ahead[0]), max(first, ahead[0]))
    return bool(to_group < key_distance(keys, ahead[0], ahead[-1]))


@inner_kernel
def _loses_less(
    looking: _LookAhead, members: Int32Array, size: int, ahead: Int32Array, mark: int
) -> bool:
    """Whether r_A adds less to the group's loss than its own loss in the next group would be.

    The next group loses at least about as much as the group of r_A to r_B. ``mark`` and the two
    numbers before it have not been used in the scratch space.
    """
    loss = size * box_loss(looking.prices, looking.ordered, members, size, looking.scratch, mark)
    members[size] = ahead[0]
    size += 1
    grown = size * box_loss(
        looking.prices, looking.ordered, members, size, looking.scratch, mark - 1
    )
    next_loss = box_loss(
        looking.prices, looking.ordered, ahead, ahead.size, looking.scratch, mark - 2
    )
    return bool(grown - loss < next_loss)
