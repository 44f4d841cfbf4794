"""Rules on tables: in which rows they hold, and their comparisons as conditions of queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import DataError, SchemaError, UsageError
from mottle.queries.cells.atoms import Values
from mottle.queries.conditions import Condition
from mottle.release.column import PublishedColumn
from mottle.schema.model import Role
from mottle.schema.rules import Comparison, Operator, Rule
from mottle.typing import BoolArray, Int64Array

# Steps of all programs, times the parts of the columns that they name: what a draw has to evaluate.
MOST_WORK = 500_000


def condition_of(comparison: Comparison) -> Condition:
    """Return a comparison as a condition on the value of its column.

    >>> condition_of(Comparison("age", Operator.BELOW, (15,))).high
    15
    """
    values = comparison.values
    match comparison.operator:
        case Operator.BELOW | Operator.UP_TO as operator:
            return Condition(high=values[0], high_open=operator is Operator.BELOW)
        case Operator.ABOVE | Operator.FROM as operator:
            return Condition(low=values[0], low_open=operator is Operator.ABOVE)
        case Operator.IN:
            return Condition(values=values)
        case Operator.NOT_IN:
            return Condition(excluded=values)
        case Operator.MISSING:
            return Condition(known=False, missing=True)
        case Operator.KNOWN:
            return Condition()


def check_column(rule: Rule, column: PublishedColumn) -> None:
    """Raise a `SchemaError` if a rule names a column that cannot be part of what is published."""
    if column.role is not Role.QUASI_IDENTIFYING:
        raise SchemaError(
            f"Rule '{rule.name}' names column '{column.name}', which is {column.role}: publishing"
            " it would say more about whose record is whose than the release may.",
            "Leave the rule out, or name quasi-identifying columns only.",
        )
    if column.coarsening is not None:
        raise SchemaError(
            f"Rule '{rule.name}' names column '{column.name}', which is published coarser than it"
            " is: the rule could say what lies within a step.",
            "Leave the rule out, or the steps of the column.",
        )
    if column.form is not None and column.form.has_items:
        raise SchemaError(
            f"Rule '{rule.name}' names column '{column.name}', which holds sets of items.",
            "Name columns of single values.",
        )


def truth_of(rule: Rule, comparison: Comparison, values: Values) -> tuple[BoolArray, bool]:
    """For which of the values a comparison is true, and whether for the missing value."""
    condition = condition_of(comparison)
    try:
        return values.covered((condition,)).full, values.takes_missing(condition)
    except (UsageError, pa.ArrowException) as error:
        problem = error.problem if isinstance(error, UsageError) else "values cannot be compared."
        raise SchemaError(
            f"Rule '{rule.name}', column '{comparison.column}': {problem}",
            "Compare the column with values of its own type.",
        ) from None


def broken(
    rules: Sequence[Rule], table: pa.Table, columns: Mapping[str, PublishedColumn]
) -> list[Int64Array]:
    """By rule: the rows of an ordinary table in which it does not hold."""
    coded = {
        name: _coded(table.column(name), columns[name])
        for name in {name for rule in rules for name in rule.columns}
    }
    found = []
    for rule in rules:
        truths = []
        for comparison in rule.comparisons:
            values, codes = coded[comparison.column]
            known, missing = truth_of(rule, comparison, values)
            truths.append(np.append(known, missing)[codes])
        found.append(np.flatnonzero(~rule.truth(truths)))
    return found


def _coded(column: pa.ChunkedArray, described: PublishedColumn) -> tuple[Values, Int64Array]:
    """A column's values, and the place of every row's value among them; missing comes last."""
    array = column.combine_chunks()
    if pa.types.is_floating(array.type):
        array = pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
    if described.hierarchy is not None:
        known = pa.array(described.hierarchy.leaves, pa.string())
        array = pc.cast(array, pa.string())
    elif described.order is not None:
        known = pc.cast(pa.array(described.order, pa.string()), array.type)
    else:
        known = pc.unique(array).drop_null()
    places = pc.fill_null(pc.index_in(array, value_set=known), len(known)).to_numpy()
    ordered = described.hierarchy is None and described.order is not None
    values = Values(described.name, known, ordered, described.hierarchy)
    return values, places.astype(np.int64)


class Programs(NamedTuple):
    """All rules as arrays, for kernels; comparisons are numbered through."""

    steps: Int64Array  # of all programs, one after the other
    starts: Int64Array  # [rules + 1]
    columns: Int64Array  # [comparisons]: the column of each
    truths: BoolArray  # [comparisons, parts]: for which parts of its column each is true
    tied: BoolArray  # [rules, columns]: which columns a rule names

    @classmethod
    def of(
        cls, rules: Sequence[Rule], names: Sequence[str], truths: Sequence[BoolArray]
    ) -> Programs:
        """Put rules together; ``truths`` are those of all comparisons, in order."""
        steps: list[int] = []
        starts, columns = [0], list[int]()
        tied = np.zeros((len(rules), len(names)), np.bool_)
        for number, rule in enumerate(rules):
            first = len(columns)
            steps += [step + first if step >= 0 else step for step in rule.program]
            starts.append(len(steps))
            columns += [names.index(one.column) for one in rule.comparisons]
            tied[number, columns[first:]] = True
        widest = max((len(truth) for truth in truths), default=0)
        table = np.zeros((len(truths), widest), np.bool_)
        for place, truth in enumerate(truths):
            table[place, : len(truth)] = truth
        return cls(
            np.array(steps, np.int64),
            np.array(starts, np.int64),
            np.array(columns, np.int64),
            table,
            tied,
        )

    def check_work(self, sizes: Int64Array) -> None:
        """Raise a `DataError` if evaluating the rules for one record takes too long."""
        lengths = np.diff(self.starts)
        work = int((lengths[:, None] * self.tied * sizes[None, :]).sum())
        if work > MOST_WORK:
            raise DataError(
                "The rules of the release are too long to be evaluated for every record.",
                "A release that mottle made has no such rules: ask where it comes from.",
            )
