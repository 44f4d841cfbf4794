"""Sensitive columns as codes: their values, how often each occurs, and their joint value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mottle.coding import codes_of_values
from mottle.errors import DataError
from mottle.schema import Column, Role, Schema

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]

MISSING = "(missing)"


@dataclass(frozen=True)
class SensitiveValues:
    """The values of a sensitive column, or the joint values of several, as codes."""

    columns: tuple[str, ...]  # several for the joint value
    codes: Int32s  # [n]
    counts: Int64s  # [values]
    labels: tuple[pa.Array, ...]  # per column: text by code of the column
    parts: Int32s  # [values, columns]: the joint value's code in each column
    binned: str = ""  # how numbers were put together, for the certificate

    @property
    def joint(self) -> bool:
        """Whether this is the joint value of several columns."""
        return len(self.columns) > 1

    def label(self, value: int) -> str:
        """A value as text; for its owner only."""
        words = [
            labels[int(code)].as_py()
            for labels, code in zip(self.labels, self.parts[value], strict=True)
        ]
        return ", ".join(words)

    def describe(self, value: int) -> str:
        """A value and where it stands, for the message that refuses it."""
        columns = " × ".join(f"'{column}'" for column in self.columns)
        return f"'{self.label(value)}' of column {columns}"


def encode_sensitive(table: pa.Table, schema: Schema) -> tuple[SensitiveValues, ...]:
    """The only sensitive column; or the joint value of all of them, and then each by itself.

    >>> table = pa.table({"illness": ["flu", "cold", "flu"], "pay": [1.5, 9.0, 3.0]})
    >>> schema = Schema.of(quasi_identifying=[], sensitive=["illness"], rest="insensitive")
    >>> (illness,) = encode_sensitive(table, schema)
    >>> illness.codes, illness.counts
    (array([1, 0, 1], dtype=int32), array([1, 2]))
    """
    columns = schema.with_role(Role.SENSITIVE)
    single = [_encode_column(table.column(column.name), column) for column in columns]
    if len(single) < 2:
        return tuple(single)
    return (_joint(single), *single)


def _encode_column(values: pa.ChunkedArray, column: Column) -> SensitiveValues:
    binned = ""
    if column.breaks is not None or column.bins is not None:
        values, binned = _binned(values, column)
    codes, known = codes_of_values(values, column)
    labels = pc.cast(known, pa.string())
    if (codes < 0).any():
        codes = np.where(codes < 0, np.int32(len(known)), codes)
        labels = pa.concat_arrays([labels, pa.array([MISSING], pa.string())])
    return SensitiveValues(
        columns=(column.name,),
        codes=codes.astype(np.int32, copy=False),
        counts=np.bincount(codes, minlength=len(labels)).astype(np.int64),
        labels=(labels,),
        parts=np.arange(len(labels), dtype=np.int32)[:, None],
        binned=binned,
    )


def _binned(values: pa.ChunkedArray, column: Column) -> tuple[pa.ChunkedArray, str]:
    """Numbers as the number of their bin, and how they were binned."""
    numeric = pa.types.is_integer(values.type) or pa.types.is_floating(values.type)
    if not (numeric or pa.types.is_decimal(values.type)):
        raise DataError(
            f"Column '{column.name}' has bins but holds {values.type} values.",
            "Only numbers can be binned.",
        )
    floats = pc.cast(values, pa.float64()).to_numpy(zero_copy_only=False)
    present = floats[~np.isnan(floats)]
    if column.breaks is not None:
        edges = np.array(column.breaks)
        how = f"{len(edges) + 1} bins with breaks {', '.join(f'{edge:g}' for edge in edges)}"
    else:
        assert column.bins is not None
        shares = np.arange(1, column.bins) / column.bins
        edges = np.unique(np.quantile(present, shares)) if len(present) else np.empty(0)
        how = f"{column.bins} quantile bins"
    bins = pa.array(np.searchsorted(edges, floats, side="right"), mask=np.isnan(floats))
    names = [f"below {edges[0]:g}"] if len(edges) else ["all"]
    names += [f"{low:g} to below {high:g}" for low, high in pairwise(edges)]
    names += [f"{edges[-1]:g} and above"] if len(edges) else []
    return pa.chunked_array([pa.array(names).take(bins)]), how


def _joint(single: Sequence[SensitiveValues]) -> SensitiveValues:
    """One code per combination that occurs."""
    combined = np.stack([values.codes for values in single], axis=1)
    parts, codes, counts = np.unique(combined, axis=0, return_inverse=True, return_counts=True)
    return SensitiveValues(
        columns=tuple(values.columns[0] for values in single),
        codes=codes.ravel().astype(np.int32),
        counts=counts.astype(np.int64),
        labels=tuple(values.labels[0] for values in single),
        parts=parts.astype(np.int32),
    )
