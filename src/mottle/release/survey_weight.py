"""Survey weights: how many people of the population a row stands for."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import DataError
from mottle.typing import Float64Array


def survey_weights(values: pa.ChunkedArray | pa.Array, name: str) -> Float64Array:
    """Return the weights of a survey as numbers.

    Parameters
    ----------
    values : pyarrow.ChunkedArray or pyarrow.Array
        The column.
    name : str
        Its name, for messages.

    Returns
    -------
    float64 array of shape (rows,)
        The weights; 0 where one is missing: such a row stands for nobody.

    Raises
    ------
    DataError
        The column does not hold numbers, or holds negative or infinite ones.

    Examples
    --------
    >>> survey_weights(pa.array([12.5, None, 3]), "pw").tolist()
    [12.5, 0.0, 3.0]
    """
    kind = values.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise DataError(
            f"The survey weight '{name}' holds {kind} values, not numbers.",
            "Name the column of sampling weights, or say how its numbers are written"
            " (--decimal, --thousands).",
        )
    weights = np.asarray(pc.cast(values, pa.float64()).to_numpy(zero_copy_only=False), np.float64)
    weights = np.where(np.isnan(weights), 0.0, weights)
    if np.any(weights < 0) or np.any(np.isinf(weights)):
        raise DataError(
            f"The survey weight '{name}' holds negative or infinite numbers.",
            "A weight says how many people of the population a row stands for: 0 or more.",
        )
    return weights
