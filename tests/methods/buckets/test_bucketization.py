"""Fills: HET's algorithms as printed, and ours, which no histogram brings above a cap."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mottle.guarantees.demand import allowed
from mottle.methods.buckets.bucketization import (
    attainable_beta,
    diverse_fill,
    diversity_for_likeness,
    fills_within_caps,
    in_proportion,
    largest_bucket_size,
    likeness_fill,
)

histograms = st.lists(st.integers(1, 40), min_size=1, max_size=12).map(np.array)


@st.composite
def eligible(draw) -> tuple[np.ndarray, np.ndarray, int]:
    """Counts, caps that the whole table keeps, and the least number of buckets."""
    counts = draw(histograms)
    share = counts / counts.sum()
    kind = draw(st.sampled_from(["diversity", "likeness", "free", "exact"]))
    if kind == "diversity":
        caps = np.full(len(counts), 1 / max(int(counts.sum()) // int(counts.max()), 1))
    elif kind == "likeness":
        caps = np.minimum((1 + draw(st.floats(0, 6))) * share, 1.0)
    elif kind == "exact":
        caps = share
    else:
        slack = st.lists(st.floats(1, 4), min_size=len(counts), max_size=len(counts))
        caps = np.minimum(np.array(draw(slack)) * share, 1.0)
    return counts, caps, draw(st.integers(1, min(int(counts.sum()), 8)))


# --------------------------------------------------------------------------------- within caps


@settings(max_examples=400)
@given(eligible())
def test_fills_hold_every_record_in_equal_buckets_within_the_caps(case):
    counts, caps, least = case
    fills = fills_within_caps(counts, caps, least)
    assert np.array_equal(sum(fill.sum(axis=1) for fill in fills), counts)
    for fill in fills:
        buckets = fill.shape[1]
        assert buckets >= least
        assert fill.min() >= 0
        assert len(set(fill.sum(axis=0).tolist())) == 1
        assert fill.sum() > 0
        assert np.all((fill > 0).sum(axis=1) <= allowed(caps, buckets))


@given(eligible(), st.integers(0, 1000))
def test_distances_change_where_values_go_but_not_what_holds(case, seed: int):
    counts, caps, least = case
    far = np.random.default_rng(seed).random((len(counts), len(counts)))
    fills = fills_within_caps(counts, caps, least, far)
    assert np.array_equal(sum(fill.sum(axis=1) for fill in fills), counts)
    for fill in fills:
        assert np.all((fill > 0).sum(axis=1) <= allowed(caps, fill.shape[1]))


def test_distant_values_share_a_bucket():
    far = np.ones((6, 6)) - np.eye(6)
    far[:3, 3:], far[3:, :3] = [[1, 1, 9], [9, 1, 1], [1, 9, 1]], 1
    far[3:, :3] = far[:3, 3:].T
    (fill,) = fills_within_caps(np.array([6, 6, 6, 4, 4, 4]), np.full(6, 1 / 3), 3, far)
    together = {tuple(np.flatnonzero(column).tolist()) for column in fill.T}
    assert together == {(0, 5), (1, 3), (2, 4)}


@given(histograms)
def test_nothing_but_pure_buckets_of_their_common_divisor_allows_no_gain_at_all(counts):
    (fill,) = fills_within_caps(counts, counts / counts.sum(), 1)
    size = int(np.gcd.reduce(counts))
    assert fill.sum(axis=0).tolist() == [size] * (int(counts.sum()) // size)
    assert np.all((fill > 0).sum(axis=0) == 1)


def test_one_value_in_exactly_one_bucket_of_l():
    counts = np.array([25, 15, 15, 15, 15, 15])
    fill, *_ = fills_within_caps(counts, np.full(6, 0.25), 4)
    assert fill.shape[1] == 4
    assert (fill[0] > 0).sum() == 1


def test_real_histograms_leave_little_over():
    occupations = [4038, 4030, 3992, 3721, 3584, 3212, 1966, 1572, 1350, 989, 912, 644, 143, 9]
    counts = np.array(occupations)
    for diversity, share in ((2, 0.002), (3, 0.01), (4, 0.04), (5, 0.13), (6, 0.04), (7, 0.07)):
        first, *_ = fills_within_caps(counts, np.full(14, 1 / diversity), diversity)
        assert first.shape[1] <= diversity + 1
        assert first.sum() >= (1 - share) * counts.sum()
    for beta in (1, 2, 3, 4, 5):
        first, *_ = fills_within_caps(counts, (1 + beta) * counts / counts.sum(), 2)
        assert first.shape[1] <= 1.15 * counts.sum() / largest_bucket_size(counts, beta)
        assert first.sum() >= 0.94 * counts.sum()


@given(st.lists(st.integers(0, 50), min_size=1, max_size=9).map(np.array), st.data())
def test_taking_in_proportion_takes_what_is_wanted_and_what_is_there(available, data):
    wanted = data.draw(st.integers(0, int(available.sum())))
    taken = in_proportion(available, wanted)
    assert taken.sum() == wanted
    assert np.all((taken >= 0) & (taken <= available))
    if available.sum():
        assert np.all(np.abs(taken - available * wanted / available.sum()) < 1)


def test_ten_billion_records_are_shared_out_without_overflow():
    taken = in_proportion(np.array([9_000_000_000, 1_000_000_000]), 5_000_000_000)
    assert taken.tolist() == [4_500_000_000, 500_000_000]


# ------------------------------------------------------------------------------ as in the paper


@given(histograms, st.integers(2, 6))
def test_algorithm_1_fills_l_equal_buckets_begun_by_the_most_frequent_values(counts, diversity):
    unique = -int(counts.sum()) % diversity  # the paper's dummies
    counts = np.concatenate([counts, np.ones(unique, np.int64)])
    if counts.max() * diversity > counts.sum():
        return
    fill = diverse_fill(counts, diversity)
    assert np.array_equal(fill.sum(axis=1), counts)
    assert set(fill.sum(axis=0).tolist()) == {int(counts.sum()) // diversity}
    leading = np.argsort(-counts, kind="stable")[:diversity]
    assert np.all((fill[leading] > 0).sum(axis=1) == 1)  # dominating values are never split
    assert np.all((fill[leading] > 0).sum(axis=0) == 1)


@given(histograms, st.integers(1, 40))
def test_algorithm_3_fills_one_bucket_after_the_other(counts, size):
    fill = likeness_fill(counts, size)
    assert np.array_equal(fill.sum(axis=1), counts)
    loads = fill.sum(axis=0).tolist()
    assert all(load == size for load in loads[:-1])
    assert 0 < loads[-1] <= size
    buckets = (fill > 0).sum(axis=1)
    assert attainable_beta(counts, size) == pytest.approx(size * buckets / counts - 1)
    exact = counts % size == 0
    assert np.array_equal(buckets[exact], counts[exact] // size)  # groups that fit come first


@given(histograms, st.floats(0, 5))
def test_search_of_algorithm_3_takes_the_largest_size_that_attains_beta(counts, beta):
    size = largest_bucket_size(counts, beta)
    assert attainable_beta(counts, size).max() <= beta + 1e-6
    for larger in range(size + 1, int(counts.max()) + 1):
        assert attainable_beta(counts, larger).max() > beta


@given(histograms, st.floats(0, 5))
def test_theorem_4_gives_an_l_that_covers_the_rarest_value_and_is_feasible(counts, beta):
    diversity = diversity_for_likeness(counts, beta)
    shares = counts / counts.sum()
    if diversity is not None:
        assert 1 / diversity <= (1 + beta) * shares.min() + 1e-6
        assert shares.max() <= 1 / diversity + 1e-9
    else:
        assert shares.max() * math.ceil(1 / ((1 + beta) * shares.min()) - 1e-9) > 1
