"""The assignment kernel against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from mottle.kernels.linear_assignment import match_rows
from mottle.kernels.ncp_growth import FORBIDDEN


def solve(cost: NDArray[np.float64]) -> NDArray[np.int32]:
    size = len(cost)
    column_of = np.empty(size, np.int32)
    match_rows(cost, size, column_of, np.empty((5, size), np.int32), np.empty((2, size)))
    return column_of


def check_cheapest(cost: NDArray[np.float64]) -> None:
    size = len(cost)
    column_of = solve(cost)
    assert sorted(column_of.tolist()) == list(range(size))
    rows, columns = linear_sum_assignment(cost)
    assert cost[np.arange(size), column_of].sum() == pytest.approx(cost[rows, columns].sum())


@settings(deadline=None, max_examples=300)
@given(st.integers(1, 12), st.integers(0, 2**32 - 1), st.sampled_from(["real", "ties", "sparse"]))
def test_matching_costs_what_the_cheapest_costs(size: int, seed: int, kind: str) -> None:
    random = np.random.default_rng(seed)
    cost = random.random((size, size))
    if kind == "ties":
        cost = np.floor(3 * cost)
    if kind == "sparse":
        cost[random.random((size, size)) < 0.4] = FORBIDDEN
    check_cheapest(cost)


@pytest.mark.parametrize("size", [50, 150, 300])
def test_large_matrices_with_many_equal_costs_are_solved(size: int) -> None:
    random = np.random.default_rng(size)
    check_cheapest(
        random.integers(0, 5, (size, size)) / 10 + random.integers(0, 20, (size, size)) / 73
    )


def test_forbidden_edges_are_avoided_where_a_perfect_matching_exists() -> None:
    random = np.random.default_rng(7)
    size = 60
    cost = random.random((size, size))
    for shift in range(size - 2):  # leave two disjoint permutations
        cost[np.arange(size), (np.arange(size) + shift) % size] = FORBIDDEN
    column_of = solve(cost)
    assert cost[np.arange(size), column_of].max() < FORBIDDEN


def test_scratch_space_may_be_larger_than_the_matrix() -> None:
    cost = np.random.default_rng(1).random((10, 10))
    column_of = np.empty(10, np.int32)
    match_rows(cost, 4, column_of, np.empty((5, 10), np.int32), np.empty((2, 10)))
    assert sorted(column_of[:4].tolist()) == [0, 1, 2, 3]
    rows, columns = linear_sum_assignment(cost[:4, :4])
    assert cost[np.arange(4), column_of[:4]].sum() == pytest.approx(cost[rows, columns].sum())
