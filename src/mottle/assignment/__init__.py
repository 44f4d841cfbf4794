"""Draw the true assignment: one of m disjoint assignments, so that every edge has chance 1/m.

In an m-regular block the edges split into m assignments without a common edge (NH10 Lemma 1). The
index of the one that becomes true is drawn first, uniformly; then that many assignments are
extracted at random, each from what the earlier ones left (NH10 §5.2.1). However the extraction
works, each edge lies in exactly one of the m assignments and is therefore true with chance 1/m.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mottle.assignment._walks import check_assignment
from mottle.assignment.backtracking_walk import backtracking_walk
from mottle.assignment.closed_walk import closed_walk
from mottle.assignment.layer_draws import bucket_permutation, check_layers, identity, rotation
from mottle.assignment.printed_closed_walk import printed_closed_walk
from mottle.errors import UsageError, did_you_mean
from mottle.graph.model import Graph
from mottle.typing import Int32Array, UInt32Array
from mottle.utils import parallel
from mottle.utils.csprng import Secret

__all__ = ["DRAWS", "WALKS", "assign", "check_assignment", "check_layers"]

Walk = Callable[[Graph, int, int, UInt32Array, Int32Array], None]

# Random walks, for graphs whose edges do not depend on sensitive values.
WALKS: dict[str, Walk] = {
    "closed": closed_walk,  # SET12 Algorithm 1, with a faster start
    "closed-printed": printed_closed_walk,  # SET12 Algorithm 1 as printed
    "backtracking": backtracking_walk,  # NH10 Fig. 7
}

# All draws. Those that are not walks are for graphs whose edges depend on sensitive values, which
# a walk would leak (docs/guarantees.md).
DRAWS: dict[str, Walk] = {
    **WALKS,
    "buckets": bucket_permutation,
    "rotation": rotation,
    "apart": identity,
}


def assign(graph: Graph, secret: Secret, walk: str = "closed") -> Int32Array:
    """Draw the true original of every published record.

    Parameters
    ----------
    graph : Graph
        A regular generalization graph.
    secret : Secret
        Source of the random choices.
    walk : str, default "closed"
        A name in `DRAWS`.

    Returns
    -------
    Int32Array
        [n]: the position of the true original of the published record at each position.

    Raises
    ------
    UsageError
        If there is no draw of that name.

    Examples
    --------
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
