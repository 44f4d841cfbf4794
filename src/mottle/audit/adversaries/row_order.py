"""The order adversary: guesses links by position alone, which works if nothing was drawn.

A deterministic assignment can be undone by anyone who runs the program again (NH10 §4.2): the true
original of every record is then at the same place of the program's own list.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mottle.audit.base import register
from mottle.audit.links.edges import Edges, Subgraph
from mottle.audit.report import Outcome
from mottle.audit.sensitive.accuracy import GuessAccuracy, judge_shared
from mottle.audit.view import Evidence, View


@register(
    "order",
    title="assumes that rows keep the order of the table, or that true links share one position",
    assumes="knows the algorithm, its graph and the table, but not the random numbers",
)
def order(view: View, evidence: Evidence) -> Iterator[Outcome]:
    """Guess by row number, and by position among the preimages; judged by the links."""
    subgraph = evidence.subgraph
    if subgraph is None:
        why = {"not_played": "needs the private link file"}
        yield Outcome("right guesses by place", None, details=why)
        return
    examined = subgraph.facts(int(view.people.num_rows))
    tried = {"right guesses: row i is person i": _by_row(subgraph)}
    if view.release.sensitive is None:  # otherwise links are public and nothing was drawn
        tried["right guesses: always the same layer"] = _by_layer(subgraph.edges)
    for measure, found in tried.items():
        facts = {**found.facts(), **examined}
        yield Outcome(measure, found.right, found.allowed, found.passed, facts)


def _by_row(subgraph: Subgraph) -> GuessAccuracy:
    """Guess that row i is person i; each guess may be right with probability 1 / degree."""
    edges = subgraph.edges
    right = subgraph.people[edges.truth] == subgraph.records
    return judge_shared(right, 1 / edges.degrees, edges.clusters[edges.truth])


def _by_layer(edges: Edges) -> GuessAccuracy:
    """Guess the layer that most often holds the true original."""
    true = np.flatnonzero(edges.originals == edges.truth[edges.published])
    layers = edges.layers[true]
    counts = np.bincount(layers)
    layer = int(counts.argmax())
    may = edges.degrees > layer
    clusters = edges.clusters[edges.truth][may]
    return judge_shared((layers == layer)[may], (1 / edges.degrees)[may], clusters, len(counts))
