"""The adversary who counts people: candidates for a record are people, not rows.

Of people with several rows, several candidates for a record may be one person's. Whoever knows
which rows belong together adds them up. What counts is then how many *people* a record fits, and
which part of its candidates is one person's: k matches of one person hide nobody.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mottle.audit.base import register
from mottle.audit.containment.coded_columns import offsets_of
from mottle.audit.containment.index import ContainmentIndex, Pieces, Tree
from mottle.audit.links.edges import Edges, Subgraph
from mottle.audit.report import Outcome
from mottle.audit.sensitive.accuracy import judge
from mottle.audit.view import Evidence, View
from mottle.typing import BoolArray, Float64Array, Int32Array, Int64Array
from mottle.utils import parallel
from mottle.utils.compiled import kernel

_FEWEST = "fewest people who fit a record"
_SHARE = "largest share of one person among a record's candidates"
_RIGHT = "right guesses of whose record it is"
_ENOUGH = 1000  # people up to which those behind a record are counted


@register(
    "people",
    title="adds up the rows of a person among the candidates for a record",
    assumes="knows everybody's quasi-identifiers and which rows belong to the same person; along"
    " edges, also the algorithm and its graph",
    seconds=2,
)
def people(view: View, evidence: Evidence) -> Iterator[Outcome]:
    """Count the people behind every record: by containment, and along the links."""
    whose, k = view.whose, evidence.k
    if whose is None:
        why = "no column says whose row it is, so every row is taken for a person"
        yield Outcome(_FEWEST, None, details={"does_not_apply": why}, public=True)
        return
    counted = _people_behind(view, whose, max(k or 0, _ENOUGH))
    fewest = int(counted.min())
    facts = {
        "people": int(whose.max()) + 1,
        "rows_of_a_person_at_most": int(np.bincount(whose).max()),
        "records_of_one_person": float(np.mean(counted <= 1)),
        "records_with_too_few": float(np.mean(counted < (k or 2))),
    }
    passed = None if k is None else fewest >= k
    yield Outcome(_FEWEST, fewest, k, passed, facts, public=True)
    if evidence.subgraph is None:
        why = "needs the private link file"
        yield Outcome(_SHARE, None, details={"not_played": why}, public=True)
        return
    yield from _along_links(evidence.subgraph, whose, k, view.seed)


def _along_links(
    subgraph: Subgraph, whose: Int32Array, k: int | None, seed: int
) -> Iterator[Outcome]:
    edges = subgraph.edges
    of_original = whose[subgraph.people]
    share, guess = likeliest(edges, of_original, seed)
    highest, allowed = float(share.max()), None if k is None else 1 / k
    passed = None if allowed is None else highest <= allowed + 1e-9
    facts = {
        "records_beyond": float(np.mean(share > (allowed or 1.0) + 1e-9)),
        "mean_share": float(share.mean()),
    }
    yield Outcome(_SHARE, highest, allowed, passed, facts, public=True)
    right: BoolArray = guess == of_original[edges.truth]
    limit = np.full(len(right), 1 / k if k else float(share.mean()))
    accuracy = judge(right, limit, edges.clusters[edges.truth])
    passed = None if k is None else accuracy.passed
    yield Outcome(_RIGHT, accuracy.right, accuracy.allowed, passed, accuracy.facts())


def likeliest(edges: Edges, whose: Int32Array, seed: int) -> tuple[Float64Array, Int32Array]:
    """For every record the person with most of its preimages: the share, and who; ties by lot."""
    key = edges.published.astype(np.int64) * (int(whose.max()) + 1) + whose[edges.originals]
    found, times = np.unique(key, return_counts=True)
    record, person = np.divmod(found, int(whose.max()) + 1)
    tie = np.random.default_rng(seed).random(len(found))
    order = np.lexsort((tie, times, record))
    last = np.append(np.flatnonzero(np.diff(record[order])), len(order) - 1)
    best = order[last]
    return times[best] / edges.degrees[record[best]], person[best].astype(np.int32)


def _people_behind(view: View, whose: Int32Array, enough: int) -> Int64Array:
    """For every record, or for a sample: the number of people who fit it, up to ``enough``."""
    index = view.full_index
    records = np.arange(view.records)
    if view.records > view.sample:
        random = np.random.default_rng(view.seed)
        records = np.sort(random.choice(view.records, view.sample, replace=False))
    boxes, number = np.unique(index.box_of[records], return_inverse=True)
    pieces = index.pieces_of(boxes)
    return count_people(index, pieces, whose, enough)[number.ravel()]


def count_people(
    index: ContainmentIndex, pieces: Pieces, whose: Int32Array, enough: int
) -> Int64Array:
    """For each box of ``pieces``: the number of people with a row inside, up to ``enough``."""
    rows = np.argsort(index.place_of, kind="stable")
    starts = offsets_of(index.weights)
    counted = parallel.over_rows(
        lambda first, last: _count_people(
            index.tree, pieces, starts, whose[rows], enough, first, last
        ),
        len(pieces.offsets) - 1,
    )
    return np.concatenate(counted)


@kernel
def _count_people(
    tree: Tree,
    pieces: Pieces,
    starts: Int64Array,
    whose: Int32Array,
    enough: int,
    first: int,
    last: int,
) -> Int64Array:
    """``whose`` [rows] is in the order of the tree; the rows of point p begin at ``starts[p]``."""
    counted = np.zeros(last - first, np.int64)
    seen_in = np.full(whose.max() + 1, -1, np.int64)
    for box in range(first, last):
        found = 0
        for piece in range(pieces.offsets[box], pieces.offsets[box + 1]):
            node = pieces.nodes[piece]
            for row in range(starts[tree.first[node]], starts[tree.last[node]]):
                if seen_in[whose[row]] != box:
                    seen_in[whose[row]] = box
                    found += 1
                    if found >= enough:
                        break
            if found >= enough:
                break
        counted[box - first] = found
    return counted
