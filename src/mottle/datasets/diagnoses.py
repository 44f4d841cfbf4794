"""Generated diagnoses: a column of sets, each with all diagnoses of a person."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.datasets import _population_tables as tables
from mottle.errors import UsageError

_AT_ONCE = 3.0  # mean number of diagnoses where a population's `diagnosis` column has one
_FRAILTY = 2.0  # shape of the gamma distribution of frailty; lower: people differ more
_MOST = 0.95  # upper bound of the probability of one diagnosis
_MISSING = 0.01  # share of people whose set is missing


def with_diagnoses(table: pa.Table, column: str = "diagnoses", seed: int = 0) -> pa.Table:
    """Add a column with the set of all diagnoses of each person to a generated population.

    The probability of a diagnosis depends on ``age`` and ``sex``, and people who have one diagnosis
    are more likely to have others. About one set in a hundred is missing; many people have no
    diagnosis, which is an empty set.

    Parameters
    ----------
    table : pyarrow.Table
        A table with the columns ``age`` and ``sex`` of `mottle.datasets.population`.
    column : str
        Name of the new column.
    seed : int
        The same seed draws the same diagnoses.

    Returns
    -------
    pyarrow.Table
        The table with a column of lists appended.

    Raises
    ------
    UsageError
        The table lacks ``age`` or ``sex``, or the seed is negative.

    Examples
    --------
    >>> import mottle
    >>> patients = with_diagnoses(mottle.datasets.population(1000, seed=1))
    >>> patients.schema.field("diagnoses").type
    ListType(list<item: string>)
    """
    if not {"age", "sex"} <= set(table.column_names):
        raise UsageError(
            "Diagnoses are drawn by age and sex, which the table does not have both.",
            "Begin with mottle.datasets.population(n).",
        )
    if seed < 0:
        raise UsageError(f"The seed {seed} is below 0.", "Give a seed of 0 or more.")
    random = np.random.default_rng(seed)
    age = table.column("age").to_numpy().astype(np.float64)
    is_woman = np.asarray(pc.equal(table.column("sex"), tables.SEX[0]).to_numpy())
    frailty = random.gamma(_FRAILTY, _AT_ONCE / _FRAILTY / 1000, table.num_rows)
    held = np.empty((table.num_rows, len(tables.DIAGNOSES)), np.bool_)
    for place, each in enumerate(tables.DIAGNOSES):
        rate = np.interp(age, list(each.by_age), list(each.by_age.values()))
        chance = rate * np.where(is_woman, each.women, each.men) * frailty
        held[:, place] = random.random(table.num_rows) < np.minimum(chance, _MOST)
    labels = pa.array([each.label for each in tables.DIAGNOSES])
    ends = np.concatenate([[0], np.cumsum(held.sum(axis=1))])
    missing = random.random(table.num_rows) < _MISSING
    sets = pa.ListArray.from_arrays(
        pa.array(ends, pa.int32()),
        labels.take(pa.array(np.nonzero(held)[1])),
        mask=pa.array(missing),
    )
    return table.append_column(column, sets)
