"""What `buckets` needs to know about quasi-identifiers: tables here, sets in `methods.sets`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from mottle.encoding.domain import Codes
from mottle.graph.model import Graph
from mottle.guarantees.demand import Demand
from mottle.kernels.ncp_growth import Scales
from mottle.kernels.scales import scales
from mottle.methods._refinement_orders import refinement_orders
from mottle.methods.buckets.profiles import profiles_by_release
from mottle.methods.refinement import Orders
from mottle.orderings import by_cardinality, lexicographic
from mottle.schema.columns import Objective
from mottle.typing import Float64Array, Int32Array, Int64Array


class BucketRecords(Protocol):
    """Records by their quasi-identifiers alone."""

    @property
    def matrix(self) -> Int32Array:
        """Codes [n, d] that kernels use."""

    def metric(self, degree: int) -> Scales:
        """The loss of boxes of ``degree`` records."""

    def objective(self, degree: int, objective: Objective) -> Scales:
        """The loss that refinement of such boxes keeps low."""

    def order(self, tiebreak: Int64Array) -> Int64Array:
        """An order that keeps similar records together; equal ones are in tie-break order."""

    def orders(self, members: Int32Array) -> Orders:
        """Orders for refinement of the records ``members``."""

    def profiles_by_release(self, demand: Demand, graph: Graph, truth: Int32Array) -> Float64Array:
        """Where among quasi-identifiers each sensitive value lies, from a partial release."""


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

    def objective(self, degree: int, objective: Objective) -> Scales:
        """The loss of a run; its frequencies are those of quasi-identifiers alone."""
        return scales(self.codes, degree, objective)

    def order(self, tiebreak: Int64Array) -> Int64Array:
        """Lexicographic order, columns with few values first."""
        codes = self.codes
        in_turn = lexicographic(codes.matrix[tiebreak], codes.sizes, by_cardinality(codes.sizes))
        return tiebreak[in_turn]

    def orders(self, members: Int32Array) -> Orders:
        """Orders for refinement of a table."""
        return refinement_orders(self.codes, self.codes.matrix[members])

    def profiles_by_release(self, demand: Demand, graph: Graph, truth: Int32Array) -> Float64Array:
        """Mean positions, and shares of values, in published cells."""
        return profiles_by_release(self.codes, demand, graph, truth)
