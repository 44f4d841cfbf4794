"""Rows grouped by equal quasi-identifiers, alone or together with a second table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.audit.containment.compact import group_rows
from mottle.errors import DataError, did_you_mean
from mottle.typing import Int64Array
from mottle.utils.dependence import coded


@dataclass(frozen=True)
class Keys:
    """The combination of quasi-identifiers of every row; called a key in the literature."""

    names: tuple[str, ...]
    codes: Int64Array  # [columns, rows]: the rank of each value, the missing one last
    group_of: Int64Array  # [rows]: the number of its combination
    sizes: Int64Array  # [combinations]: rows that have it

    @classmethod
    def of(cls, table: pa.Table, names: Sequence[str]) -> Keys:
        """Group the rows of a table; a missing value is a value like any other.

        Parameters
        ----------
        table : pyarrow.Table
            The table.
        names : sequence of str
            The quasi-identifiers.

        Returns
        -------
        Keys
            The combinations.
        """
        codes = np.stack([_codes(table.column(name)) for name in names])
        group_of, _ = group_rows(codes.T)
        return cls(tuple(names), codes, group_of, np.bincount(group_of))

    @property
    def frequencies(self) -> Int64Array:
        """[rows]: how many rows have the same combination, the row itself included."""
        return np.asarray(self.sizes[self.group_of], np.int64)


def population_counts(
    table: pa.Table, population: pa.Table, names: Sequence[str]
) -> tuple[Int64Array, Int64Array]:
    """Count how often combinations occur in a table of the population.

    Returns
    -------
    of_rows : int64 array of shape (rows,)
        For every row of the table: rows of the population with the same combination.
    of_population : int64 array of shape (population,)
        For every row of the population: the same.
    """
    joined = {}
    for name in names:
        if name not in population.column_names:
            raise DataError(
                f"The population has no column '{name}', which the table has.",
                did_you_mean(name, population.column_names),
            )
        joined[name] = _joined(table.column(name), population.column(name), name)
    groups = Keys.of(pa.table(joined), names).group_of
    own, others = groups[: table.num_rows], groups[table.num_rows :]
    counts = np.bincount(others, minlength=int(groups.max(initial=0)) + 1)
    return counts[own], counts[others]


def _joined(own: pa.ChunkedArray, others: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """One column after the other, in the type of the first."""
    own, others = (
        pc.cast(each, each.type.value_type) if pa.types.is_dictionary(each.type) else each
        for each in (own, others)
    )
    try:
        others = pc.cast(others, own.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise DataError(
            f"Column '{name}' holds {own.type} values in the table and {others.type} values in the"
            " population.",
            "Write both in the same way.",
        ) from None
    return pa.chunked_array([*own.chunks, *others.chunks], own.type)


def _codes(values: pa.ChunkedArray) -> Int64Array:
    """Ranks of a column's values; sets of items are compared whatever their order."""
    found = coded(values)
    if found is None:
        texts = [
            repr(sorted(map(str, value)) if isinstance(value, list) else value)
            for value in values.to_pylist()
        ]
        found = coded(pa.chunked_array([pa.array(texts, pa.string())]))
        assert found is not None
    return found.codes
