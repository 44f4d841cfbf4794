"""What `buckets` has to know of quasi-identifiers: of a table's here, of sets in `methods.sets`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mottle.encoding.domain import Codes
from mottle.graph.model import Graph
from mottle.guarantees.demand import Demand
from mottle.kernels.ncp_growth import Scales, scales
from mottle.methods._refinement_orders import refinement_orders
from mottle.methods.buckets.profiles import profiles_by_block, profiles_by_release
from mottle.methods.refinement import Orders
from mottle.orderings import by_cardinality, lexicographic
from mottle.typing import Float64Array, Int32Array, Int64Array


class Records(Protocol):
    """Records by their quasi-identifiers alone."""

    @property
    def matrix(self) -> Int32Array:
        """Codes [n, d] that kernels look up."""

    def metric(self, degree: int) -> Scales:
        """The loss of boxes of ``degree`` records."""

    def order(self, tiebreak: Int64Array) -> Int64Array:
        """Similar records together; equal ones in the order of their lots."""

    def borders(self, order: Int64Array) -> Int32Array | None:
        """How much each record has in common with the one before it, if that is known."""

    def orders(self, members: Int32Array) -> Orders:
        """Orders for refinement, of the records ``members``."""

    def profiles_by_block(
        self, demand: Demand, order: Int64Array, starts: Int64Array
    ) -> Float64Array:
        """Where each sensitive value lies, from its counts in blocks."""

    def profiles_by_release(self, demand: Demand, graph: Graph, truth: Int32Array) -> Float64Array:
        """Where each sensitive value lies, from what some records publish."""


@dataclass(frozen=True)
class TableRecords:
    """The records of a table."""

    codes: Codes

    @property
    def matrix(self) -> Int32Array:
        """Codes [n, d]."""
        return self.codes.matrix

    def metric(self, degree: int) -> Scales:
        """NCP of boxes."""
        return scales(self.codes, degree)

    def order(self, tiebreak: Int64Array) -> Int64Array:
        """Lexicographic, columns of few values first."""
        codes = self.codes
        in_turn = lexicographic(codes.matrix[tiebreak], codes.sizes, by_cardinality(codes.sizes))
        return tiebreak[in_turn]

    def borders(self, order: Int64Array) -> Int32Array:
        """The number of columns, those of few values first, that agree with the record before."""
        return agreeing(in_ranks(self.codes, order))

    def orders(self, members: Int32Array) -> Orders:
        """As for tables."""
        return refinement_orders(self.codes, self.codes.matrix[members])

    def profiles_by_block(
        self, demand: Demand, order: Int64Array, starts: Int64Array
    ) -> Float64Array:
        """Positions and shares of values, block by block."""
        return profiles_by_block(self.codes, demand, order, starts)

    def profiles_by_release(self, demand: Demand, graph: Graph, truth: Int32Array) -> Float64Array:
        """Positions and shares of values in published cells."""
        return profiles_by_release(self.codes, demand, graph, truth)


def in_ranks(codes: Codes, rows: Int64Array) -> Int32Array:
    """The codes of some rows, columns of few values first."""
    return np.asarray(codes.matrix[rows][:, by_cardinality(codes.sizes)])


def agreeing(ranked: Int32Array) -> Int32Array:
    """How many columns, the first ones, agree with the row before; 0 for the first row.

    >>> agreeing(np.array([[1, 2], [1, 3], [1, 3], [0, 3]]))
    array([0, 1, 2, 0], dtype=int32)
    """
    differs = np.ones((len(ranked), ranked.shape[1] + 1), np.bool_)
    differs[1:, :-1] = ranked[1:] != ranked[:-1]
    found: Int32Array = np.argmax(differs, axis=1).astype(np.int32)
    return found
