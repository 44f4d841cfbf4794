"""Orders of sets against what they are by definition: Gray codes, every way to cut, every path."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mottle.itemsets.data import NO_BITMAPS, ItemSets, Sets, bitmaps
from mottle.itemsets.gray import gray_order
from mottle.itemsets.hamming import hamming, steps
from mottle.orderings._breakpoints import feasible_bounds, segments
from mottle.orderings._tsp import shorten


def sets_of(masks: list[int], universe: int) -> Sets:
    """Records from integers: item p is the bit of value 2^(universe - 1 - p)."""
    held = [[p for p in range(universe) if mask >> (universe - 1 - p) & 1] for mask in masks]
    return Sets(
        np.concatenate([[0], np.cumsum([len(items) for items in held])]).astype(np.int64),
        np.array([item for items in held for item in items], np.int32),
        NO_BITMAPS,
        universe,
    )


def rank_in_gray_code(code: int) -> int:
    rank = 0
    while code:
        rank ^= code
        code >>= 1
    return rank


universes = st.integers(1, 9)


@given(st.data(), universes)
def test_gray_order_is_that_of_the_materialized_code(data: st.DataObject, universe: int) -> None:
    masks = data.draw(st.lists(st.integers(0, 2**universe - 1), min_size=1, max_size=60))
    order = gray_order(sets_of(masks, universe))
    ranks = np.array([rank_in_gray_code(mask) for mask in masks])
    assert np.array_equal(order, np.argsort(ranks, kind="stable"))


@given(st.data(), universes)
def test_items_may_be_put_in_any_order_of_significance(data: st.DataObject, universe: int) -> None:
    masks = data.draw(st.lists(st.integers(0, 2**universe - 1), min_size=1, max_size=40))
    significance = np.array(data.draw(st.permutations(range(universe))), np.int64)
    moved = [
        sum(
            (mask >> (universe - 1 - item) & 1) << (universe - 1 - place)
            for place, item in enumerate(significance.tolist())
        )
        for mask in masks
    ]
    ranks = np.array([rank_in_gray_code(mask) for mask in moved])
    order = gray_order(sets_of(masks, universe), significance)
    assert np.array_equal(order, np.argsort(ranks, kind="stable"))


def test_all_sets_of_six_items_in_gray_order_differ_by_one_item_each() -> None:
    masks = np.random.default_rng(1).permutation(64).tolist()
    sets = sets_of(masks, 6)
    assert steps(sets, gray_order(sets)).tolist() == [1] * 64


def test_a_hundred_thousand_items_need_no_bitmaps() -> None:
    random = np.random.default_rng(3)
    lists = [random.choice(100_000, random.integers(0, 6), replace=False) for _ in range(500)]
    data = ItemSets.of([[str(item) for item in record] for record in lists])
    order = gray_order(data.sets())
    ranks = []
    for number in range(data.records):
        held = data.items[data.starts[number] : data.starts[number + 1]]
        ranks.append(rank_in_gray_code(sum(1 << int(data.universe - 1 - item) for item in held)))
    assert sorted(order.tolist(), key=ranks.__getitem__) == order.tolist()


@given(st.lists(st.integers(0, 2**20 - 1), min_size=2, max_size=20))
def test_distance_is_the_same_on_lists_and_bitmaps(masks: list[int]) -> None:
    lists = sets_of(masks, 20)
    packed = lists._replace(words=bitmaps(lists))
    for one in range(len(masks)):
        for other in range(len(masks)):
            expected = (masks[one] ^ masks[other]).bit_count()
            assert hamming(lists, one, other) == hamming(packed, one, other) == expected


def cheapest_cuts(distances: list[int], shortest: int, longest: int) -> int | None:
    """Least sum at breakpoints over all ways to cut, tried one by one."""

    def after(start: int) -> int | None:
        left = len(distances) - start
        found = [0] if shortest <= left <= longest else []
        for size in range(shortest, min(longest, left - 1) + 1):
            rest = after(start + size)
            if rest is not None:
                found.append(rest + distances[start + size - 1])
        return min(found, default=None)

    return after(0)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=14), st.integers(1, 5), st.integers(0, 4))
def test_breakpoints_are_the_cheapest_of_all(
    distances: list[int], shortest: int, more: int
) -> None:
    longest = shortest + more
    cuts = segments(np.array(distances), shortest, longest)
    low, high = feasible_bounds(len(distances), shortest, longest)
    assert cuts[0] == 0
    assert cuts[-1] == len(distances)
    assert np.all((np.diff(cuts) >= low) & (np.diff(cuts) <= high))
    cost = sum(distances[cut - 1] for cut in cuts[1:-1])
    best = cheapest_cuts(distances, shortest, longest)
    if best is None:
        assert (low, high) != (shortest, longest)
        best = cheapest_cuts(distances, low, high)
    assert cost == best


def length(sets: Sets, path: np.ndarray) -> int:
    return sum(hamming(sets, one, other) for one, other in pairwise(path.tolist()))


@pytest.mark.parametrize("genetic", [False, True])
@settings(max_examples=25)
@given(st.data())
def test_paths_keep_their_ends_and_records_and_never_get_longer(
    genetic: bool, data: st.DataObject
) -> None:
    masks = data.draw(st.lists(st.integers(0, 255), min_size=1, max_size=40))
    sets = sets_of(masks, 8)
    order = np.array(data.draw(st.permutations(range(len(masks)))), np.int64)
    cuts = data.draw(st.sets(st.integers(1, len(masks)), max_size=3)) | {0, len(masks)}
    starts = np.array(sorted(cuts), np.int64)
    shorter = shorten(sets, order, starts, seed=1, genetic=genetic)
    for first, last in pairwise(starts.tolist()):
        before, after = order[first:last], shorter[first:last]
        assert sorted(before) == sorted(after)
        assert (before[0], before[-1]) == (after[0], after[-1])
        assert length(sets, after) <= length(sets, before)


@pytest.mark.parametrize("genetic", [False, True])
def test_short_segments_get_the_shortest_path_of_all(genetic: bool) -> None:
    random = np.random.default_rng(5)
    for _ in range(10):
        sets = sets_of(random.integers(0, 2**12, 8).tolist(), 12)
        best = min(length(sets, np.array([0, *inside, 7])) for inside in permutations(range(1, 7)))
        found = shorten(sets, np.arange(8), np.array([0, 8]), seed=2, genetic=genetic)
        assert length(sets, found) == best


def test_local_search_beats_the_genetic_algorithm_on_a_long_segment() -> None:
    random = np.random.default_rng(7)
    centres = random.integers(0, 2**40, 20)
    flips = (random.random((150, 40)) < 0.08) @ (1 << np.arange(40, dtype=np.int64))
    sets = sets_of((centres[random.integers(0, 20, 150)] ^ flips).tolist(), 40)
    order, starts = gray_order(sets), np.array([0, 150])
    local, genetic = (
        length(sets, shorten(sets, order, starts, seed=1, genetic=genetic))
        for genetic in (False, True)
    )
    assert local < genetic < length(sets, order)


def test_shortening_does_not_depend_on_the_number_of_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sets = sets_of(np.random.default_rng(1).integers(0, 2**16, 400).tolist(), 16)
    order, starts = gray_order(sets), np.arange(0, 401, 50)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("MOTTLE_THREADS", threads)
        found.append(shorten(sets, order, starts, seed=4))
    assert np.array_equal(*found)
