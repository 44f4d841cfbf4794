"""Automatic choice: the best method for the table and the available time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mottle.encoding.domain import Codes
from mottle.guarantees.capability import Capability
from mottle.guarantees.decisions import DecidesBy
from mottle.guarantees.demand import Demand
from mottle.methods.base import Arrange, Arrangement, MethodContext, SetColumns, register
from mottle.methods.buckets.buckets import buckets
from mottle.methods.freeform import block_size, freeform
from mottle.methods.nh.nh import nh
from mottle.orderings import lexicographic
from mottle.utils import parallel

# Core-seconds that freeform takes to compare one record with one other of its block, in one layer;
# measured by benchmarks/freeform.py on the CENSUS substitute.
_SECONDS_PER_PAIR = 3e-8
PATIENCE = 1800.0  # most seconds until a first graph if the user sets no time limit


@register(
    "auto",
    title="picks a method by rows, k, distinct rows and time limit; the certificate says which",
    paper="mottle",
    offers=Capability.K_ANONYMITY
    | Capability.CAPS
    | Capability.GROUP_CAPS
    | Capability.KNOWN_RECORDS
    | Capability.PEOPLE,
    cost="that of the method it picks",
    sets=SetColumns.VOTED,
    follows_objective=True,
    decides_by=DecidesBy.SEPARATELY,
)
def auto(codes: Codes, demand: Demand, context: MethodContext) -> Arrangement:
    """Pick `buckets` for sensitive guarantees; else `freeform`, or `nh` if that gains nothing."""
    method, because = _choose(codes, demand, context)
    arrangement = method(codes, demand, context)
    picked = {"picked": method.__name__, "because": because}
    return replace(arrangement, facts={**picked, **arrangement.facts})


def _choose(codes: Codes, demand: Demand, context: MethodContext) -> tuple[Arrange, str]:
    if demand.capped:
        return buckets, "it decides by quasi-identifiers or sensitive values, never by both"
    expected = expected_seconds(codes.records, demand.degree)
    limit = PATIENCE if context.seconds is None else context.seconds
    if demand.people is None and _smallest_group(codes) >= demand.degree:
        return nh, f"every record equals at least {demand.degree - 1} others already"
    if context.seconds != 0 and expected > limit:
        return nh, f"freeform would take about {expected:.0f} s, more than the limit of {limit:g} s"
    return freeform, "it loses least, and there is time for it"


def expected_seconds(records: int, degree: int) -> float:
    """Estimated time of freeform before refinement, on this machine's cores."""
    pairs = records * (degree - 1) * block_size(records, degree)
    return pairs * _SECONDS_PER_PAIR / parallel.thread_count()


def _smallest_group(codes: Codes) -> int:
    """Size of the smallest group of records with equal quasi-identifiers."""
    columns = np.arange(len(codes.sizes))
    ordered = codes.matrix[lexicographic(codes.matrix, codes.sizes, columns)]
    differs = np.any(ordered[1:] != ordered[:-1], axis=1)
    bounds = np.concatenate([[0], np.flatnonzero(differs) + 1, [len(ordered)]])
    return int(np.diff(bounds).min())
