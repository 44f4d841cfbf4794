"""Generated baskets: repeatable, of the size asked for, with items that come together."""

from __future__ import annotations

import numpy as np

import mottle
from mottle.loss.set_errors import Lists, item_counts, pair_counts


def test_the_same_seed_gives_the_same_baskets() -> None:
    one, same, other = (mottle.datasets.baskets(500, items=300, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.items, same.items)
    assert not np.array_equal(one.items, other.items)


def test_items_of_a_basket_are_ascending_and_distinct_and_as_many_as_asked_for() -> None:
    data = mottle.datasets.baskets(3000, items=5000, size=10, seed=1)
    assert 8 < data.sizes.mean() < 11
    held_by = np.repeat(np.arange(data.records), data.sizes)
    assert np.all(np.diff(held_by * data.universe + data.items) > 0)


def test_some_items_are_popular_and_some_come_together() -> None:
    data = mottle.datasets.baskets(5000, items=1000, seed=1)
    lists = Lists.of_originals(data.sets())
    counts = np.sort(item_counts(lists))[::-1]
    assert counts[:10].sum() > 5 * counts[200:210].sum()
    frequent = np.argsort(-item_counts(lists), kind="stable")[50:150]
    expected = counts[50:150].max() ** 2 / data.records
    assert pair_counts(lists, frequent).max() > 3 * expected
