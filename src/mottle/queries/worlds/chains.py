"""Kernels that draw the parts of all records: a chain of draws, one column after another.

A state is the part of every column of every record. A column's part is drawn given those of the
other columns: by its chance in the record's own cell, its factor, and the lifts of the pairs that
it forms with them; parts with which a rule would not hold have no chance. Columns that are tied by
rules are now and then drawn again together, since one at a time they could not always move.
"""

from __future__ import annotations

import numpy as np

from mottle.typing import (
    BoolArray,
    Float32Array,
    Float64Array,
    Int32Array,
    Int64Array,
    UInt64Array,
)
from mottle.utils.compiled import inner_kernel, kernel
from mottle.utils.xorshift import fraction

_TRIES = 50  # sweeps until a record has to obey the rules
_BREACH = 1e-4  # how much less likely a state is for each rule that does not hold, at first


@inner_kernel
def _holds(
    rule: int,
    state: Int32Array,
    steps: Int64Array,
    starts: Int64Array,
    columns: Int64Array,
    truths: BoolArray,
) -> bool:
    """Whether a rule holds for a record: its program is run on a stack of bits."""
    stack = np.uint64(0)
    one = np.uint64(1)
    for at in range(starts[rule], starts[rule + 1]):
        step = steps[at]
        if step >= 0:
            bit = one if truths[step, state[columns[step]]] else np.uint64(0)
            stack = (stack << one) | bit
        elif step == -3:
            stack ^= one
        else:
            last = stack & one
            stack >>= one
            before = stack & one
            bit = (before & last) if step == -1 else (before | last)
            stack = (stack & ~one) | bit
    return bool((stack & one) == one)


@inner_kernel
def _broken(
    column: int,
    state: Int32Array,
    steps: Int64Array,
    starts: Int64Array,
    columns: Int64Array,
    truths: BoolArray,
    tied: BoolArray,
) -> int:
    """How many rules about a column (all rules for -1) do not hold."""
    count = 0
    for rule in range(len(starts) - 1):
        concerned = column < 0 or tied[rule, column]
        if concerned and not _holds(rule, state, steps, starts, columns, truths):
            count += 1
    return count


@kernel
def _draw(weights: Float64Array, count: int, total: float, random: UInt64Array) -> int:
    """Draw a place by weight."""
    left = fraction(random) * total
    chosen = -1
    for place in range(count):
        if weights[place] > 0.0:
            chosen = place
            left -= weights[place]
            if left < 0.0:
                break
    return chosen


@kernel
def begin(
    chances: Float32Array,
    offsets: Int64Array,
    steps: Int64Array,
    starts: Int64Array,
    columns: Int64Array,
    truths: BoolArray,
    tied: BoolArray,
    randoms: UInt64Array,
    first: int,
    last: int,
    states: Int32Array,
) -> int:
    """Draw column by column, then until all rules hold; returns 1 if a record found no way."""
    number = len(offsets) - 1
    weights = np.empty(np.max(np.diff(offsets)))
    random = np.empty(1, np.uint64)
    for row in range(first, last):
        random[0] = randoms[row]
        state = states[row]
        for column in range(number):
            size = offsets[column + 1] - offsets[column]
            total = 0.0
            for part in range(size):
                weights[part] = chances[row, offsets[column] + part]
                total += weights[part]
            state[column] = _draw(weights, size, total, random)
        tries = 0
        while _broken(-1, state, steps, starts, columns, truths, tied) > 0 and tries < _TRIES:
            tries += 1
            for column in range(number):
                if not np.any(tied[:, column]):
                    continue
                size = offsets[column + 1] - offsets[column]
                total = 0.0
                for part in range(size):
                    weights[part] = chances[row, offsets[column] + part]
                    if weights[part] > 0.0:
                        state[column] = part
                        breaches = _broken(column, state, steps, starts, columns, truths, tied)
                        weights[part] *= _BREACH**breaches
                        total += weights[part]
                state[column] = _draw(weights, size, total, random)
        if tries == _TRIES and _broken(-1, state, steps, starts, columns, truths, tied) > 0:
            return 1
        randoms[row] = random[0]
    return 0


@kernel
def sweep(
    chances: Float32Array,
    factors: Float64Array,
    lifts: Float32Array,
    linked: BoolArray,
    offsets: Int64Array,
    steps: Int64Array,
    starts: Int64Array,
    columns: Int64Array,
    truths: BoolArray,
    tied: BoolArray,
    sweeps: int,
    randoms: UInt64Array,
    first: int,
    last: int,
    states: Int32Array,
) -> None:
    """Draw every column given the others, several times."""
    number = len(offsets) - 1
    weights = np.empty(np.max(np.diff(offsets)))
    random = np.empty(1, np.uint64)
    together = np.zeros(number, np.bool_)
    for column in range(number):
        together[column] = np.any(tied[:, column])
    before = np.empty(number, np.int32)
    for row in range(first, last):
        random[0] = randoms[row]
        state = states[row]
        for _ in range(sweeps):
            if np.any(together):
                _draw_together(
                    chances[row], factors, lifts, linked, offsets, steps, starts, columns, truths,
                    tied, together, before, weights, random, state,
                )  # fmt: skip
            for column in range(number):
                begin_at = offsets[column]
                size = offsets[column + 1] - begin_at
                possible = 0
                for part in range(size):
                    weights[part] = chances[row, begin_at + part]
                    if weights[part] > 0.0:
                        possible += 1
                        weights[part] *= factors[begin_at + part]
                if possible < 2:
                    continue
                for other in range(number):
                    if linked[other, column]:
                        own = lifts[offsets[other] + state[other]]
                        for part in range(size):
                            weights[part] *= own[begin_at + part]
                total = 0.0
                kept = state[column]
                for part in range(size):
                    if weights[part] > 0.0 and together[column]:
                        state[column] = part
                        if _broken(column, state, steps, starts, columns, truths, tied) > 0:
                            weights[part] = 0.0
                    total += weights[part]
                state[column] = _draw(weights, size, total, random) if total > 0.0 else kept
        randoms[row] = random[0]


@inner_kernel
def _draw_together(
    chances: Float32Array,
    factors: Float64Array,
    lifts: Float32Array,
    linked: BoolArray,
    offsets: Int64Array,
    steps: Int64Array,
    starts: Int64Array,
    columns: Int64Array,
    truths: BoolArray,
    tied: BoolArray,
    together: BoolArray,
    before: Int32Array,
    weights: Float64Array,
    random: UInt64Array,
    state: Int32Array,
) -> None:
    """Propose other parts for all columns that rules tie, and accept them by Metropolis' rule."""
    number = len(offsets) - 1
    old = _affinity(factors, lifts, linked, offsets, together, state)
    before[:] = state
    for column in range(number):
        if together[column]:
            size = offsets[column + 1] - offsets[column]
            total = 0.0
            for part in range(size):
                weights[part] = chances[offsets[column] + part]
                total += weights[part]
            state[column] = _draw(weights, size, total, random)
    accepted = _broken(-1, state, steps, starts, columns, truths, tied) == 0
    if accepted:
        new = _affinity(factors, lifts, linked, offsets, together, state)
        accepted = np.log(max(fraction(random), 1e-300)) < new - old
    if not accepted:
        state[:] = before


@inner_kernel
def _affinity(
    factors: Float64Array,
    lifts: Float32Array,
    linked: BoolArray,
    offsets: Int64Array,
    together: BoolArray,
    state: Int32Array,
) -> float:
    """The logarithm of what factors and lifts contribute for columns that are drawn together."""
    total = 0.0
    for column in range(len(together)):
        if not together[column]:
            continue
        own = offsets[column] + state[column]
        total += np.log(max(factors[own], 1e-300))
        for other in range(len(together)):
            counted = linked[other, column] and (not together[other] or other < column)
            if counted:
                total += np.log(max(lifts[own, offsets[other] + state[other]], 1e-30))
    return total


@kernel
def pair_counts(
    chances: Float32Array,
    lifts: Float32Array,
    offsets: Int64Array,
    pairs: Int64Array,
    first: int,
    last: int,
    counts: Float64Array,
) -> None:
    """Distribute every record over the pairs of its parts, by its chances and the lifts."""
    most = np.max(np.diff(offsets))
    places, others = np.empty(most, np.int64), np.empty(most, np.int64)
    joint = np.empty((most, most))
    for at in range(first, last):
        one, two = pairs[at]
        for row in range(len(chances)):
            held = other_held = 0
            for place in range(offsets[one], offsets[one + 1]):
                if chances[row, place] > 0.0:
                    places[held] = place
                    held += 1
            for place in range(offsets[two], offsets[two + 1]):
                if chances[row, place] > 0.0:
                    others[other_held] = place
                    other_held += 1
            total = 0.0
            for left in range(held):
                for right in range(other_held):
                    chance = (
                        chances[row, places[left]]
                        * chances[row, others[right]]
                        * lifts[places[left], others[right]]
                    )
                    joint[left, right] = chance
                    total += chance
            if total <= 0.0:
                continue
            for left in range(held):
                for right in range(other_held):
                    counts[places[left], others[right]] += joint[left, right] / total
