"""SQL questions to a release: DuckDB reads them, the ranges answer them.

``SELECT`` of counts, sums and averages ``FROM release``, ``WHERE`` conditions on columns joined by
``AND``, ``GROUP BY`` columns (``CUBE``, ``ROLLUP``, ``GROUPING SETS``), ``ORDER BY``, ``LIMIT``.
Everything else is refused with its name, and can be asked of DuckDB itself (`sql_plain`).
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
    Question,
    answer_columns,
    merged,
    read_question,
)

MOST_GROUPS = 2000  # whose sums are taken one by one


def query(queries: Queries, sql: str) -> pa.Table:
    """Answer a question: each count, sum or average with ``_low``, ``_high`` and ``_error``."""
    question = read_question(sql, queries.columns)
    answer = _grouped(queries, question) if question.groups else _ungrouped(queries, question)
    return _ordered(answer, question)


def notes(queries: Queries, sql: str) -> list[str]:
    """What a person who asked this may want to know: values that occur nowhere, perhaps typos."""
    found = []
    for name, wanted in read_question(sql, queries.columns).where.items():
        atoms = queries.column(name).atoms
        if not isinstance(atoms, Values | Items):
            continue
        asked = [value for one in wanted for value in (*(one.values or ()), *one.excluded)]
        known = [str(value) for value in atoms.values.to_pylist()]
        found += [
            f"No cell of column '{name}' holds '{value}'. {did_you_mean(str(value), known)}"
            for value in atoms.strangers(asked)
        ]
    return found


def _ungrouped(queries: Queries, question: Question) -> pa.Table:
    columns: dict[str, list[float]] = {}
    for aggregate in question.aggregates:
        columns |= _columns(aggregate, [_answer(queries, aggregate, question.where)])
    return pa.table(columns)


def _grouped(queries: Queries, question: Question) -> pa.Table:
    """A row for every group that may have a record."""
    where = _as_where(question.where)
    table = grouping_sets(queries, question.groups, question.subsets, where)
    counts = [
        Estimate(*(float(value) for value in row))
        for row in zip(*(table.column(part).to_pylist() for part in PARTS), strict=True)
    ]
    columns: dict[str, Any] = {name: table.column(name) for name in question.groups}
    for aggregate in question.aggregates:
        if aggregate.kind == "count" and aggregate.column is None and not aggregate.filter:
            answers = counts
        else:
            answers = list(_by_group(queries, question, aggregate, table))
        columns |= _columns(aggregate, answers)
    names = [name for item in question.selected for name in answer_columns(item)]
    kept = [*names, *(name for name in question.groups if name not in names)]
    return pa.table(columns).select(kept)


def _by_group(
    queries: Queries, question: Question, aggregate: Aggregate, table: pa.Table
) -> Iterator[Estimate]:
    if table.num_rows > MOST_GROUPS:
        raise UsageError(
            f"There are {table.num_rows:,} groups, too many for sums and averages of each.",
            f"Group by fewer columns; {MOST_GROUPS:,} groups are the most.",
        )
    grouped_by = table.column("grouped_by").to_pylist()
    for row, names in zip(table.select(list(question.groups)).to_pylist(), grouped_by, strict=True):
        chosen = [name for name in question.groups if name in names.split(", ")]
        group = {name: (Condition.of(row[name], name),) for name in chosen}
        yield _answer(queries, aggregate, merged(question.where, group))


def _answer(
    queries: Queries, aggregate: Aggregate, conditions: Mapping[str, Conditions]
) -> Estimate:
    where = _as_where(aggregate.where(conditions))
    match aggregate.kind:
        case "sum":
            assert aggregate.column is not None
            return queries.total(aggregate.column, where)
        case "avg":
            assert aggregate.column is not None
            return queries.average(aggregate.column, where)
        case _:
            return queries.count(where)


def _as_where(conditions: Mapping[str, Conditions]) -> dict[str, Any]:
    return dict(conditions)


def _columns(aggregate: Aggregate, answers: Sequence[Estimate]) -> dict[str, list[float]]:
    names = answer_columns(aggregate)
    parts = ("expected", "certain", "possible", "error")
    return {
        name: [float(np.asarray(getattr(answer, part))) for answer in answers]
        for name, part in zip(names, parts, strict=True)
    }


def _ordered(answer: pa.Table, question: Question) -> pa.Table:
    if question.order:
        keys = [(name, "descending" if down else "ascending") for name, down in question.order]
        answer = answer.sort_by(keys)
    names = [name for item in question.selected for name in answer_columns(item)]
    return answer.select(names).slice(question.first, question.rows)
