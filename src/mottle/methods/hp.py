"""NH10's homogeneous variant HP: the same lexicographic partitions, one generalization each."""

from __future__ import annotations

import numpy as np

from mottle.encoding.domain import Codes
from mottle.graph.model import Graph
from mottle.guarantees.capability import Capability
from mottle.guarantees.demand import Demand
from mottle.methods.base import Arrangement, MethodContext, SetColumns, register
from mottle.methods.nh.nh import ENDS, RECURSION, lexicographic_partitions


@register(
    "hp",
    title="groups of identical ranges over the partitions of nh (for comparison)",
    paper="NH10",
    offers=Capability.K_ANONYMITY,
    cost="O(n log n + n·d) time, O(n·d) memory",
    sets=SetColumns.ORDERED,
    options=(RECURSION,),
)
def hp(codes: Codes, demand: Demand, context: MethodContext) -> Arrangement:
    """Generalize each lexicographic partition as a whole (NH10 §7, "HP")."""
    ends = context.option(RECURSION) == ENDS
    members, starts = lexicographic_partitions(codes, demand.degree, ends=ends)
    return Arrangement(Graph.rings(members, starts, np.diff(starts).astype(np.int32)))
