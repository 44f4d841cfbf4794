"""The first wave: its size follows from counts alone, and what it shows is what is published."""

from __future__ import annotations

import numpy as np
import pytest
from bucket_worlds import coded, demand_of
from hypothesis import given
from hypothesis import strategies as st

from mottle import BetaLikeness, LDiversity
from mottle.assignment import assign
from mottle.guarantees.demand import Demand
from mottle.methods import MethodContext
from mottle.methods.buckets import waves
from mottle.methods.buckets.buckets import buckets
from mottle.methods.buckets.waves import published_tables, random_rank, wave_counts
from mottle.utils.csprng import Secret


def demand_for(counts, caps) -> Demand:
    values = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    return Demand(2, values[:, None], np.asarray(caps, float), np.asarray(counts))


@given(
    st.lists(st.integers(1, 4000), min_size=2, max_size=9),
    st.integers(2, 5),
    st.one_of(st.none(), st.integers(50, 600)),
)
def test_a_wave_has_the_same_share_of_every_value_and_keeps_the_caps(counts, diversity, most):
    demand = demand_for(counts, np.full(len(counts), 1 / diversity))
    taken = wave_counts(demand, demand.counts, diversity, most)
    if not taken.any():
        return
    assert taken.sum() >= max(waves._FEWEST, waves._FEWEST_PER_BUCKET * diversity)
    assert most is None or taken.sum() <= most
    shares = (taken + 1) / demand.counts  # rounded down
    assert shares.min() > taken.sum() / demand.counts.sum() - 1e-9
    assert np.all(taken <= np.ceil(waves._LARGEST_SHARE * demand.counts))
    for part in (taken, demand.counts - taken):
        assert np.all(part <= demand.allowed(int(part.sum())))


def test_the_nearer_a_value_is_to_its_cap_the_larger_the_wave():
    sizes = []
    for frequent in (6000, 10_000, 16_000, 20_000, 24_000, 33_000):
        counts = np.array([frequent, *[(100_000 - frequent) // 40] * 40])
        demand = demand_for(counts, np.full(41, 1 / 3))
        sizes.append(round(wave_counts(demand, counts, 3).sum() / 100))  # thousandths
    assert sizes == sorted(sizes)
    assert (sizes[0], sizes[-1]) == (waves._SMALLEST_SHARE * 1000, waves._LARGEST_SHARE * 1000)
    assert len(set(sizes)) > 2


def test_small_tables_have_no_wave():
    smallest = int(np.ceil(waves._FEWEST / waves._LARGEST_SHARE / 10))
    for size, has_wave in ((30, False), (smallest - 1, False), (smallest, True)):
        counts = np.full(10, size)
        taken = wave_counts(demand_for(counts, np.full(10, 0.11)), counts, 10)
        assert taken.any() == has_wave


def test_low_caps_leave_no_table_of_some_thousand_records_uncut():
    for records in (5_000, 10_000, 20_000):
        counts = np.full(40, records // 40)
        for diversity in (2, 3, 5, 10):
            demand = demand_for(counts, np.full(40, 1 / diversity))
            assert wave_counts(demand, counts, diversity).sum() >= waves._FEWEST


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30), st.integers(0, 10**6))
def test_ranks_count_records_with_the_same_value_in_random_order(values, seed):
    values = np.array(values, np.int32)
    order = np.random.default_rng(seed).permutation(len(values))
    rank = random_rank(values, order)
    seen = dict.fromkeys(values.tolist(), 0)
    for row in order.tolist():
        assert rank[row] == seen[int(values[row])]
        seen[int(values[row])] += 1


@pytest.mark.parametrize("guarantee", [LDiversity(2), LDiversity(3), BetaLikeness(1)], ids=str)
def test_tables_show_what_is_published_on_the_matches_of_every_record(guarantee):
    random = np.random.default_rng(4)
    rows = 47  # so that there is a plain group as well
    codes = coded(random.integers(0, 60, rows), random.choice(["f", "m"], rows))
    demand = demand_of(random.choice(list("aabbccddef"), rows).tolist(), guarantee)
    graph = buckets(codes, demand, MethodContext(0)).graph
    truth = assign(graph, Secret.draw(seed=5), "buckets")
    tables = list(published_tables(graph, truth, demand.values))
    assert sorted(np.concatenate([table.rows for table in tables]).tolist()) == list(range(rows))
    place = 0
    for block, table in enumerate(tables):
        assert table.buckets == graph.degrees[block]
        size = len(table.rows) // table.buckets
        published: dict[tuple[int, int], list[int]] = {}
        for position in range(place, place + len(table.rows)):
            bucket = (position - place) // size
            for original in graph.preimages(position).tolist():
                shown = demand.values[graph.members[truth[position]]]
                published.setdefault((original - place, bucket), []).append(int(shown))
        for row in range(len(table.rows)):
            for bucket in range(table.buckets):
                assert published[row, bucket] == [table.shown[row, bucket]]
        # Every record has the value that is shown in one of the buckets, the same for its bucket.
        own = demand.values[table.rows][:, None] == table.shown
        by_bucket = own.reshape(table.buckets, size, table.buckets).all(axis=1)
        assert by_bucket.any(axis=1).all()
        place += len(table.rows)
