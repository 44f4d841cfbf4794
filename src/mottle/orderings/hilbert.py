"""Order along the Hilbert curve, in any number of dimensions (FAST07 §5).

The curve is Skilling's: Programming the Hilbert Curve (AIP Conference Proceedings 707, 2004). The
libraries on PyPI work on Python integers one point at a time (hilbertcurve) or stop at 64 bits
(numpy-hilbert-curve); seven attributes at the paper's 12 bits already have keys of 84 bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mottle.typing import Float64Array, UInt32Array, UInt64Array
from mottle.utils import parallel
from mottle.utils.compiled import inner_kernel, kernel

BITS = 12  # per dimension, as in FAST07 §6.1
_WORD = 64
_POINTS_AT_ONCE = 512  # few enough that their coordinates stay in the processor's cache


def hilbert(points: Float64Array, bits: int = BITS) -> NDArray[np.int64]:
    """Rows of ``points`` [n, d] (coordinates from 0 to 1) in their order along the curve.

    Points in the same cell keep their order. Cost O(n·d·bits + n log n).

    >>> hilbert(np.array([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0], [0.0, 1.0]]))
    array([1, 3, 2, 0])
    """
    return sort_keys(hilbert_keys(grid_cells(points, bits), bits))


def grid_cells(points: Float64Array, bits: int = BITS) -> UInt32Array:
    """The cell of each point in a grid of 2^bits values per dimension."""
    cells: UInt32Array = np.rint(points * (2**bits - 1)).astype(np.uint32)
    return cells


def hilbert_keys(cells: UInt32Array, bits: int = BITS) -> UInt64Array:
    """Places of ``cells`` [n, d] along the curve, as numbers of several words, highest word first.

    >>> hilbert_keys(np.array([[0, 0], [0, 1], [1, 1], [1, 0]], np.uint32), bits=1).ravel()
    array([0, 1, 2, 3], dtype=uint64)
    """
    rows, dimensions = cells.shape
    keys = np.zeros((rows, max(-(-dimensions * bits // _WORD), 1)), np.uint64)
    if dimensions > 0:
        axes = np.ascontiguousarray(cells.T)
        parallel.over_rows(lambda first, last: _fill_keys(axes, bits, first, last, keys), rows)
    return keys


def sort_keys(keys: UInt64Array) -> NDArray[np.int64]:
    """Rows by ascending key; equal keys keep their order."""
    if keys.shape[1] == 1:
        return np.argsort(keys[:, 0], kind="stable")
    return np.lexsort(keys.T[::-1])


def key_gaps(keys: UInt64Array) -> Float64Array:
    """Distance along the curve from each of the ascending ``keys`` to the next.

    The unit is that of the highest word. Keys are subtracted word by word before rounding, because
    two keys of 84 bits that differ in the last bits only would be the same float.

    >>> key_gaps(np.array([[1, 0], [1, 2**63], [3, 2**63]], np.uint64))
    array([0.5, 2. ])
    """
    gaps = np.empty(max(len(keys) - 1, 0))
    parallel.over_rows(lambda first, last: _fill_gaps(keys, first, last, gaps), len(gaps))
    return gaps


@inner_kernel
def key_distance(keys: UInt64Array, low: int, high: int) -> float:
    """Distance along the curve from row ``low`` of ``keys`` to row ``high``, not a lower key."""
    distance = 0.0
    borrow = np.uint64(0)
    for word in range(keys.shape[1] - 1, -1, -1):
        less, more = keys[low, word], keys[high, word]
        distance += (more - less - borrow) * 2.0 ** (-_WORD * word)  # wraps around if it borrows
        borrow = np.uint64(more < less or (more == less and borrow > 0))
    return distance


@kernel
def _fill_gaps(keys: UInt64Array, first: int, last: int, gaps: Float64Array) -> None:
    for row in range(first, last):
        gaps[row] = key_distance(keys, row, row + 1)


@kernel
def _fill_keys(axes: UInt32Array, bits: int, first: int, last: int, keys: UInt64Array) -> None:
    """Turn columns ``first .. last`` of ``axes`` [d, n] into keys.

    Each step handles many points at once and has no branches, so that it compiles to vector
    instructions for several points.
    """
    for start in range(first, last, _POINTS_AT_ONCE):
        end = min(start + _POINTS_AT_ONCE, last)
        points = axes[:, start:end].copy()  # contiguous in memory
        _undo(points, bits)
        _gray_encode(points, bits)
        _interleave(points, bits, keys[start:end])


@inner_kernel
def _undo(points: UInt32Array, bits: int) -> None:
    """Skilling's "inverse undo": from the top bit down, reflect or swap the lower bits."""
    for bit in range(bits - 1, 0, -1):
        lower = (np.uint32(1) << np.uint32(bit)) - np.uint32(1)
        first = points[0]
        for point in range(first.size):
            first[point] ^= lower * (first[point] >> np.uint32(bit) & np.uint32(1))
        for axis in range(1, points.shape[0]):
            _reflect_or_swap(first, points[axis], bit, lower)


@inner_kernel
def _reflect_or_swap(first: UInt32Array, other: UInt32Array, bit: int, lower: np.uint32) -> None:
    """Where ``other`` has the bit, reflect the lower bits of ``first``; else swap the two's."""
    for point in range(first.size):
        is_set = np.uint32(0) - (other[point] >> np.uint32(bit) & np.uint32(1))  # all ones or none
        swapped = (first[point] ^ other[point]) & lower & ~is_set
        first[point] ^= swapped | (lower & is_set)
        other[point] ^= swapped


@inner_kernel
def _gray_encode(points: UInt32Array, bits: int) -> None:
    dimensions, count = points.shape
    for axis in range(1, dimensions):
        for point in range(count):
            points[axis, point] ^= points[axis - 1, point]
    flips = np.zeros(count, np.uint32)
    for bit in range(bits - 1, 0, -1):
        lower = (np.uint32(1) << np.uint32(bit)) - np.uint32(1)
        for point in range(count):
            is_set = points[dimensions - 1, point] >> np.uint32(bit) & np.uint32(1)
            flips[point] ^= lower * is_set
    for axis in range(dimensions):
        for point in range(count):
            points[axis, point] ^= flips[point]


@inner_kernel
def _interleave(points: UInt32Array, bits: int, keys: UInt64Array) -> None:
    """Write the keys: the bits of a key are the axes' top bits, then their second bits, etc."""
    dimensions, count = points.shape
    words = np.zeros(count, np.uint64)
    digits_left = dimensions * bits
    for bit in range(bits - 1, -1, -1):
        for axis in range(dimensions):
            for point in range(count):
                digit = np.uint64(points[axis, point] >> np.uint32(bit) & np.uint32(1))
                words[point] = (words[point] << np.uint64(1)) | digit
            digits_left -= 1
            if digits_left % _WORD == 0:
                for point in range(count):
                    keys[point, keys.shape[1] - 1 - digits_left // _WORD] = words[point]
                    words[point] = 0
