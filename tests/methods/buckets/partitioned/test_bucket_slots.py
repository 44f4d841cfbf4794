"""Slots assigned region by region are as random as over the whole block, and each row has one."""

from __future__ import annotations

from collections import defaultdict
from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare, hypergeom

from mottle.methods.buckets.partitioned.bucket_slots import assign_slots, draw_counts
from mottle.methods.buckets.plan import SensitiveValues, make_plan
from mottle.utils.csprng import Secret


@pytest.mark.parametrize(("good", "bad", "sample"), [(7, 5, 6), (300, 500, 200), (1, 9, 9)])
def test_what_a_region_gives_has_the_distribution_of_a_random_draw(good, bad, sample):
    draws = 4000
    quotas = np.tile([good, bad], (draws, 1))
    counts = np.array([[sample] * draws, [good + bad - sample] * draws])
    drawn = draw_counts(Secret.draw(seed=3), quotas, counts)
    assert np.array_equal(drawn.sum(axis=0), quotas)
    assert np.array_equal(drawn.sum(axis=2), counts)
    taken = drawn[0, :, 0]
    likely = [n for n in range(sample + 1) if hypergeom.pmf(n, good + bad, good, sample) > 2e-3]
    observed = [np.sum(taken == number) for number in likely]
    expected = hypergeom.pmf(likely, good + bad, good, sample) * draws
    observed.append(draws - sum(observed))
    expected = np.append(expected, draws - expected.sum())
    wide = expected > 1
    scale = np.array(observed)[wide].sum() / expected[wide].sum()
    assert chisquare(np.array(observed)[wide], expected[wide] * scale).pvalue > 1e-4


def test_large_numbers_are_drawn_around_their_mean():
    drawn = draw_counts(
        Secret.draw(seed=1),
        np.array([[4 * 10**9, 6 * 10**9]]),
        np.array([[5 * 10**8], [95 * 10**8]]),
    )
    assert abs(int(drawn[0, 0, 0]) - 2 * 10**8) < 10**5


@settings(max_examples=40)
@given(
    st.integers(0, 10**6),
    st.lists(st.integers(1, 599), max_size=4),
    st.lists(st.integers(150, 450), max_size=2),
    st.integers(30, 400),
)
def test_every_row_has_one_slot_and_buckets_of_a_chunk_are_equally_full(
    seed, cuts, cut_blocks, largest
):
    rows, buckets = 600, 3
    random = np.random.default_rng(seed)
    values = random.integers(0, 6, rows).astype(np.int32)
    values.sort()  # regions differ as much as they can
    values = values[np.argsort(np.arange(rows) % 7 * 100 + random.random(rows), kind="stable")]
    regions = np.array(sorted({0, rows, *cuts}))
    starts = np.array(sorted({0, rows, *cut_blocks}))
    sensitive_codes = np.arange(6, dtype=np.int32)[:, None]
    known = SensitiveValues(sensitive_codes, np.full(6, 0.6), np.empty((6, 0)), 2)
    totals = [np.bincount(values[a:b], minlength=6) for a, b in pairwise(starts)]
    plans = [make_plan(total, known, buckets) for total in totals]
    counts = []
    for a, b in pairwise(regions):
        pieces = [(n, max(a, f), min(b, g)) for n, (f, g) in enumerate(pairwise(starts))]
        counts.append([(n, np.bincount(values[f:g], minlength=6)) for n, f, g in pieces if f < g])
    secret = Secret.draw(seed=seed)
    assigned = assign_slots(starts, plans, counts, secret, largest, 1)
    ends = [*assigned.first_slots[1:].tolist(), int(1e6)]
    slots_of = defaultdict(set)  # first slots of what regions leave over of every table
    for piece in chain(*assigned.pieces):
        for table, levels in enumerate(piece.levels):
            slots_of[piece.block, table] |= {level.first_slot for level in levels}
    chunk, slots = [], []
    for number, (a, b) in enumerate(pairwise(regions)):
        tiebreak = random.permutation(b - a)
        where, which = assigned.of_region(number, int(a), values[a:b], tiebreak)
        chunk.append(where)
        slots.append(which)
    chunk, slots = np.concatenate(chunk), np.concatenate(slots)
    assert np.array_equal(np.unique(chunk), np.arange(1, assigned.chunks))
    for number in np.unique(chunk):
        inside = slots[(chunk == number) & (slots >= 0)]
        sizes = np.split(np.bincount(inside), ends[:-1])
        assert all(len(set(table.tolist())) <= 1 for table in sizes)
    first_slot = 0
    for block, plan in enumerate(plans):
        group = values[slots == -1 - block]
        assert np.array_equal(np.bincount(group, minlength=6), plan.group)
        assert len(np.unique(chunk[slots == -1 - block])) <= 1
        for number, planned in enumerate(plan.tables):
            tables = [first_slot, *slots_of[block, number]]
            for bucket in range(planned.shape[1]):
                inside = values[np.isin(slots, np.array(tables) + bucket)]
                assert np.array_equal(np.bincount(inside, minlength=6), planned[:, bucket])
            first_slot += planned.shape[1]
