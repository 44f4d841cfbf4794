"""Global (1, k)-anonymity, the rival that NH10 §2 names (Gionis, Mazza, Tassa, ICDE 2008).

Every original is to have at least k *matches*: published records that may be its own in some
one-to-one assignment. Numbers of matches differ, and so do the probabilities of matches: nothing
bounds them by 1/k, which is why this is a rival of the benchmarks and no method of mottle.

Three steps: boxes around every record and its k - 1 cheapest neighbours; then, for an original in
fewer than k boxes, the cheapest boxes grow until k hold it; then, for one with fewer than k
matches, its own box grows over the originals of boxes that hold it: exchanging the two makes each
of these a match.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from mottle.encoding.domain import Codes, Form
from mottle.graph.model import Graph

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


class _Space(NamedTuple):
    """Records as points, and what a box that covers them costs."""

    codes: IntArray  # [n, d]
    starts: IntArray  # [d + 1]: where the values of each column begin in ``places`` and in boxes
    places: FloatArray  # by value: its place between 0 and 1, for ranges
    is_range: BoolArray  # [d]
    of_value: FloatArray  # [d]: NCP of one more value in a set


def _space(codes: Codes) -> _Space:
    sizes = codes.sizes
    places, of_value, is_range = [], [], []
    for domain in codes.domains:
        own = np.asarray(domain.positions, np.float64)
        as_range = domain.form is Form.RANGE and len(own) > 0
        extent = float(np.ptp(own)) if as_range and len(own) > 1 else 1.0
        places.append((own - own.min()) / (extent or 1.0) if as_range else np.zeros(domain.size))
        of_value.append(1 / (domain.size - 1) if domain.size > 1 else 0.0)
        is_range.append(as_range)
    return _Space(
        codes.matrix.astype(np.int64),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.concatenate(places),
        np.array(is_range),
        np.array(of_value),
    )


@njit(cache=True)
def _cost(space, low, high, holds, record):  # type: ignore[no-untyped-def]
    """How much the NCP of a box grows if it takes in a record."""
    cost = 0.0
    for column in range(space.codes.shape[1]):
        value = space.starts[column] + space.codes[record, column]
        if space.is_range[column]:
            place = space.places[value]
            cost += max(low[column] - place, 0.0) + max(place - high[column], 0.0)
        elif not holds[value]:
            cost += space.of_value[column]
    return cost


@njit(cache=True)
def _grow(space, low, high, holds, record):  # type: ignore[no-untyped-def]
    for column in range(space.codes.shape[1]):
        value = space.starts[column] + space.codes[record, column]
        holds[value] = True
        low[column] = min(low[column], space.places[value])
        high[column] = max(high[column], space.places[value])


@njit(cache=True)
def _boxes(space, k):  # type: ignore[no-untyped-def]
    """A box around every record and the k - 1 others that make it grow least, one by one."""
    n, d = space.codes.shape
    low, high = np.full((n, d), np.inf), np.full((n, d), -np.inf)
    holds = np.zeros((n, space.starts[-1]), np.bool_)
    for own in range(n):
        _grow(space, low[own], high[own], holds[own], own)
        inside = np.zeros(n, np.bool_)
        inside[own] = True
        for _ in range(k - 1):
            best, least = -1, np.inf
            for other in range(n):
                if not inside[other]:
                    cost = _cost(space, low[own], high[own], holds[own], other)
                    if cost < least:
                        best, least = other, cost
            inside[best] = True
            _grow(space, low[own], high[own], holds[own], best)
    return low, high, holds


@njit(cache=True)
def _costs(space, low, high, holds, record):  # type: ignore[no-untyped-def]
    """What each box would cost more if it took in a record; 0 where it holds it."""
    costs = np.empty(len(low))
    for box in range(len(low)):
        costs[box] = _cost(space, low[box], high[box], holds[box], record)
    return costs


def global_one_k(codes: Codes, k: int) -> BoolArray:
    """Which originals each published record covers: [published, original]."""
    space = _space(codes)
    low, high, holds = _boxes(space, k)
    n = codes.records
    for record in range(n):
        costs = _costs(space, low, high, holds, record)
        missing = k - int(np.count_nonzero(costs <= 0))
        outside = np.flatnonzero(costs > 0)
        for box in outside[np.argsort(costs[outside], kind="stable")][: max(missing, 0)]:
            _grow(space, low[box], high[box], holds[box], record)
    while True:
        covers = np.stack([_costs(space, low, high, holds, record) <= 0 for record in range(n)]).T
        matched = matches(covers)
        lacking = np.flatnonzero(matched.sum(axis=0) < k)
        if not len(lacking):
            return covers
        for record in lacking:
            candidates = np.flatnonzero(covers[:, record] & ~matched[:, record])
            costs = np.array(
                [_cost(space, low[record], high[record], holds[record], c) for c in candidates]
            )
            wanted = k - int(matched[:, record].sum())
            for other in candidates[np.argsort(costs, kind="stable")][:wanted]:
                _grow(space, low[record], high[record], holds[record], other)


def matches(covers: BoolArray) -> BoolArray:
    """The pairs [published, original] that are part of some one-to-one assignment.

    Every record covers its own original, so these are the pairs inside strongly connected parts.
    """
    _, part = connected_components(csr_array(covers), directed=True, connection="strong")
    return covers & (part[:, None] == part[None, :])


def as_graph(covers: BoolArray) -> Graph:
    """The boxes as a graph, for measuring: shorter lists are filled up with the own record."""
    n = len(covers)
    degree = int(covers.sum(axis=1).max())
    edges = np.repeat(np.arange(n, dtype=np.int32)[:, None], degree, axis=1)
    for record, covered in enumerate(covers):
        others = np.flatnonzero(covered)
        edges[record, : len(others)] = others
    return Graph.explicit(
        np.arange(n, dtype=np.int32),
        np.array([0, n], np.int64),
        np.array([degree], np.int32),
        edges,
    )


def highest_probability(covers: BoolArray) -> Fraction:
    """The highest probability of a pair, all one-to-one assignments being equally likely.

    Exact, by counting assignments over all subsets of originals: for tables of up to 16 records.
    """
    n = len(covers)
    allowed = [[original for original in range(n) if covers[row, original]] for row in range(n)]
    first = _counts(allowed)
    last = _counts(allowed[::-1])
    everything = (1 << n) - 1
    total = first[n][everything]
    highest = 0
    for row in range(n):
        for original in allowed[row]:
            bit = 1 << original
            found = sum(
                count * last[n - row - 1].get(everything & ~bit & ~before, 0)
                for before, count in first[row].items()
                if not before & bit
            )
            highest = max(highest, found)
    return Fraction(highest, total)


def _counts(allowed: list[list[int]]) -> list[dict[int, int]]:
    """For every number of rows: in how many ways they use each subset of originals."""
    counts: list[dict[int, int]] = [{0: 1}]
    for row in allowed:
        found: dict[int, int] = {}
        for used, ways in counts[-1].items():
            for original in row:
                bit = 1 << original
                if not used & bit:
                    found[used | bit] = found.get(used | bit, 0) + ways
        counts.append(found)
    return counts
