"""Whose row each row is: the values of the person column as codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import DataError
from mottle.typing import Int32Array


@dataclass(frozen=True)
class People:
    """The people of a table, and whose row each row is."""

    column: str
    codes: Int32Array  # [n]: 0 .. count - 1
    count: int  # number of people
    most: int  # rows of the person who has most

    @classmethod
    def of(cls, table: pa.Table, column: str) -> Self:
        """Code the person column of a table.

        Parameters
        ----------
        table : pa.Table
            The table.
        column : str
            The column that says whose row it is.

        Returns
        -------
        People
            The people, numbered in the order of their first rows.

        Raises
        ------
        DataError
            The column is empty in some rows, so that these could be anybody's.
        """
        values = table.column(column)
        check_named(column, values.null_count + _nan(values), len(values))
        if pa.types.is_dictionary(values.type):
            values = pc.cast(values, values.type.value_type)
        coded = values.combine_chunks().dictionary_encode()
        codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int32)
        rows = np.bincount(codes)
        return cls(column, codes, len(rows), int(rows.max(initial=0)))

    @property
    def several(self) -> bool:
        """Whether somebody has several rows."""
        return self.most > 1


def check_named(column: str, empty: int, rows: int) -> None:
    """Raise `DataError` if the person column is empty in some rows."""
    if empty:
        raise DataError(
            f"Column '{column}' says whose row it is, but is empty in {empty:,} of {rows:,} rows.",
            "Fill it, or remove these rows.",
        )


def _nan(values: pa.ChunkedArray) -> int:
    if not pa.types.is_floating(values.type):
        return 0
    return int(pc.sum(pc.fill_null(pc.is_nan(values), False)).as_py() or 0)
