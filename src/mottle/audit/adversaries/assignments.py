"""The pruning adversary: strikes out matches that lie in no assignment of everybody (NH10 §4).

Definition 2 can hold for k only if everybody keeps k matches (Theorems 1 and 2), and if k
assignments without a common match exist (Definition 7): if one of those is drawn, no match has a
probability above 1/k. Without them, no way of drawing achieves that (NH10 Fig. 4).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mottle.audit.base import register
from mottle.audit.containment.coded_columns import count_outside
from mottle.audit.containment.pruning import Pruned, disjoint_assignments, prune
from mottle.audit.links.edges import Edges, Subgraph
from mottle.audit.report import Outcome
from mottle.audit.view import Evidence, View

_MOST_PAIRS = 20_000_000  # grouped matches up to which a maximum flow is computed
_EFFECTIVE = "fewest matches of a person or record that fit some assignment"
_DISJOINT = "assignments without a common match"


@register(
    "assignments",
    title="strikes out matches that fit no assignment of everybody at once",
    assumes="knows the quasi-identifiers of everybody, and that everybody has one record",
    seconds=40,
)
def assignments(view: View, evidence: Evidence) -> Iterator[Outcome]:
    """Judge Definition 2: exactly, or along the links when only a sample is examined."""
    k, edges = evidence.k, evidence.one_to_one_edges
    if edges is not None and not _fits(view, edges):
        edges = None
    if not view.is_complete:
        yield _by_links(view, None if edges is None else evidence.subgraph, k)
        return
    owners = None if edges is None else edges.truth.astype(np.int64)
    pruned = prune(view.index, owners, view.dropped)
    if pruned is None:
        meaning = {"meaning": "no assignment gives everybody a published record of their own"}
        yield Outcome(_EFFECTIVE, 0, k, False, meaning, public=True)
        return
    before = view.index.matches_of_points()
    weights = view.index.weights
    fewest = int(min(pruned.of_points.min(), pruned.of_boxes.min()))
    facts = {
        "fewest_matches_before": int(before.min()),
        "share_struck_out": 1 - float(pruned.of_points @ weights) / max(float(before @ weights), 1),
        "components": pruned.components,
    }
    passed = None if k is None else fewest >= k
    yield Outcome(_EFFECTIVE, fewest, k, passed, facts, public=True)
    if k is not None:
        yield _disjoint(view, edges, pruned, k)


def _fits(view: View, edges: Edges) -> bool:
    """Whether everybody's own record is a match."""
    return not count_outside(view.columns, edges.truth, np.arange(view.records, dtype=np.int32))


def _disjoint(view: View, edges: Edges | None, pruned: Pruned, k: int) -> Outcome:
    """Look for k assignments without a common match: by the links, or by a maximum flow."""
    if edges is not None and _regular_degree(view, edges) >= k:
        shown = {"shown_by": "the links: a regular graph splits into as many as its degree"}
        return Outcome(_DISJOINT, _regular_degree(view, edges), k, True, shown, public=True)
    pairs = view.index.pair_count()
    if pairs > _MOST_PAIRS:
        why = {"not_searched": f"{pairs} grouped matches; give the private link file"}
        return Outcome(_DISJOINT, None, k, None, why, public=True)
    found = disjoint_assignments(view.index, pruned, k, view.dropped)
    facts = {"shown_by": "a maximum flow", "up_to": k}
    return Outcome(_DISJOINT, found, k, found >= k, facts, public=True)


def _regular_degree(view: View, edges: Edges) -> int:
    """The smallest degree of the links if they form a regular graph along matches, else 0."""
    if edges.kept is not None:
        return 0  # some edges were not read
    starts, _ = edges.matches
    matches = np.diff(starts)
    regular = np.array_equal(edges.degrees[edges.published], matches[edges.originals])
    if not regular or count_outside(view.columns, edges.originals, edges.published):
        return 0
    return int(edges.degrees.min())


def _by_links(view: View, subgraph: Subgraph | None, k: int | None) -> Outcome:
    """For tables too large to examine everybody: the links' edges that lie in an assignment."""
    if subgraph is None:
        why = {"not_played": "too many rows; give the private link file or a larger sample"}
        return Outcome(_EFFECTIVE, None, k, None, why, public=True)
    fewest = int(subgraph.edges.effective_matches().min())
    people = int(view.people.num_rows)
    facts = {"individuals": people, "matches": "those of the links only", **subgraph.facts(people)}
    passed = None if k is None else fewest >= k
    return Outcome(_EFFECTIVE, fewest, k, passed, facts, public=True)
