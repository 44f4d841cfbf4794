"""Cyclic orders of records that keep similar sets together (SET12 §4.1)."""

from __future__ import annotations

from mottle.itemsets.data import Sets
from mottle.itemsets.gray import gray_order
from mottle.itemsets.hamming import steps
from mottle.orderings._breakpoints import LONGEST, SHORTEST, segments
from mottle.orderings._tsp import shorten
from mottle.typing import Int64Array


def gray_tsp_order(
    sets: Sets,
    seed: int,
    *,
    genetic: bool = False,
    shortest: int = SHORTEST,
    longest: int = LONGEST,
) -> Int64Array:
    """The Gray order, cut into segments where neighbours are close; each segment is a short path.

    >>> from mottle.itemsets.data import ItemSets
    >>> sports = ItemSets.of(["js", "st", "jsx", "stx", "jst", "jtx"]).sets()
    >>> order = gray_tsp_order(sports, seed=1)
    >>> int(steps(sports, gray_order(sports)).sum()), int(steps(sports, order).sum())
    (12, 10)
    """
    order = gray_order(sets)
    cuts = segments(steps(sets, order), shortest, longest)
    return shorten(sets, order, cuts, seed, genetic=genetic)
