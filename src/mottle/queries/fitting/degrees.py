"""How many originals stand behind each record: a guess by how wide its cells are.

What made a cell large occurs among the m originals behind it, each with the chance 1/m. The
certificate says how many records have which m, its degree, and not which ones. Two things tell:

- All records of a plain group have the same cells, and their number is their degree. Where every
  record has as many equals as the lowest degree asks for, and there are about as many different
  ones as there would be groups, the release was made so. Two groups that happen to be equal come
  out with too high a degree, which is the safe side.
- Otherwise: more originals make wider cells. The widest records are taken to have the highest
  degrees; but none has fewer originals than values known to occur behind one of its cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from mottle.graph.degrees import coarsen_degrees
from mottle.queries.cells.cells import CellDistribution
from mottle.queries.cells.item_cells import ItemCells
from mottle.release.certificate import Degrees
from mottle.typing import Float64Array, Int64Array

MOST_CLASSES = 8  # degrees that are told apart: each multiplies the distinct cells of a column
_ABOUT = 2.0  # factor by which the number of different records may miss that of groups


def guess_degrees(
    cells: Sequence[CellDistribution], degree: Degrees | None, rows: int
) -> Int64Array | None:
    """[n]: the degree that every record is taken to have; None if the certificate says too little.

    ``cells`` are those of the generalized columns.
    """
    listed = {} if degree is None else dict(degree.records)
    if degree is None or rows == 0 or sum(listed.values()) != rows:  # none, or not of these records
        return None
    records = coarsen_degrees(listed, MOST_CLASSES)
    if len(records) == 1:
        return np.full(rows, max(records))
    sizes = equal_records(cells, rows)
    if sizes.min() >= degree.min and _are_groups(sizes, listed):
        return by_size(sizes, records)
    widths, fewest = np.zeros(rows), np.ones(rows, np.int64)
    for every in cells:
        widths += relative_widths(every)[every.of_row]
        fewest = np.maximum(fewest, every.occurring_values[every.of_row])
    return by_rank(widths, fewest, records)


def equal_records(cells: Sequence[CellDistribution], rows: int) -> Int64Array:
    """[n]: how many records have the same cells as each has, in all columns."""
    kinds = np.zeros(rows, np.int64)
    for every in cells:
        _, kinds = np.unique(kinds * len(every.first) + every.of_row, return_inverse=True)
    return np.bincount(kinds.ravel())[kinds.ravel()]


def _are_groups(sizes: Int64Array, records: Mapping[int, int]) -> bool:
    """Whether there are about as many different records as plain groups of these degrees."""
    different = float(np.sum(1 / sizes))
    groups = sum(count / degree for degree, count in records.items())
    return groups / _ABOUT <= different <= groups * _ABOUT


def by_size(sizes: Int64Array, records: Mapping[int, int]) -> Int64Array:
    """Degrees by the numbers of equal records, the next higher one listed or the highest.

    >>> by_size(np.array([3, 4, 4, 9, 30]), {4: 300, 9: 180, 20: 100})
    array([ 4,  4,  4,  9, 20])
    """
    degrees = np.array(list(records), np.int64)
    return degrees[np.minimum(np.searchsorted(degrees, sizes), len(degrees) - 1)]


def by_rank(widths: Float64Array, fewest: Int64Array, records: Mapping[int, int]) -> Int64Array:
    """Degrees for the narrowest records first, the lowest ones first, none below its ``fewest``.

    >>> by_rank(np.array([0.9, 0.1, 0.5, 0.2]), np.array([2, 5, 1, 1]), {2: 2, 9: 2})
    array([9, 9, 2, 2])
    """
    degrees = np.full(len(widths), max(records))
    waiting = np.argsort(widths, kind="stable")
    for degree, count in list(records.items())[:-1]:
        taken = np.flatnonzero(fewest[waiting] <= degree)[:count]
        degrees[waiting[taken]] = degree
        waiting = np.delete(waiting, taken)
    return degrees


def relative_widths(cells: CellDistribution) -> Float64Array:
    """[cells]: how much of its column each covers, from 0 for a single value to 1 for all of it."""
    if isinstance(cells, ItemCells):
        distance = np.maximum(cells.distance, 0)
        relative: Float64Array = distance / max(distance.max(initial=0), 1)
        return relative
    single = cells.atoms.missing_measure  # as much as a value has
    covered = cells.measured + single * cells.missing - single
    whole = cells.atoms.measure.sum() + single * cells.missing.any() - single
    if not 0 < whole < np.inf:
        return np.zeros(len(cells.first))
    widths: Float64Array = np.clip(covered / whole, 0.0, 1.0)
    return widths


def tell_apart(cells: CellDistribution, degrees: Int64Array) -> tuple[CellDistribution, Int64Array]:
    """The cells told apart by the degrees of their records, and the degree of each."""
    kinds, kind_of_row = np.unique(degrees, return_inverse=True)
    if len(kinds) == 1 or cells.occurring_values.max(initial=0) <= 1:  # it makes no difference
        return cells, np.full(len(cells.first), kinds[-1])
    keys = cells.of_row * np.int64(len(kinds)) + kind_of_row.ravel()
    distinct, of_row = np.unique(keys, return_inverse=True)
    cell_of, kind_of = np.divmod(distinct, len(kinds))
    apart = replace(
        cells,
        first=cells.first[cell_of],
        last=cells.last[cell_of],
        missing=cells.missing[cell_of],
        missing_weights=cells.missing_weights[cell_of],
        of_row=of_row.ravel().astype(np.int32),
        before=cells,
        before_of=cell_of,
    )
    return apart, kinds[kind_of]
