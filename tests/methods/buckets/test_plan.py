"""Plans of buckets: everything placed, caps kept, and nothing used but counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mottle.guarantees.demand import allowed
from mottle.methods.buckets.plan import (
    BucketPlan,
    SensitiveValues,
    is_group,
    largest_bucket,
    make_plan,
    others_given_away,
)


def values_of(caps, profiles=None, codes=None, least=1) -> SensitiveValues:
    caps = np.asarray(caps, float)
    codes = np.arange(len(caps), dtype=np.int32)[:, None] if codes is None else codes
    return SensitiveValues(
        codes, caps, np.empty((len(codes), 0)) if profiles is None else profiles, least
    )


def check(counts, values: SensitiveValues, buckets: int) -> None:
    plan = make_plan(np.array(counts, np.int64), values, buckets)
    placed = plan.group + sum(table.sum(axis=1) for table in plan.tables)
    assert placed.tolist() == list(counts)
    assert is_group(plan.group, values)
    for table in plan.tables:
        assert (table >= 0).all()
        assert len(set(table.sum(axis=0).tolist())) == 1
        for attribute in range(values.sensitive_codes.shape[1]):
            for code in set(values.sensitive_codes[:, attribute].tolist()):
                holding = (
                    (table[values.sensitive_codes[:, attribute] == code] > 0).any(axis=0).sum()
                )
                assert holding <= allowed(values.caps, table.shape[1])[code]


@given(
    st.lists(st.integers(0, 60), min_size=2, max_size=20).filter(lambda c: sum(c) > 0),
    st.integers(2, 6),
    st.integers(0, 100),
    st.booleans(),
)
def test_diverse_blocks_are_planned_whole(counts, diversity, seed, known):
    if max(counts) > sum(counts) // diversity:
        counts = [*counts, *[max(counts)] * diversity]
    profiles = np.random.default_rng(seed).normal(size=(len(counts), 3)) if known else None
    check(counts, values_of(np.full(len(counts), 1 / diversity), profiles), diversity)


@given(st.lists(st.integers(1, 60), min_size=2, max_size=12), st.floats(0, 5))
def test_likeness_is_planned_whole(counts, beta):
    share = np.array(counts) / sum(counts)
    caps = np.minimum((1 + beta) * share, 1)
    buckets = max(2, int(np.ceil(1 / caps.min() - 1e-9)))
    check(counts, values_of(caps), buckets)


@given(st.lists(st.integers(1, 9), min_size=9, max_size=9))
def test_several_columns_keep_the_caps_of_each(counts):
    first, second = np.divmod(np.arange(9), 3)
    codes = np.stack([np.arange(9), 9 + first, 12 + second], axis=1).astype(np.int32)
    total = sum(counts)
    by_column = [np.bincount(c, counts) / total for c in (first, second)]
    caps = np.concatenate([np.ones(9), *[np.minimum(1.5 * c, 1) for c in by_column]])
    buckets = max(2, int(np.ceil(1 / caps.min() - 1e-9)))
    check(counts, values_of(caps, codes=codes), buckets)


def test_all_values_equally_frequent_leave_nothing_over():
    plan = make_plan(np.full(6, 50), values_of(np.full(6, 1 / 3)), 3)
    assert len(plan.tables) == 1
    assert plan.tables[0].sum() == 300
    assert plan.group.sum() == 0


def test_a_value_at_its_very_cap_has_a_bucket_to_itself():
    plan = make_plan(np.array([40, 20, 20, 15, 25]), values_of(np.full(5, 1 / 3)), 3)
    table = plan.tables[0]
    (bucket,) = np.flatnonzero(table[0])
    assert np.flatnonzero(table[:, bucket]).tolist() == [0]


def test_values_that_live_in_different_places_share_buckets():
    """Two values of the north, two of the south: a bucket of each makes buckets alike."""
    profiles = np.array([[1.0], [1.0], [-1.0], [-1.0]])
    plan = make_plan(np.full(4, 100), values_of(np.full(4, 0.5), profiles), 2)
    (table,) = plan.tables
    for bucket in range(2):
        inside = np.flatnonzero(table[:, bucket])
        assert profiles[inside].sum() == pytest.approx(0)


def test_a_plain_group_has_the_least_size():
    values = values_of(np.full(4, 1 / 2), least=5)
    for counts in ([3, 3, 3, 2], [4, 4, 4, 1], [9, 9, 1, 1]):
        plan = make_plan(np.array(counts), values, 2)
        assert plan.group.sum() == 0 or plan.group.sum() >= 5


def test_many_different_values_are_planned_quickly():
    counts = np.ones(20_000, np.int64)
    plan = make_plan(counts, values_of(np.full(20_000, 1 / 4)), 4)
    assert sum(table.sum() for table in plan.tables) + plan.group.sum() == 20_000


block_counts = st.lists(st.integers(0, 60), min_size=2, max_size=12).filter(lambda c: sum(c) > 0)


@given(block_counts, st.integers(2, 6), st.integers(0, 30))
def test_tables_are_divided_so_that_one_known_record_gives_away_few(counts, diversity, known):
    if max(counts) > sum(counts) // diversity:
        counts = [*counts, *[max(counts)] * diversity]
    values = values_of(np.full(len(counts), 1 / diversity))
    plan = make_plan(np.array(counts, np.int64), values, diversity)
    check_bounded(plan, values, known)


@given(block_counts, st.floats(0.2, 5), st.integers(0, 30))
def test_tables_whose_values_lie_in_several_buckets_are_divided_further(counts, beta, known):
    share = np.array(counts) / sum(counts)
    caps = np.clip((1 + beta) * share, 0.05, 1)
    buckets = max(2, int(np.ceil(1 / caps[share > 0].min() - 1e-9)))
    values = values_of(caps)
    check_bounded(make_plan(np.array(counts, np.int64), values, buckets), values, known)


def check_bounded(plan: BucketPlan, values: SensitiveValues, known: int) -> None:
    bounded = plan.bounded(values, known)
    assert bounded.group.tolist() == plan.group.tolist()
    parts = iter(bounded.tables)
    for table in plan.tables:
        buckets, left = table.shape[1], table.copy()
        sizes = []
        while left.any():
            part = next(parts)
            assert part.shape == table.shape
            assert (part >= 0).all()
            assert len(set(part.sum(axis=0).tolist())) == 1  # its buckets are equally large
            assert not part[table == 0].any()  # every value stays in its buckets
            sizes.append(int(part[:, 0].sum()))
            spans = int((part > 0).sum(axis=1).max())
            assert sizes[-1] == 1 or others_given_away(buckets, spans, sizes[-1]) <= known
            left -= part
        assert (left == 0).all()
        assert max(sizes) - min(sizes) <= 1
    assert next(parts, None) is None


def test_a_bound_that_a_table_keeps_anyway_changes_nothing():
    values = values_of(np.full(6, 1 / 3))
    plan = make_plan(np.full(6, 50), values, 3)
    assert len(plan.bounded(values, 99).tables) == 1
    assert len(plan.bounded(values, 98).tables) == 2
    assert len(plan.bounded(values, 0).tables) == 100


@pytest.mark.parametrize(("buckets", "spans", "together"), [(2, 1, 2), (3, 1, 1), (5, 4, 5)])
def test_the_largest_bucket_is_the_largest_that_keeps_the_bound(buckets, spans, together):
    for known in range(together, 40):
        size = largest_bucket(buckets, spans, known)
        assert others_given_away(buckets, spans, size) <= known
        assert others_given_away(buckets, spans, size + 1) > known
