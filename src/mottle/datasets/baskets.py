"""Generated baskets: sets of items, some bought together, a few by nearly everybody."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mottle.itemsets.data import ItemSets
from mottle.typing import Int64Array

_HABITS_PER_ITEM = 0.05  # habits (groups of items that are bought together) for each item
_HABIT_SIZE = 4
_KEPT = 0.8  # probability that an item of a habit is bought
_POPULAR = 0.9  # exponent of Zipf's law over items and over habits


def baskets(records: int, items: int = 20_000, size: float = 10.0, seed: int = 0) -> ItemSets:
    """Generate shopping baskets: sets of items, some of which are often bought together.

    Half of a basket consists of habits, which are groups of items that come together; the other
    half consists of single items. Both follow Zipf's law.

    Parameters
    ----------
    records : int
        Number of baskets.
    items : int
        Number of different items.
    size : float
        Mean number of items that are drawn for a basket. An item that is drawn twice counts once,
        so the mean size of the sets is a little lower.
    seed : int
        The same seed generates the same baskets.

    Returns
    -------
    ItemSets
        The baskets, without labels. Items are named ``item 00001`` and so on.

    Examples
    --------
    >>> data = baskets(1000, items=200, seed=1)
    >>> data.records, data.universe, bool(5 < data.sizes.mean() < 12)
    (1000, 200, True)
    """
    random = np.random.default_rng(seed)
    habits = max(int(items * _HABITS_PER_ITEM), 1)
    members = _drawn(random, items, habits * _HABIT_SIZE).reshape(habits, _HABIT_SIZE)
    singles = random.poisson(size / 2, records)
    wholes = random.poisson(size / 2 / (_HABIT_SIZE * _KEPT), records)
    who = np.repeat(np.arange(records), wholes)
    bought = members[_drawn(random, habits, len(who))]
    kept = random.random(bought.shape) < _KEPT
    record_of = np.concatenate(
        [np.repeat(np.arange(records), singles), np.repeat(who, _HABIT_SIZE)[kept.ravel()]]
    )
    what = np.concatenate([_drawn(random, items, int(singles.sum())), bought.ravel()[kept.ravel()]])
    keys = np.unique(record_of * items + what)
    held_by, codes = np.divmod(keys, items)
    sizes = np.bincount(held_by, minlength=records)
    width = len(str(items))
    return ItemSets(
        names=pa.array([f"item {number:0{width}}" for number in range(1, items + 1)]),
        starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        items=codes.astype(np.int32),
    )


def _drawn(random: np.random.Generator, values: int, count: int) -> Int64Array:
    """Draw ``count`` numbers below ``values`` by Zipf's law; 0 is the most frequent."""
    shares = np.cumsum(np.arange(1, values + 1) ** -_POPULAR)
    drawn: Int64Array = np.searchsorted(shares, random.random(count) * shares[-1])
    return drawn
