"""Corruption: what follows for the others once the true records of some people are known.

NH10 §5.2: a known link takes an original and its record out of the graph, and with them every
match that then fits no assignment. In rings and homogeneous groups the others lose at most one
match for each person known; in other graphs a few more. Draws that move a whole bucket or block at
once give more away, and that is accounted for exactly: one known link of a bucket tells where all
of it went.

No guarantee here speaks of known records, so curves are for information. Only for k-anonymity (k of
3 or more) one thing is judged: a known record must give away less than one other on average, so
that known records do not lead to ever more. Drawing among the k shifts of a ring gives away all of
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from mottle.assignment import WALKS
from mottle.audit.base import register
from mottle.audit.links.corrupted_draws import best_guess_after_one
from mottle.audit.links.edges import Edges, chosen_part
from mottle.audit.report import Outcome
from mottle.audit.view import Evidence, View
from mottle.typing import BoolArray, Int64Array

_SHARES = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5)  # of all people, known at random
_MOST_KNOWN = 9  # people known in the worst case
_CHAIN = 1  # from so many on, one known record leads to another and that to the next
_TARGETS = 20
_SINGLE = 200  # people taken for known one at a time
_WORK = 100_000_000  # edges looked at in search of the worst case

Left = Callable[[BoolArray], Int64Array]


@register(
    "corruption",
    title="knows the true records of some people",
    assumes="knows everybody's quasi-identifiers, the algorithm, its graph, and some true records",
)
def corruption(view: View, evidence: Evidence) -> Iterator[Outcome]:
    """Curves over the number of people known: at random, and chosen greedily for the worst case."""
    measure = "people given away by one known record, on average"
    part = evidence.part
    draw = view.draw
    if part is None or not draw:
        why = {"not_played": "needs the private link file and a certificate that says how it drew"}
        yield Outcome(measure, None, details=why)
        return
    links = part.edges
    rule = _rule(links, draw)
    given_away = _given_away_by_one(links, draw, view.seed)
    facts: dict[str, Any] = {
        "draw": draw,
        **part.facts(int(view.people.num_rows)),
        "random": _random_curve(rule, links.records, view.seed),
        "worst_case": _worst_case(links, draw, rule, view.seed),
    }
    if draw in WALKS:
        facts["one_known_simulated"] = best_guess_after_one(links, draw, view.seed)
    k, guarantee = evidence.k, evidence.guarantee
    if k is None or k < 3 or guarantee is None or guarantee.about_values:
        yield Outcome(measure, given_away, details=facts)
        return
    yield Outcome(measure, given_away, _CHAIN, given_away < _CHAIN, facts)


def _rule(links: Edges, draw: str) -> Left:
    """The rule by which known links shrink the matches of others, for each way of drawing."""
    if draw == "buckets":
        return partial(_left_by_unit, links, _units(links, links.clusters, buckets=True))
    if draw in ("rotation", "apart"):
        return partial(_left_by_unit, links, _units(links, links.clusters, buckets=False))
    return links.effective_matches


def _units(links: Edges, clusters: Int64Array, *, buckets: bool) -> Int64Array:
    """By original: a number for all whose records one known link gives away; -1 for none.

    In a complete block everybody is drawn for himself. Else it is the whole block, or the bucket:
    an original of bucket b stands in layer b of all its matches.
    """
    matches = np.bincount(links.originals, minlength=links.records)
    alone = matches == np.bincount(clusters)[clusters]
    units = clusters.copy()
    if buckets:
        layer = np.zeros(links.records, np.int64)
        layer[links.originals] = links.layers
        units = clusters * (int(layer.max()) + 1) + layer
    _, units = np.unique(units, return_inverse=True)
    return np.where(alone, -1, units.ravel())


def _left_by_unit(links: Edges, units: Int64Array, known: BoolArray) -> Int64Array:
    """Matches left when everybody of a unit goes the same way: as many fewer as units are known."""
    clusters = links.clusters
    matches = np.bincount(links.originals, minlength=links.records)
    together = units >= 0
    given_away = np.zeros(int(units.max(initial=-1)) + 2, np.bool_)
    given_away[units[known & together]] = True
    exposed = together & given_away[units]
    of_unit = np.unique(units[known & together], return_index=True)[1]
    fewer = np.bincount(clusters[known & together][of_unit], minlength=int(clusters.max()) + 1)
    fewer += np.bincount(clusters[known & ~together], minlength=len(fewer))
    left = np.where(exposed, 1, np.maximum(matches - fewer[clusters], 1))
    return np.where(known, 0, left).astype(np.int64)


def _step(left: Int64Array, known: BoolArray) -> dict[str, Any]:
    """What is left to the others, in numbers."""
    others = left[~known]
    return {
        "known": int(np.count_nonzero(known)),
        "fewest_left": int(others.min()),
        "mean_left": float(others.mean()),
        "exposed": int(np.count_nonzero(others <= 1)),
        "mean_best_guess": float((1 / np.maximum(others, 1)).mean()),
    }


def _random_curve(rule: Left, people: int, seed: int) -> list[dict[str, Any]]:
    """What is left when some part of all people are known, drawn uniformly."""
    order = np.random.default_rng(seed).permutation(people)
    counts = sorted({round(share * people) for share in _SHARES} - {0, people})
    steps = []
    for count in counts:
        known = np.zeros(people, np.bool_)
        known[order[:count]] = True
        steps.append(_step(rule(known), known))
    return steps


def _given_away_by_one(links: Edges, draw: str, seed: int) -> float:
    """How many others have only one match left, on average over people known one at a time."""
    if draw not in WALKS:
        units = _units(links, links.clusters, buckets=draw == "buckets")
        pairs = np.bincount(links.clusters)[links.clusters] == 2
        sizes = np.bincount(units[units >= 0], minlength=1)
        return float(np.where(units >= 0, sizes[units] - 1, pairs).mean())
    exposed: list[int] = []
    work = 0
    for person in np.random.default_rng(seed).permutation(links.records)[:_SINGLE]:
        part, where = _part_around(links, int(person))
        work += len(part.originals)
        if exposed and work > _WORK:
            break
        known = np.zeros(part.records, np.bool_)
        known[where] = True
        exposed.append(int(np.count_nonzero(part.effective_matches(known)[~known] <= 1)))
    return float(np.mean(exposed))


# ------------------------------------------------------------------------------------- worst case


def _worst_case(links: Edges, draw: str, rule: Left, seed: int) -> list[dict[str, Any]]:
    """The people whose records give away most, one after the other."""
    if links.records < 2:
        return []
    if draw in WALKS:
        return _worst_targets(links, seed)
    clusters = links.clusters
    units = _units(links, clusters, buckets=draw == "buckets")
    if (units >= 0).any():  # one of each of the largest units
        sizes = np.bincount(units[units >= 0])
        largest = np.argsort(-sizes, kind="stable")[: min(_MOST_KNOWN, np.count_nonzero(sizes))]
        people = [int(np.flatnonzero(units == unit)[0]) for unit in largest]
    else:  # the smallest group, one by one
        group = np.flatnonzero(clusters == np.argmin(np.bincount(clusters)))
        people = group[: min(_MOST_KNOWN, len(group) - 1)].tolist()
    known = np.zeros(links.records, np.bool_)
    steps = []
    for person in people:
        known[person] = True
        steps.append(_step(rule(known), known))
    return steps


def _worst_targets(links: Edges, seed: int) -> list[dict[str, Any]]:
    """For some targets: the known people that leave the target fewest matches, found greedily.

    Everybody who holds one of the target's matches is tried, and whoever leaves fewest is taken.
    """
    starts, _ = links.matches
    degrees = np.diff(starts)
    weakest = np.flatnonzero(degrees == degrees.min())
    targets = np.random.default_rng(seed).permutation(weakest)[:_TARGETS]
    by_step: dict[int, list[dict[str, Any]]] = {}
    work = 0
    for target in targets:
        part, where = _part_around(links, int(target))
        work += len(part.originals) * int(degrees.min()) * _MOST_KNOWN
        if by_step and work > _WORK:
            break
        for step in _attack(part, where):
            by_step.setdefault(step["known"], []).append(step)
    return [
        {**min(steps, key=lambda step: step["fewest_left"]), "targets": len(steps)}
        for steps in by_step.values()
    ]


def _part_around(links: Edges, person: int) -> tuple[Edges, int]:
    """The edges that hang together with a person, by themselves; and the person's number there."""
    component = links.components
    records = np.flatnonzero(component[links.truth] == component[person])
    part = chosen_part(links, records)
    assert part is not None
    return part.edges, int(np.searchsorted(part.people, person))


def _attack(part: Edges, target: int) -> Iterator[dict[str, Any]]:
    """Steps of the greedy search against one person."""
    known = np.zeros(part.records, np.bool_)
    starts, records = part.matches
    owners = part.truth[records[starts[target] : starts[target + 1]]]
    candidates = [int(owner) for owner in owners if owner != target]
    while candidates and np.count_nonzero(known) < _MOST_KNOWN:
        tried = []
        for candidate in candidates:
            known[candidate] = True
            tried.append(part.effective_matches(known))
            known[candidate] = False
        best = int(np.argmin([left[target] for left in tried]))
        known[candidates.pop(best)] = True
        yield _step(tried[best], known)
