"""Tiers: everybody in one, caps kept in each, and less to be expected lost than without."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import mottle
from mottle import BetaLikeness, Caps, Schema
from mottle.methods.buckets.plan import SensitiveValues, is_group, make_plan
from mottle.methods.buckets.tiers import Tier, edges_per_record, tiers_of


def likeness(counts: np.ndarray, beta: float) -> SensitiveValues:
    caps = np.minimum(1.0, (1 + beta) * counts / counts.sum())
    codes = np.arange(len(counts), dtype=np.int32)[:, None]
    return SensitiveValues(codes, caps, np.empty((len(counts), 0)), 2)


def planned_loss(tiers: list[Tier], values: SensitiveValues) -> float:
    return sum(make_plan(tier.counts, values, tier.buckets).loss for tier in tiers)


@given(st.lists(st.integers(1, 900), min_size=2, max_size=25), st.sampled_from([0, 0.5, 1, 3, 10]))
@example([44, 26, 138, 86, 336, 900, 206], 0.5)  # a tier takes the last of a value with it
def test_tiers_hold_everybody_within_caps(counts, beta):
    counts = np.array(counts)
    values = likeness(counts, beta)
    tiers = tiers_of(counts, values)
    assert np.array_equal(sum(tier.counts for tier in tiers), counts)
    for tier in tiers:
        assert np.all(tier.counts >= 0)
        assert tier.counts.any()
        assert is_group(tier.counts, values)
        lowest = values.caps[tier.counts > 0].min()
        assert tier.buckets * lowest >= 1 - 1e-9 or tier.buckets == tier.counts.sum()
        assert tier.buckets >= values.least


def test_rare_values_get_a_tier_with_many_buckets_and_the_others_few():
    counts = np.array([3000, 2500, 2400, 2000, 80, 20])
    values = likeness(counts, 4)
    tiers = tiers_of(counts, values)
    assert len(tiers) > 1
    assert [tier.buckets for tier in tiers] == sorted((t.buckets for t in tiers), reverse=True)
    assert tiers[0].buckets >= 100  # 1 / cap of the rarest
    assert tiers[-1].buckets < 10
    assert tiers[-1].counts[-1] == 0
    assert tiers[-1].counts.sum() > counts.sum() / 2
    without = [Tier(100, counts)]
    assert planned_loss(tiers, values) < 0.5 * planned_loss(without, values)
    assert edges_per_record(tiers) < 50 < edges_per_record(without)


def test_equal_caps_need_no_tiers():
    counts = np.array([500, 100, 80, 60, 500, 20])
    codes = np.arange(6, dtype=np.int32)[:, None]
    (tier,) = tiers_of(counts, SensitiveValues(codes, np.full(6, 0.4), np.empty((6, 0)), 2))
    assert tier.counts.tolist() == counts.tolist()
    assert tier.buckets == 3


def test_small_tables_are_not_parted():
    counts = np.array([60, 50, 40, 3])
    assert len(tiers_of(counts, likeness(counts, 3))) == 1


def test_several_columns_are_parted_by_the_lowest_cap_of_each_value():
    first, second = np.divmod(np.arange(8), 2)
    codes = np.stack([np.arange(8), 8 + first, 12 + second], axis=1).astype(np.int32)
    counts = np.array([900, 800, 900, 850, 700, 900, 12, 8])
    shares = [counts, np.bincount(first, counts), np.bincount(second, counts)]
    caps = np.concatenate([np.minimum(4 * share / counts.sum(), 1) for share in shares])
    values = SensitiveValues(codes, caps, np.empty((8, 0)), 2)
    tiers = tiers_of(counts, values)
    assert np.array_equal(sum(tier.counts for tier in tiers), counts)
    for tier in tiers:
        assert is_group(tier.counts, values)


@pytest.mark.parametrize("guarantee", [BetaLikeness(5), Caps({"rare": 0.08}, default=0.6)], ids=str)
def test_tiers_lose_less_and_pass_all_checks(guarantee, monkeypatch):
    table = mottle.datasets.population(3000, seed=4).select(["age", "sex", "education"])
    random = np.random.default_rng(1)
    illness = random.choice(["cold", "flu", "rare"], 3000, p=[0.55, 0.44, 0.01])
    table = table.append_column("illness", [illness])
    schema = Schema.of(quasi_identifying=["age", "sex", "education"], sensitive=["illness"])
    run = {"method": "buckets", "effort": 0, "seed": 1}
    parted = mottle.anonymize(table, schema, guarantee, **run)
    assert all(check.passed for check in parted.certificate.checks)
    tiers = parted.certificate.method.tiers
    assert len(tiers) == 2
    assert sum(tier["records"] for tier in tiers) == 3000
    assert mottle.audit_release(table, parted, schema=schema, guarantee=guarantee).passed
    monkeypatch.setattr("mottle.methods.buckets.tiers._FEWEST_RECORDS", 10**9)
    whole = mottle.anonymize(table, schema, guarantee, **run)
    assert len(whole.certificate.method.tiers) == 1
    assert parted.gcp < 0.9 * whole.gcp
