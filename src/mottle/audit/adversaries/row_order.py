"""The order adversary: guesses links by position alone, which works if nothing was drawn.

A deterministic assignment can be undone by anyone who runs the program again (NH10 §4.2): the true
original of every record is then at the same place of the program's own list. Rows in the order of
the table, or near it, give everybody's record away as well.

If the order of the rows is drawn uniformly, the number of rows i that are person i is distributed
as Poisson(1), whatever the graph; the rank correlation of rows and people has a standard deviation
of 1/√(n - 1); and of somebody's m matches each is nearest to the person's own row number with
probability 1/m. No blocks are needed to judge these, so they hold for a single block as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

import numpy as np
from scipy.stats import norm, poisson

from mottle.audit.base import register
from mottle.audit.links.edges import Edges, Subgraph
from mottle.audit.report import Outcome
from mottle.audit.sensitive.accuracy import GuessAccuracy, judge_shared
from mottle.audit.view import Evidence, View
from mottle.typing import Int32Array, Int64Array

LEVEL = 1e-4  # probability that one of these measures fails for rows in uniformly random order
_WORLDS = 60  # random orders of the rows that measure what is due to chance
_WORK = 60_000_000  # edges that all random orders together may look at


@register(
    "order",
    title="assumes that rows keep the order of the table, or that true links share one position",
    assumes="knows the algorithm, its graph and the table, but not the random numbers",
    seconds=3,
)
def order(view: View, evidence: Evidence) -> Iterator[Outcome]:
    """Guess by row number, and by position among the preimages; judged by the links."""
    edges, subgraph = evidence.one_to_one_edges, evidence.subgraph
    if edges is None or subgraph is None:
        why = {"not_played": "needs the private link file"}
        yield Outcome("right guesses by place", None, details=why)
        return
    yield _same_row(edges.truth)
    yield _rank_correlation(edges.truth)
    examined = subgraph.facts(int(view.people.num_rows))
    tried = {"right guesses: the nearest row of the matches": _by_nearest_row(subgraph, view.seed)}
    if view.release.sensitive is None:  # otherwise links are public and nothing was drawn
        tried["right guesses: always the same layer"] = _by_layer(subgraph.edges)
    for measure, found in tried.items():
        facts = {**found.facts(), **examined}
        yield Outcome(measure, found.right, found.allowed, found.passed, facts)


def _same_row(truth: Int32Array) -> Outcome:
    """Count the rows i that are person i; on average one, in a random order."""
    found = int(np.count_nonzero(truth == np.arange(len(truth))))
    most = int(poisson.isf(LEVEL, 1))
    chance = float(poisson.sf(found - 1, 1))
    passed = found <= most if len(truth) > most else None
    facts = {"rows": len(truth), "expected": 1, "chance": chance, "level": LEVEL}
    return Outcome("rows i that are person i", found, most, passed, facts)


def _rank_correlation(truth: Int32Array) -> Outcome:
    """Spearman's correlation of rows and people; an order that is reversed tells as much."""
    rows = len(truth)
    centred = np.arange(rows) - (rows - 1) / 2
    found = float(centred @ centred[truth] / max(centred @ centred, 1.0))
    sigma = 1 / sqrt(max(rows - 1, 1))
    most = float(norm.isf(LEVEL / 2)) * sigma
    chance = 2 * float(norm.sf(abs(found) / sigma))
    facts = {"rows": rows, "sigma": sigma, "chance": chance, "level": LEVEL}
    passed = abs(found) <= most if most < 1 else None
    return Outcome("rank correlation of rows and people", abs(found), most, passed, facts)


def _by_nearest_row(subgraph: Subgraph, seed: int) -> GuessAccuracy:
    """Guess the match whose row is nearest to the person's own; σ from random orders of the rows.

    Given the graph and the true links, the order of the rows is all that is drawn; so the share of
    right guesses over other orders of them shows what chance does.
    """
    edges, rows = subgraph.edges, subgraph.records
    starts, records = edges.matches
    people = np.repeat(subgraph.people, np.diff(starts))
    own = np.empty(edges.records, np.int64)
    own[edges.truth] = np.arange(edges.records)

    def share_right(rows: Int64Array) -> float:
        distance = np.abs(rows[records] - people)
        nearest = np.minimum.reduceat(distance, starts[:-1])
        ties = np.add.reduceat(distance == np.repeat(nearest, np.diff(starts)), starts[:-1])
        return float(((np.abs(rows[own] - subgraph.people) == nearest) / ties).mean())

    random = np.random.default_rng(seed)
    worlds = max(min(_WORLDS, _WORK // max(len(records), 1)), 10)
    by_chance = [share_right(random.permutation(rows)) for _ in range(worlds)]
    chances = 1 / np.diff(starts)
    independent = sqrt(float((chances * (1 - chances)).sum())) / edges.records
    sigma = max(independent, float(np.std(by_chance)))
    return GuessAccuracy(edges.records, share_right(rows), float(chances.mean()), sigma)


def _by_layer(edges: Edges) -> GuessAccuracy:
    """Guess the layer that most often holds the true original."""
    true = np.flatnonzero(edges.originals == edges.truth[edges.published])
    layers = edges.layers[true]
    counts = np.bincount(layers)
    layer = int(counts.argmax())
    may = edges.degrees > layer
    clusters = edges.clusters[edges.truth][may]
    return judge_shared((layers == layer)[may], (1 / edges.degrees)[may], clusters, len(counts))
