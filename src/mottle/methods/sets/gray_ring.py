"""SET12's k-anonymity: one ring over the Gray order of the records, or over the Gray-TSP order.

Xue, Karras, Raïssi, Vaidya, Tan: Anonymizing Set-Valued Data by Nonreciprocal Recoding (KDD 2012),
§4: every original is linked to itself and its k - 1 neighbours along a cyclic order of all records.
"""

from __future__ import annotations

import numpy as np

from mottle.errors import UsageError
from mottle.graph.model import Graph
from mottle.guarantees.capability import Capability
from mottle.guarantees.demand import Demand
from mottle.itemsets.data import Sets
from mottle.itemsets.gray import gray_order
from mottle.methods import Arrangement, MethodContext
from mottle.methods.options import MethodOption
from mottle.methods.sets.base import register
from mottle.orderings._breakpoints import LONGEST as PAPER_LONGEST
from mottle.orderings._breakpoints import SHORTEST as PAPER_SHORTEST
from mottle.orderings.gray_tsp import gray_tsp_order
from mottle.typing import Int64Array

SHORTEST = MethodOption(
    "shortest", PAPER_SHORTEST, "fewest records of a segment (SET12 §5.1)", least=1, most=5000
)
LONGEST = MethodOption(
    "longest", PAPER_LONGEST, "most records of a segment (SET12 §5.1)", least=1, most=5000
)


@register(
    "gray-ring",
    title="one ring over the Gray order; fastest",
    paper="SET12",
    offers=Capability.K_ANONYMITY,
    cost="O(n · log n · s) time, O(n) memory",
)
def gray_ring(sets: Sets, demand: Demand, context: MethodContext) -> Arrangement:
    """A ring of degree k over the Gray order."""
    return Arrangement(ring(gray_order(sets), demand.degree))


@register(
    "gray-tsp-ring",
    title="one ring over the Gray order improved by short paths through segments",
    paper="SET12",
    offers=Capability.K_ANONYMITY,
    cost="O(n · (log n + 350) · s) time, O(n) memory",
    options=(SHORTEST, LONGEST),
)
def gray_tsp_ring(sets: Sets, demand: Demand, context: MethodContext) -> Arrangement:
    """A ring of degree k over the Gray-TSP order, paths by local search."""
    return Arrangement(ring(_shortened(sets, context, genetic=False), demand.degree))


@register(
    "gray-genetic-ring",
    title="gray-tsp-ring with the paper's genetic algorithm; slower, longer paths",
    paper="SET12",
    offers=Capability.K_ANONYMITY,
    cost="as gray-tsp-ring, a hundred times slower",
    options=(SHORTEST, LONGEST),
)
def gray_genetic_ring(sets: Sets, demand: Demand, context: MethodContext) -> Arrangement:
    """A ring of degree k over the Gray-TSP order, paths by the genetic algorithm."""
    return Arrangement(ring(_shortened(sets, context, genetic=True), demand.degree))


def _shortened(sets: Sets, context: MethodContext, *, genetic: bool) -> Int64Array:
    """The Gray-TSP order by the options of the run."""
    shortest, longest = context.option(SHORTEST), context.option(LONGEST)
    if shortest > longest:
        raise UsageError(
            "The option 'shortest' must not exceed 'longest'.",
            f"Segments have {PAPER_SHORTEST} to {PAPER_LONGEST} records by default.",
        )
    return gray_tsp_order(sets, context.seed, genetic=genetic, shortest=shortest, longest=longest)


def ring(order: Int64Array, degree: int) -> Graph:
    """One ring of all records."""
    whole = np.array([0, len(order)], np.int64)
    return Graph.rings(order.astype(np.int32), whole, np.array([degree], np.int32))
