"""Questions about the items of sets: counts, frequent sets of items, and rules between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
import pyarrow as pa

from mottle.errors import UsageError, did_you_mean
from mottle.queries.cells.item_cells import ItemCells
from mottle.queries.cells.items.shares import CellShares
from mottle.queries.conditions import Condition, Where
from mottle.queries.engine import Queries
from mottle.queries.estimate import Estimate, Estimates
from mottle.queries.item_answers import ROUNDING
from mottle.typing import Float64Array

MOST_CANDIDATES = 20_000  # sets of items that are counted to find frequent ones
MOST_ITEMS = 12  # of one question
_PARTS = ("expected", "certain", "possible", "error")


def column_of_sets(queries: Queries, column: str | None = None) -> str:
    """Return the column of sets that a question is about.

    Parameters
    ----------
    queries : Queries
        A release, prepared for queries.
    column : str, optional
        Its name; without it, the only such column.

    Returns
    -------
    str

    Raises
    ------
    UsageError
        There is no such column, or there are several and none is named.
    """
    names = [cells.name for cells in queries.cells if isinstance(cells, ItemCells)]
    if column is not None:
        queries.check_column(column)
        if column not in names:
            raise UsageError(
                f"Column '{column}' does not hold sets of items.", did_you_mean(column, names)
            )
        return column
    if not names:
        raise UsageError("The release has no column of sets.", "Use count().")
    if len(names) > 1:
        raise UsageError(
            f"The release has several columns of sets: {', '.join(names)}.",
            "Name one: column=… (--column on the command line).",
        )
    return names[0]


def count_items(
    queries: Queries,
    items: Iterable[object],
    without: Iterable[object] = (),
    column: str | None = None,
) -> Estimate:
    """Estimate how many sets hold all of some items and none of others.

    Parameters
    ----------
    queries : Queries
        A release, prepared for queries.
    items : iterable of str
        Items that have to be held.
    without : iterable of str
        Items that must not be held.
    column : str, optional
        The column of sets, if there are several.

    Returns
    -------
    Estimate
    """
    return queries.count(_where(column_of_sets(queries, column), items, without))


def item_table(queries: Queries, column: str | None = None) -> pa.Table:
    """List all items with the estimated number of sets that hold them.

    Parameters
    ----------
    queries : Queries
        A release, prepared for queries.
    column : str, optional
        The column of sets, if there are several.

    Returns
    -------
    pyarrow.Table
        ``item``, ``expected``, ``certain``, ``possible``, ``error`` and ``base_sets``: how many
        base sets hold it. Nothing but its total is known of an item that none holds.
    """
    cells = queries.column(column_of_sets(queries, column))
    assert isinstance(cells, ItemCells)
    based = cells.base.by_item(cells.rows)
    names = cells.items.values
    answers = _single_counts(queries, cells)
    return pa.table(
        {"item": names}
        | {part: pa.array(getattr(answers, part)) for part in _PARTS}
        | {"base_sets": pa.array(based.astype(np.int64))}
    )


def frequent_itemsets(
    queries: Queries, support: float, size: int = 3, column: str | None = None
) -> pa.Table:
    """Find sets of items that are expected in at least a given share of the records.

    Parameters
    ----------
    queries : Queries
        A release, prepared for queries.
    support : float
        The smallest share of the records, above 0 and at most 1.
    size : int
        The largest number of items, from 1 to 12.
    column : str, optional
        The column of sets, if there are several.

    Returns
    -------
    pyarrow.Table
        ``items``, then ``support``, ``support_low``, ``support_high`` and ``support_error``, as
        shares of the records; the most frequent first.

    Raises
    ------
    UsageError
        An option is not valid, or so many sets may be frequent that they cannot all be counted.
    """
    name = column_of_sets(queries, column)
    found = _frequent(queries, name, _share(support, "support"), _size(size))
    return _support_table(found, queries.records)


def association_rules(
    queries: Queries,
    support: float,
    confidence: float,
    size: int = 3,
    column: str | None = None,
) -> pa.Table:
    """Find rules "who holds these items also holds that one", with bounds.

    Parameters
    ----------
    queries : Queries
        A release, prepared for queries.
    support : float
        The smallest expected share of the records that hold all items of a rule.
    confidence : float
        The smallest expected share, among those who hold the first items, of those who hold the
        last one too.
    size : int
        The largest number of items of a rule, from 2 to 12.
    column : str, optional
        The column of sets, if there are several.

    Returns
    -------
    pyarrow.Table
        ``if`` (items), ``then`` (an item), ``support`` and ``confidence``, each with ``_low``,
        ``_high`` and ``_error``, and ``lift``; the highest confidence first. Bounds hold for
        certain; NaN where nobody may hold the first items.

    Raises
    ------
    UsageError
        As for `frequent_itemsets`.
    """
    name = column_of_sets(queries, column)
    least = _share(confidence, "confidence")
    found = _frequent(queries, name, _share(support, "support"), max(_size(size), 2))
    rules = []
    for items, whole in found.items():
        for then in items if len(items) > 1 else ():
            left = tuple(item for item in items if item != then)
            others = queries.count(_where(name, left, (then,)))
            rule = _confidence(whole, found[left], others)
            if rule.expected >= least:
                single = found[then,].expected / queries.records
                rules.append((left, then, whole, rule, rule.expected / single))
    rules.sort(key=lambda rule: (-rule[3].expected, -rule[2].expected, rule[0], rule[1]))
    records = queries.records
    return pa.table(
        {
            "if": pa.array([list(rule[0]) for rule in rules], pa.list_(pa.string())),
            "then": pa.array([rule[1] for rule in rules], pa.string()),
            **_columns("support", [rule[2] for rule in rules], records),
            **_columns("confidence", [rule[3] for rule in rules], 1),
            "lift": pa.array([rule[4] for rule in rules], pa.float64()),
        }
    )


def _confidence(both: Estimate, left: Estimate, others: Estimate) -> Estimate:
    """The share of those who hold the left items that hold all; they are both and the others.

    It grows with the number of those who hold all and falls with the number of the others.
    """
    expected = min(both.expected / left.expected, 1.0) if left.expected > 0 else np.nan
    most_others = min(others.possible, max(left.possible - both.certain, 0.0))
    least_others = max(others.certain, left.certain - both.possible, 0.0)
    low, high = both.certain + most_others, both.possible + least_others
    low = both.certain / low if low > 0 else np.nan
    high = both.possible / high if high > 0 else np.nan
    error = np.nan
    if left.expected > 0:
        error = np.hypot(both.error, expected * left.error) / left.expected
        error = min(error, high - low)
    return Estimate(float(np.clip(expected, low, high)), float(low), float(high), float(error))


def _frequent(
    queries: Queries, name: str, support: float, size: int
) -> dict[tuple[str, ...], Estimate]:
    """The frequent sets of up to ``size`` items, found by level as in the apriori algorithm."""
    cells = queries.column(name)
    assert isinstance(cells, ItemCells)
    least = support * queries.records
    singles = _single_counts(queries, cells)
    likely = np.flatnonzero(singles.expected >= least)
    names = cells.items.values
    level: list[tuple[str, ...]] = [(str(names[int(place)].as_py()),) for place in likely]
    found = {items: singles[int(place)] for items, place in zip(level, likely, strict=True)}
    for length in range(2, size + 1):
        known = set(level)
        candidates = [
            (*one, other[-1])
            for one, other in combinations(sorted(level), 2)
            if one[:-1] == other[:-1]
            and all(part in known for part in combinations((*one, other[-1]), length - 1))
        ]
        if len(candidates) > MOST_CANDIDATES:
            raise UsageError(
                f"{len(candidates):,} sets of {length} items may be frequent, more than"
                f" {MOST_CANDIDATES:,}.",
                "Ask for a higher support.",
            )
        if not candidates:
            break
        answers = queries.counts([_where(name, items) for items in candidates])
        level = []
        for place, items in enumerate(candidates):
            if answers.expected[place] >= least:
                level.append(items)
                found[items] = answers[place]
    return found


def _single_counts(queries: Queries, cells: ItemCells) -> Estimates:
    """The counts of all items one by one, as `Queries.count` gives them."""
    names = cells.items.values.to_pylist()
    if not names:
        return Estimates(*np.zeros((4, 0)))
    if cells.item_chances is None or queries.shares is None or cells.missing.any():
        return queries.counts([{cells.name: (Condition(values=(item,)),)} for item in names])
    rows = cells.rows
    sure = cells.base.by_item(rows) - cells.doubtful_base.by_item(rows)
    sums = np.stack([sure, sure, sure, np.zeros(len(names))])  # as of Estimates; the variance last
    for holding, chances, in_base in (
        (cells.doubtful_base, cells.item_chances.in_base, True),
        (cells.doubtful_rest, cells.item_chances.outside, False),
    ):
        for items, named in holding.blocks():
            naming, weights = np.ones(len(named), np.bool_), rows[named]
            shares = CellShares.of_item(
                queries.shares,
                naming & in_base,
                naming,
                cells.uncertain[named],
                cells.distance[named],
                ~naming,
            )
            sums[1] += np.bincount(items, weights * shares.low, minlength=len(names))
            sums[2] += np.bincount(items, weights * shares.high, minlength=len(names))
        doubtful = holding.by_item(rows)
        sums[0] += chances * doubtful
        sums[3] += chances * (1 - chances) * doubtful
    expected, certain, possible = sums[0], np.ceil(sums[1] - ROUNDING), sums[2]
    possible = np.floor(possible + ROUNDING)
    stated = np.array([cells.total_bounds(item) for item in names]).T
    certain, possible = np.maximum(certain, stated[0]), np.minimum(possible, stated[1])
    absurd = certain > possible  # the release contradicts itself: records taken singly
    able = sure + cells.doubtful_base.by_item(rows) + cells.doubtful_rest.by_item(rows)
    certain, possible = np.where(absurd, sure, certain), np.where(absurd, able, possible)
    error = np.sqrt(np.maximum(sums[3], 0.0))
    if cells.totals is not None:
        error *= [cells.totals.factor(1, float(count)) for count in expected]
    expected = np.clip(expected, certain, possible)
    return Estimates(expected, certain, possible, np.minimum(error, possible - certain))


def _where(name: str, items: Iterable[object], without: Iterable[object] = ()) -> Where:
    """The condition that a set holds all of some items and none of others."""
    held, absent = ((items,), without) if isinstance(items, str) else (tuple(items), without)
    left_out = (absent,) if isinstance(absent, str) else tuple(absent)
    if len(held) + len(left_out) > MOST_ITEMS:
        raise UsageError(
            f"The question names {len(held) + len(left_out)} items.",
            f"Name at most {MOST_ITEMS}.",
        )
    wanted = [Condition(values=(str(item),)) for item in held]
    if left_out or not wanted:
        wanted.append(Condition(excluded=tuple(str(item) for item in left_out)))
    return {name: tuple(wanted)}


def _share(value: object, option: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise UsageError(f"{value!r} is not a valid {option}.", "Give a share above 0, up to 1.")
    return float(value)


def _size(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_ITEMS:
        raise UsageError(
            f"{value!r} is not a valid number of items.", f"Give one from 1 to {MOST_ITEMS}."
        )
    return value


def _support_table(found: dict[tuple[str, ...], Estimate], records: int) -> pa.Table:
    ordered = sorted(found.items(), key=lambda entry: (-entry[1].expected, entry[0]))
    lists = pa.array([list(items) for items, _ in ordered], pa.list_(pa.string()))
    return pa.table({"items": lists} | _columns("support", [one for _, one in ordered], records))


def _columns(name: str, answers: Sequence[Estimate], records: int) -> dict[str, pa.Array]:
    """The four columns of an answer, as shares of the records."""
    endings = ("", "_low", "_high", "_error")
    columns: dict[str, pa.Array] = {}
    for ending, part in zip(endings, _PARTS, strict=True):
        values: Float64Array = np.array([getattr(one, part) for one in answers], np.float64)
        columns[name + ending] = pa.array(values / records)
    return columns
