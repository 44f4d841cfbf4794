"""Who is really whom: one of m disjoint assignments, drawn so that every edge has chance 1/m.

In an m-regular block the edges fall into m assignments without a common edge (NH10 Lemma 1). The
number of the one that becomes true is drawn first, uniformly; then that many assignments are
extracted at random, each from what the earlier ones left (NH10 §5.2.1). However the extraction
works, each edge lies in exactly one of the m assignments and is therefore true with chance 1/m.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mottle.assignment._walks import check_assignment
from mottle.assignment.backtracking_walk import backtracking_walk
from mottle.assignment.closed_walk import closed_walk
from mottle.assignment.layer_draws import bucket_permutation, check_layers, rotation, stay
from mottle.errors import UsageError, did_you_mean
from mottle.graph.model import Graph
from mottle.typing import Int32Array, UInt32Array
from mottle.utils import parallel
from mottle.utils.csprng import Secret

__all__ = ["DRAWS", "WALKS", "assign", "check_assignment", "check_layers"]

Walk = Callable[[Graph, int, int, UInt32Array, Int32Array], None]

WALKS: dict[str, Walk] = {
    "closed": closed_walk,  # SET12 Algorithm 1
    "backtracking": backtracking_walk,  # NH10 Fig. 7
}

# For graphs whose edges know sensitive values; the walks would leak them (docs/guarantees.md).
DRAWS: dict[str, Walk] = {
    **WALKS,
    "buckets": bucket_permutation,
    "rotation": rotation,
    "apart": stay,
}


def assign(graph: Graph, secret: Secret, walk: str = "closed") -> Int32Array:
    """The position of the true original of every published record.

    >>> ring = Graph.rings(np.arange(5), np.array([0, 5]), np.array([3]))
    >>> truth = assign(ring, Secret.draw(seed=1))
    >>> sorted(truth.tolist()), all(truth[p] in ring.preimages(p) for p in range(5))
    ([0, 1, 2, 3, 4], True)
    """
    if walk not in DRAWS:
        raise UsageError(f"There is no walk '{walk}'.", did_you_mean(walk, WALKS))
    truth = np.empty(graph.records, np.int32)
    key = secret.words
    parallel.over_blocks(
        lambda first, last: DRAWS[walk](graph, first, last, key, truth), graph.starts
    )
    return truth
