"""Order along the Hilbert curve, in any number of dimensions (FAST07 §5).

The curve is Skilling's: Programming the Hilbert Curve (AIP Conference Proceedings 707, 2004). The
libraries on PyPI work on Python integers one point at a time (hilbertcurve) or stop at 64 bits
(numpy-hilbert-curve); seven attributes at the paper's 12 bits already have keys of 84.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mottle import workers
from mottle.coding import Float64s

BITS = 12  # per dimension, as in FAST07 §6.1
_WORD = 64

Cells = NDArray[np.uint32]
Keys = NDArray[np.uint64]


def hilbert(points: Float64s, bits: int = BITS) -> NDArray[np.int64]:
    """Rows of ``points`` [n, d] (coordinates from 0 to 1) in their order along the curve.

    Equal cells keep their order. Cost O(n·d·bits + n log n).

    >>> hilbert(np.array([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0], [0.0, 1.0]]))
    array([1, 3, 2, 0])
    """
    return sort_keys(hilbert_keys(grid_cells(points, bits), bits))


def grid_cells(points: Float64s, bits: int = BITS) -> Cells:
    """The cells of a grid of 2^bits values per dimension in which the points lie."""
    cells: Cells = np.rint(points * (2**bits - 1)).astype(np.uint32)
    return cells


def hilbert_keys(cells: Cells, bits: int = BITS) -> Keys:
    """Places of ``cells`` [n, d] along the curve, as numbers of several words, highest first.

    >>> hilbert_keys(np.array([[0, 0], [0, 1], [1, 1], [1, 0]], np.uint32), bits=1).ravel()
    array([0, 1, 2, 3], dtype=uint64)
    """
    rows, dimensions = cells.shape
    keys = np.zeros((rows, max(-(-dimensions * bits // _WORD), 1)), np.uint64)
    if dimensions > 0:
        axes = np.array(cells, np.uint32, order="C")
        workers.over_rows(lambda first, last: _fill_keys(axes, bits, first, last, keys), rows)
    return keys


def sort_keys(keys: Keys) -> NDArray[np.int64]:
    """Rows by ascending key; equal keys keep their order."""
    if keys.shape[1] == 1:
        return np.argsort(keys[:, 0], kind="stable")
    return np.lexsort(keys.T[::-1])


def key_gaps(keys: Keys) -> Float64s:
    """Steps along the curve from each of the ascending ``keys`` to the next.

    In units of the highest word, and subtracted word by word before rounding: two keys of 84 bits
    that differ in the last bits would be the same float.

    >>> key_gaps(np.array([[1, 0], [1, 2**63], [3, 2**63]], np.uint64))
    array([0.5, 2. ])
    """
    gaps = np.zeros(max(len(keys) - 1, 0))
    borrow = np.zeros(len(gaps), np.uint64)
    for word in range(keys.shape[1] - 1, -1, -1):
        low, high = keys[:-1, word], keys[1:, word]
        gaps += (high - low - borrow) * 2.0 ** (-_WORD * word)  # wraps around where it borrows
        borrow = ((high < low) | ((high == low) & (borrow > 0))).astype(np.uint64)
    return gaps


@njit(cache=True, nogil=True)
def _fill_keys(axes: Cells, bits: int, first: int, last: int, keys: Keys) -> None:
    """Turn rows ``first .. last`` of ``axes`` into keys; ``axes`` is used up."""
    dimensions = axes.shape[1]
    one = np.uint32(1)
    for row in range(first, last):
        x = axes[row]
        # Inverse undo: from the top bit down, reflect or swap the lower bits as the curve turns.
        for bit in range(bits - 1, 0, -1):
            lower = np.uint32((one << np.uint32(bit)) - one)
            for axis in range(dimensions):
                if x[axis] >> np.uint32(bit) & one:
                    x[0] ^= lower
                else:
                    swapped = (x[0] ^ x[axis]) & lower
                    x[0] ^= swapped
                    x[axis] ^= swapped
        # Gray encode.
        for axis in range(1, dimensions):
            x[axis] ^= x[axis - 1]
        flips = np.uint32(0)
        for bit in range(bits - 1, 0, -1):
            if x[dimensions - 1] >> np.uint32(bit) & one:
                flips ^= np.uint32((one << np.uint32(bit)) - one)
        for axis in range(dimensions):
            x[axis] ^= flips
        # Interleave: the key's bits are the axes' top bits, then their second bits, and so on.
        place = keys.shape[1] * _WORD - dimensions * bits
        for bit in range(bits - 1, -1, -1):
            for axis in range(dimensions):
                digit = np.uint64(x[axis] >> np.uint32(bit) & one)
                keys[row, place // _WORD] |= digit << np.uint64(_WORD - 1 - place % _WORD)
                place += 1
