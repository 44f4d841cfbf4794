"""HKA15's iterations with the cheapest assignment in each, over all records (HET's "HG").

Doka, Xue, Tsoumakos, Karras, Cuzzocrea, Koziris: Heterogeneous k-Anonymization with High Utility
(2015), section III for the iterations; the full version of that paper solves each of them by the
Hungarian algorithm, as we do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mottle.encoding.domain import Codes
from mottle.errors import UsageError
from mottle.graph.model import Graph
from mottle.guarantees.capability import Capability
from mottle.guarantees.demand import Demand
from mottle.kernels.linear_assignment import match_rows
from mottle.kernels.ncp_growth import FORBIDDEN, Scales, add_growth
from mottle.kernels.scales import scales
from mottle.methods.base import Arrangement, MethodContext, SetColumns, register
from mottle.orderings import by_cardinality, lexicographic
from mottle.typing import Float64Array, Int32Array
from mottle.utils import parallel
from mottle.utils.compiled import kernel

LIMIT = 6000  # most records; their cost matrix takes 288 MB


@register(
    "hungarian",
    title="k - 1 rounds, each an optimal assignment over all records (small tables)",
    paper="HKA15",
    offers=Capability.K_ANONYMITY,
    cost="O(k·n³) time at worst, in practice about O(k·n^2.2); 8·n² bytes of memory",
    sets=SetColumns.VOTED,
)
def hungarian(codes: Codes, demand: Demand, context: MethodContext) -> Arrangement:
    """Build the graph in k - 1 cheapest assignments, weights redefined after each.

    The cheapest assignment in each iteration is not the cheapest over all of them: the total
    depends on earlier choices, including ties. More than `LIMIT` records are refused. Measured on
    ADULT with k = 10, time grows as n^1.9 from 1,000 to 3,000 records and as n^2.2 to 6,000.
    """
    n, k = codes.records, demand.degree
    if n > LIMIT:
        raise UsageError(
            f"Method 'hungarian' compares all pairs of records and takes at most {LIMIT:,} of"
            f" them, not {n:,}.",
            "Use --method freeform or sortgreedy.",
        )
    order = lexicographic(codes.matrix, codes.sizes, by_cardinality(codes.sizes))
    metric, ordered = scales(codes, k), np.ascontiguousarray(codes.matrix[order])
    candidates = np.ascontiguousarray(ordered.T)
    members = np.empty((n, k), np.int32)  # row j: the originals published record j stands for
    members[:, 0] = np.arange(n)  # the self match
    cost = np.empty((n, n))  # row j: what each original would add to the loss of record j
    grown = np.ones(n, np.bool_)  # records whose row of ``cost`` is out of date
    column_of = np.empty(n, np.int32)
    work, prices = np.empty((5, n), np.int32), np.empty((2, n))
    voting = metric.lists is not None  # if so, even a member of cost 0 changes the costs of others
    loss = 0.0
    for layer in range(1, k):
        _redefine_weights(metric, ordered, candidates, members, layer, grown, cost)
        match_rows(cost, n, column_of, work, prices)
        members[:, layer] = column_of
        weight = cost[np.arange(n), column_of]
        grown = (weight > 0.0) | voting
        cost[np.arange(n), column_of] = FORBIDDEN
        loss += float(weight.mean())
        context.on_progress(loss)
    graph = Graph.explicit(
        order.astype(np.int32),
        np.array([0, n], np.int64),
        np.array([k], np.int32),
        members.ravel(),
    )
    return Arrangement(graph)


def _redefine_weights(
    metric: Scales,
    ordered: Int32Array,
    candidates: Int32Array,
    members: Int32Array,
    layer: int,
    grown: NDArray[np.bool_],
    cost: Float64Array,
) -> None:
    """Update the rows of ``cost`` that are out of date, on all cores. Cost O(n·d) per row."""
    rows = np.flatnonzero(grown).astype(np.int32)
    parallel.over_blocks(
        lambda first, last: _weigh_rows(
            metric, ordered, candidates, members, layer, rows[first:last], cost
        ),
        np.arange(len(rows) + 1),
    )


@kernel
def _weigh_rows(
    metric: Scales,
    ordered: Int32Array,
    candidates: Int32Array,
    members: Int32Array,
    layer: int,
    rows: Int32Array,
    cost: Float64Array,
) -> None:
    """Set the weights of all edges into the published records ``rows``; forbid used edges."""
    marks = np.zeros(metric.position.size, np.int32)
    for mark, row in enumerate(rows):
        box = members[row]
        add_growth(
            metric, ordered, box, layer, candidates, ordered.shape[0], marks, mark + 1, cost[row]
        )
        for member in range(layer):
            cost[row, box[member]] = FORBIDDEN
