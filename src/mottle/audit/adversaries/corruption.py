"""The corruption adversary: what known true records of some people reveal about the others.

NH10 §5.2: a known link removes an original and its record from the graph, and with them every match
that then lies in no assignment. In rings and homogeneous groups the others lose at most one match
for each person known; in other graphs a few more. Draws that move a whole bucket or block at once
reveal more, which is accounted for exactly: one known link of a bucket reveals where the whole
bucket went, in all parts of its table (`mottle.audit.links.bucket_tables`).

Everybody in the table is such an adversary: participants know their own values and records. For
each of them, the people are counted of whom that reveals the value for certain, or raises the
belief in a value above its cap. The first is judged if the release states a bound.

Other guarantees do not cover known records, so the curves are for information. Only for k-anonymity
(with k of 3 or more) one thing is judged: a known record must reveal less than one other record on
average, so that known records do not lead to more and more of them. Drawing among the k shifts of a
ring reveals the whole ring.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from mottle.assignment import WALKS
from mottle.audit.base import register
from mottle.audit.links.bucket_tables import BucketTables, find_tables
from mottle.audit.links.corrupted_draws import simulate_one_known_link
from mottle.audit.links.edges import Edges, Subgraph, subgraph_of_records
from mottle.audit.report import Outcome
from mottle.audit.view import Evidence, View
from mottle.guarantees.demand import ROUNDING
from mottle.typing import BoolArray, Float64Array, Int32Array, Int64Array
from mottle.utils.compiled import kernel

_SHARES = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5)  # shares of all people who are known, at random
_MOST_KNOWN = 9  # people known in the worst case
_INSIDERS = "people of whom one participant's own record reveals the value, at most"
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
    seconds=5,
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
    values, caps = _values(view, evidence, subgraph)
    together = _drawn_together(edges, draw, values, caps)
    rule = _rule(edges, draw, together)
    exposed_others = _exposed_by_one(edges, draw, together, view.seed)
    facts: dict[str, Any] = {
        "draw": draw,
        **subgraph.facts(int(view.people.num_rows)),
        "random": _random_curve(rule, edges.records, view.seed),
        "worst_case": _worst_case(edges, draw, together, rule, view.seed),
    }
    if draw == "buckets":
        facts |= together.facts()
    if draw in WALKS:
        facts["one_known_simulated"] = simulate_one_known_link(edges, draw, view.seed)
    k, guarantee = evidence.k, evidence.guarantee
    if k is None or k < 3 or guarantee is None or guarantee.about_values:
        yield Outcome(measure, exposed_others, details=facts)
    else:
        yield Outcome(measure, exposed_others, _CHAIN, exposed_others < _CHAIN, facts)
    learned, raised = _learned_by_insiders(edges, together.units, values, caps)
    most, bound = int(learned.max()), evidence.insider_bound
    details = {
        "participants": len(learned),
        **subgraph.facts(int(view.people.num_rows)),
        "certain": _distribution(learned),
        "above_cap": _distribution(raised),
    }
    yield Outcome(_INSIDERS, most, bound, None if bound is None else most <= bound, details)


def _values(view: View, evidence: Evidence, subgraph: Subgraph) -> tuple[Int32Array, Float64Array]:
    """Everybody's sensitive value and the caps; without sensitive columns, everybody's own record.

    With several sensitive columns these are the joint values.
    """
    if not view.sensitive:
        return np.arange(subgraph.edges.records, dtype=np.int32), np.ones(subgraph.edges.records)
    return evidence.own_codes[0][subgraph.people], view.sensitive[0].reference.caps


def _drawn_together(
    edges: Edges, draw: str, values: Int32Array, caps: Float64Array
) -> BucketTables:
    """The units that one known link reveals: buckets, whole blocks, or none."""
    if draw == "buckets":
        return find_tables(edges, values, caps)
    numbers, blocks = np.unique(edges.clusters, return_inverse=True)
    units = np.full(edges.records, -1)
    if draw in ("rotation", "apart"):
        matches = np.bincount(edges.originals, minlength=edges.records)
        units = np.where(matches == np.bincount(blocks)[blocks], -1, blocks)
    return BucketTables(units, blocks, len(numbers), False, None, None)


def _learned_by_insiders(
    edges: Edges, units: Int64Array, values: Int32Array, caps: Float64Array
) -> tuple[Int64Array, Int64Array]:
    """For each person: how many others' values the own record reveals, or raises above the cap.

    The own record reveals the unit. All others who matched a record of the unit lose that match;
    their values are certain if all other matches have one value. Nobody counts of whom the same was
    known without the own record.
    """
    together = units >= 0
    unit_of = np.where(together, units, int(units.max(initial=-1)) + 1 + np.arange(len(units)))
    starts, records = edges.matches
    learned, raised, own = _count_by_unit(
        starts, edges.truth[records], unit_of, values, caps, int(unit_of.max()) + 1
    )
    # Of somebody drawn alone only the own record is in the unit, which tells nothing new.
    return learned[unit_of] - own[:, 0], raised[unit_of] - own[:, 1]


@kernel
def _count_by_unit(
    starts: Int64Array,
    owners: Int32Array,
    unit_of: Int64Array,
    values: Int32Array,
    caps: Float64Array,
    units: int,
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """For each unit: of how many people it reveals the value, or raises a belief above its cap.

    The third result says for each person whether either is so of the person's own unit.
    """
    learned, raised = np.zeros(units, np.int64), np.zeros(units, np.int64)
    own = np.zeros((unit_of.size, 2), np.int64)
    tally = np.zeros(caps.size, np.int64)
    for person in range(unit_of.size):
        first, last = starts[person], starts[person + 1]
        distinct = 0
        for edge in range(first, last):
            value = values[owners[edge]]
            distinct += tally[value] == 0
            tally[value] += 1
        matches, left = last - first, max(last - first - 1, 1)
        above, above_left = False, 0
        for edge in range(first, last):
            value = values[owners[edge]]
            above |= tally[value] > caps[value] * matches + ROUNDING
            # every record of a value counts, so that the sum is positive if any value is above
            above_left += tally[value] > caps[value] * left + ROUNDING
        for edge in range(first, last):
            value, unit = values[owners[edge]], unit_of[owners[edge]]
            count = tally[value]
            if unit == unit_of[person]:
                if owners[edge] != person:
                    continue  # in a ring other matches are in the same unit
                own[person, 0] = distinct > 1
                own[person, 1] = (not above) and caps[value] < 1
                learned[unit] += own[person, 0]
                raised[unit] += own[person, 1]
                continue
            learned[unit] += distinct == 2 and count == 1
            others = above_left - (count if count > caps[value] * left + ROUNDING else 0)
            still = others > 0 or count - 1 > caps[value] * left + ROUNDING
            raised[unit] += still and not above
        for edge in range(first, last):
            tally[values[owners[edge]]] = 0
    return learned, raised, own


def _distribution(counts: Int64Array) -> dict[str, float]:
    """Mean, 99th percentile and maximum over all participants."""
    return {
        "mean": float(counts.mean()),
        "99 %": float(np.quantile(counts, 0.99)),
        "most": int(counts.max()),
    }


def _rule(edges: Edges, draw: str, together: BucketTables) -> MatchesLeft:
    """The rule by which known links reduce the matches of others, for each way of drawing."""
    if draw in WALKS:
        return edges.effective_matches
    return partial(_left_by_unit, edges, together.units, together.tables)


def _left_by_unit(
    edges: Edges, units: Int64Array, clusters: Int64Array, known: BoolArray
) -> Int64Array:
    """Matches left when a unit moves as a whole: fewer by the number of units that are known."""
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


def _exposed_by_one(edges: Edges, draw: str, together: BucketTables, seed: int) -> float:
    """The mean number of others left with a single match, over people known one at a time."""
    if draw not in WALKS:
        units = together.units
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


def _worst_case(
    edges: Edges, draw: str, together: BucketTables, rule: MatchesLeft, seed: int
) -> list[dict[str, Any]]:
    """Matches left when the people whose records reveal most are known, one after the other."""
    if edges.records < 2:
        return []
    if draw in WALKS:
        return _worst_targets(edges, seed)
    clusters, units = together.tables, together.units
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
