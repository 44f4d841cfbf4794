"""Random median cuts: an order whose pieces are boxes of random shape."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def random_cuts(
    matrix: NDArray[np.int32], sizes: NDArray[np.int64], piece: int, random: np.random.Generator
) -> NDArray[np.int64]:
    """Rows of ``matrix`` [n, d] in an order in which runs of about ``piece`` rows are similar.

    All pieces are cut in two at the median of one random attribute, repeatedly, until they have at
    most ``piece`` rows: a k-d tree with random attributes. Equal values fall to either side at
    random. Cost O(n · log n · log(n / piece)).

    >>> values = np.array([[5], [1], [4], [0]], np.int32)
    >>> order = random_cuts(values, np.array([6]), 2, np.random.default_rng(0))
    >>> sorted(values[order[:2], 0].tolist())
    [0, 1]
    """
    rows = len(matrix)
    order = random.permutation(rows)
    piece_of = np.zeros(rows, np.int64)  # by row
    pieces = 1
    while rows > pieces * piece:
        attribute = random.integers(len(sizes))
        keys = piece_of * int(sizes[attribute]) + matrix[:, attribute]
        order = order[np.argsort(keys[order], kind="stable")]
        counts = np.bincount(piece_of, minlength=pieces)
        starts = np.cumsum(counts) - counts
        rank = np.empty(rows, np.int64)
        rank[order] = np.arange(rows)
        upper_half = rank - starts[piece_of] >= counts[piece_of] // 2
        piece_of = 2 * piece_of + upper_half
        pieces *= 2
    return order[np.argsort(piece_of[order], kind="stable")]
