"""The corruption adversary: what known true records of some people reveal about the others.

NH10 §5.2: a known link removes an original and its record from the graph, and with them every match
that then lies in no assignment. In rings and homogeneous groups the others lose at most one match
for each person known; in other graphs a few more. Draws that move a whole bucket or block at once
reveal more, which is accounted for exactly: one known link of a bucket reveals where the whole
bucket went.

No guarantee covers known records, so the curves are for information. Only for k-anonymity (with k
of 3 or more) one thing is judged: a known record must reveal less than one other record on average,
so that known records do not lead to more and more of them. Drawing among the k shifts of a ring
reveals the whole ring.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from mottle.assignment import WALKS
from mottle.audit.base import register
from mottle.audit.links.corrupted_draws import simulate_one_known_link
from mottle.audit.links.edges import Edges, subgraph_of_records
from mottle.audit.report import Outcome
from mottle.audit.view import Evidence, View
from mottle.typing import BoolArray, Int64Array

_SHARES = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5)  # shares of all people who are known, at random
_MOST_KNOWN = 9  # people known in the worst case
_CHAIN = 1  # records revealed by a known one from which on each leads to the next
_TARGETS = 20  # people against whom the worst case is searched
_SINGLE = 200  # people who are assumed known one at a time
_WORK = 100_000_000  # edges that the search for the worst case may look at

# From the people known ([people], true where known) to the matches left for everybody.
MatchesLeft = Callable[[BoolArray], Int64Array]


@register(
    "corruption",
    title="knows the true records of some people",
    assumes="knows everybody's quasi-identifiers, the algorithm, its graph, and some true records",
)
def corruption(view: View, evidence: Evidence) -> Iterator[Outcome]:
    """Measure curves over the people known: at random, and chosen greedily as the worst case."""
    measure = "people given away by one known record, on average"
    subgraph = evidence.subgraph
    draw = view.draw
    if subgraph is None or not draw:
        why = {"not_played": "needs the private link file and a certificate that states the draw"}
        yield Outcome(measure, None, details=why)
        return
    edges = subgraph.edges
    rule = _rule(edges, draw)
    exposed_others = _exposed_by_one(edges, draw, view.seed)
    facts: dict[str, Any] = {
        "draw": draw,
        **subgraph.facts(int(view.people.num_rows)),
        "random": _random_curve(rule, edges.records, view.seed),
        "worst_case": _worst_case(edges, draw, rule, view.seed),
    }
    if draw in WALKS:
        facts["one_known_simulated"] = simulate_one_known_link(edges, draw, view.seed)
    k, guarantee = evidence.k, evidence.guarantee
    if k is None or k < 3 or guarantee is None or guarantee.about_values:
        yield Outcome(measure, exposed_others, details=facts)
        return
    yield Outcome(measure, exposed_others, _CHAIN, exposed_others < _CHAIN, facts)


def _rule(edges: Edges, draw: str) -> MatchesLeft:
    """The rule by which known links reduce the matches of others, for each way of drawing."""
    if draw == "buckets":
        return partial(_left_by_unit, edges, _units(edges, edges.clusters, buckets=True))
    if draw in ("rotation", "apart"):
        return partial(_left_by_unit, edges, _units(edges, edges.clusters, buckets=False))
    return edges.effective_matches


def _units(edges: Edges, clusters: Int64Array, *, buckets: bool) -> Int64Array:
    """For each original: the number of the unit that one known link reveals; -1 for none.

    In a complete block everybody is drawn individually. Otherwise the unit is the whole block, or
    the bucket: an original of bucket b is in layer b of all its matches.
    """
    matches = np.bincount(edges.originals, minlength=edges.records)
    alone = matches == np.bincount(clusters)[clusters]
    units = clusters.copy()
    if buckets:
        layer = np.zeros(edges.records, np.int64)
        layer[edges.originals] = edges.layers
        units = clusters * (int(layer.max()) + 1) + layer
    _, units = np.unique(units, return_inverse=True)
    return np.where(alone, -1, units.ravel())


def _left_by_unit(edges: Edges, units: Int64Array, known: BoolArray) -> Int64Array:
    """Matches left when a unit moves as a whole: fewer by the number of units that are known."""
    clusters = edges.clusters
    matches = np.bincount(edges.originals, minlength=edges.records)
    together = units >= 0
    revealed = np.zeros(int(units.max(initial=-1)) + 2, np.bool_)
    revealed[units[known & together]] = True
    exposed = together & revealed[units]
    of_unit = np.unique(units[known & together], return_index=True)[1]
    fewer = np.bincount(clusters[known & together][of_unit], minlength=int(clusters.max()) + 1)
    fewer += np.bincount(clusters[known & ~together], minlength=len(fewer))
    left = np.where(exposed, 1, np.maximum(matches - fewer[clusters], 1))
    return np.where(known, 0, left).astype(np.int64)


def _step(left: Int64Array, known: BoolArray) -> dict[str, Any]:
    """Figures on the matches that are left for the others."""
    others = left[~known]
    return {
        "known": int(np.count_nonzero(known)),
        "fewest_left": int(others.min()),
        "mean_left": float(others.mean()),
        "exposed": int(np.count_nonzero(others <= 1)),
        "mean_best_guess": float((1 / np.maximum(others, 1)).mean()),
    }


def _random_curve(rule: MatchesLeft, people: int, seed: int) -> list[dict[str, Any]]:
    """Matches left when a share of all people, drawn uniformly, is known."""
    order = np.random.default_rng(seed).permutation(people)
    counts = sorted({round(share * people) for share in _SHARES} - {0, people})
    steps = []
    for count in counts:
        known = np.zeros(people, np.bool_)
        known[order[:count]] = True
        steps.append(_step(rule(known), known))
    return steps


def _exposed_by_one(edges: Edges, draw: str, seed: int) -> float:
    """The mean number of others left with a single match, over people known one at a time."""
    if draw not in WALKS:
        units = _units(edges, edges.clusters, buckets=draw == "buckets")
        pairs = np.bincount(edges.clusters)[edges.clusters] == 2
        sizes = np.bincount(units[units >= 0], minlength=1)
        return float(np.where(units >= 0, sizes[units] - 1, pairs).mean())
    exposed: list[int] = []
    work = 0
    for person in np.random.default_rng(seed).permutation(edges.records)[:_SINGLE]:
        component, number = _component_around(edges, int(person))
        work += len(component.originals)
        if exposed and work > _WORK:
            break
        known = np.zeros(component.records, np.bool_)
        known[number] = True
        exposed.append(int(np.count_nonzero(component.effective_matches(known)[~known] <= 1)))
    return float(np.mean(exposed))


# ------------------------------------------------------------------------------------- worst case


def _worst_case(edges: Edges, draw: str, rule: MatchesLeft, seed: int) -> list[dict[str, Any]]:
    """Matches left when the people whose records reveal most are known, one after the other."""
    if edges.records < 2:
        return []
    if draw in WALKS:
        return _worst_targets(edges, seed)
    clusters = edges.clusters
    units = _units(edges, clusters, buckets=draw == "buckets")
    if (units >= 0).any():  # one of each of the largest units
        sizes = np.bincount(units[units >= 0])
        largest = np.argsort(-sizes, kind="stable")[: min(_MOST_KNOWN, np.count_nonzero(sizes))]
        people = [int(np.flatnonzero(units == unit)[0]) for unit in largest]
    else:  # the smallest group, one by one
        group = np.flatnonzero(clusters == np.argmin(np.bincount(clusters)))
        people = group[: min(_MOST_KNOWN, len(group) - 1)].tolist()
    known = np.zeros(edges.records, np.bool_)
    steps = []
    for person in people:
        known[person] = True
        steps.append(_step(rule(known), known))
    return steps


def _worst_targets(edges: Edges, seed: int) -> list[dict[str, Any]]:
    """For some targets: the known people who leave the target fewest matches, found greedily.

    Everybody who owns one of the target's matches is tried, and the one who leaves fewest is taken.
    """
    starts, _ = edges.matches
    degrees = np.diff(starts)
    weakest = np.flatnonzero(degrees == degrees.min())
    targets = np.random.default_rng(seed).permutation(weakest)[:_TARGETS]
    by_step: dict[int, list[dict[str, Any]]] = {}
    work = 0
    for target in targets:
        component, number = _component_around(edges, int(target))
        work += len(component.originals) * int(degrees.min()) * _MOST_KNOWN
        if by_step and work > _WORK:
            break
        for step in _attack(component, number):
            by_step.setdefault(step["known"], []).append(step)
    return [
        {**min(steps, key=lambda step: step["fewest_left"]), "targets": len(steps)}
        for steps in by_step.values()
    ]


def _component_around(edges: Edges, person: int) -> tuple[Edges, int]:
    """The edges of a person's connected component, and the person's number in it."""
    components = edges.components
    records = np.flatnonzero(components[edges.truth] == components[person])
    subgraph = subgraph_of_records(edges, records)
    assert subgraph is not None
    return subgraph.edges, int(np.searchsorted(subgraph.people, person))


def _attack(component: Edges, target: int) -> Iterator[dict[str, Any]]:
    """The steps of the greedy search against one person."""
    known = np.zeros(component.records, np.bool_)
    starts, records = component.matches
    owners = component.truth[records[starts[target] : starts[target + 1]]]
    candidates = [int(owner) for owner in owners if owner != target]
    while candidates and np.count_nonzero(known) < _MOST_KNOWN:
        tried = []
        for candidate in candidates:
            known[candidate] = True
            tried.append(component.effective_matches(known))
            known[candidate] = False
        best = int(np.argmin([left[target] for left in tried]))
        known[candidates.pop(best)] = True
        yield _step(tried[best], known)
