"""Columns to group by: their groups, and how every cell is distributed over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from mottle.errors import UsageError
from mottle.queries.cells.atoms import Values
from mottle.queries.cells.cells import IMPOSSIBLE, CellDistribution
from mottle.queries.conditions import Condition, Conditions
from mottle.typing import Float64Array, Int64Array

if TYPE_CHECKING:
    from mottle.queries.engine import Queries

Breaks = Mapping[str, Sequence[object]]  # column → ascending values at which ranges begin


class GroupShares(NamedTuple):
    """How the cells of one column are distributed over its groups."""

    offsets: Int64Array  # [cells + 1]: where the entries of each cell begin
    groups: Int64Array  # [entries]: the group
    shares: Float64Array  # [entries]: how likely it is; exactly 1 for certain


@dataclass(frozen=True, eq=False)
class GroupingColumn:
    """One column to group by."""

    name: str
    labels: pa.Array  # [groups]; null for missing values
    shares: GroupShares
    conditions: Conditions = ()  # that the values have to satisfy besides
    breaks: Sequence[object] | None = None
    wanted: Sequence[Condition] | None = None  # [groups]; None: every value is a group


def grouping_columns(
    queries: Queries,
    names: Sequence[str],
    conditions: Mapping[str, Conditions],
    breaks: Breaks | None,
) -> dict[str, GroupingColumn]:
    """Distribute every column to group by over its groups."""
    for name in names:
        limits = (breaks or {}).get(name) or ()
        for limit in limits:
            queries.check_tails(name, (Condition(low=limit), Condition(high=limit, high_open=True)))
    return {
        name: grouping_column(
            queries.column(name), conditions.get(name, ()), (breaks or {}).get(name)
        )
        for name in names
    }


def grouping_column(
    cells: CellDistribution, conditions: Conditions, breaks: Sequence[object] | None = None
) -> GroupingColumn:
    """Distribute the cells of a column over its values, or over ranges of them."""
    if breaks is None and isinstance(cells.atoms, Values):
        return _group_by_value(cells, cells.atoms, conditions)
    if breaks is None:
        labels = cells.atoms.points()
        wanted = [Condition(values=(value,)) for value in labels.to_pylist()]
    else:
        labels, wanted = _ranges(cells.name, breaks)
    if cells.missing.any():
        labels = pa.concat_arrays([labels, pa.nulls(1, labels.type)])
        wanted.append(Condition(known=False, missing=True))
    parts = []
    for group, condition in enumerate(wanted):
        shares = cells.shares((*conditions, condition))
        possible = np.flatnonzero(shares != IMPOSSIBLE)
        parts.append((possible, np.full(len(possible), group), shares[possible]))
    shares_by_cell = _sort_by_cell(parts, len(cells.first))
    return GroupingColumn(cells.name, labels, shares_by_cell, conditions, breaks, wanted)


def _group_by_value(
    cells: CellDistribution, atoms: Values, conditions: Conditions
) -> GroupingColumn:
    """Make every slot of a cell a group, without evaluating a condition for each value."""
    fits = atoms.covered(conditions).full
    sizes = cells.last - cells.first
    cell_of = np.repeat(np.arange(len(sizes)), sizes)
    places = np.arange(len(cell_of)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    slots = cells.first[cell_of] + places
    groups = slots if cells.slots is None else cells.slots[slots]
    chosen = fits[groups]
    shares = cells.chances(cell_of, slots)
    shares[(sizes == 1)[cell_of] & ~cells.missing[cell_of]] = 1.0
    parts = [(cell_of[chosen], groups[chosen], shares[chosen])]
    labels = atoms.values
    if cells.missing.any():
        labels = pa.concat_arrays([labels, pa.nulls(1, labels.type)])
        likely = cells.shares((*conditions, Condition(known=False, missing=True)))
        possible = np.flatnonzero(likely != IMPOSSIBLE)
        parts.append((possible, np.full(len(possible), len(atoms.values)), likely[possible]))
    return GroupingColumn(cells.name, labels, _sort_by_cell(parts, len(sizes)), conditions)


def _sort_by_cell(
    parts: list[tuple[Int64Array, Int64Array, Float64Array]], cells: int
) -> GroupShares:
    """Concatenate entries (cell, group, share) and sort them by cell."""
    cell_of, groups, shares = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.argsort(cell_of, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(cell_of, minlength=cells))])
    return GroupShares(offsets.astype(np.int64), groups[order].astype(np.int64), shares[order])


def _ranges(name: str, breaks: Sequence[object]) -> tuple[pa.Array, list[Condition]]:
    """The ranges between breaks: their labels, and the condition of each."""
    ends = list(breaks)
    if not ends or any(not low < high for low, high in pairwise(ends)):  # type: ignore[operator]
        raise UsageError(
            f"The breaks of column '{name}' are not ascending.", "Write for instance [30, 50, 70]."
        )
    labels = [f"below {ends[0]}"]
    labels += [f"{low} to below {high}" for low, high in pairwise(ends)]
    labels.append(f"{ends[-1]} and above")
    wanted = [
        Condition(low=low, high=high, high_open=True)
        for low, high in zip([None, *ends], [*ends, None], strict=True)
    ]
    return pa.array(labels), wanted
