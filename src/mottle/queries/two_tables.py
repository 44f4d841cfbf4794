"""Two published tables (Anatomy): how many of a group's records have which sensitive values.

Which record of a group has which of its values is not known: every assignment of the values to the
records is equally likely. If q of a group's s records satisfy the conditions on exact columns and c
of its values satisfy those on sensitive columns, the number that satisfies both is hypergeometric.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from mottle.queries.cells.cells import IMPOSSIBLE, CellDistribution, Moments
from mottle.queries.cells.from_columns import cells_of
from mottle.queries.conditions import Conditions
from mottle.queries.estimate import Estimate
from mottle.release.column import PublishedColumn
from mottle.typing import BoolArray, Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class TwoTables:
    """The sensitive values of every group, and the groups of the records."""

    # Sensitive columns: the cell of every row of the second table.
    columns: Mapping[str, CellDistribution]
    group_of_value: Int64Array  # [values]: the group of every row of the second table
    counts: Int64Array  # [values]: how often the group has these values
    group_of_row: Int64Array  # [n]: the group of every record
    sizes: Int64Array  # [groups]: the number of records

    @classmethod
    def of(cls, published: pa.Table, sensitive: pa.Table) -> TwoTables:
        """Index the second table; its first column is the group, its last one the count."""
        name, *columns, counted = sensitive.column_names
        numbers, group_of_row = np.unique(published.column(name).to_numpy(), return_inverse=True)
        return cls(
            columns={
                column: cells_of(
                    sensitive.column(column),
                    PublishedColumn.of_field(sensitive.schema.field(column)),
                )
                for column in columns
            },
            group_of_value=np.searchsorted(numbers, sensitive.column(name).to_numpy()),
            counts=sensitive.column(counted).to_numpy(),
            group_of_row=group_of_row,
            sizes=np.bincount(group_of_row),
        )

    def select_values(self, conditions: Mapping[str, Conditions]) -> BoolArray:
        """[values]: which rows of the second table satisfy conditions."""
        fits = np.ones(len(self.counts), np.bool_)
        for name, wanted in conditions.items():
            cells = self.columns[name]
            fits &= cells.shares(wanted)[cells.of_row] > 0
        return fits

    def sum_by_group(self, fits: BoolArray, weights: Float64Array | None = None) -> Float64Array:
        """[groups]: how many of the selected values each group has, or the sum of their weights."""
        counted = self.counts[fits] * (1.0 if weights is None else weights[fits])
        totals = np.bincount(self.group_of_value[fits], counted, minlength=len(self.sizes))
        return totals.astype(np.float64)

    def count(self, matching: BoolArray, conditions: Mapping[str, Conditions]) -> Estimate:
        """Estimate how many of the matching records have sensitive values that meet conditions."""
        among = np.bincount(self.group_of_row[matching], minlength=len(self.sizes))
        fitting = self.sum_by_group(self.select_values(conditions))
        return hypergeometric_total(among, fitting, self.sizes)

    def shares(self, conditions: Mapping[str, Conditions]) -> Float64Array:
        """[n]: how likely each record satisfies conditions; 1 for certain, -1 for impossible."""
        fitting = self.sum_by_group(self.select_values(conditions))
        shares = np.where(fitting > 0, fitting / self.sizes, IMPOSSIBLE)
        return shares[self.group_of_row]

    def moments(self, column: str, conditions: Mapping[str, Conditions]) -> Moments:
        """[n]: the numbers of a sensitive column that each record may have."""
        cells = self.columns[column]
        own = cells.moments(conditions[column])
        fits = self.select_values(conditions) & (own.share[cells.of_row] > 0)
        numbers = own.lowest[cells.of_row]
        fitting = self.sum_by_group(fits)
        lowest = np.full(len(self.sizes), np.inf)
        highest = np.full(len(self.sizes), -np.inf)
        np.minimum.at(lowest, self.group_of_value[fits], numbers[fits])
        np.maximum.at(highest, self.group_of_value[fits], numbers[fits])
        some = fitting > 0
        parts = (
            np.where(some, fitting / self.sizes, IMPOSSIBLE),
            self.sum_by_group(fits, numbers) / self.sizes,
            self.sum_by_group(fits, numbers**2) / self.sizes,
            np.where(some, lowest, 0.0),
            np.where(some, highest, 0.0),
        )
        return Moments(*(part[self.group_of_row] for part in parts))


def hypergeometric_total(among: Int64Array, fitting: Float64Array, sizes: Int64Array) -> Estimate:
    """Sum hypergeometric counts over groups.

    Of each group's ``sizes`` records and values, ``among`` records and ``fitting`` values match.

    2 of 4 records and 3 of 4 values:

    >>> hypergeometric_total(np.array([2]), np.array([3.0]), np.array([4]))
    Estimate(expected=1.5, certain=1.0, possible=2.0, error=0.5)
    """
    expected = among * fitting / sizes
    rest = (sizes - among) * (sizes - fitting) / (sizes * np.maximum(sizes - 1, 1))
    return Estimate(
        expected=float(expected.sum()),
        certain=float(np.maximum(among + fitting - sizes, 0).sum()),
        possible=float(np.minimum(among, fitting).sum()),
        error=float(np.sqrt((expected * rest).sum())),
    )
