"""Group-by and cubes: every record shared out over the groups its cells allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from numba import njit

from mottle.errors import UsageError
from mottle.queries.cells.atoms import Values
from mottle.queries.cells.cells import IMPOSSIBLE, CellDistribution
from mottle.queries.conditions import Condition, Conditions, Where
from mottle.queries.group_by.two_tables import count_apart
from mottle.typing import Float64Array, Int32Array, Int64Array

if TYPE_CHECKING:
    from mottle.queries.engine import Queries

MOST_GROUPS = 20_000_000
LEVEL, GROUPED_BY = "level", "grouped_by"
PARTS = ("expected", "certain", "possible", "error")
Breaks = Mapping[str, Sequence[object]]


class Shared(NamedTuple):
    """The groups of one column, and how its cells are shared out over them."""

    offsets: Int64Array  # [cells + 1]: where the groups of every cell begin
    groups: Int64Array  # the groups
    shares: Float64Array  # and how likely each is; exactly 1 for certain


@dataclass(frozen=True, eq=False)
class Grouped:
    """One column to group by."""

    name: str
    labels: pa.Array  # of every group; null for missing values
    shared: Shared


def group_by(
    queries: Queries, columns: Sequence[str], where: Where | None, breaks: Breaks | None
) -> pa.Table:
    """A row for every combination of groups that may have a record."""
    conditions = queries.read(where)
    names = _names(queries, columns, breaks)
    return _table(queries, names, conditions, all_grouped(queries, names, conditions, breaks))


def cube(
    queries: Queries, columns: Sequence[str], where: Where | None, breaks: Breaks | None
) -> pa.Table:
    """All group-bys over subsets of the columns, from none to all of them."""
    names = _names(queries, columns, breaks)
    subsets = [chosen for size in range(len(names) + 1) for chosen in combinations(names, size)]
    return grouping_sets(queries, names, subsets, where, breaks)


def grouping_sets(
    queries: Queries,
    columns: Sequence[str],
    subsets: Sequence[Sequence[str]],
    where: Where | None,
    breaks: Breaks | None = None,
) -> pa.Table:
    """Group-bys over several sets of columns, one below the other; null in columns left out."""
    conditions = queries.read(where)
    names = _names(queries, columns, breaks)
    grouped = all_grouped(queries, names, conditions, breaks)
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


def _names(queries: Queries, columns: Sequence[str], breaks: Breaks | None) -> list[str]:
    names = [columns] if isinstance(columns, str) else list(columns)
    for name in (*names, *(breaks or {})):
        queries.check(name)
    for name in breaks or {}:
        if name not in names:
            raise UsageError(f"There are breaks for column '{name}', which is not grouped by.")
    if len(set(names)) < len(names):
        raise UsageError("A column is named twice to group by.", "Name each once.")
    reserved = [name for name in names if name in (*PARTS, LEVEL, GROUPED_BY)]
    if reserved:
        raise UsageError(
            f"Column '{reserved[0]}' has the name of a part of the answer.",
            "Count its values one by one, with count().",
        )
    return names


def all_grouped(
    queries: Queries,
    names: Sequence[str],
    conditions: Mapping[str, Conditions],
    breaks: Breaks | None,
) -> dict[str, Grouped]:
    """How every column to group by is shared out over its groups."""
    return {
        name: share_out(queries.column(name), conditions.get(name, ()), (breaks or {}).get(name))
        for name in names
    }


def share_out(
    cells: CellDistribution, conditions: Conditions, breaks: Sequence[object] | None = None
) -> Grouped:
    """How the cells of a column are shared out over its values, or over ranges of them."""
    if breaks is None and isinstance(cells.atoms, Values):
        return _by_value(cells, cells.atoms, conditions)
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
    return Grouped(cells.name, labels, _by_cell(parts, len(cells.first)))


def _by_value(cells: CellDistribution, atoms: Values, conditions: Conditions) -> Grouped:
    """Every slot of a cell is a group of its own: no need to ask for one value after the other."""
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
    return Grouped(cells.name, labels, _by_cell(parts, len(sizes)))


def _by_cell(parts: list[tuple[Int64Array, Int64Array, Float64Array]], cells: int) -> Shared:
    cell_of, groups, shares = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.argsort(cell_of, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(cell_of, minlength=cells))])
    return Shared(offsets.astype(np.int64), groups[order].astype(np.int64), shares[order])


def _ranges(name: str, breaks: Sequence[object]) -> tuple[pa.Array, list[Condition]]:
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


def _table(
    queries: Queries,
    names: Sequence[str],
    conditions: Mapping[str, Conditions],
    grouped: Mapping[str, Grouped],
) -> pa.Table:
    """The rows of one group-by."""
    others = {name: wanted for name, wanted in conditions.items() if name not in names}
    groups = int(np.prod([float(len(grouped[name].labels)) for name in names]))
    if groups > MOST_GROUPS:
        raise UsageError(
            f"Grouping by {', '.join(names)} makes {groups:,} groups.",
            f"{MOST_GROUPS:,} are the most: group by fewer columns, or by ranges (breaks).",
        )
    if queries.apart is not None and any(name not in queries.names for name in (*names, *others)):
        parts = count_apart(queries, names, others, grouped, groups)
    else:
        parts = _count(queries, names, others, grouped, groups)
    expected, certain, possible, variance = parts
    rows = np.flatnonzero(possible > 0)
    places = np.unravel_index(rows, [len(grouped[name].labels) for name in names]) if names else ()
    columns = {
        name: grouped[name].labels.take(pa.array(place))
        for name, place in zip(names, places, strict=True)
    }
    answers = (expected, certain, possible, np.sqrt(np.maximum(variance, 0.0)))
    return pa.table(
        columns | {part: pa.array(all_[rows]) for part, all_ in zip(PARTS, answers, strict=True)}
    )


Parts = tuple[Float64Array, Float64Array, Float64Array, Float64Array]


def _count(
    queries: Queries,
    names: Sequence[str],
    others: Mapping[str, Conditions],
    grouped: Mapping[str, Grouped],
    groups: int,
) -> Parts:
    likely = queries.likelihoods(others)
    expected, squares, certain, possible = np.zeros((4, groups))
    _add_up(
        *kernel_arguments(queries, names, grouped), likely, expected, squares, certain, possible
    )
    return expected, certain, possible, expected - squares


def kernel_arguments(
    queries: Queries, names: Sequence[str], grouped: Mapping[str, Grouped]
) -> tuple[Int32Array, Int64Array, Int64Array, Int64Array, Float64Array]:
    """Cells of every record in the columns, and how all cells are shared out, one after another."""
    codes = np.empty((len(names), queries.records), np.int32)
    offsets, groups, shares = [], [], []
    cells_before, entries_before = 0, 0
    strides = np.cumprod([1, *(len(grouped[name].labels) for name in reversed(names))])[::-1][1:]
    for place, name in enumerate(names):
        shared = grouped[name].shared
        codes[place] = queries.column(name).of_row + np.int32(cells_before)
        offsets.append(shared.offsets[:-1] + entries_before)
        groups.append(shared.groups * strides[place])
        shares.append(shared.shares)
        cells_before += len(shared.offsets) - 1
        entries_before += len(shared.groups)
    return (
        codes,
        np.concatenate([*offsets, [entries_before]]).astype(np.int64),
        np.array([len(names)], np.int64),
        np.concatenate([np.empty(0, np.int64), *groups]).astype(np.int64),
        np.concatenate([np.empty(0), *shares]),
    )


@njit(cache=True, nogil=True)
def _add_up(
    codes: Int32Array,
    offsets: Int64Array,
    columns: Int64Array,
    groups: Int64Array,
    shares: Float64Array,
    likely: Float64Array,
    expected: Float64Array,
    squares: Float64Array,
    certain: Float64Array,
    possible: Float64Array,
) -> None:
    """Add every record to the groups it may be in: all combinations of its cells' groups."""
    width = columns[0]
    at = np.zeros(width + 1, np.int64)
    group = np.zeros(width + 1, np.int64)
    share = np.zeros(width + 1)
    for row in range(len(likely)):
        if likely[row] < 0.0:
            continue
        share[0] = likely[row]
        depth = 0
        if width > 0:
            at[0] = offsets[codes[0, row]]
        while depth >= 0:
            if depth == width:
                expected[group[depth]] += share[depth]
                squares[group[depth]] += share[depth] * share[depth]
                certain[group[depth]] += share[depth] == 1.0
                possible[group[depth]] += 1.0
                depth -= 1
                continue
            entry = at[depth]
            if entry == offsets[codes[depth, row] + 1]:
                depth -= 1
                continue
            at[depth] += 1
            group[depth + 1] = group[depth] + groups[entry]
            share[depth + 1] = share[depth] * shares[entry]
            depth += 1
            if depth < width:
                at[depth] = offsets[codes[depth, row]]
