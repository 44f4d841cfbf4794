"""Orders by splits: equal records together, holders of an item together, nothing lost."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mottle.itemsets.data import ItemSets
from mottle.itemsets.hamming import steps
from mottle.orderings.item_splits import split_order

records = st.lists(st.sets(st.sampled_from("abcdef")), min_size=1, max_size=30)


@given(records, st.integers(1, 5), st.integers(0, 100))
def test_every_record_has_one_place_whatever_the_item_weights(
    lists: list[set[str]], piece: int, seed: int
) -> None:
    data = ItemSets.of(lists)
    item_weights = np.random.default_rng(seed).random(data.universe)
    order = split_order(data.sets(), np.ones(data.records, np.int32), piece, item_weights)
    assert sorted(order.tolist()) == list(range(data.records))


@given(records)
def test_equal_records_lie_together_and_keep_their_order(lists: list[set[str]]) -> None:
    data = ItemSets.of(lists)
    order = split_order(data.sets(), np.ones(data.records, np.int32), piece=1).tolist()
    shown = [frozenset(lists[record]) for record in order]
    changes = sum(one != other for one, other in pairwise(shown))
    assert changes == len(set(shown)) - 1
    for one, other in pairwise(order):
        assert lists[one] != lists[other] or one < other


def test_holders_of_the_most_even_item_make_one_half() -> None:
    lists = [["x", str(record)] if record % 2 else [str(record)] for record in range(64)]
    data = ItemSets.of(lists)
    order = split_order(data.sets(), np.ones(64, np.int32), piece=8)
    held = [int(record % 2) for record in order]
    assert held in ([0] * 32 + [1] * 32, [1] * 32 + [0] * 32)


def test_weights_decide_which_item_is_the_most_even() -> None:
    sets = ItemSets.of(["a", "a", "a", "b", "", ""]).sets()
    light, heavy = np.ones(6, np.int32), np.array([1, 1, 1, 9, 1, 1], np.int32)
    assert split_order(sets, light, piece=5).tolist() == [3, 4, 5, 0, 1, 2]
    assert split_order(sets, heavy, piece=5).tolist() == [0, 1, 2, 4, 5, 3]


def test_splits_bring_similar_records_nearer_than_the_order_of_arrival() -> None:
    random = np.random.default_rng(1)
    themes = [random.choice(60, 12, replace=False) for _ in range(8)]
    lists = [random.choice(themes[record % 8], 9, replace=False) for record in range(400)]
    sets = ItemSets.of(lists).sets()
    order = split_order(sets, np.ones(400, np.int32), piece=1)
    assert steps(sets, order).sum() < 0.7 * steps(sets, np.arange(400)).sum()
