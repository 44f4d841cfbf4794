"""Guess how many originals stand behind each record (its degree) from the width of its cells.

The values that made a cell as large as it is occur among the m originals behind it, each with
probability 1/m. The certificate states how many records have which m (their degree), but not which
records these are. Two observations help:

- All records of a plain group have the same cells, and the size of the group is their degree. If
  every record has at least as many equal records as the lowest degree requires, and there are about
  as many distinct records as there would be groups, the release is taken to consist of groups. Two
  groups that happen to be equal get too high a degree, which errs on the safe side.
- Otherwise, more originals make wider cells. The widest records are assumed to have the highest
  degrees; but no record has fewer originals than there are values known to occur behind one of its
  cells.
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

# Degrees that are distinguished: each one multiplies the distinct cells of a column.
MAX_DEGREES = 8
# Factor by which the number of distinct records may differ from the number of groups.
_GROUP_TOLERANCE = 2.0


def guess_degrees(
    cells: Sequence[CellDistribution], degree: Degrees | None, rows: int
) -> Int64Array | None:
    """Return the degree that each record is assumed to have, [n].

    None if the certificate does not list the degrees of these records. ``cells`` are those of the
    generalized columns.
    """
    listed = {} if degree is None else dict(degree.records)
    if (
        degree is None or rows == 0 or sum(listed.values()) != rows
    ):  # not listed, or for other records
        return None
    records = coarsen_degrees(listed, MAX_DEGREES)
    if len(records) == 1:
        return np.full(rows, max(records))
    sizes = count_equal_records(cells, rows)
    if sizes.min() >= degree.min and _are_groups(sizes, listed):
        return degrees_by_group_size(sizes, records)
    widths, fewest = np.zeros(rows), np.ones(rows, np.int64)
    for every in cells:
        widths += relative_widths(every)[every.of_row]
        fewest = np.maximum(fewest, every.occurring_values[every.of_row])
    return degrees_by_width(widths, fewest, records)


def count_equal_records(cells: Sequence[CellDistribution], rows: int) -> Int64Array:
    """[n]: how many records have the same cells as this one in all columns."""
    keys = np.zeros(rows, np.int64)
    for every in cells:
        _, keys = np.unique(keys * len(every.first) + every.of_row, return_inverse=True)
    return np.bincount(keys.ravel())[keys.ravel()]


def _are_groups(sizes: Int64Array, records: Mapping[int, int]) -> bool:
    """Whether there are about as many distinct records as plain groups of these degrees."""
    distinct = float(np.sum(1 / sizes))
    groups = sum(count / degree for degree, count in records.items())
    return groups / _GROUP_TOLERANCE <= distinct <= groups * _GROUP_TOLERANCE


def degrees_by_group_size(sizes: Int64Array, records: Mapping[int, int]) -> Int64Array:
    """[n]: for each number of equal records, the next higher degree listed, or the highest.

    >>> degrees_by_group_size(np.array([3, 4, 4, 9, 30]), {4: 300, 9: 180, 20: 100})
    array([ 4,  4,  4,  9, 20])
    """
    degrees = np.array(list(records), np.int64)
    return degrees[np.minimum(np.searchsorted(degrees, sizes), len(degrees) - 1)]


def degrees_by_width(
    widths: Float64Array, fewest: Int64Array, records: Mapping[int, int]
) -> Int64Array:
    """[n]: the lowest degrees for the narrowest records, none below the record's ``fewest``.

    >>> degrees_by_width(np.array([0.9, 0.1, 0.5, 0.2]), np.array([2, 5, 1, 1]), {2: 2, 9: 2})
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
    """[cells]: the share of its column that each covers, 0 for a single value to 1 for all."""
    if isinstance(cells, ItemCells):
        distance = np.maximum(cells.distance, 0)
        relative: Float64Array = distance / max(distance.max(initial=0), 1)
        return relative
    single = cells.atoms.missing_measure  # the measure of a single value
    covered = cells.measured + single * cells.missing - single
    whole = cells.atoms.measure.sum() + single * cells.missing.any() - single
    if not 0 < whole < np.inf:
        return np.zeros(len(cells.first))
    widths: Float64Array = np.clip(covered / whole, 0.0, 1.0)
    return widths


def split_cells_by_degree(
    cells: CellDistribution, degrees: Int64Array
) -> tuple[CellDistribution, Int64Array]:
    """Split cells by the degree of their records; also return the degree of each cell."""
    distinct_degrees, degree_of_row = np.unique(degrees, return_inverse=True)
    if len(distinct_degrees) == 1 or cells.occurring_values.max(initial=0) <= 1:
        return cells, np.full(len(cells.first), distinct_degrees[-1])  # it makes no difference
    keys = cells.of_row * np.int64(len(distinct_degrees)) + degree_of_row.ravel()
    distinct, of_row = np.unique(keys, return_inverse=True)
    cell_of, degree_of = np.divmod(distinct, len(distinct_degrees))
    split = replace(
        cells,
        first=cells.first[cell_of],
        last=cells.last[cell_of],
        missing=cells.missing[cell_of],
        missing_weights=cells.missing_weights[cell_of],
        of_row=of_row.ravel().astype(np.int32),
        before=cells,
        before_of=cell_of,
    )
    return split, distinct_degrees[degree_of]
