"""Generated sensitive values over a table's real quasi-identifiers, as in HET §5."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mottle.errors import UsageError

_DISTRIBUTIONS = ("uniform", "zipf")


def with_sensitive_values(
    table: pa.Table,
    column: str,
    values: int | Sequence[str],
    distribution: str = "uniform",
    theta: float = 0.5,
    seed: int = 0,
) -> pa.Table:
    """Draw the values of a sensitive column, each independent of everything else in its row.

    Parameters
    ----------
    table : pyarrow.Table
        Any table; its other columns are not changed.
    column : str
        Replaced where the table has it, appended where it does not.
    values : int or Sequence[str]
        The labels, or their number (``v1``, ``v2``, …).
    distribution : {"uniform", "zipf"}
        With "zipf" the r-th label has a probability in proportion to 1 / r^theta.
    theta : float
        The skew of "zipf"; 0 is uniform. HET takes 0.5 to 0.9.
    seed : int
        The same seed draws the same values.

    Returns
    -------
    pyarrow.Table
        The table with the drawn column.

    Raises
    ------
    UsageError
        The distribution is unknown, there are no labels, or the seed or ``theta`` is negative.

    Examples
    --------
    >>> people = pa.table({"age": [31, 45, 31, 62]})
    >>> with_sensitive_values(people, "illness", ["flu", "cold"], seed=5).to_pydict()
    {'age': [31, 45, 31, 62], 'illness': ['cold', 'cold', 'cold', 'flu']}
    """
    if distribution not in _DISTRIBUTIONS:
        raise UsageError(
            f"There is no distribution '{distribution}'.", f"Known: {', '.join(_DISTRIBUTIONS)}."
        )
    labels = [f"v{rank}" for rank in range(1, values + 1)] if isinstance(values, int) else values
    if len(labels) == 0:
        raise UsageError("A sensitive column needs at least one value.", "Give one or more.")
    if seed < 0:
        raise UsageError(f"The seed {seed} is below 0.", "Give a seed of 0 or more.")
    shares = zipf_shares(len(labels), theta if distribution == "zipf" else 0.0)
    drawn = np.random.default_rng(seed).choice(len(labels), table.num_rows, p=shares)
    cells = pa.array(labels, pa.string()).take(pa.array(drawn))
    if column in table.column_names:
        return table.set_column(table.column_names.index(column), column, cells)
    return table.append_column(column, cells)


def zipf_shares(values: int, theta: float) -> NDArray[np.float64]:
    """Return the probabilities of the ranks 1, 2, …, in proportion to 1 / rank^theta.

    Parameters
    ----------
    values : int
        Number of ranks.
    theta : float
        The skew; 0 gives equal probabilities.

    Returns
    -------
    numpy.ndarray
        The probabilities, which add up to 1.

    Raises
    ------
    UsageError
        ``theta`` is negative or not finite.

    Examples
    --------
    >>> zipf_shares(3, 1.0).round(3).tolist()
    [0.545, 0.273, 0.182]
    """
    if not 0 <= theta < float("inf"):
        raise UsageError(f"A skew theta of {theta} is not possible.", "Give a number from 0 on.")
    shares = np.arange(1, values + 1, dtype=np.float64) ** -theta
    return np.asarray(shares / shares.sum())
