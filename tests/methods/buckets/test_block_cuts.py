"""Where blocks are cut: at the deepest borders, all of about the same size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mottle.guarantees.demand import Demand
from mottle.methods.buckets.block_cuts import (
    Borders,
    CutRule,
    Judge,
    Trial,
    best,
    cut_at_borders,
    cut_by,
    cut_near_borders,
    most_blocks,
)


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=300),
    st.integers(1, 40),
)
def test_blocks_cover_everything_and_are_of_about_the_same_size(depths, blocks):
    blocks = min(blocks, len(depths))
    starts = cut_at_borders(len(depths), blocks, *Borders.of(np.array(depths)))
    assert len(starts) == blocks + 1
    assert (starts[0], starts[-1]) == (0, len(depths))
    even = len(depths) / blocks
    sizes = np.diff(starts)
    assert np.all(sizes >= np.floor(0.65 * even))
    assert np.all(sizes <= np.ceil(1.5 * even))


@pytest.mark.parametrize("blocks", [2, 4, 5, 7, 12, 25, 60])
@pytest.mark.parametrize("place", [430, 500, 567])
def test_the_deepest_border_is_met_wherever_it_lies(blocks, place):
    depths = np.full(1000, 3)
    depths[place] = 0
    starts = cut_at_borders(1000, blocks, *Borders.of(depths))
    assert place in starts


def test_as_many_blocks_lie_before_a_border_as_records_ask_for():
    depths = np.full(1000, 1)
    depths[480] = 0
    starts = cut_at_borders(1000, 15, *Borders.of(depths))
    assert starts[7] == 480
    assert np.diff(starts).min() >= 65
    assert np.diff(starts).max() <= 69


def test_deeper_borders_come_before_nearer_ones():
    depths = np.full(1000, 2)
    depths[[500, 250, 750]] = 1
    depths[530] = 0
    starts = cut_at_borders(1000, 4, *Borders.of(depths))
    assert starts.tolist() == [0, 250, 530, 750, 1000]


def test_cuts_move_to_the_deepest_border_nearby_and_no_further():
    depths = np.full(1000, 1)
    depths[[30, 230, 560]] = 0  # the last one may move by 50
    starts = cut_near_borders(1000, 5, *Borders.of(depths))
    assert starts.tolist() == [0, 230, 400, 560, 800, 1000]


def test_other_ways_cut_evenly_and_between_whole_buckets():
    assert cut_by(CutRule.EVENLY, 1001, 4, 7, None).tolist() == [0, 250, 500, 750, 1001]
    assert cut_by(CutRule.WHOLE_BUCKETS, 1001, 4, 7, None).tolist() == [0, 245, 497, 749, 1001]


def trials_of(losses: dict[int, float]):
    return lambda blocks: iter([(blocks, Trial(lambda: blocks in losses, lambda: losses[blocks]))])


def test_most_blocks_are_taken_where_they_lose_nothing():
    most = most_blocks(10_000, 10)
    assert best(10_000, 10, trials_of({most: 1.01, most - 1: 0.5})) == most


def test_fewer_blocks_are_taken_where_plans_of_many_lose_more():
    losses = dict.fromkeys(range(2, 26), 1.4) | {4: 1.05}
    assert best(10_000, 100, trials_of(losses)) == 4


def test_one_block_is_left_where_all_others_lose_more_than_they_save():
    assert best(10_000, 100, trials_of(dict.fromkeys(range(2, 26), 1.4))) is None
    assert best(10_000, 100, trials_of({})) is None


def test_blocks_that_are_alike_promise_what_one_block_promises():
    values = np.tile(np.arange(10, dtype=np.int32), 400)
    demand = Demand(5, values[:, None], np.full(10, 0.2), np.full(10, 400))
    judge = Judge(demand, np.full(10, 400), 5)
    assert judge.loss([np.full(10, 100)] * 4, 4) == pytest.approx(1, abs=0.01)
    halves = [np.repeat([200, 0], 5), np.repeat([0, 200], 5)]
    assert judge.loss(halves, 4) == pytest.approx(1, abs=0.01)  # five values fill five buckets
    narrow = np.array([40, 40, 40, 40, 40, *[160] * 5])
    uneven = np.array([180, 180, 180, 180, 90, 90, 40, 30, 20, 10])
    assert judge.loss([uneven], 4) > judge.loss([narrow], 4)
