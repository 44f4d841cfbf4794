"""Dealing a block's records over regions is dealing them by lot, and every seat is taken once."""

from __future__ import annotations

from collections import defaultdict
from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare, hypergeom

from mottle.methods.buckets.partitioned.seating import deal_out, seat
from mottle.methods.buckets.plan import Values, make_plan
from mottle.utils.csprng import Secret


@pytest.mark.parametrize(("good", "bad", "sample"), [(7, 5, 6), (300, 500, 200), (1, 9, 9)])
def test_what_a_region_gives_is_drawn_as_lots_would(good, bad, sample):
    draws = 4000
    quotas = np.tile([good, bad], (draws, 1))
    counts = np.array([[sample] * draws, [good + bad - sample] * draws])
    dealt = deal_out(Secret.draw(seed=3), quotas, counts)
    assert np.array_equal(dealt.sum(axis=0), quotas)
    assert np.array_equal(dealt.sum(axis=2), counts)
    taken = dealt[0, :, 0]
    likely = [n for n in range(sample + 1) if hypergeom.pmf(n, good + bad, good, sample) > 2e-3]
    observed = [np.sum(taken == number) for number in likely]
    expected = hypergeom.pmf(likely, good + bad, good, sample) * draws
    observed.append(draws - sum(observed))
    expected = np.append(expected, draws - expected.sum())
    wide = expected > 1
    scale = np.array(observed)[wide].sum() / expected[wide].sum()
    assert chisquare(np.array(observed)[wide], expected[wide] * scale).pvalue > 1e-4


def test_large_numbers_are_drawn_around_their_mean():
    dealt = deal_out(
        Secret.draw(seed=1),
        np.array([[4 * 10**9, 6 * 10**9]]),
        np.array([[5 * 10**8], [95 * 10**8]]),
    )
    assert abs(int(dealt[0, 0, 0]) - 2 * 10**8) < 10**5


@settings(max_examples=40)
@given(
    st.integers(0, 10**6),
    st.lists(st.integers(1, 599), max_size=4),
    st.lists(st.integers(150, 450), max_size=2),
    st.integers(30, 400),
)
def test_every_row_has_one_seat_and_buckets_of_a_chunk_are_equally_full(
    seed, cuts, cut_blocks, largest
):
    rows, buckets = 600, 3
    random = np.random.default_rng(seed)
    values = random.integers(0, 6, rows).astype(np.int32)
    values.sort()  # regions differ as much as they can
    values = values[np.argsort(np.arange(rows) % 7 * 100 + random.random(rows), kind="stable")]
    regions = np.array(sorted({0, rows, *cuts}))
    starts = np.array(sorted({0, rows, *cut_blocks}))
    marks = np.arange(6, dtype=np.int32)[:, None]
    known = Values(marks, np.full(6, 0.6), np.empty((6, 0)), 2)
    totals = [np.bincount(values[a:b], minlength=6) for a, b in pairwise(starts)]
    plans = [make_plan(total, known, buckets) for total in totals]
    counts = []
    for a, b in pairwise(regions):
        pieces = [(n, max(a, f), min(b, g)) for n, (f, g) in enumerate(pairwise(starts))]
        counts.append([(n, np.bincount(values[f:g], minlength=6)) for n, f, g in pieces if f < g])
    secret = Secret.draw(seed=seed)
    seating = seat(starts, plans, counts, secret, largest, 1)
    ends = [*seating.first_seats[1:].tolist(), int(1e6)]
    seats_of = defaultdict(set)  # first seats of what regions leave over of every table
    for share in chain(*seating.pieces):
        for table, levels in enumerate(share.levels):
            seats_of[share.block, table] |= {level.first_seat for level in levels}
    chunk, seats = [], []
    for number, (a, b) in enumerate(pairwise(regions)):
        tiebreak = random.permutation(b - a)
        where, which = seating.seats(number, int(a), values[a:b], tiebreak)
        chunk.append(where)
        seats.append(which)
    chunk, seats = np.concatenate(chunk), np.concatenate(seats)
    assert np.array_equal(np.unique(chunk), np.arange(1, seating.chunks))
    for number in np.unique(chunk):
        inside = seats[(chunk == number) & (seats >= 0)]
        sizes = np.split(np.bincount(inside), ends[:-1])
        assert all(len(set(table.tolist())) <= 1 for table in sizes)
    first_seat = 0
    for block, plan in enumerate(plans):
        group = values[seats == -1 - block]
        assert np.array_equal(np.bincount(group, minlength=6), plan.group)
        assert len(np.unique(chunk[seats == -1 - block])) <= 1
        for number, planned in enumerate(plan.tables):
            tables = [first_seat, *seats_of[block, number]]
            for bucket in range(planned.shape[1]):
                sitting = values[np.isin(seats, np.array(tables) + bucket)]
                assert np.array_equal(np.bincount(sitting, minlength=6), planned[:, bucket])
            first_seat += planned.shape[1]
