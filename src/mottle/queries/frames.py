"""A release as an ordinary table with one value in each cell, for frames and plots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.encoding.domain import Form
from mottle.errors import UsageError, did_you_mean
from mottle.queries._literals import is_numeric
from mottle.queries.cells.atoms import Values
from mottle.queries.cells.cells import IMPOSSIBLE, CellDistribution
from mottle.queries.cells.item_cells import ItemCells
from mottle.queries.conditions import Condition
from mottle.queries.engine import Queries
from mottle.release.column import PublishedColumn
from mottle.release.data import ReleaseData
from mottle.typing import Float64Array

CELLS = ("text", "midpoint", "expected", "struct")


def frame(release: ReleaseData, cells: str, queries: Callable[[], Queries]) -> pa.Table:
    """Return a release as a table.

    Parameters
    ----------
    release : Release
        The release.
    cells : {"text", "midpoint", "expected", "struct"}
        What a cell becomes: its text, the middle of its range, its expected or most likely value,
        or the typed cell.
    queries : callable
        Prepares the release for queries; called for "expected" only.

    Returns
    -------
    pyarrow.Table

    Raises
    ------
    UsageError
        There are no such cells.
    """
    if cells not in CELLS:
        raise UsageError(f"There are no cells '{cells}'.", did_you_mean(str(cells), CELLS))
    if cells == "struct":
        return release.table
    text = release.to_text()
    if cells == "text":
        return text
    fitted = queries() if cells == "expected" else None
    columns = {name: text.column(name) for name in text.column_names}
    for column in release.columns:
        if column.form is None or column.form is Form.WORLDS:
            continue
        if fitted is not None:
            columns[column.name] = _expected(fitted.column(column.name), column)
        else:
            typed = release.table.column(column.name).combine_chunks()
            middle = _midpoint(typed, column)
            if middle is not None:
                columns[column.name] = middle
    return pa.table(columns)


def _midpoint(cells: pa.Array, column: PublishedColumn) -> pa.Array | None:
    """The middle of every range of numbers, dates or ordered values; None for other columns."""
    value_type = column.value_type
    is_date = pa.types.is_date(value_type)
    if column.form is Form.RANGE:
        low, high, _ = cells.flatten()
        if column.order is not None:
            order = pa.array(column.order, pa.string())
            places = [
                pc.index_in(pc.cast(end, pa.string()), value_set=order) for end in (low, high)
            ]
            middle = pc.divide(pc.add(*places), 2)  # the lower one of two
            return pc.cast(order.take(middle), value_type)
    elif column.form is Form.SET and is_numeric(value_type):
        members = pc.list_parent_indices(cells).to_numpy(), cells.flatten()
        grouped = pa.table(
            {"row": members[0], "value": pc.cast(members[1], pa.float64(), safe=False)}
        )
        ends = grouped.group_by("row").aggregate([("value", "min"), ("value", "max")])
        low, high = (np.full(len(cells), np.nan) for _ in range(2))
        rows = ends.column("row").to_numpy()
        low[rows] = ends.column("value_min").to_numpy()
        high[rows] = ends.column("value_max").to_numpy()
        return pa.array((low + high) / 2, from_pandas=True)
    else:
        return None
    if is_date:
        days = [pc.cast(pc.cast(end, pa.date32()), pa.int32()) for end in (low, high)]
        half = pc.divide(pc.subtract(days[1], days[0]), pa.scalar(2, pa.int32()))
        return pc.cast(pc.add(days[0], half), pa.date32())
    if not is_numeric(value_type):
        return None
    numbers = [pc.cast(end, pa.float64(), safe=False) for end in (low, high)]
    return pc.add(pc.divide(numbers[0], 2.0), pc.divide(numbers[1], 2.0))


def _expected(cells: CellDistribution, column: PublishedColumn) -> pa.Array:
    """The expected number or date of every record, or its most likely value."""
    assert not isinstance(cells, ItemCells)
    if pa.types.is_date(column.value_type) and not isinstance(cells.atoms, Values):
        counted = replace(cells.atoms, value_type=pa.int64())  # type: ignore[type-var]
        days = _means(replace(cells, atoms=counted))
        known = np.isfinite(days)
        whole = np.round(np.where(known, days, 0.0)).astype(np.int32)
        return pc.cast(pa.array(whole, mask=~known), pa.date32()).take(pa.array(cells.of_row))
    if is_numeric(column.value_type) and column.order is None:
        return pa.array(_means(cells)[cells.of_row], from_pandas=True)
    return _most_likely(cells).take(pa.array(cells.of_row))


def _means(cells: CellDistribution) -> Float64Array:
    """[cells]: the expected number where there is one; NaN where there is none."""
    moments = cells.moments((Condition(),))
    means = np.full(len(moments.share), np.nan)
    some = moments.share != IMPOSSIBLE
    likely = np.where(moments.share > 0, moments.share, 1.0)
    means[some] = np.clip(moments.first / likely, moments.lowest, moments.highest)[some]
    return means


def _most_likely(cells: CellDistribution) -> pa.Array:
    """[cells]: the value that is most likely; null where that is the missing one."""
    sizes = cells.last - cells.first
    cell_of = np.repeat(np.arange(len(sizes)), sizes)
    places = np.arange(len(cell_of)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    slots = cells.first[cell_of] + places
    chances = cells.chances(cell_of, slots)
    order = np.lexsort((-places, chances, cell_of))  # the last one of a cell is its best
    best = np.zeros(len(sizes), np.int64)
    best[cell_of[order]] = order
    known = sizes > 0
    known[known] &= chances[best[known]] >= cells.chance_of_missing[known]
    atoms = slots if cells.slots is None else cells.slots[slots]
    chosen = atoms[best[known]]
    values = cells.atoms.points().take(pa.array(chosen))
    return values.take(pa.array(np.cumsum(known) - 1, mask=~known))
