"""Order: rows or links that are true by their place alone, as after a draw that was none.

A deterministic assignment is undone by whoever runs the program again (NH10 §4.2): the true
original of every record then stands at the same place of the program's own list.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mottle.audit.base import register
from mottle.audit.links.edges import Edges, Part
from mottle.audit.report import Outcome
from mottle.audit.sensitive.accuracy import GuessAccuracy, judge_shared
from mottle.audit.view import Evidence, View


@register(
    "order",
    title="takes rows for published in the order of the table, or true links for always the same",
    assumes="knows the algorithm, its graph and the table, but not the random numbers",
)
def order(view: View, evidence: Evidence) -> Iterator[Outcome]:
    """Guess by row number, and by the place among the preimages; judged by the links."""
    part = evidence.part
    if part is None:
        why = {"not_played": "needs the private link file"}
        yield Outcome("right guesses by place", None, details=why)
        return
    examined = part.facts(int(view.people.num_rows))
    tried = {"right guesses: row i is person i": _by_row(part)}
    if view.release.sensitive is None:  # else nothing was drawn: links are public, values are not
        tried["right guesses: always the same layer"] = _by_layer(part.edges)
    for measure, found in tried.items():
        facts = {**found.facts(), **examined}
        yield Outcome(measure, found.right, found.allowed, found.passed, facts)


def _by_row(part: Part) -> GuessAccuracy:
    """Each row that is a match of the person with its number may be right with 1 / degree."""
    links = part.edges
    right = part.people[links.truth] == part.records
    return judge_shared(right, 1 / links.degrees, links.clusters[links.truth])


def _by_layer(links: Edges) -> GuessAccuracy:
    """The layer that most often holds the true original."""
    true = np.flatnonzero(links.originals == links.truth[links.published])
    layers = links.layers[true]
    counts = np.bincount(layers)
    layer = int(counts.argmax())
    may = links.degrees > layer
    clusters = links.clusters[links.truth][may]
    return judge_shared((layers == layer)[may], (1 / links.degrees)[may], clusters, len(counts))
