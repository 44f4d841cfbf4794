"""What a cut of a node gains: how much narrower the boxes of its halves are than its own."""

from __future__ import annotations

import numpy as np

from mottle.typing import Float64Array
from mottle.utils.compiled import inner_kernel, kernel

_UNORDERED: Float64Array = np.zeros(0)  # positions of a column without an order


def gain_by_prefix(
    held: Float64Array,
    weight: Float64Array,
    positions: Float64Array | None,
    step: float,
    density: float,
) -> Float64Array:
    """What cuts after each of the codes gain.

    Two things make boxes wide. Values go with the column, so that buckets do not hold the same
    codes: that part of the loss counts in full. And records differ; most of that part is avoided
    by matching similar ones, the more the more there are, and ``density`` is what is left of it.

    ``held`` [codes]: records; ``weight`` [codes, classes]: predicted; ``positions`` [codes] of an
    ordered column, ``step`` of others.
    """
    gains = np.zeros(len(held))
    _set_gains(held, weight, _UNORDERED if positions is None else positions, step, gains)
    if positions is None:
        spread = step * unordered_gain(np.cumsum(held), np.cumsum(held**2), held)
    else:
        spread = np.append(ordered_gain(positions, held), 0.0)
    return np.asarray(gains + density * spread)


def gain_by_code(
    held: Float64Array, weight: Float64Array, step: float, density: float
) -> Float64Array:
    """What it gains to cut off each code of an unordered column; see `gain_by_prefix`."""
    gains: Float64Array = density * step * unordered_gain(held, held**2, held)
    for code in range(len(held)):
        alone = slice(code, code + 1)
        add_separation(held, weight, code, held[alone], weight[alone], step, gains[alone])
    return gains


@kernel
def _set_gains(
    held: Float64Array,
    weight: Float64Array,
    positions: Float64Array,
    step: float,
    gains: Float64Array,
) -> None:
    """Set how much less classes differ by the column inside the halves than in the whole."""
    size = len(held)
    whole = _difference(held, weight, positions, step, 0, size)
    for end in range(1, size + 1):
        left = _difference(held, weight, positions, step, 0, end)
        gains[end - 1] = whole - left - _difference(held, weight, positions, step, end, size)


@kernel
def add_separation(
    records: Float64Array,
    predicted: Float64Array,
    code: int,
    size: Float64Array,
    weight: Float64Array,
    step: float,
    gains: Float64Array,
) -> None:
    """Add how much less classes differ by a column once some records of a code are separated."""
    unordered = np.zeros(0)
    whole = _difference(records, predicted, unordered, step, 0, len(records))
    rest, share = records.copy(), predicted.copy()
    for place in range(len(size)):
        rest[code] = records[code] - size[place]
        share[code] = predicted[code] - weight[place]
        gains[place] += whole - _difference(rest, share, unordered, step, 0, len(rest))


@inner_kernel
def _difference(
    held: Float64Array,
    weight: Float64Array,
    positions: Float64Array,
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
        if positions.size == 0:
            share = held[code] / records
            for c in range(classes):
                found += step / 2 * abs(weight[code, c] - share * total[c])
        elif code < last - 1:
            passed += held[code]
            gap = abs(positions[code + 1] - positions[code])
            for c in range(classes):
                before[c] += weight[code, c]
                found += gap * abs(before[c] - passed / records * total[c])
    return found


def ordered_gain(positions: Float64Array, records: Float64Array) -> Float64Array:
    """By cut: how much the expected distance of two records of a half shrinks, over all records.

    >>> ordered_gain(np.array([0.0, 1.0]), np.array([2.0, 2.0]))
    array([2.])
    """
    positions = np.abs(positions - positions[0])
    size, places = np.cumsum(records), np.cumsum(records * positions)
    pairs = np.cumsum(records * (positions * (size - records) - (places - records * positions)))
    total, everybody, all_places = pairs[-1], size[-1], places[-1]
    size, places, pairs = size[:-1], places[:-1], pairs[:-1]
    between = (all_places - places) * size - (everybody - size) * places
    after = pairs / size + (total - pairs - between) / (everybody - size)
    return np.asarray(2 * (total / everybody - after))


def unordered_gain(
    sizes: Float64Array, squares: Float64Array, records: Float64Array
) -> Float64Array:
    """By cut: how much the chance that two records of a half differ shrinks, over all records.

    ``sizes``: records in the left half; ``squares``: sum of the squares of its codes' records.

    >>> unordered_gain(np.array([2.0]), np.array([4.0]), np.array([2.0, 2.0]))
    array([2.])
    """
    everybody, total = records.sum(), float((records**2).sum())
    other = np.maximum(everybody - sizes, 1)
    return np.asarray(squares / sizes + (total - squares) / other - total / everybody)
