"""The iDistance order runs cluster by cluster, outwards from each centre."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mottle.orderings.hilbert import hilbert
from mottle.orderings.idistance import CENTRES, idistance


@st.composite
def point_sets(draw) -> np.ndarray:
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    points = random.random((draw(st.integers(1, 60)), draw(st.integers(1, 4))))
    return np.rint(points * 8) / 8 if draw(st.booleans()) else points


@given(point_sets(), st.integers(1, 9), st.integers(0, 99))
def test_order_holds_every_row_once_by_ascending_key(points, centres: int, seed: int):
    mapped = idistance(points, seed, centres)
    assert sorted(mapped.order.tolist()) == list(range(len(points)))
    assert (np.diff(mapped.keys[mapped.order]) >= 0).all()


@given(point_sets(), st.integers(1, 9))
def test_equal_points_have_equal_keys_and_stay_together(points, centres: int):
    mapped = idistance(points, 0, centres)
    _, which = np.unique(points, axis=0, return_inverse=True)
    for point in set(which.ravel().tolist()):
        assert len(set(mapped.keys[which.ravel() == point].tolist())) == 1
    runs = which.ravel()[mapped.order]
    assert 1 + np.count_nonzero(np.diff(runs)) == len(set(runs.tolist()))


def test_far_apart_clusters_are_not_mixed():
    random = np.random.default_rng(0)
    corners = np.array([[0, 0], [0, 1], [1, 1], [1, 0]])
    cluster = random.integers(0, 4, 8000)
    points = corners[cluster] * 0.9 + random.random((8000, 2)) * 0.1
    visited = cluster[idistance(points, 1, 64).order]
    assert np.count_nonzero(np.diff(visited)) == 3


def test_few_distinct_points_are_centres_themselves():
    points = np.repeat(np.random.default_rng(0).random((50, 3)), 20, axis=0)
    assert len(np.unique(points, axis=0)) < CENTRES
    assert idistance(points, 0).order.tolist() == hilbert(points).tolist()


def test_seed_decides_the_centres():
    points = np.random.default_rng(0).random((3000, 2))
    first, again, other = (idistance(points, seed, 32) for seed in (1, 1, 2))
    assert first.order.tolist() == again.order.tolist()
    assert first.order.tolist() != other.order.tolist()


@pytest.mark.parametrize("rows", [1, 5])
def test_points_without_dimensions_keep_their_order(rows: int):
    assert idistance(np.zeros((rows, 0)), 0).order.tolist() == list(range(rows))
