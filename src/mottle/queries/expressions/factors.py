"""Independent sources of uncertainty about a record: its cells, and its sensitive values.

Given its cells, the columns of a record are independent. Sensitive values in a table of their own
(Anatomy) are not independent of each other, so together they are one factor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mottle.errors import UsageError
from mottle.queries.cells.cells import IMPOSSIBLE, CellDistribution, Moments
from mottle.queries.engine import Queries
from mottle.queries.expressions.value_classes import Needs, ValueClass, value_classes
from mottle.queries.two_tables import TwoTables
from mottle.typing import BoolArray, Float64Array, Int32Array, Int64Array


@dataclass(frozen=True, eq=False)
class FactorOutcome:
    """What the columns of a factor may be, and how likely that is."""

    classes: Mapping[str, ValueClass]  # by column
    share: Float64Array  # [cells]: how likely it is; -1 if it cannot be
    numbers: Mapping[str, Moments]  # [cells], by column that is calculated with


@dataclass(frozen=True, eq=False)
class Factor:
    """One column, or all sensitive columns of a second table."""

    of_row: Int32Array | Int64Array  # [n]: the cell, or group, of every record
    outcomes: tuple[FactorOutcome, ...]  # exclude one another
    cells: CellDistribution | None  # None for a second table

    @property
    def possibilities(self) -> Int64Array:
        """[cells]: how many outcomes are possible."""
        counted: Int64Array = np.sum(
            [outcome.share != IMPOSSIBLE for outcome in self.outcomes], axis=0, dtype=np.int64
        )
        return counted


def factors_of(queries: Queries, needs: Mapping[str, Needs], numeric: set[str]) -> list[Factor]:
    """Return the factors of the columns that a query uses."""
    factors = []
    sensitive = [name for name in needs if name not in queries.names]
    for name, wanted in needs.items():
        queries.check_column(name)
        if name in sensitive:
            continue
        cells = queries.column(name)
        outcomes = []
        for one in value_classes(cells, wanted):
            if name in numeric and not one.is_missing:
                moments = one.moments(cells)
                outcomes.append(FactorOutcome({name: one}, moments.share, {name: moments}))
            else:
                outcomes.append(FactorOutcome({name: one}, one.shares(cells), {}))
        factors.append(Factor(cells.of_row, _possible(outcomes), cells))
    if sensitive:
        assert queries.two_tables is not None
        factors.append(_second_table(queries.two_tables, sensitive, needs, numeric))
    return factors


def _possible(outcomes: Sequence[FactorOutcome]) -> tuple[FactorOutcome, ...]:
    """Those outcomes that at least one cell allows."""
    return tuple(one for one in outcomes if (one.share != IMPOSSIBLE).any())


def _second_table(
    tables: TwoTables, names: Sequence[str], needs: Mapping[str, Needs], numeric: set[str]
) -> Factor:
    """The factor of sensitive values in a table of their own: what each group may have."""
    if len(numeric & set(names)) > 1:
        raise UsageError(
            f"Columns {' and '.join(sorted(numeric & set(names)))} are calculated with at once, but"
            " are published in a table of their own.",
            "Calculate with one of them at a time.",
        )
    classes = {name: value_classes(tables.columns[name], needs[name]) for name in names}
    which = np.zeros((len(names), len(tables.counts)), np.int64)  # the class of every value
    for place, name in enumerate(names):
        cells = tables.columns[name]
        for number, one in enumerate(classes[name]):
            which[place, one.shares(cells)[cells.of_row] > 0] = number
    outcomes = []
    distinct, joint = np.unique(which, axis=1, return_inverse=True)
    for number, chosen in enumerate(distinct.T):
        here = {name: classes[name][place] for name, place in zip(names, chosen, strict=True)}
        fits = joint.ravel() == number
        moments = {
            name: _moments_of_groups(tables, name, fits)
            for name in names
            if name in numeric and not here[name].is_missing
        }
        fitting = tables.sum_by_group(fits)
        share = np.where(fitting > 0, fitting / tables.sizes, IMPOSSIBLE)
        outcomes.append(FactorOutcome(here, share, moments))
    return Factor(tables.group_of_row, tuple(outcomes), None)


def _moments_of_groups(tables: TwoTables, name: str, fits: BoolArray) -> Moments:
    """[groups]: the numbers of a sensitive column among some of its values."""
    cells = tables.columns[name]
    numbers = cells.moments(())[3][cells.of_row]  # exact values: the lowest is the value
    fitting = tables.sum_by_group(fits)
    lowest, highest = np.full((2, len(tables.sizes)), np.inf)
    highest = -highest
    np.minimum.at(lowest, tables.group_of_value[fits], numbers[fits])
    np.maximum.at(highest, tables.group_of_value[fits], numbers[fits])
    some = fitting > 0
    return Moments(
        np.where(some, fitting / tables.sizes, IMPOSSIBLE),
        tables.sum_by_group(fits, numbers) / tables.sizes,
        tables.sum_by_group(fits, numbers**2) / tables.sizes,
        np.where(some, lowest, 0.0),
        np.where(some, highest, 0.0),
    )
