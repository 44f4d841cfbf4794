"""A regression of sensitive values on quasi-identifiers, fitted to beliefs about who has what.

Multinomial logistic, with one effect for every value of every column on every class of sensitive
values, and a ridge that pulls effects towards none. People with the same effects are one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import log_softmax

from mottle.audit.containment.coded_columns import CodedColumn
from mottle.audit.containment.compact import group_rows
from mottle.typing import Float64Array, Int32Array, Int64Array

MOST_CLASSES = 64  # sensitive values that have effects of their own; rarer ones share the last
_MOST_EFFECTS = 64  # of a column
_QUANTILES = 16  # of a column with more values that have an order
_RIDGE = 3.0  # pseudo-observations that pull an effect towards none
_STEPS = 15  # of a fit, from the effects that are there


@dataclass(frozen=True, repr=False)
class Regression:
    """Predicts classes of sensitive values for rows: people with the same effects."""

    rows: csr_array  # [rows, effects]: which effects apply
    prior: Float64Array  # [classes]: logarithm of the share in the table
    effects: Float64Array  # [effects, classes]

    @classmethod
    def of(cls, features: Int32Array, shares: Float64Array) -> tuple[Regression, Int64Array]:
        """Return a regression without any effect, and the row of every person.

        ``features`` [people, columns] are those of `features_of`; ``shares`` [classes] are those of
        the table.
        """
        row_of, distinct = group_rows(features)
        sizes = features.max(axis=0, initial=0) + 1
        places = (distinct + (np.cumsum(sizes) - sizes)).ravel()
        starts = np.arange(len(distinct) + 1) * distinct.shape[1]
        rows = csr_array(
            (np.ones(len(places)), places, starts), shape=(len(distinct), int(sizes.sum()))
        )
        prior = np.log(np.maximum(shares, 1e-9))
        return cls(rows, prior, np.zeros((rows.shape[1], len(prior)))), row_of

    def log_shares(self) -> Float64Array:
        """[rows, classes]: logarithms of the predicted shares."""
        return np.asarray(log_softmax(self.rows @ self.effects + self.prior, axis=1))

    def fitted(self, held: Float64Array) -> Regression:
        """The regression after some steps towards ``held`` [rows, classes], records of each."""
        shape, total = self.effects.shape, held.sum(axis=1, keepdims=True)

        def cost(flat: Float64Array) -> tuple[float, Float64Array]:
            effects = flat.reshape(shape)
            logs = log_softmax(self.rows @ effects + self.prior, axis=1)
            slope = self.rows.T @ (total * np.exp(logs) - held) + _RIDGE * effects
            misfit = 0.5 * _RIDGE * float(np.sum(effects**2)) - float(np.sum(held * logs))
            return misfit, slope.ravel()

        found = minimize(
            cost, self.effects.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": _STEPS}
        )
        return replace(self, effects=found.x.reshape(shape))


def features_of(people: pa.Table, columns: Sequence[CodedColumn]) -> Int32Array:
    """[people, columns]: quasi-identifiers as small numbers, of which each gets its own effects.

    Columns of many values become quantiles if they have an order; otherwise rare values are one.
    """
    features: list[Int32Array | Int64Array] = []
    for name, column in zip(people.column_names, columns, strict=True):
        kind = people.schema.field(name).type
        _, codes = np.unique(column.codes, return_inverse=True)
        if codes.max(initial=0) < _MOST_EFFECTS:
            features.append(codes.ravel())
        elif pa.types.is_primitive(kind) and not pa.types.is_boolean(kind):
            rank = pc.rank(people.column(name), tiebreaker="min").to_numpy().astype(np.int64) - 1
            features.append(rank * _QUANTILES // max(len(rank), 1))
        else:
            features.append(pooled(np.bincount(codes.ravel()), _MOST_EFFECTS)[codes.ravel()])
    return np.stack(features, axis=1).astype(np.int32)


def pooled(counts: Int64Array | Float64Array, most: int = MOST_CLASSES) -> Int32Array:
    """By value: its class; the most frequent are a class each, all others together the last.

    >>> pooled(np.array([5, 1, 9, 2]), most=3)
    array([1, 2, 0, 2], dtype=int32)
    """
    frequent = np.argsort(-counts, kind="stable")[: most - 1]
    found = np.full(len(counts), min(len(counts), most) - 1, np.int32)
    found[frequent] = np.arange(len(frequent))
    return found
