"""FAST07: groups along the iDistance order, optimal for that order (iDist and iDistFast)."""

from __future__ import annotations

import numpy as np

from mottle.coding import Codes
from mottle.guarantees import Demand, KAnonymity
from mottle.methods._one_dimensional import arrange, boxed_groups, short_groups
from mottle.methods._registry import Arrangement, Effort, register
from mottle.orders.idistance import idistance as map_by_distance
from mottle.orders.placement import place


@register(
    "idistance",
    title="the best groups of neighbours along clusters of similar records",
    paper="FAST07",
    guarantees=(KAnonymity,),
    cost="O(n log n + n·(k + 512)·d) time, O(n·d) memory",
)
def idistance(codes: Codes, demand: Demand, effort: Effort) -> Arrangement:
    """Sort by iDistance, then group optimally by the loss of the groups (FAST07 §5, "iDist")."""
    order = map_by_distance(place(codes), effort.seed).order
    return arrange(order, boxed_groups(codes, order, demand.degree))


@register(
    "idistance-fast",
    title="groups that are short along clusters: quicker than idistance, loses more",
    paper="FAST07",
    guarantees=(KAnonymity,),
    cost="O(n log n + n·k + n·512·d) time, O(n·d) memory",
)
def idistance_fast(codes: Codes, demand: Demand, effort: Effort) -> Arrangement:
    """As `idistance`, but a group costs the extent of its keys (FAST07 §5.1, "iDistFast")."""
    mapped = map_by_distance(place(codes), effort.seed)
    return arrange(mapped.order, short_groups(np.diff(mapped.keys[mapped.order]), demand.degree))
