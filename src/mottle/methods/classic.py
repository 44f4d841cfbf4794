"""Groups of identical rows, by whichever homogeneous method loses least, and what they cost.

For readers whose checker or rule counts equal rows. All methods that are tried decide by
quasi-identifiers alone, and so does the choice between them: it is by their loss.
"""

from __future__ import annotations

from dataclasses import replace

from mottle.encoding.cover import cover
from mottle.encoding.domain import Codes
from mottle.graph.model import Graph
from mottle.guarantees.capability import Capability
from mottle.guarantees.demand import Demand
from mottle.loss.ncp import measure
from mottle.methods.auto import expected_seconds
from mottle.methods.base import Arrange, Arrangement, MethodContext, register
from mottle.methods.fast07.hilbert import hilbert
from mottle.methods.fast07.idistance import idistance
from mottle.methods.freeform import freeform
from mottle.methods.mondrian import mondrian
from mottle.methods.nh.nh import nh
from mottle.methods.topdown import topdown
from mottle.utils import parallel

TRIED: dict[str, Arrange] = {
    "hilbert": hilbert,
    "idistance": idistance,
    "mondrian": mondrian,
    "topdown": topdown,
}
MOST_FOR_TOPDOWN = 20_000  # records up to which the quadratic method is tried
_PATIENCE = 120.0  # most core-seconds of what the price is measured against


@register(
    "classic",
    title="groups of identical rows, by the homogeneous method that loses least; states their"
    " price (--classic)",
    paper="mottle, after FAST07",
    offers=Capability.K_ANONYMITY,
    cost="that of hilbert, idistance, mondrian and nh or freeform together; up to 20,000 rows also"
    " topdown",
    why_no_more=(
        "Groups of identical rows that bound sensitive values need a decision by quasi-identifiers"
        " and values together, which can be replayed; method 'classic' makes none and gives"
        " k-anonymity alone.",
        "Leave --classic out, or name hilbert or mondrian with --method: their certificates say"
        " what they do not promise.",
    ),
)
def classic(codes: Codes, demand: Demand, context: MethodContext) -> Arrangement:
    """Try the homogeneous methods and take the best; compare it with cells of their own.

    The price is what the groups lose beyond `freeform` before refinement, or beyond `nh` where that
    would take long, both measured as GCP on the same table.
    """
    plain = replace(context, options={})
    tried = {
        name: arrange(codes, demand, plain)
        for name, arrange in TRIED.items()
        if name != "topdown" or codes.records <= MOST_FOR_TOPDOWN
    }
    losses = {name: _loss(found.graph, codes) for name, found in tried.items()}
    best = min(losses, key=lambda name: losses[name])
    work = expected_seconds(codes.records, demand.degree) * parallel.thread_count()
    other = nh if work > _PATIENCE else freeform
    individual = _loss(other(codes, demand, replace(plain, seconds=0.0)).graph, codes)
    return replace(
        tried[best],
        facts={
            **tried[best].facts,
            "picked": best,
            "because": "it loses least of those that publish groups of identical rows",
            "losses": {name: round(loss, 6) for name, loss in losses.items()},
            "compared_with": other.__name__,
            "price": round(losses[best] - individual, 6),
        },
    )


def _loss(graph: Graph, codes: Codes) -> float:
    """GCP of a graph."""
    return float(measure(cover(graph, codes), codes).gcp)
