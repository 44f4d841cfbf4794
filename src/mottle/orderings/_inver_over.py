"""The paper's genetic algorithm for short paths: inver-over.

SET12 §4.1 applies "an efficient genetic algorithm" to each segment. We use the one known by that
name: Tao, Michalewicz: Inver-over Operator for the TSP (PPSN V, 1998). A tour is changed by
inverting the part from a record to one that follows it in another tour of the population, until
the two are already neighbours; the child replaces its parent unless it is longer.

A path with fixed ends is treated as a tour in which the last record is followed by the first: that
step is made so cheap that every tour keeps it.
"""

from __future__ import annotations

import numpy as np

from mottle.typing import Int32Array, UInt64Array
from mottle.utils.compiled import inner_kernel, kernel
from mottle.utils.xorshift import below, fraction

POPULATION = 100
_MUTATION = 0.02  # chance that the other end is a random record instead of one from another tour
_PATIENCE = 20  # stop after this many generations in which all tours got < 0.1 % shorter in total
_PRICELESS = -(1 << 24)  # distance between the ends of the path


@kernel
def inver_over(distance: Int32Array, state: UInt64Array) -> Int32Array:
    """A short path from record 0 to record size - 1; changes ``distance`` [size, size]."""
    size = len(distance)
    distance[0, size - 1] = _PRICELESS
    distance[size - 1, 0] = _PRICELESS
    tour = _evolve(distance, size, state)
    begin = 0
    while tour[begin] != 0:
        begin += 1
    backwards = tour[(begin + 1) % size] == size - 1
    path = np.empty(size, np.int32)
    for place in range(size):
        turn = begin - place if backwards else begin + place
        path[place] = tour[turn % size]
    return path


@inner_kernel
def _evolve(distance: Int32Array, size: int, state: UInt64Array) -> Int32Array:
    """The best tour of the last generation; the first generation contains the given order."""
    tours = np.empty((POPULATION, size), np.int32)
    place_of = np.empty((POPULATION, size), np.int32)
    lengths = np.empty(POPULATION, np.int64)
    for one in range(POPULATION):
        for place in range(size):
            tours[one, place] = place
        for place in range(size - 2 if one > 0 else 0, 1, -1):
            other = 1 + below(state, place)
            tours[one, place], tours[one, other] = tours[one, other], tours[one, place]
        lengths[one] = _length(distance, tours[one])
        for place in range(size):
            place_of[one, tours[one, place]] = place
    offset = POPULATION * _PRICELESS  # every tour contains that step
    total = lengths.sum()
    waited = 0
    child, child_place = np.empty(size, np.int32), np.empty(size, np.int32)
    while waited < _PATIENCE:
        for one in range(POPULATION):
            child[:] = tours[one]
            child_place[:] = place_of[one]
            length = lengths[one] + _invert_over(
                distance, tours, place_of, child, child_place, state
            )
            if length <= lengths[one]:
                tours[one] = child
                place_of[one] = child_place
                lengths[one] = length
        waited += 1
        if lengths.sum() - offset < 0.999 * (total - offset):
            total = lengths.sum()
            waited = 0
    best: Int32Array = tours[lengths.argmin()]
    return best


@kernel
def _length(distance: Int32Array, tour: Int32Array) -> int:
    total = 0
    for place in range(tour.size):
        total += distance[tour[place - 1], tour[place]]
    return total


@inner_kernel
def _invert_over(
    distance: Int32Array,
    tours: Int32Array,
    place_of: Int32Array,
    child: Int32Array,
    child_place: Int32Array,
    state: UInt64Array,
) -> int:
    """Apply the operator to ``child``; return how much longer it got."""
    size = child.size
    grown = 0
    record = child[below(state, size)]
    while True:
        if fraction(state) <= _MUTATION:
            wanted = child[(child_place[record] + 1 + below(state, size - 1)) % size]
        else:
            mate = below(state, POPULATION)
            wanted = tours[mate, (place_of[mate, record] + 1) % size]
        here, there = child_place[record], child_place[wanted]
        after = (here + 1) % size
        if after == there or (there + 1) % size == here:
            return grown
        beyond = (there + 1) % size
        grown += distance[record, wanted] + distance[child[after], child[beyond]]
        grown -= distance[record, child[after]] + distance[wanted, child[beyond]]
        left, right = after, there
        for _ in range(((there - after) % size + 1) // 2):
            child[left], child[right] = child[right], child[left]
            child_place[child[left]] = left
            child_place[child[right]] = right
            left = (left + 1) % size
            right = (right - 1) % size
        record = wanted
