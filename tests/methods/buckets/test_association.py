"""What is learned from a first wave: a planted association, and no more than is there."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from bucket_worlds import published_table
from hypothesis import given
from hypothesis import strategies as st

from mottle.methods.buckets.association import Association, WaveEvidence, _permuted
from mottle.methods.buckets.cut_columns import CutColumn

COLUMNS = (
    CutColumn(0, 2, None, 0.5),
    CutColumn(1, 60, np.linspace(0, 1, 60), 0.0),
)


def people(rows: int, strength: float, low: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Codes [2, rows], and as many low values as high ones.

    ``strength``: the share of the records whose value is high exactly if the first code is 1.
    """
    random = np.random.default_rng(0)
    codes = np.stack([random.integers(0, 2, rows), random.integers(0, 60, rows)]).astype(np.int32)
    values = random.integers(0, low, rows) + low * random.integers(0, 2, rows)
    tied = random.random(rows) < strength
    values[tied] = values[tied] % low + low * codes[0, tied]
    return codes, values.astype(np.int32)


def wave_of(values: np.ndarray, buckets: int, size: int):
    """Tables of buckets, each of which holds one low value and one high value."""
    random = np.random.default_rng(1)
    pools = [random.permutation(np.flatnonzero(values % buckets == b)) for b in range(buckets)]
    tables = min(map(len, pools)) // size
    return [
        published_table(
            np.concatenate([pool[number * size : (number + 1) * size] for pool in pools]),
            values,
            buckets,
            random,
        )
        for number in range(tables)
    ]


def fitted(strength: float, buckets: int = 3, size: int = 8) -> tuple[Association, WaveEvidence]:
    codes, values = people(3000, strength, buckets)
    unknown = Association.unknown(COLUMNS, codes, np.bincount(values))
    return unknown.fitted_to_wave(codes, wave_of(values, buckets, size))


def share_of_high(association: Association, code: int) -> float:
    """Predicted share of high values among records with a first code."""
    high = association.class_of[len(association.class_of) // 2 :]
    codes = np.stack([np.full(60, code), np.arange(60)]).astype(np.int32)
    shares = association.predicted(association.indices(codes))
    return float(shares[:, high].sum(axis=1).mean())


@pytest.mark.parametrize(("buckets", "size"), [(2, 8), (3, 1), (3, 8), (6, 8), (7, 8)])
def test_a_planted_association_is_learned_from_a_wave_as_released(buckets, size):
    association, _ = fitted(0.6, buckets, size)
    assert share_of_high(association, 1) > 0.62  # truly 0.8
    assert share_of_high(association, 0) < 0.38  # truly 0.2


def test_nothing_is_learned_where_nothing_is():
    association, _ = fitted(0.0)
    assert share_of_high(association, 0) == pytest.approx(0.5, abs=0.08)
    assert share_of_high(association, 1) == pytest.approx(0.5, abs=0.08)


def test_predicted_shares_and_weights_of_records_sum_to_one():
    association, evidence = fitted(0.6)
    assert evidence.held.sum(axis=1) == pytest.approx(1)
    assert association.predicted(evidence.indices).sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert evidence.held.min() >= 0


def test_before_a_wave_everybody_has_the_shares_of_the_table():
    codes, values = people(300, 0.6)
    association = Association.unknown(COLUMNS, codes, np.bincount(values))
    shares = association.predicted(association.indices(codes))
    expected = np.bincount(values)[np.argsort(association.class_of)] / 300
    assert np.allclose(shares, expected, atol=1e-6)


def test_counts_of_nodes_teach_what_the_wave_could_not():
    codes, values = people(4000, 0.6)
    association = Association.unknown(COLUMNS, codes, np.bincount(values))
    indices, node = association.indices(codes), codes[0]
    counts = np.stack([np.bincount(values[node == side], minlength=6) for side in range(2)])
    learned = association.fitted_to_nodes(None, indices, node, np.ones(4000), counts)
    assert share_of_high(association, 1) == pytest.approx(0.5, abs=0.05)
    assert share_of_high(learned, 1) > 0.7
    sampled = association.fitted_to_nodes(None, indices[:500], node[:500], np.ones(500), counts)
    assert share_of_high(sampled, 1) > 0.65


def test_records_that_stand_for_equal_ones_teach_what_these_would():
    codes, values = people(600, 0.6)
    association = Association.unknown(COLUMNS, codes, np.bincount(values))
    indices, node = association.indices(codes), codes[0]
    counts = np.stack([np.bincount(values[node == side], minlength=6) for side in range(2)])
    every = association.fitted_to_nodes(None, indices, node, np.ones(600), counts)
    kinds, first, times = np.unique(codes, axis=1, return_index=True, return_counts=True)
    assert kinds.shape[1] < 600
    few = association.fitted_to_nodes(None, indices[first], node[first], times * 1.0, counts)
    assert few.effects == pytest.approx(every.effects, abs=1e-3)


def test_rare_values_share_a_class():
    values = np.concatenate([np.repeat(np.arange(10), 50), np.arange(10, 200)]).astype(np.int32)
    codes = np.zeros((2, len(values)), np.int32)
    association = Association.unknown(COLUMNS, codes, np.bincount(values))
    assert len(set(association.class_of[:10].tolist())) == 10
    assert len(association.prior) == association.class_of.max() + 1 == 64
    assert np.exp(association.prior).sum() == pytest.approx(1)


@given(st.integers(2, 6), st.integers(0, 10**6))
def test_permutations_are_weighed_by_their_likelihood(buckets, seed):
    fits = np.random.default_rng(seed).normal(0, 2, (buckets, buckets))
    expected, total = np.zeros((buckets, buckets)), 0.0
    for order in permutations(range(buckets)):
        chance = np.exp(sum(fits[bucket, went] for bucket, went in enumerate(order)))
        total += chance
        for bucket, went in enumerate(order):
            expected[bucket, went] += chance
    assert _permuted(fits) == pytest.approx(expected / total)


@given(st.integers(7, 9), st.integers(0, 10**6))
def test_permutations_of_many_buckets_are_weighed_approximately(buckets, seed):
    random = np.random.default_rng(seed)
    weights = _permuted(random.normal(0, 2, (buckets, buckets)))
    assert weights.sum(axis=0) == pytest.approx(1, abs=1e-3)
    assert weights.sum(axis=1) == pytest.approx(1, abs=0.05)
    order = random.permutation(buckets)
    certain = np.full((buckets, buckets), -30.0)
    certain[np.arange(buckets), order] = 0.0
    assert _permuted(certain)[np.arange(buckets), order] == pytest.approx(1, abs=1e-3)
