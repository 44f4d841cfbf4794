"""Columns of ordinary tables as numbers, for regressions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import UsageError
from mottle.queries._literals import is_numeric
from mottle.queries.conditions import check_column
from mottle.typing import Float64Array


class Design:
    """Encodes columns as numbers: numbers as they are, others as an indicator for each value."""

    def __init__(self, worlds: Sequence[pa.Table], features: Sequence[str]) -> None:
        self.features = list(features)
        self.levels: dict[str, pa.Array] = {}  # values that get an indicator: all but the first
        self.means: dict[str, float] = {}
        self.names: list[str] = []
        for name in self.features:
            columns = [table.column(name) for table in worlds]
            value_type = columns[0].type
            if is_numeric(value_type) or pa.types.is_date(value_type):
                numbers = np.concatenate([numbers_of(column) for column in columns])
                known = numbers[np.isfinite(numbers)]
                self.means[name] = float(known.mean()) if len(known) else 0.0
                self.names.append(name)
                continue
            if pa.types.is_nested(value_type):
                raise UsageError(
                    f"Column '{name}' holds sets of items, which have no single value.",
                    "Leave it out of features.",
                )
            chunks = [chunk for column in columns for chunk in texts_of(column).chunks]
            levels = pc.unique(pa.chunked_array(chunks, pa.string())).drop_null()
            levels = levels.take(pc.sort_indices(levels))[1:]
            self.levels[name] = levels
            self.names += [f"{name}={level}" for level in levels.to_pylist()]

    def encode(self, table: pa.Table) -> Float64Array:
        """Encode the rows of a table; missing numbers become the mean of the worlds."""
        encoded = np.empty((len(self.names), table.num_rows))  # inputs are written one by one
        place = 0
        for name in self.features:
            check_column(name, table.column_names)
            column = table.column(name)
            if name in self.means:
                numbers = numbers_of(column)
                encoded[place] = np.where(np.isfinite(numbers), numbers, self.means[name])
                place += 1
            else:
                levels = self.levels[name]
                found = pc.fill_null(pc.index_in(texts_of(column), value_set=levels), len(levels))
                codes = found.to_numpy()
                for level in range(len(levels)):
                    np.equal(codes, level, out=encoded[place + level])
                place += len(levels)
        return encoded.T


def numbers_of(column: pa.ChunkedArray) -> Float64Array:
    """Numbers as they are, dates as days since 1970; NaN for missing."""
    if pa.types.is_date(column.type):
        column = pc.cast(pc.cast(column, pa.date32()), pa.int32())
    return np.asarray(pc.cast(column, pa.float64(), safe=False).to_numpy(), np.float64)


def texts_of(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Values as text."""
    return pc.cast(column, pa.string())


def least_squares(inputs: Float64Array, targets: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Coefficients of a linear regression without those of its constant, and their variances."""
    with_constant = _with_constant(inputs)
    inverse = np.linalg.pinv(with_constant @ with_constant.T, hermitian=True)
    found = inverse @ (with_constant @ targets)
    squares = np.square(targets - found @ with_constant)
    spread = float(squares.sum()) / max(len(inputs) - len(with_constant), 1.0)
    return found[1:], np.maximum(spread * np.diag(inverse)[1:], 0.0)  # below 0 only by rounding


def weighted_coefficients(
    inputs: Float64Array, targets: Float64Array, weights: Float64Array
) -> Float64Array:
    """Coefficients as those of `least_squares`; weights say how many rows each one stands for."""
    with_constant = _with_constant(inputs)
    weighted = with_constant * weights
    inverse = np.linalg.pinv(weighted @ with_constant.T, hermitian=True)
    found: Float64Array = inverse @ (weighted @ targets)
    return found[1:]


def _with_constant(inputs: Float64Array) -> Float64Array:
    """[inputs + 1, rows]: the constant, then the inputs."""
    found = np.empty((inputs.shape[1] + 1, len(inputs)))
    found[0] = 1.0
    found[1:] = inputs.T
    return found
