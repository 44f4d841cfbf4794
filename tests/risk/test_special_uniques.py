"""Minimal sample uniques and their scores agree with a search through all combinations."""

from __future__ import annotations

from itertools import combinations
from math import prod

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mottle.risk import special_uniques


def by_brute_force(codes: np.ndarray, largest: int) -> tuple[dict[int, int], list[float]]:
    columns, rows = codes.shape

    def single(row: int, chosen: tuple[int, ...]) -> bool:
        own = codes[list(chosen), row]
        return sum(bool(np.all(codes[list(chosen), other] == own)) for other in range(rows)) == 1

    by_size: dict[int, int] = {}
    scores = [0.0] * rows
    for size in range(1, min(largest, columns) + 1):
        by_size[size] = 0
        for chosen in combinations(range(columns), size):
            for row in range(rows):
                parts = [part for part in combinations(chosen, size - 1) if part]
                if single(row, chosen) and not any(single(row, part) for part in parts):
                    by_size[size] += 1
                    top = min(largest, columns - 1)
                    scores[row] += prod(columns - i for i in range(size, top + 1))
    return by_size, scores


@given(
    st.integers(1, 4).flatmap(
        lambda columns: st.lists(
            st.lists(st.integers(0, 2), min_size=columns, max_size=columns), min_size=1, max_size=9
        )
    ),
    st.integers(1, 4),
)
def test_uniques_and_scores_are_those_of_brute_force(rows: list[list[int]], largest: int):
    codes = np.array(rows, np.int64).T
    found = special_uniques(codes, [f"c{place}" for place in range(len(codes))], largest)
    assert (found.by_size, found.scores.tolist()) == by_brute_force(codes, largest)


def test_columns_contribute_by_the_combinations_they_are_in():
    """Row 0 is alone by its first column; rows 1 and 2 need both."""
    codes = np.array([[0, 1, 1, 2, 2], [0, 0, 1, 1, 1]])
    found = special_uniques(codes, ["a", "b"])
    assert found.by_size == {1: 1, 2: 2}
    assert found.contributions == {"a": 1.0, "b": 2 / 3}
    assert found.scores.tolist() == [1, 1, 1, 0, 0]


def test_sizes_that_take_too_much_work_are_left_out():
    codes = np.zeros((6, 100), np.int64)
    found = special_uniques(codes, list("abcdef"), 3, work=2500)
    assert found.largest == 2
    assert found.rows == 0
