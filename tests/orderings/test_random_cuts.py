"""Random median cuts: a permutation whose pieces are local."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mottle.orderings.random_cuts import random_cuts


@settings(deadline=None)
@given(st.integers(1, 200), st.integers(1, 4), st.integers(1, 50), st.integers(0, 2**32 - 1))
def test_every_row_appears_once(rows: int, columns: int, piece: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    matrix = random.integers(0, 7, (rows, columns)).astype(np.int32)
    order = random_cuts(matrix, np.full(columns, 7), piece, random)
    assert sorted(order.tolist()) == list(range(rows))


def test_pieces_are_much_smaller_boxes_than_random_ones() -> None:
    random = np.random.default_rng(1)
    matrix = random.integers(0, 1000, (4096, 3)).astype(np.int32)

    def extent(order: np.ndarray) -> float:
        return float(np.ptp(matrix[order].reshape(64, 64, 3), axis=1).mean())

    cuts = [extent(random_cuts(matrix, np.full(3, 1000), 64, random)) for _ in range(10)]
    assert np.mean(cuts) < 0.5 * extent(random.permutation(4096))
