"""Automatic choice: the method that loses least and keeps the guarantee."""

from __future__ import annotations

from dataclasses import replace

from mottle.guarantees.capability import Capability
from mottle.guarantees.decisions import DecidesBy
from mottle.guarantees.demand import Demand
from mottle.itemsets.data import Sets
from mottle.methods import Arrangement, MethodContext
from mottle.methods.sets.base import register
from mottle.methods.sets.buckets import buckets
from mottle.methods.sets.freeform import freeform


@register(
    "auto",
    title="freeform, or buckets if labels are protected; the certificate says which",
    paper="mottle",
    offers=Capability.K_ANONYMITY | Capability.CAPS | Capability.KNOWN_RECORDS,
    cost="that of the method it picks",
    decides_by=DecidesBy.SEPARATELY,
)
def auto(sets: Sets, demand: Demand, context: MethodContext) -> Arrangement:
    """Pick `buckets` for guarantees about labels, else `freeform`."""
    method = buckets if demand.capped else freeform
    arrangement = method(sets, demand, context)
    return replace(arrangement, facts={"picked": method.__name__, **arrangement.facts})
