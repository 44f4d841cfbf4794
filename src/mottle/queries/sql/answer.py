"""Answer SQL queries on a release with estimates; DuckDB parses them.

``SELECT`` of counts, sums and averages (plain or weighted) ``FROM release``, ``WHERE`` conditions
on columns joined by ``AND``, ``GROUP BY`` columns (``CUBE``, ``ROLLUP``, ``GROUPING SETS``),
``ORDER BY``, ``LIMIT``.
Everything else is refused by name, and can be run by DuckDB itself on the published cells
(`mottle.queries.sql.plain`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from mottle.errors import UsageError, did_you_mean
from mottle.queries.cells.atoms import Values
from mottle.queries.cells.item_cells import Items
from mottle.queries.conditions import Condition, Conditions
from mottle.queries.engine import Queries
from mottle.queries.estimate import Estimate
from mottle.queries.group_by.all_groups import PARTS, grouping_sets
from mottle.queries.sql.parse import (
    Aggregate,
    SelectQuery,
    answer_columns,
    merge_conditions,
    parse_query,
)

MAX_GROUPS = 2000  # groups whose sums and averages are computed one by one


def query(queries: Queries, sql: str) -> pa.Table:
    """Answer a query: each count, sum or average with ``_low``, ``_high`` and ``_error``."""
    select = parse_query(sql, queries.columns)
    answer = _answer_groups(queries, select) if select.groups else _answer_one(queries, select)
    return _order_and_limit(answer, select)


def notes(queries: Queries, sql: str) -> list[str]:
    """Return notes for the author of a query: values that occur nowhere may be typos."""
    found = []
    for name, wanted in parse_query(sql, queries.columns).where.items():
        atoms = queries.column(name).atoms
        if not isinstance(atoms, Values | Items):
            continue
        values = [value for one in wanted for value in (*(one.values or ()), *one.excluded)]
        existing = [str(value) for value in atoms.values.to_pylist()]
        found += [
            f"No cell of column '{name}' holds '{value}'. {did_you_mean(str(value), existing)}"
            for value in atoms.strangers(values)
        ]
    return found


def _answer_one(queries: Queries, select: SelectQuery) -> pa.Table:
    """The one row of a query without GROUP BY."""
    columns: dict[str, list[float]] = {}
    for aggregate in select.aggregates:
        columns |= _columns(aggregate, [_answer(queries, aggregate, select.where)])
    return pa.table(columns)


def _answer_groups(queries: Queries, select: SelectQuery) -> pa.Table:
    """A row for every group that may have a record."""
    where = _as_where(select.where)
    table = grouping_sets(queries, select.groups, select.subsets, where)
    counts = [
        Estimate(*(float(value) for value in row))
        for row in zip(*(table.column(part).to_pylist() for part in PARTS), strict=True)
    ]
    columns: dict[str, Any] = {name: table.column(name) for name in select.groups}
    for aggregate in select.aggregates:
        plain = aggregate.kind == "count" and not aggregate.weighted
        if plain and aggregate.column is None and not aggregate.filter:
            answers = counts
        else:
            answers = list(_by_group(queries, select, aggregate, table))
        columns |= _columns(aggregate, answers)
    names = [name for item in select.selected for name in answer_columns(item)]
    kept = [*names, *(name for name in select.groups if name not in names)]
    return pa.table(columns).select(kept)


def _by_group(
    queries: Queries, select: SelectQuery, aggregate: Aggregate, table: pa.Table
) -> Iterator[Estimate]:
    """The estimates of one aggregate, group by group."""
    if table.num_rows > MAX_GROUPS:
        raise UsageError(
            f"There are {table.num_rows:,} groups, too many for a sum or average of each.",
            f"Group by fewer columns, so that there are at most {MAX_GROUPS:,} groups.",
        )
    grouped_by = table.column("grouped_by").to_pylist()
    for row, names in zip(table.select(list(select.groups)).to_pylist(), grouped_by, strict=True):
        chosen = [name for name in select.groups if name in names.split(", ")]
        group = {name: (Condition.of(row[name], name),) for name in chosen}
        yield _answer(queries, aggregate, merge_conditions(select.where, group))


def _answer(
    queries: Queries, aggregate: Aggregate, conditions: Mapping[str, Conditions]
) -> Estimate:
    where = _as_where(aggregate.where(conditions))
    weight = _survey_weight(queries) if aggregate.weighted else None
    match aggregate.kind:
        case "sum":
            assert aggregate.column is not None
            return queries.total(aggregate.column, where, weight=weight)
        case "avg":
            assert aggregate.column is not None
            return queries.average(aggregate.column, where, weight=weight)
        case _:
            return queries.count(where, weight=weight)


def _survey_weight(queries: Queries) -> str:
    """The weight of weighted aggregates."""
    if queries.survey_weight is None:
        raise UsageError(
            "The release has no survey weight, so nothing can be weighted.",
            "Name one when the release is made: --survey-weight COLUMN.",
        )
    return queries.survey_weight


def _as_where(conditions: Mapping[str, Conditions]) -> dict[str, Any]:
    return dict(conditions)


def _columns(aggregate: Aggregate, answers: Sequence[Estimate]) -> dict[str, list[float]]:
    names = answer_columns(aggregate)
    parts = ("expected", "certain", "possible", "error")
    return {
        name: [float(np.asarray(getattr(answer, part))) for answer in answers]
        for name, part in zip(names, parts, strict=True)
    }


def _order_and_limit(answer: pa.Table, select: SelectQuery) -> pa.Table:
    if select.order:
        keys = [(name, "descending" if down else "ascending") for name, down in select.order]
        answer = answer.sort_by(keys)
    names = [name for item in select.selected for name in answer_columns(item)]
    return answer.select(names).slice(select.first, select.rows)
