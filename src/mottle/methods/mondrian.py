"""Mondrian: cut the table in two at the median of its widest attribute, recursively.

LeFevre, DeWitt, Ramakrishnan: Mondrian Multidimensional K-Anonymity (ICDE 2006), as FAST07 §2.2
compares with it. Categories are in the order of their codes, hierarchy leaves in tree order.

With caps on sensitive values (FAST07 §6.2's ℓ-diverse variation, for caps of any kind) a cut is
allowable if no sensitive code exceeds its cap on either side.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mottle.encoding.domain import Codes
from mottle.graph.model import Graph
from mottle.guarantees.capability import Capability
from mottle.guarantees.decisions import DecidesBy
from mottle.guarantees.demand import ROUNDING, Demand
from mottle.kernels.ncp_growth import RANGE, SET, Scales, climb
from mottle.kernels.scales import scales
from mottle.methods.base import Arrangement, MethodContext, register
from mottle.typing import Float64Array, Int32Array, Int64Array
from mottle.utils.compiled import inner_kernel, kernel

NEVER, AT_NEED, ALWAYS = 0, 1, 2  # when records with equal values may be separated

_MIXED_DECISION = "a cut is made only if both sides keep the caps"
_OFFERS = Capability.K_ANONYMITY | Capability.CAPS | Capability.GROUP_CAPS


@register(
    "mondrian",
    title="repeated cuts at the median of the widest attribute (for comparison)",
    paper="FAST07",
    offers=_OFFERS,
    decides_by=DecidesBy.BOTH,
    mixed_decision=_MIXED_DECISION,
    cost="O(n·d·log(n/k)) time for even cuts, O(n²·d/k) at worst, O(n·d) memory",
)
def mondrian(codes: Codes, demand: Demand, context: MethodContext) -> Arrangement:
    """Strict cuts while there are any, then relaxed ones: groups of k to 2k - 1 records.

    With caps, groups stay larger if no cut leaves both sides within the caps. Loses no more than
    `mondrian_strict`, whose groups it cuts further, and far less than `mondrian_relaxed`: halving
    an attribute with few values leaves both halves with all of them.
    """
    return _arrange(codes, demand, AT_NEED)


@register(
    "mondrian-strict",
    title="as mondrian, but equal values are never separated (for comparison)",
    paper="FAST07",
    offers=_OFFERS,
    decides_by=DecidesBy.BOTH,
    mixed_decision=_MIXED_DECISION,
    cost="O(n·d·log(n/k)) time for even cuts, O(n²·d/k) at worst, O(n·d) memory",
)
def mondrian_strict(codes: Codes, demand: Demand, context: MethodContext) -> Arrangement:
    """Strict cuts: all records at the median go to one side, the one that makes the cut more even.

    A cut is allowable if both sides have k records; otherwise the next widest attribute is tried.
    In LeFevre's algorithm records at the median always go left; trying both sides allows more cuts.
    """
    return _arrange(codes, demand, NEVER)


@register(
    "mondrian-relaxed",
    title="as mondrian, but always into halves of equal size (for comparison)",
    paper="FAST07",
    offers=_OFFERS,
    decides_by=DecidesBy.BOTH,
    mixed_decision=_MIXED_DECISION,
    cost="O(n·d·log(n/k)) time, O(n·d) memory",
)
def mondrian_relaxed(codes: Codes, demand: Demand, context: MethodContext) -> Arrangement:
    """Relaxed cuts (LeFevre §3.2): equal halves; records at the median may go to either side."""
    return _arrange(codes, demand, ALWAYS)


def _arrange(codes: Codes, demand: Demand, tear: int) -> Arrangement:
    members = np.arange(codes.records, dtype=np.int32)
    limits = _Limits(
        least=max(demand.degree, _least_within_caps(demand)),
        sensitive_codes=demand.sensitive_codes
        if demand.capped
        else np.empty((codes.records, 0), np.int32),
        caps=demand.caps,
        left=np.zeros(len(demand.caps), np.int64),
        right=np.zeros(len(demand.caps), np.int64),
    )
    matrix = np.ascontiguousarray(codes.matrix)
    starts = np.flatnonzero(_cut_all(scales(codes), matrix, limits, tear, members))
    graph = Graph.rings(members, starts, np.diff(starts).astype(np.int32))
    return Arrangement(graph)


class _Limits(NamedTuple):
    """The conditions on both sides of a cut."""

    least: int  # fewest records on a side
    sensitive_codes: Int32Array  # [n, attributes]: the sensitive codes of every record
    caps: Float64Array  # by sensitive code: its highest share on a side
    left: Int64Array  # by sensitive code: scratch space for counts, all zero before and after
    right: Int64Array  # the same for the other side


def _least_within_caps(demand: Demand) -> int:
    """The fewest records that can be within the caps; each has a code of every attribute."""
    highest = [demand.caps[codes].max() for codes in demand.sensitive_codes.T]
    return max((math.ceil(1 / cap - ROUNDING) for cap in highest), default=1)


@kernel
def _cut_all(
    prices: Scales, matrix: Int32Array, limits: _Limits, tear: int, members: Int32Array
) -> NDArray[np.bool_]:
    """Sort ``members`` by group; return which places are starts of groups, n included."""
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
        if last - first < 2 * limits.least:
            continue
        part = members[first:last]
        parts += 1
        _measure_widths(prices, matrix, part, marks, parts, widths)
        left = 0
        for relaxed in (False, True):
            if left == 0 and tear != (NEVER if relaxed else ALWAYS):
                left = _cut_widest(matrix, part, widths, limits, relaxed, scratch)
        if left > 0:
            pending.append((first, first + left))
            pending.append((first + left, last))
    return is_start


@inner_kernel
def _cut_widest(
    matrix: Int32Array,
    part: Int32Array,
    widths: Float64Array,
    limits: _Limits,
    relaxed: bool,
    scratch: Int32Array,
) -> int:
    """Cut the widest attribute with an allowable cut; return the size of the left side, or 0."""
    untried = widths.copy()
    for _ in range(widths.size):
        attribute = int(np.argmax(untried))
        untried[attribute] = -1.0
        left = _cut(matrix, part, attribute, limits, relaxed, scratch)
        if left > 0:
            return left
    return 0


@inner_kernel
def _cut(
    matrix: Int32Array,
    part: Int32Array,
    attribute: int,
    limits: _Limits,
    relaxed: bool,
    scratch: Int32Array,
) -> int:
    """Cut ``part`` at the median of an attribute; return the size of the left side, 0 for none."""
    size = part.size
    values = scratch[:size]
    for place in range(size):
        values[place] = matrix[part[place], attribute]
    median, below, equal = _median(values)
    sides = (below + equal, below)  # the strict cuts, the more even one first
    if abs(size - 2 * below) < abs(size - 2 * (below + equal)):
        sides = (below, below + equal)
    if relaxed:
        sides = (size // 2, 0)
    for left in sides:
        if limits.least <= left <= size - limits.least and _is_within_caps(
            matrix, part, attribute, median, left, left - below, limits
        ):
            return _divide(matrix, part, attribute, median, left - below, scratch)
    return 0


@inner_kernel
def _is_within_caps(
    matrix: Int32Array,
    part: Int32Array,
    attribute: int,
    median: int,
    left: int,
    equal_left: int,
    limits: _Limits,
) -> bool:
    """Whether both sides that `_divide` would make keep every sensitive code within its cap."""
    attributes = limits.sensitive_codes.shape[1]
    if attributes == 0:
        return True
    for record in part:
        value = matrix[record, attribute]
        if value == median:
            equal_left -= 1
        goes_left = value < median or (value == median and equal_left >= 0)
        counts = limits.left if goes_left else limits.right
        for sensitive in range(attributes):
            counts[limits.sensitive_codes[record, sensitive]] += 1
    within = True
    for record in part:
        for sensitive in range(attributes):
            code = limits.sensitive_codes[record, sensitive]
            cap = limits.caps[code]
            within &= limits.left[code] <= cap * left + ROUNDING
            within &= limits.right[code] <= cap * (part.size - left) + ROUNDING
            limits.left[code] = 0
            limits.right[code] = 0
    return within


@inner_kernel
def _divide(
    matrix: Int32Array,
    part: Int32Array,
    attribute: int,
    median: int,
    equal_left: int,
    aside: Int32Array,
) -> int:
    """Move the left side of the cut to the front of ``part``, stably; return its size."""
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
    for place in range(right):  # element by element: slices take seconds to compile
        part[left + place] = aside[place]
    return left


@inner_kernel
def _median(values: Int32Array) -> tuple[int, int, int]:
    """The upper median, and the numbers of values below and equal to it; reorders ``values``.

    Quickselect with three-way partitions, which is fast with many equal values too.
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


@inner_kernel
def _middle_of_three(a: int, b: int, c: int) -> int:
    return max(min(a, b), min(max(a, b), c))


@inner_kernel
def _measure_widths(
    prices: Scales,
    matrix: Int32Array,
    part: Int32Array,
    marks: Int32Array,
    mark: int,
    widths: Float64Array,
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
