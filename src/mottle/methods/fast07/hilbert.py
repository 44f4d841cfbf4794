"""FAST07: groups along the Hilbert curve, optimal for that order (Hilb and HilbFast)."""

from __future__ import annotations

from mottle.encoding.domain import Codes
from mottle.guarantees.capability import Capability
from mottle.guarantees.decisions import DecidesBy
from mottle.guarantees.demand import Demand
from mottle.methods.base import Arrangement, MethodContext, SetColumns, register
from mottle.methods.fast07.diverse_partitioning import MIXED_DECISION, arrange_diverse
from mottle.methods.fast07.partitioning import arrange, boxed_groups, short_groups
from mottle.methods.orders import AXES, BITS, CATEGORIES, grid_bits, points
from mottle.orderings.hilbert import grid_cells, hilbert_keys, key_gaps, sort_keys
from mottle.orderings.hilbert import hilbert as hilbert_order


@register(
    "hilbert",
    title="optimal groups of neighbours along a space-filling curve",
    paper="FAST07",
    offers=Capability.K_ANONYMITY | Capability.EQUAL_CAPS,
    cost="O(n log n + n·k·d) time, O(n·d) memory",
    sets=SetColumns.ORDERED,
    decides_by=DecidesBy.BOTH,
    mixed_decision=MIXED_DECISION,
    options=(BITS, CATEGORIES, AXES),
)
def hilbert(codes: Codes, demand: Demand, context: MethodContext) -> Arrangement:
    """Sort by Hilbert value, then group optimally by the loss of the groups (FAST07 §5, "Hilb").

    With ℓ-diversity, group by the heuristic of §4.2, whose look-ahead compares losses of groups.
    """
    order = hilbert_order(points(codes, context), grid_bits(codes, context))
    if demand.capped:
        return arrange_diverse(codes, demand, order)
    return arrange(order, boxed_groups(codes, order, demand.degree))


@register(
    "hilbert-fast",
    title="groups of near keys along a space-filling curve: faster than hilbert, loses more",
    paper="FAST07",
    offers=Capability.K_ANONYMITY | Capability.EQUAL_CAPS,
    cost="O(n log n + n·k) time, O(n·d) memory",
    sets=SetColumns.ORDERED,
    decides_by=DecidesBy.BOTH,
    mixed_decision=MIXED_DECISION,
    options=(BITS, CATEGORIES, AXES),
)
def hilbert_fast(codes: Codes, demand: Demand, context: MethodContext) -> Arrangement:
    """As `hilbert`, but a group's cost is its extent along the curve (FAST07 §5.1, "HilbFast").

    With ℓ-diversity, the look-ahead of §4.2 compares distances along the curve (Fig. 9).
    """
    bits = grid_bits(codes, context)
    keys = hilbert_keys(grid_cells(points(codes, context), bits), bits)
    order = sort_keys(keys)
    if demand.capped:
        return arrange_diverse(codes, demand, order, keys[order])
    return arrange(order, short_groups(key_gaps(keys[order]), demand.degree))
