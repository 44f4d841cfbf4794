"""Several sensitive columns for methods that work on one: by the tightest, then by all of them.

Every record carries a sensitive code of its joint value and of its value in each column, and every
code has a cap. A method arranges records by the attribute that leaves it the least room
(`tightest`); groups in which another attribute exceeds a cap are then merged with their neighbours
(`merged_starts`). That always ends: the table as a whole is within all caps. With one attribute
nothing changes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mottle.guarantees.demand import ROUNDING, Demand
from mottle.typing import BoolArray, Float64Array, Int32Array, Int64Array
from mottle.utils.compiled import inner_kernel, kernel


class Attribute(NamedTuple):
    """One of the attributes of a demand: values of all records as codes from 0 on."""

    values: Int32Array  # [n]
    counts: Int64Array  # by value
    caps: Float64Array  # by value


def tightest(demand: Demand) -> Attribute:
    """The attribute of which some value is nearest to its cap in the whole table.

    >>> codes = np.array([[0, 3], [1, 3], [2, 4], [0, 4]], np.int32)
    >>> demand = Demand(2, codes, np.full(5, 0.5), np.array([2, 1, 1, 2, 2]))
    >>> tightest(demand).values
    array([0, 1, 2, 0], dtype=int32)
    """
    codes = demand.sensitive_codes
    nearest = demand.counts / demand.caps
    room = [float(nearest[np.unique(column)].max()) for column in codes.T]
    chosen = codes[:, int(np.argmax(room))]
    first, last = int(chosen.min()), int(chosen.max()) + 1
    return Attribute(
        np.ascontiguousarray(chosen - first), demand.counts[first:last], demand.caps[first:last]
    )


def merged_starts(
    members: Int32Array | Int64Array, starts: Int64Array, demand: Demand
) -> Int64Array:
    """Merge consecutive groups until each is within all caps; return where groups begin, and n.

    ``members`` are the records, group after group.
    """
    kept = _merge(demand.sensitive_codes[members], starts, demand.caps, demand.degree)
    return np.append(starts[:-1][kept], starts[-1])


def windows_within_caps(
    members: Int32Array | Int64Array, starts: Int64Array, degrees: Int32Array, demand: Demand
) -> BoolArray:
    """Tell of every ring whether any ``degree`` consecutive records are within all caps."""
    return _windows(demand.sensitive_codes[members], starts, degrees, demand.caps)


@kernel
def _merge(codes: Int32Array, starts: Int64Array, caps: Float64Array, least: int) -> BoolArray:
    """Which groups begin a merged one; what is left at the end joins the groups before it."""
    kept = np.zeros(starts.size - 1, np.bool_)
    counts = np.zeros(caps.size, np.int64)
    begins = 0
    for group in range(starts.size - 1):
        _add(codes, starts[group], starts[group + 1], counts)
        kept[begins] = True
        if _within(counts, caps, starts[group + 1] - starts[begins], least):
            begins = group + 1
            counts[:] = 0
    if begins < kept.size:
        while not _within(counts, caps, starts[-1] - starts[begins], least) and begins > 0:
            kept[begins] = False
            begins -= 1
            while not kept[begins]:
                begins -= 1
            counts[:] = 0
            _add(codes, starts[begins], starts[-1], counts)
    return kept


@kernel
def _add(codes: Int32Array, first: int, last: int, counts: Int64Array) -> None:
    for record in range(first, last):
        for code in codes[record]:
            counts[code] += 1


@inner_kernel
def _within(counts: Int64Array, caps: Float64Array, size: int, least: int) -> bool:
    within = size >= least
    for code in range(caps.size):
        within &= counts[code] <= caps[code] * size + ROUNDING
    return within


@kernel
def _windows(
    codes: Int32Array, starts: Int64Array, degrees: Int32Array, caps: Float64Array
) -> BoolArray:
    within = np.ones(degrees.size, np.bool_)
    counts = np.zeros(caps.size, np.int64)
    for ring in range(degrees.size):
        first, size, degree = starts[ring], starts[ring + 1] - starts[ring], degrees[ring]
        counts[:] = 0
        for step in range(size + degree - 1):
            for code in codes[first + step % size]:
                counts[code] += 1
                within[ring] &= counts[code] <= caps[code] * degree + ROUNDING
            if step >= degree - 1:
                for code in codes[first + (step - degree + 1) % size]:
                    counts[code] -= 1
    return within
