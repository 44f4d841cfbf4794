"""What a cut of a node gains: how much narrower the boxes of its halves are than its own.

Two things make boxes wide. Values go with the column, so that buckets do not hold the same codes:
that part of the loss counts in full. And records differ; most of that part is avoided by matching
similar ones, the more the more there are, and ``density`` is what is left of it.
"""

from __future__ import annotations

import numpy as np

from mottle.typing import BoolArray, Float64Array, Int64Array
from mottle.utils.compiled import inner_kernel, kernel


def gains_by_prefix(
    starts: Int64Array,
    held: Int64Array,
    weight: Float64Array,
    position: Float64Array,
    ordered: BoolArray,
    step: Float64Array,
    wanted: BoolArray,
    density: float,
) -> Float64Array:
    """What cuts after each of the codes of some columns gain; 0 where it is not ``wanted``.

    The codes of column c are ``starts[c] .. starts[c + 1] - 1``, in the order in which cuts take
    them. ``held`` [codes]: records; ``weight`` [codes, classes]: predicted; ``position`` [codes] of
    ordered columns, ``step`` of others.
    """
    gains = np.zeros(len(held))
    _set_gains(starts, held, weight, position, ordered, step, wanted, density, gains)
    return gains


def gains_by_code(
    starts: Int64Array,
    column: Int64Array,
    code: Int64Array,
    held: Int64Array,
    weight: Float64Array,
    step: Float64Array,
    density: float,
) -> Float64Array:
    """What it gains to cut off each of some codes of unordered columns.

    ``held`` [codes] and ``weight`` [codes, classes] are those of all codes, and those of column c
    are ``starts[c] .. starts[c + 1] - 1``; ``column``, ``code`` and ``step`` say which are cut off.
    """
    first, last = starts[column], starts[column + 1]
    alone = separation(held, weight, first, last, code, held[code], weight[code], step)
    squares = np.add.reduceat(held**2, starts[:-1])[column]
    everybody = np.add.reduceat(held, starts[:-1])[column]
    mine = held[code]
    rest = (squares - mine**2) / np.maximum(everybody - mine, 1)
    return np.asarray(alone + density * step * (mine + rest - squares / everybody))


def separation(
    held: Int64Array,
    weight: Float64Array,
    first: Int64Array,
    last: Int64Array,
    code: Int64Array,
    size: Int64Array,
    predicted: Float64Array,
    step: Float64Array,
) -> Float64Array:
    """How much less classes differ by an unordered column once some records of a code are apart.

    By cut: the codes of the column are ``first .. last - 1``, ``size`` records with ``code`` are
    separated, and ``predicted`` [cuts, classes] is what is predicted for these.
    """
    gains = np.zeros(len(code))
    _set_separation(held, weight, first, last, code, size, predicted, step, gains)
    return gains


@kernel
def _set_gains(
    starts: Int64Array,
    held: Int64Array,
    weight: Float64Array,
    position: Float64Array,
    ordered: BoolArray,
    step: Float64Array,
    wanted: BoolArray,
    density: float,
    gains: Float64Array,
) -> None:
    for column in range(len(starts) - 1):
        first, last = starts[column], starts[column + 1]
        in_order, each = ordered[first], step[first]
        records, places, pairs, squares = 0.0, 0.0, 0.0, 0.0
        for code in range(first, last):
            at = abs(position[code] - position[first])
            pairs += held[code] * (at * records - places)
            records += held[code]
            places += held[code] * at
            squares += held[code] * held[code]
        whole = _difference(held, weight, position, in_order, each, first, last)
        left, near, inside, equal = 0.0, 0.0, 0.0, 0.0  # the same four sums of the left half
        for code in range(first, last):
            at = abs(position[code] - position[first])
            inside += held[code] * (at * left - near)
            left += held[code]
            near += held[code] * at
            equal += held[code] * held[code]
            if not wanted[code]:
                continue
            right = max(records - left, 1.0)
            if in_order:
                between = (places - near) * left - (records - left) * near
                apart = inside / left + (pairs - inside - between) / right
                spread = 2.0 * (pairs / records - apart)
            else:
                spread = each * (equal / left + (squares - equal) / right - squares / records)
            gains[code] = (
                whole
                - _difference(held, weight, position, in_order, each, first, code + 1)
                - _difference(held, weight, position, in_order, each, code + 1, last)
                + density * spread
            )


@kernel
def _set_separation(
    held: Int64Array,
    weight: Float64Array,
    first: Int64Array,
    last: Int64Array,
    code: Int64Array,
    size: Int64Array,
    predicted: Float64Array,
    step: Float64Array,
    gains: Float64Array,
) -> None:
    rest, share = held.copy(), weight.copy()
    whole, before = 0.0, -1
    for cut in range(len(code)):
        at = code[cut]
        if first[cut] != before:
            before = first[cut]
            whole = _difference(held, weight, step, False, step[cut], first[cut], last[cut])
        rest[at] = held[at] - size[cut]
        for c in range(weight.shape[1]):
            share[at, c] = weight[at, c] - predicted[cut, c]
        gains[cut] = whole - _difference(rest, share, step, False, step[cut], first[cut], last[cut])
        rest[at] = held[at]
        share[at] = weight[at]


@inner_kernel
def _difference(
    held: Int64Array,
    weight: Float64Array,
    position: Float64Array,
    ordered: bool,
    step: float,
    first: int,
    last: int,
) -> float:
    """How far the codes of the classes are from those of all, summed over records."""
    classes = weight.shape[1]
    total, before = np.zeros(classes), np.zeros(classes)
    records = 0.0
    for code in range(first, last):
        records += held[code]
        for c in range(classes):
            total[c] += weight[code, c]
    found, passed = 0.0, 0.0
    if records == 0.0:
        return 0.0
    for code in range(first, last):
        if not ordered:
            share = held[code] / records
            for c in range(classes):
                found += step / 2 * abs(weight[code, c] - share * total[c])
        elif code < last - 1:
            passed += held[code]
            gap = abs(position[code + 1] - position[code])
            for c in range(classes):
                before[c] += weight[code, c]
                found += gap * abs(before[c] - passed / records * total[c])
    return found
