"""FAST07 along any order: optimal groups, and rings over the groups of any homogeneous method.

NH10, abstract and Lemma 2: a ring over a group of records publishes of each cell only what k
consecutive records cover, a part of what the group as a whole covers. So a ring never loses more
than the group it is made of, whatever partitioned the table and in whatever order the ring runs.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mottle.encoding.domain import Codes
from mottle.graph.model import Graph
from mottle.guarantees.capability import Capability
from mottle.guarantees.decisions import DecidesBy
from mottle.guarantees.demand import Demand
from mottle.methods.base import Arrangement, Draw, MethodContext, SetColumns, register
from mottle.methods.fast07.diverse_partitioning import MIXED_DECISION, arrange_diverse
from mottle.methods.fast07.hilbert import hilbert
from mottle.methods.fast07.idistance import idistance
from mottle.methods.fast07.partitioning import arrange, boxed_groups
from mottle.methods.mondrian import mondrian
from mottle.methods.nh.rings import Partitions, order_rings
from mottle.methods.orders import (
    AXES,
    BITS,
    CATEGORIES,
    CENTRES,
    ORDER,
    ORDER_OPTIONS,
    RING,
    ROUNDS,
    SAMPLE,
    around_rings,
    order_by,
)
from mottle.methods.several_columns import tightest, windows_within_caps
from mottle.methods.topdown import topdown

_OFFERS = Capability.K_ANONYMITY | Capability.EQUAL_CAPS


@register(
    "ordered",
    title="optimal groups of neighbours along any order (--order-by)",
    paper="FAST07",
    offers=_OFFERS,
    cost="that of the order, and O(n·k·d) time, O(n·d) memory",
    sets=SetColumns.ORDERED,
    decides_by=DecidesBy.BOTH,
    mixed_decision=MIXED_DECISION,
    options=ORDER_OPTIONS,
)
def ordered(codes: Codes, demand: Demand, context: MethodContext) -> Arrangement:
    """Group optimally along an order (FAST07 §3), with ℓ-diversity by the heuristic of §4.2."""
    name = context.option(ORDER)
    order = order_by(name, codes, context)
    if demand.capped:
        groups = arrange_diverse(codes, demand, order)
    else:
        groups = arrange(order, boxed_groups(codes, order, demand.degree))
    return Arrangement(groups.graph, {"order": name})


@register(
    "ordered-ring",
    title="rings over the groups of ordered (--order-by)",
    paper="NH10, FAST07",
    offers=_OFFERS,
    cost="that of ordered",
    sets=SetColumns.ORDERED,
    decides_by=DecidesBy.BOTH,
    mixed_decision=MIXED_DECISION,
    options=(*ORDER_OPTIONS, RING),
)
def ordered_ring(codes: Codes, demand: Demand, context: MethodContext) -> Arrangement:
    """Close every group of `ordered` to a ring."""
    return rings_over(ordered(codes, demand, context), codes, demand, context)


@register(
    "hilbert-ring",
    title="rings over the groups of hilbert: never loses more",
    paper="NH10, FAST07",
    offers=_OFFERS,
    cost="that of hilbert",
    sets=SetColumns.ORDERED,
    decides_by=DecidesBy.BOTH,
    mixed_decision=MIXED_DECISION,
    options=(BITS, CATEGORIES, AXES, RING),
)
def hilbert_ring(codes: Codes, demand: Demand, context: MethodContext) -> Arrangement:
    """Close every group of `hilbert` to a ring."""
    return rings_over(hilbert(codes, demand, context), codes, demand, context)


@register(
    "idistance-ring",
    title="rings over the groups of idistance: never loses more",
    paper="NH10, FAST07",
    offers=_OFFERS,
    cost="that of idistance",
    sets=SetColumns.ORDERED,
    decides_by=DecidesBy.BOTH,
    mixed_decision=MIXED_DECISION,
    options=(CENTRES, SAMPLE, ROUNDS, BITS, CATEGORIES, AXES, RING),
)
def idistance_ring(codes: Codes, demand: Demand, context: MethodContext) -> Arrangement:
    """Close every group of `idistance` to a ring."""
    return rings_over(idistance(codes, demand, context), codes, demand, context)


@register(
    "mondrian-ring",
    title="rings over the groups of mondrian: never loses more",
    paper="NH10, FAST07",
    offers=_OFFERS,
    cost="that of mondrian",
    decides_by=DecidesBy.BOTH,
    mixed_decision="a cut is made only if both sides keep the caps",
    options=(RING,),
)
def mondrian_ring(codes: Codes, demand: Demand, context: MethodContext) -> Arrangement:
    """Close every group of `mondrian` to a ring."""
    return rings_over(mondrian(codes, demand, context), codes, demand, context)


@register(
    "topdown-ring",
    title="rings over the groups of topdown: never loses more",
    paper="NH10, FAST07",
    offers=Capability.K_ANONYMITY,
    cost="that of topdown",
    options=(RING,),
)
def topdown_ring(codes: Codes, demand: Demand, context: MethodContext) -> Arrangement:
    """Close every group of `topdown` to a ring."""
    return rings_over(topdown(codes, demand, context), codes, demand, context)


def rings_over(
    groups: Arrangement, codes: Codes, demand: Demand, context: MethodContext
) -> Arrangement:
    """Rings of the least degree over complete blocks.

    With ℓ-diversity equal values are put far apart, as NH10 §6 does it in `nh`; a ring in which
    consecutive records exceed the cap of another sensitive column stays a complete block.
    """
    starts = groups.graph.starts
    members = around_rings(groups.graph.members, starts, codes, context)
    if not demand.capped:
        degrees = np.full(len(starts) - 1, demand.degree, np.int32)
        return Arrangement(Graph.rings(members, starts, degrees), _facts(groups, context))
    diversity = demand.diversity
    tiebreak = np.argsort(context.tiebreak(codes.records))[members]
    rings = order_rings(
        Partitions(np.arange(codes.records), starts),
        tightest(demand).values[members],
        tiebreak,
        diversity,
        max(demand.degree, diversity),
    )
    turned = members[rings.places]
    fits = windows_within_caps(turned, starts, rings.degrees, demand)
    degrees = np.where(fits, rings.degrees, np.diff(starts)).astype(np.int32)
    return Arrangement(Graph.rings(turned, starts, degrees), _facts(groups, context), Draw.ROTATION)


def _facts(groups: Arrangement, context: MethodContext) -> Mapping[str, object]:
    return {**groups.facts, "ring": context.option(RING)}
