"""BuReL: buckets as few as they can be, groups within the caps, records taken nearby."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mottle import BetaLikeness, KAnonymity, LDiversity, Schema, anonymize
from mottle.guarantees.demand import allowed
from mottle.methods.burel import bucketize, fill, halves, reallocate

histograms = st.lists(st.integers(1, 30), min_size=1, max_size=8).map(np.array)


def within(sizes: np.ndarray, caps: np.ndarray) -> bool:
    return bool(np.all(sizes <= allowed(caps, int(sizes.sum()))))


def fewest_runs(counts: np.ndarray, caps: np.ndarray) -> int:
    """All ways to cut the values, sorted by cap, into runs; the fewest that keep the caps."""
    order = np.lexsort((counts, caps))
    counts, within_caps = counts[order], allowed(caps[order], int(counts.sum()))
    for cuts in range(len(counts)):
        for inner in itertools.combinations(range(1, len(counts)), cuts):
            edges = [0, *inner, len(counts)]
            runs = itertools.pairwise(edges)
            if all(counts[first:last].sum() <= within_caps[first] for first, last in runs):
                return cuts + 1
    raise AssertionError("the table itself is not eligible")


@settings(max_examples=150)
@given(histograms, st.floats(0, 6), st.booleans())
def test_buckets_are_as_few_as_possible_and_bound_by_their_lowest_cap(counts, beta, enhanced):
    share = counts / counts.sum()
    growth = np.minimum(beta, -np.log(share)) if enhanced else beta
    caps = np.minimum((1 + growth) * share, 1.0)
    bucket_of, bucket_caps = bucketize(counts, caps)
    assert len(bucket_caps) == fewest_runs(counts, caps)
    sizes = np.bincount(bucket_of, counts).astype(int)
    assert within(sizes, bucket_caps)
    assert np.all(bucket_caps[bucket_of] <= caps + 1e-12)


def test_values_of_near_frequency_share_a_bucket():
    counts = np.array([2, 3, 4, 30, 31, 30])
    bucket_of, _ = bucketize(counts, np.minimum(4.5 * counts / counts.sum(), 1.0))
    assert bucket_of.tolist() == [0, 0, 0, 1, 1, 1]


@settings(max_examples=150)
@given(histograms, st.floats(0, 6), st.integers(1, 9))
def test_halves_keep_caps_sizes_and_every_record(counts, beta, least):
    caps = np.minimum((1 + beta) * counts / counts.sum(), 1.0)
    groups = halves(counts, caps, least)
    assert len(groups) in (0, 2)
    for group in groups:
        assert group.min() >= 0
        assert group.sum() >= least
        assert within(group, caps)
    if groups:
        assert np.array_equal(groups[0] + groups[1], counts)


def test_halves_differ_by_a_few_records_where_equal_ones_break_a_cap():
    one, other = halves(np.array([7, 7, 7]), np.full(3, 1 / 3), 2)
    assert one.tolist() == [3, 3, 3]
    assert other.tolist() == [4, 4, 4]


def test_node_that_cannot_be_halved_is_a_group():
    assert halves(np.array([1, 1, 1]), np.full(3, 1 / 3), 2) == []
    assert halves(np.array([4, 4]), np.full(2, 0.5), 5) == []


@settings(max_examples=100)
@given(histograms, st.floats(0, 6), st.integers(1, 9))
def test_leaves_of_the_tree_hold_every_record_and_cannot_be_halved(counts, beta, least):
    caps = np.minimum((1 + beta) * counts / counts.sum(), 1.0)
    groups = reallocate(counts, caps, least)
    assert np.array_equal(groups.sum(axis=0), counts)
    for group in groups:
        assert within(group, caps)
        assert halves(group, caps, least) == []


def nearest(buckets: np.ndarray, groups: np.ndarray, seeds: np.ndarray) -> list[int]:
    """`fill` as a plain search through all records still there."""
    there = set(range(len(buckets)))
    filled = []
    for group in groups:
        seed = next(seed for seed in seeds.tolist() if seed in there)
        for bucket, count in enumerate(group):
            mine = [place for place in there if buckets[place] == bucket]
            taken = sorted(mine, key=lambda place: (abs(place - seed), place))[:count]
            filled += taken
            there -= set(taken)
    return filled


@settings(max_examples=150)
@given(histograms, st.floats(0, 6), st.integers(0, 999))
def test_every_group_takes_the_records_nearest_to_its_seed(counts, beta, seed):
    groups = reallocate(counts, np.minimum((1 + beta) * counts / counts.sum(), 1.0), 2)
    random = np.random.default_rng(seed)
    buckets = random.permutation(np.repeat(np.arange(len(counts)), counts))
    found = fill(buckets, groups, np.random.default_rng(seed))
    seeds = np.random.default_rng(seed).permutation(len(buckets))
    assert found.tolist() == nearest(buckets, groups, seeds)


def test_groups_are_complete_and_k_is_kept():
    random = np.random.default_rng(0)
    table = pa.table(
        {"age": random.integers(0, 90, 400), "job": random.integers(0, 8, 400).astype(str)}
    )
    schema = Schema.of(quasi_identifying=["age"], sensitive=["job"])
    for guarantee in (BetaLikeness(2), LDiversity(4), KAnonymity(9) & BetaLikeness(2)):
        release = anonymize(table, schema, guarantee, method="burel", seed=1)
        graph = release.links.graph
        assert np.array_equal(graph.sizes, graph.degrees)
        assert graph.degrees.min() >= guarantee.degree
        assert release.certificate.method.groups == len(graph.degrees)


@pytest.mark.parametrize("beta", [1, 3])
def test_weaker_guarantees_lose_less(beta: int):
    random = np.random.default_rng(1)
    table = pa.table(
        {"age": random.integers(0, 90, 900), "job": random.integers(0, 9, 900).astype(str)}
    )
    schema = Schema.of(quasi_identifying=["age"], sensitive=["job"])
    strict = anonymize(table, schema, BetaLikeness(beta), method="burel", seed=1)
    weak = anonymize(table, schema, BetaLikeness(beta + 2), method="burel", seed=1)
    assert weak.gcp < strict.gcp
