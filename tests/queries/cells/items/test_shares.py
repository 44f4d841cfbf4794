"""Bounds on shares of candidates agree with enumerating all candidates that give a cell."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pyarrow as pa
import pytest

from mottle.encoding.domain import Form
from mottle.queries import Condition
from mottle.queries.cells.from_set_columns import cells_of_worlds
from mottle.queries.cells.items.shares import ShareBounds
from mottle.release.cell_text import published_type

TYPE = published_type(Form.WORLDS, pa.list_(pa.string()))
ITEMS = "abc"
SETS = [frozenset(chosen) for size in range(4) for chosen in combinations(ITEMS, size)]
CONDITIONS = [
    *((Condition(values=(item,)),) for item in ITEMS),
    (Condition(values=("a",)), Condition(values=("b",))),
    (Condition(values=("a",)), Condition(values=("b",)), Condition(values=("c",))),
    (Condition(values=("a", "b")),),
    (Condition(excluded=("a",)),),
    (Condition(values=("a",)), Condition(excluded=("b",))),
    (Condition(values=("a", "b")), Condition(values=("b", "c"))),
    (Condition(known=False, missing=True),),
    (Condition(values=("a",), missing=True),),
]


def voted(candidates: tuple[frozenset[str] | None, ...]) -> tuple:
    """The cell that candidates give, by the definition of bit voting."""
    known = [one for one in candidates if one is not None]
    missing = len(known) < len(candidates)
    if not known:
        return (None, None, None, True)
    votes = {item: sum(item in one for one in known) for item in ITEMS}
    base = tuple(item for item in ITEMS if 2 * votes[item] > len(known))
    uncertain = tuple(item for item in ITEMS if 0 < votes[item] < len(known))
    return base, uncertain, max(len(one ^ set(base)) for one in known), missing


def satisfied(items: frozenset[str] | None, conditions: tuple[Condition, ...]) -> bool:
    if items is None:
        return all(condition.missing for condition in conditions)
    return all(
        condition.known
        and (condition.values is None or bool(items & set(condition.values)))
        and not items & set(condition.excluded)
        for condition in conditions
    )


@pytest.mark.parametrize("degrees", [(2, 2), (3, 3), (4, 4), (2, 4)])
def test_no_candidates_that_give_a_cell_lie_outside_its_bounds(degrees: tuple[int, int]):
    behind: dict[tuple, list[tuple]] = {}
    for degree in range(degrees[0], degrees[1] + 1):
        for candidates in combinations_with_replacement([*SETS, None], degree):
            behind.setdefault(voted(candidates), []).append(candidates)
    fields = ("base", "uncertain", "distance", "missing")
    published = pa.array([dict(zip(fields, cell, strict=True)) for cell in behind], TYPE)
    cells = cells_of_worlds("x", published)
    for conditions in CONDITIONS:
        found = cells.candidate_shares(conditions, ShareBounds(*degrees))
        low, high = found.low[cells.of_row], found.high[cells.of_row]
        for place, (cell, possible) in enumerate(behind.items()):
            shares = [
                sum(satisfied(one, conditions) for one in candidates) / len(candidates)
                for candidates in possible
            ]
            assert low[place] <= min(shares) + 1e-12
            assert max(shares) <= high[place] + 1e-12
            if conditions == CONDITIONS[0] and degrees[0] == degrees[1] and _is_free(cell):
                assert (low[place], high[place]) == pytest.approx((min(shares), max(shares)))


def _is_free(cell: tuple) -> bool:
    """Whether nothing but the votes on the item restricts its holders: no other is uncertain."""
    return not cell[3] and len(cell[1]) <= 1


def test_an_item_that_more_than_half_hold_counts_for_more_than_half():
    bounds = ShareBounds(10, 10)
    cell = {"base": ["a"], "uncertain": ["a", "b"], "distance": 2, "missing": False}
    cells = cells_of_worlds("x", pa.array([cell], TYPE))
    in_base = cells.candidate_shares((Condition(values=("a",)),), bounds)
    outside = cells.candidate_shares((Condition(values=("b",)),), bounds)
    assert (in_base.low[0], in_base.high[0]) == pytest.approx((0.6, 0.9))
    assert (outside.low[0], outside.high[0]) == pytest.approx((0.1, 0.5))


def test_absurd_numbers_of_candidates_give_no_absurd_shares():
    cell = {"base": ["a"], "uncertain": ["a", "b"], "distance": 1, "missing": True}
    cells = cells_of_worlds("x", pa.array([cell], TYPE))
    for least, most in product((1, 2, 10**15), (2, 3, 10**15)):
        found = cells.candidate_shares((Condition(values=("a",)),), ShareBounds(least, most))
        assert np.all((found.low >= 0) & (found.low <= found.high) & (found.high <= 1))
