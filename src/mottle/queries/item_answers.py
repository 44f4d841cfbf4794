"""Counts of records by the items of their sets: narrower bounds, and errors as the release says.

Bounds of single records add up to wide ones, because each uncertain record counts as 0 or 1. The
graph says more: what is counted over originals is the sum of shares of candidates, and votes bound
these shares (`mottle.queries.cells.items.shares`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from mottle.queries.cells.cells import IMPOSSIBLE
from mottle.queries.cells.item_cells import BELOW_ONE, ItemCells
from mottle.queries.cells.items.asked import MOST_CONDITIONS, items_below_nodes
from mottle.queries.cells.items.shares import CellShares, all_of
from mottle.queries.conditions import Conditions
from mottle.typing import BoolArray, Int64Array

if TYPE_CHECKING:
    from mottle.queries.engine import Queries

ROUNDING = 1e-6  # of sums of shares; true counts are whole numbers


def asks_items(queries: Queries, conditions: Mapping[str, Conditions]) -> bool:
    """Tell whether a query has conditions on the items of sets."""
    return any(isinstance(queries.column(name), ItemCells) for name in conditions)


def narrowed(
    queries: Queries,
    conditions: Mapping[str, Conditions],
    answer: tuple[float, float, float, float],
) -> tuple[float, float, float, float]:
    """Return a count with bounds by shares of candidates, and with the error that is stated.

    Parameters
    ----------
    queries : Queries
        The release, prepared for queries.
    conditions : mapping of str to tuple of Condition
        Conditions by column; at least one is on the items of sets.
    answer : tuple of float
        Expected, certain and possible count and error, from records taken singly.

    Returns
    -------
    tuple of float
        The same parts.
    """
    own, elsewhere = queries.split_conditions(conditions)
    bounds = None
    if queries.shares is not None and not elsewhere:
        bounds = _bounds(queries, own)
    return _combined(queries, own, answer, bounds)


def count_all_of(
    queries: Queries, conditions: Mapping[str, Conditions]
) -> tuple[float, float, float, float] | None:
    """Return how many sets hold all of some items, as `narrowed` does; None for other questions.

    Looks only at cells that name all of the items, which are few where there are many items.
    """
    if len(conditions) != 1 or queries.shares is None:
        return None
    ((name, wanted),) = conditions.items()
    cells = queries.column(name)
    if not isinstance(cells, ItemCells) or cells.item_chances is None:
        return None
    items = _all_of(cells, wanted)
    if items is None:
        return None
    naming = reduce(
        lambda one, other: np.intersect1d(one, other, assume_unique=True),
        [
            np.sort(np.concatenate([cells.base.naming(item), cells.doubtful_rest.naming(item)]))
            for item in items
        ],
    )
    rows, distance, missing = cells.rows[naming], cells.distance[naming], cells.missing[naming]
    outside = np.zeros(len(naming), np.int64)
    sure = ~missing
    held = {True: np.ones(len(naming)), False: np.ones(len(naming))}  # by the far one, and others
    parts = []
    for item in items:
        based = _among(naming, cells.base.naming(item))
        doubtful = ~based | _among(naming, cells.doubtful_base.naming(item))
        outside += ~based
        sure &= based & (~doubtful | (distance == 0))
        flip = np.where(
            based, 1 - cells.item_chances.in_base[item], cells.item_chances.outside[item]
        )
        for far, product in held.items():
            flips = cells.item_chances.flips(flip, naming, far=far)
            product *= np.where(doubtful, np.where(based, 1 - flips, flips), 1.0)
        parts.append(
            CellShares.of_item(
                queries.shares, based, doubtful, cells.uncertain[naming], distance, missing
            )
        )
    possible = outside <= distance
    far_share = cells.item_chances.far_share
    likely = np.minimum(far_share * held[True] + (1 - far_share) * held[False], BELOW_ONE)
    likely *= 1 - cells.missing_chances[naming]
    likely = np.where(sure, 1.0, np.where(possible, np.maximum(likely, 0.0), 0.0))
    shares = all_of(parts, len(naming))
    low = float(rows @ np.where(sure, 1.0, np.where(possible, shares.low, 0.0)))
    high = float(rows @ np.where(possible, np.where(sure, 1.0, shares.high), 0.0))
    expected = float(rows @ likely)
    answer = (
        expected,
        float(rows @ sure),
        float(rows @ possible),
        math.sqrt(max(expected - float(rows @ likely**2), 0.0)),
    )
    return _combined(queries, conditions, answer, _whole(low, high))


def _all_of(cells: ItemCells, conditions: Conditions) -> list[int] | None:
    """The items that conditions ask for all of; None if they ask for anything else."""
    items = []
    for condition in conditions:
        plain = condition.known and not (condition.missing or condition.excluded)
        if not plain or condition.has_range or len(condition.values or ()) != 1:
            return None
        place = cells.items.place_of.get(str((condition.values or ("",))[0]))
        if place is None:
            return None
        items.append(place)
    return sorted(set(items)) if len(items) <= MOST_CONDITIONS else None


def _among(cells: Int64Array, some: Int64Array) -> BoolArray:
    """Whether cells are among some others; both ascend."""
    if not len(some):
        return np.zeros(len(cells), np.bool_)
    found = np.minimum(np.searchsorted(some, cells), len(some) - 1)
    return np.asarray(some[found] == cells)


def _combined(
    queries: Queries,
    conditions: Mapping[str, Conditions],
    answer: tuple[float, float, float, float],
    bounds: tuple[float, float] | None,
) -> tuple[float, float, float, float]:
    """An answer with all bounds that hold, and with the error that is stated."""
    expected, certain, possible, error = answer
    if bounds is not None:
        for low, high in (bounds, _stated_bounds(queries, conditions)):
            certain, possible = max(certain, low), min(possible, high)
    if certain > possible:  # the release contradicts itself
        return answer
    error *= _factor(queries, conditions, expected)
    if _asks_below_nodes(queries, conditions):
        error = possible - certain  # of items below nodes nothing is known but bounds
    return (
        min(max(expected, certain), possible),
        certain,
        possible,
        min(error, possible - certain),
    )


def _asks_below_nodes(queries: Queries, conditions: Mapping[str, Conditions]) -> bool:
    """Whether a question is about items of which only the node above them is published."""
    return any(
        any(items_below_nodes(cells.items, wanted))
        for cells, wanted in ((queries.column(name), one) for name, one in conditions.items())
        if isinstance(cells, ItemCells)
    )


def _bounds(queries: Queries, conditions: Mapping[str, Conditions]) -> tuple[float, float]:
    """The bounds that shares of candidates give."""
    bounds = queries.shares
    assert bounds is not None
    parts, records = [], {}
    for name, wanted in conditions.items():
        cells = queries.column(name)
        if name in queries.unchanged:
            records[name] = wanted
            continue
        if isinstance(cells, ItemCells):
            shares = cells.candidate_shares(wanted, bounds)
        else:
            likely = cells.shares(wanted)
            shares = CellShares((likely == 1.0) * 1.0, (likely != IMPOSSIBLE) * 1.0)
        parts.append((cells.of_row, shares))
    if len(parts) == 1:
        of_row, shares = parts[0]
        rows = np.bincount(of_row, minlength=len(shares.low))
        low, high = float(rows @ shares.low), float(rows @ shares.high)
    else:
        by_row = [CellShares(part.low[of], part.high[of]) for of, part in parts]
        together = all_of(by_row, queries.records)
        low, high = float(together.low.sum()), float(together.high.sum())
    if records:  # what is published unchanged belongs to the record, not to its candidates
        satisfied = int((queries.likelihoods(records) == 1.0).sum())
        low, high = low - (queries.records - satisfied), min(high, satisfied)
    return _whole(low, high)


def _whole(low: float, high: float) -> tuple[float, float]:
    """Bounds of a whole number."""
    return float(max(math.ceil(low - ROUNDING), 0)), float(math.floor(high + ROUNDING))


def _stated_bounds(queries: Queries, conditions: Mapping[str, Conditions]) -> tuple[float, float]:
    """The bounds that the stated totals of items give for sets that hold all of some items."""
    low, high = float(queries.records), float(queries.records)
    only_items = True
    for name, wanted in conditions.items():
        cells = queries.column(name)
        if not isinstance(cells, ItemCells) or cells.totals is None:
            only_items = False
            continue
        for condition in wanted:
            if condition.values is None or len(condition.values) != 1 or condition.missing:
                only_items = False
                continue
            only_items &= condition.known and not condition.excluded
            least, most = cells.total_bounds(str(condition.values[0]))
            low -= queries.records - least
            high = min(high, most)
    return (max(low, 0.0) if only_items else 0.0), high


def states_errors(queries: Queries, conditions: Mapping[str, Conditions]) -> bool:
    """Tell whether the totals of items state the error of a count.

    They do if no other generalized column has a condition.
    """
    asked = [name for name in conditions if name in queries.names and name not in queries.unchanged]
    return bool(asked) and all(
        isinstance(cells, ItemCells) and cells.totals is not None and bool(cells.totals.factors)
        for cells in map(queries.column, asked)
    )


def _factor(queries: Queries, conditions: Mapping[str, Conditions], expected: float) -> float:
    """How much larger the error of a count is than that of the model."""
    if not states_errors(queries, conditions):
        return 1.0
    factors = []
    for name, wanted in conditions.items():
        cells = queries.column(name)
        if isinstance(cells, ItemCells) and cells.totals is not None:
            items = sum(len(one.values or ()) + len(one.excluded) for one in wanted)
            factors.append(cells.totals.factor(max(items, 1), expected))
    # Values that are published unchanged belong to the true record, which was drawn.
    of_records = any(name in queries.unchanged for name in conditions)
    return max(*factors, 1.0) if of_records else max(factors)
