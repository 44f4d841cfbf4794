"""Mondrian: cut the table in two at the median of its widest attribute, and the parts again.

LeFevre, DeWitt, Ramakrishnan: Mondrian Multidimensional K-Anonymity (ICDE 2006), as FAST07 §2.2
compares with it. Categories are in the order of their codes, hierarchy leaves in order.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from mottle.coding import Codes, Float64s
from mottle.graph import Graph, Int32s, Int64s
from mottle.growth import RANGE, SET, Scales, climb, scales
from mottle.guarantees import Demand, KAnonymity
from mottle.methods._registry import Arrangement, Effort, register

NEVER, AT_NEED, ALWAYS = 0, 1, 2  # when records of equal value may be torn apart


@register(
    "mondrian",
    title="cut at the median of the widest attribute, again and again (for comparison)",
    paper="FAST07",
    guarantees=(KAnonymity,),
    cost="O(n·d·log(n/k)) time for even cuts, O(n²·d/k) at worst, O(n·d) memory",
)
def mondrian(codes: Codes, demand: Demand, effort: Effort) -> Arrangement:
    """Strict cuts while there are any, then relaxed ones: groups of k to 2k - 1 records.

    Loses no more than `mondrian_strict`, whose groups it goes on cutting, and far less than
    `mondrian_relaxed`: halving an attribute of few values leaves both halves with all of them.
    """
    return _arrange(codes, demand.degree, AT_NEED)


@register(
    "mondrian-strict",
    title="as mondrian, but equal values are never torn apart (for comparison)",
    paper="FAST07",
    guarantees=(KAnonymity,),
    cost="O(n·d·log(n/k)) time for even cuts, O(n²·d/k) at worst, O(n·d) memory",
)
def mondrian_strict(codes: Codes, demand: Demand, effort: Effort) -> Arrangement:
    """Strict cuts: all records with the median go to one side, the one that makes it more even.

    A cut is allowable when both sides have k records; otherwise the next widest attribute is tried.
    LeFevre's records at the median always go left; trying both sides allows more cuts.
    """
    return _arrange(codes, demand.degree, NEVER)


@register(
    "mondrian-relaxed",
    title="as mondrian, but always into halves of equal size (for comparison)",
    paper="FAST07",
    guarantees=(KAnonymity,),
    cost="O(n·d·log(n/k)) time, O(n·d) memory",
)
def mondrian_relaxed(codes: Codes, demand: Demand, effort: Effort) -> Arrangement:
    """Relaxed cuts (LeFevre §3.2): equal halves, records at the median go to either side."""
    return _arrange(codes, demand.degree, ALWAYS)


def _arrange(codes: Codes, k: int, tear: int) -> Arrangement:
    members = np.arange(codes.records, dtype=np.int32)
    starts = _cut_all(scales(codes), np.ascontiguousarray(codes.matrix), k, tear, members)
    return Arrangement(Graph.rings(members, starts, np.diff(starts).astype(np.int32)))


@njit(cache=True, nogil=True)
def _cut_all(prices: Scales, matrix: Int32s, k: int, tear: int, members: Int32s) -> Int64s:
    """Put ``members`` in the order of their groups; returns the groups' starts and n at the end."""
    records, attributes = matrix.shape
    marks = np.zeros(prices.position.size, np.int32)
    widths = np.empty(attributes)
    scratch = np.empty(records, np.int32)
    is_start = np.zeros(records + 1, np.bool_)
    is_start[records] = True
    parts = 0
    pending = [(0, records)]
    while len(pending) > 0:
        first, last = pending.pop()
        is_start[first] = True
        if last - first < 2 * k:
            continue
        part = members[first:last]
        parts += 1
        _measure_widths(prices, matrix, part, marks, parts, widths)
        widest = int(np.argmax(widths))
        left = 0
        if tear != ALWAYS:
            for _ in range(attributes):  # the widest first, then the next widest
                attribute = int(np.argmax(widths))
                widths[attribute] = -1.0
                left = _cut(matrix, part, attribute, k, False, scratch)
                if left > 0:
                    break
        if left == 0 and tear != NEVER:
            left = _cut(matrix, part, widest, k, True, scratch)
        if left > 0:
            pending.append((first, first + left))
            pending.append((first + left, last))
    return np.flatnonzero(is_start)


@njit(cache=True, nogil=True)
def _cut(
    matrix: Int32s, part: Int32s, attribute: int, k: int, relaxed: bool, scratch: Int32s
) -> int:
    """Cut ``part`` at the median of an attribute; returns the size of the left side, 0 for none."""
    size = part.size
    values = scratch[:size]
    for place in range(size):
        values[place] = matrix[part[place], attribute]
    median, below, equal = _median(values)
    if relaxed:
        return _divide(matrix, part, attribute, median, size // 2 - below, scratch)
    left, least = 0, size
    for candidate in (below + equal, below):
        uneven = abs(size - 2 * candidate)
        if k <= candidate <= size - k and uneven < least:
            left, least = candidate, uneven
    return _divide(matrix, part, attribute, median, left - below, scratch) if left > 0 else 0


@njit(cache=True, nogil=True)
def _divide(
    matrix: Int32s, part: Int32s, attribute: int, median: int, equal_left: int, aside: Int32s
) -> int:
    """Move the left side of the cut to the front of ``part``; returns its size. Keeps the order."""
    left = right = 0
    for place in range(part.size):
        record = part[place]
        value = matrix[record, attribute]
        if value == median:
            equal_left -= 1
        if value < median or (value == median and equal_left >= 0):
            part[left] = record
            left += 1
        else:
            aside[right] = record
            right += 1
    for place in range(right):  # not as slices, which take seconds to compile
        part[left + place] = aside[place]
    return left


@njit(cache=True, nogil=True)
def _median(values: Int32s) -> tuple[int, int, int]:
    """The upper median, how many values are below it and how many equal it; reorders ``values``.

    Quickselect with three-way partitions, so that many equal values do no harm.
    """
    wanted = values.size // 2
    first, last = 0, values.size
    while True:
        pivot = _middle_of_three(values[first], values[(first + last) // 2], values[last - 1])
        low, place, high = first, first, last
        while place < high:
            value = values[place]
            if value < pivot:
                values[place], values[low] = values[low], value
                low += 1
                place += 1
            elif value > pivot:
                high -= 1
                values[place], values[high] = values[high], value
            else:
                place += 1
        if wanted < low:
            last = low
        elif wanted >= high:
            first = high
        else:
            return pivot, low, high - low


@njit(cache=True, nogil=True)
def _middle_of_three(a: int, b: int, c: int) -> int:
    return max(min(a, b), min(max(a, b), c))


@njit(cache=True, nogil=True)
def _measure_widths(
    prices: Scales, matrix: Int32s, part: Int32s, marks: Int32s, mark: int, widths: Float64s
) -> None:
    """Set ``widths`` to the weighted NCP of ``part`` in every attribute."""
    for attribute in range(matrix.shape[1]):
        offset = prices.offset[attribute]
        step = prices.step[attribute]
        if prices.form[attribute] == SET:
            distinct = 0
            for record in part:
                code = matrix[record, attribute]
                if marks[offset + code] != mark:
                    marks[offset + code] = mark
                    distinct += 1
            widths[attribute] = step * (distinct - 1)
        elif prices.form[attribute] == RANGE:
            lowest, highest = np.inf, -np.inf
            or_missing = 0.0
            for record in part:
                code = matrix[record, attribute]
                if code == prices.missing[attribute]:
                    or_missing = step
                else:
                    position = prices.position[offset + code]
                    lowest = min(lowest, position)
                    highest = max(highest, position)
            widths[attribute] = highest - lowest + or_missing if highest >= lowest else 0.0
        else:
            node = prices.node[offset + matrix[part[0], attribute]]
            for record in part:
                node = climb(prices, node, matrix[record, attribute])
            widths[attribute] = prices.penalty[node]
