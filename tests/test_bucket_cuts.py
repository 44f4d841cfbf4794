"""One number of blocks for the whole table, found from stretches of it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mottle.bucket_cuts import (
    aligned_cuts,
    block_starts,
    broken_by_borders,
    choose_cut,
    tried_cuts,
    try_cuts,
)
from mottle.errors import UsageError
from mottle.guarantees import Demand, allowed


def demand_for(values: np.ndarray, diversity: int) -> Demand:
    counts = np.bincount(values, minlength=4).astype(np.int64)
    return Demand(2, values[:, None].astype(np.int32), np.full(4, 1 / diversity), counts)


@given(
    st.lists(st.integers(0, 3), min_size=8, max_size=80),
    st.lists(st.integers(1, 79), max_size=4),
    st.integers(2, 3),
)
def test_stretches_find_the_blocks_that_break_a_cap(
    values: list[int], cuts: list[int], diversity: int
) -> None:
    marks = np.array(values, np.int32)[:, None]
    rows, caps = len(values), np.full(4, 1 / diversity)
    tried = np.arange(rows // 2, 0, -1)
    ends = sorted({0, rows, *(cut for cut in cuts if cut < rows)})
    alive = np.ones(len(tried), np.bool_)
    borders = []
    for first, last in pairwise(ends):
        trial = try_cuts(marks[first:last], first, rows, tried, caps, alive)
        alive &= ~trial.violated
        borders.append(trial.borders)
    alive[broken_by_borders(np.concatenate(borders), rows, tried, caps)] = False
    for place, blocks in enumerate(tried):
        kept = all(
            np.all(np.bincount(values[first:last], minlength=4) <= allowed(caps, last - first))
            for first, last in pairwise(block_starts(rows, int(blocks)).tolist())
        )
        assert alive[place] == kept, blocks


def test_the_most_blocks_whose_buckets_hold_most_records_are_chosen() -> None:
    values = np.tile(np.arange(4), 5000)
    demand = demand_for(values, 2)
    tried = tried_cuts(demand, len(values))
    blocks = choose_cut(
        demand, len(values), tried, lambda parts: [demand.values[a:b] for a, b in parts]
    )
    assert blocks == tried[0] == len(values) // 400


def test_chunks_are_whole_blocks_and_more_chunks_than_blocks_are_refused() -> None:
    starts = block_starts(1000, 7)
    cuts = aligned_cuts(1000, 7, 3)
    assert set(cuts) <= set(starts)
    assert cuts[0] == 0
    assert cuts[-1] == 1000
    with pytest.raises(UsageError, match="blocks of 333 rows"):
        aligned_cuts(1000, 3, 4)
