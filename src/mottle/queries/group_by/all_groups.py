"""Group-by and cubes: every record is distributed over the groups that its cells allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from mottle.errors import UsageError
from mottle.queries.conditions import Conditions, Where
from mottle.queries.group_by.columns import (
    Breaks,
    GroupingColumn,
    grouping_column,
    grouping_columns,
)
from mottle.queries.group_by.kernel import add_up, kernel_input
from mottle.queries.group_by.two_tables import count_two_tables
from mottle.queries.stated_errors import count_by_totals, state_groups, totals_of_values
from mottle.typing import BoolArray, Float64Array, Int64Array

if TYPE_CHECKING:
    from mottle.queries.engine import Queries

MAX_GROUPS = 20_000_000
LEVEL, GROUPED_BY = "level", "grouped_by"
PARTS = ("expected", "certain", "possible", "error", "reliable")


def group_by(
    queries: Queries, columns: Sequence[str], where: Where | None, breaks: Breaks | None
) -> pa.Table:
    """Return a row for every combination of groups that may have a record."""
    conditions = queries.parse_where(where)
    names = _check_names(queries, columns, breaks)
    return _table(queries, names, conditions, grouping_columns(queries, names, conditions, breaks))


def cube(
    queries: Queries, columns: Sequence[str], where: Where | None, breaks: Breaks | None
) -> pa.Table:
    """Return the group-bys over all subsets of the columns, from none to all of them."""
    names = _check_names(queries, columns, breaks)
    subsets = [chosen for size in range(len(names) + 1) for chosen in combinations(names, size)]
    return grouping_sets(queries, names, subsets, where, breaks)


def grouping_sets(
    queries: Queries,
    columns: Sequence[str],
    subsets: Sequence[Sequence[str]],
    where: Where | None,
    breaks: Breaks | None = None,
) -> pa.Table:
    """Return group-bys over several sets of columns, one below the other.

    Columns that a row is not grouped by are null.
    """
    conditions = queries.parse_where(where)
    names = _check_names(queries, columns, breaks)
    grouped = grouping_columns(queries, names, conditions, breaks)
    tables = []
    for chosen in subsets:
        table = _table(queries, list(chosen), conditions, grouped)
        rows = table.num_rows
        tables.append(
            pa.table(
                {
                    **{
                        name: table.column(name)
                        if name in chosen
                        else pa.nulls(rows, grouped[name].labels.type)
                        for name in names
                    },
                    LEVEL: pa.array(np.full(rows, len(chosen))),
                    GROUPED_BY: pa.array([", ".join(chosen)] * rows, pa.string()),
                    **{part: table.column(part) for part in PARTS},
                }
            )
        )
    return pa.concat_tables(tables)


def _check_names(queries: Queries, columns: Sequence[str], breaks: Breaks | None) -> list[str]:
    """The columns to group by, after checking that they and the breaks are valid."""
    names = [columns] if isinstance(columns, str) else list(columns)
    for name in (*names, *(breaks or {})):
        queries.check_column(name)
    for name in breaks or {}:
        if name not in names:
            raise UsageError(f"There are breaks for column '{name}', which is not grouped by.")
    if len(set(names)) < len(names):
        raise UsageError("A column to group by is named twice.", "Name each column once.")
    reserved = [name for name in names if name in (*PARTS, LEVEL, GROUPED_BY)]
    if reserved:
        raise UsageError(
            f"Column '{reserved[0]}' has the same name as a column of the answer.",
            "Count its values one by one, with count().",
        )
    return names


def _table(
    queries: Queries,
    names: Sequence[str],
    conditions: Mapping[str, Conditions],
    columns: Mapping[str, GroupingColumn],
) -> pa.Table:
    """The rows of one group-by."""
    others = {name: wanted for name, wanted in conditions.items() if name not in names}
    suited = queries.answering((*names, *others))
    if suited is not queries:
        queries, columns = suited, _again(suited, {name: columns[name] for name in names})
    groups = int(np.prod([float(len(columns[name].labels)) for name in names]))
    if groups > MAX_GROUPS:
        raise UsageError(
            f"Grouping by {', '.join(names)} makes {groups:,} groups, more than {MAX_GROUPS:,}.",
            "Group by fewer columns, or by ranges (breaks).",
        )
    is_sensitive = any(name not in queries.names for name in (*names, *others))
    if queries.two_tables is not None and is_sensitive:
        parts = count_two_tables(queries, names, others, columns, groups)
    else:
        parts = _count(queries, names, others, columns, groups)
    expected, certain, possible, variance = parts
    rows = np.flatnonzero(possible > 0)
    chosen = np.array([expected, certain, possible, np.sqrt(np.maximum(variance, 0.0))])[:, rows]
    errors, doubts = state_groups(
        queries,
        {*names, *others},
        chosen,
        lambda plain: _count(plain, names, others, _again(plain, columns), groups)[0][rows],
    )
    chosen[3] = errors
    reliable = np.array([not doubt for doubt in doubts], np.bool_)
    if len(names) == 1 and not others:
        _match_totals(queries, columns[names[0]], rows, chosen, reliable)
    places = np.unravel_index(rows, [len(columns[name].labels) for name in names]) if names else ()
    labels = {
        name: columns[name].labels.take(pa.array(place))
        for name, place in zip(names, places, strict=True)
    }
    answers = (*chosen, reliable)
    return pa.table(
        labels | {part: pa.array(one) for part, one in zip(PARTS, answers, strict=True)}
    )


def _again(plain: Queries, columns: Mapping[str, GroupingColumn]) -> dict[str, GroupingColumn]:
    """The same groups over the cells without the fit to sensitive values."""
    return {
        name: grouping_column(plain.column(name), one.conditions, one.breaks)
        for name, one in columns.items()
    }


def _match_totals(
    queries: Queries,
    column: GroupingColumn,
    rows: Int64Array,
    answers: Float64Array,
    reliable: BoolArray,
) -> None:
    """Put in the counts of groups that the column's totals determine; these have no error."""
    totals = queries.totals.get(column.name)
    if totals is None:
        return
    if column.wanted is None:
        values = len(column.labels) - column.labels.null_count
        missing = column.labels.null_count > 0
        stated = totals_of_values(totals, values, missing=missing)[rows]
    else:
        found = [
            count_by_totals(queries, {column.name: (*column.conditions, column.wanted[row])})
            for row in rows.tolist()
        ]
        stated = np.array([np.nan if one is None else one for one in found], np.float64)
    known = np.isfinite(stated)
    answers[0, known] = np.clip(stated, answers[1], answers[2])[known]
    answers[3, known] = 0.0
    reliable[known] = True


def _count(
    queries: Queries,
    names: Sequence[str],
    others: Mapping[str, Conditions],
    columns: Mapping[str, GroupingColumn],
    groups: int,
) -> tuple[Float64Array, Float64Array, Float64Array, Float64Array]:
    """Expected, certain and possible counts of every group, and the variance."""
    totals = np.zeros((4, groups))
    likely, once = queries.likelihoods(others), np.ones(queries.records)
    add_up(*kernel_input(queries, names, columns), likely, once, None, totals)
    expected, squares, certain, possible = totals
    return expected, certain, possible, expected - squares
