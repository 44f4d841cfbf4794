"""FAST07: groups along the iDistance order, optimal for that order (iDist and iDistFast)."""

from __future__ import annotations

import numpy as np

from mottle.encoding.domain import Codes
from mottle.guarantees.capability import Capability
from mottle.guarantees.decisions import DecidesBy
from mottle.guarantees.demand import Demand
from mottle.methods.base import Arrangement, MethodContext, SetColumns, register
from mottle.methods.fast07.diverse_partitioning import MIXED_DECISION, arrange_diverse
from mottle.methods.fast07.partitioning import arrange, boxed_groups, short_groups
from mottle.methods.orders import (
    AXES,
    BITS,
    CATEGORIES,
    CENTRES,
    ROUNDS,
    SAMPLE,
    idistance_mapping,
)


@register(
    "idistance",
    title="optimal groups of neighbours along clusters of similar records",
    paper="FAST07",
    offers=Capability.K_ANONYMITY | Capability.EQUAL_CAPS,
    cost="O(n log n + n·(k + 512)·d) time, O(n·d) memory",
    sets=SetColumns.ORDERED,
    decides_by=DecidesBy.BOTH,
    mixed_decision=MIXED_DECISION,
    options=(CENTRES, SAMPLE, ROUNDS, BITS, CATEGORIES, AXES),
)
def idistance(codes: Codes, demand: Demand, context: MethodContext) -> Arrangement:
    """Sort by iDistance, then group optimally by the loss of the groups (FAST07 §5, "iDist").

    With ℓ-diversity, group by the heuristic of §4.2, whose look-ahead compares losses of groups.
    """
    order = idistance_mapping(codes, context).order
    if demand.capped:
        return arrange_diverse(codes, demand, order)
    return arrange(order, boxed_groups(codes, order, demand.degree))


@register(
    "idistance-fast",
    title="groups of near keys along clusters: faster than idistance, loses more",
    paper="FAST07",
    offers=Capability.K_ANONYMITY | Capability.EQUAL_CAPS,
    cost="O(n log n + n·k + n·512·d) time, O(n·d) memory",
    sets=SetColumns.ORDERED,
    decides_by=DecidesBy.BOTH,
    mixed_decision=MIXED_DECISION,
    options=(CENTRES, SAMPLE, ROUNDS, BITS, CATEGORIES, AXES),
)
def idistance_fast(codes: Codes, demand: Demand, context: MethodContext) -> Arrangement:
    """As `idistance`, but a group's cost is the extent of its keys (FAST07 §5.1, "iDistFast").

    With ℓ-diversity, the look-ahead of §4.2 compares distances between keys (Fig. 9).
    """
    mapped = idistance_mapping(codes, context)
    keys = mapped.keys[mapped.order]
    if demand.capped:
        whole = np.ldexp(keys / (keys.max() or 1.0), 62).astype(np.uint64)
        return arrange_diverse(codes, demand, mapped.order, whole[:, None])
    return arrange(mapped.order, short_groups(np.diff(keys), demand.degree))
