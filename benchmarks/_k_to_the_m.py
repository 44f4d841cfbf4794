"""k^m-anonymity by global recoding, for comparison: Terrovitis, Mamoulis, Kalnis (VLDB 2008).

Whoever knows up to m items of a person finds at least k sets that hold them, or none. Items are
replaced by nodes of a hierarchy, the same node for an item everywhere, together with all items
below it. As in the paper's apriori algorithm, single items and then pairs (m = 2) are made
frequent; of the nodes of a rare pair the one whose parent stands for the fewest items is raised.

Nothing is promised against anybody who knows more than m items, or that an item is not held.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mottle.itemsets.data import ItemSets
from mottle.typing import Float64Array, Int64Array

FAN_OUT = 5


@dataclass(frozen=True)
class Recoded:
    """Sets of nodes, and the node of every item."""

    node_of: Int64Array  # [items]
    leaves: Float64Array  # [nodes]: items below each
    holders: list[np.ndarray]  # [nodes]: records, ascending

    def counts(self, questions: Sequence[tuple[int, ...]]) -> Float64Array:
        """How many records hold all items of each question, items below a node equally likely."""
        answers = []
        for items in questions:
            nodes = [int(self.node_of[item]) for item in items]
            left = self.holders[nodes[0]]
            for node in nodes[1:]:
                left = np.intersect1d(left, self.holders[node], assume_unique=True)
            answers.append(len(left) / np.prod([self.leaves[node] for node in nodes]))
        return np.array(answers)


def anonymize_k_to_the_m(data: ItemSets, k: int) -> Recoded:
    """Recode items until every node and every pair of nodes is in k records or in none."""
    level = np.zeros(data.universe, np.int64)  # how far each item is generalized
    record_of = np.repeat(np.arange(data.records), data.sizes)
    for size in (1, 2):
        while True:
            node_of, leaves = _nodes(level)
            pairs = np.unique(record_of * len(leaves) + node_of[data.items])
            rare = _rare(pairs, len(leaves), size, k)
            if not len(rare):
                break
            _generalize(level, node_of, leaves, rare)
    node_of, leaves = _nodes(level)
    records, nodes = np.divmod(
        np.unique(record_of * len(leaves) + node_of[data.items]), len(leaves)
    )
    order = np.argsort(nodes, kind="stable")
    ends = np.cumsum(np.bincount(nodes, minlength=len(leaves)))[:-1]
    return Recoded(node_of, leaves, np.split(records[order], ends))


def _nodes(level: Int64Array) -> tuple[Int64Array, Float64Array]:
    """The node of every item, and the number of items below each node."""
    above = np.arange(len(level)) // FAN_OUT**level
    _, node_of, leaves = np.unique(
        np.stack([level, above]), axis=1, return_inverse=True, return_counts=True
    )
    return node_of.ravel(), leaves.astype(np.float64)


def _rare(pairs: Int64Array, nodes: int, size: int, k: int) -> Int64Array:
    """[combinations, size]: combinations of nodes in fewer than k records, but in some."""
    records, held = np.divmod(pairs, nodes)
    if size == 1:
        counts = np.bincount(held, minlength=nodes)
        return np.flatnonzero((counts > 0) & (counts < k))[:, None]
    keys = []
    for gap in range(1, int(np.bincount(records).max())):  # pairs that many places apart
        same = records[gap:] == records[:-gap]
        keys.append(held[:-gap][same] + nodes * held[gap:][same])
    found, counts = np.unique(np.concatenate(keys), return_counts=True)
    rare = found[counts < k]
    return np.stack([rare // nodes**place % nodes for place in range(size)], axis=1)


def _generalize(
    level: Int64Array, node_of: Int64Array, leaves: Float64Array, rare: Int64Array
) -> None:
    """Raise, of every rare combination that nothing was done for, the cheapest node."""
    item_of = np.zeros(len(leaves), np.int64)
    item_of[node_of] = np.arange(len(level))
    done = np.zeros(len(leaves), np.bool_)
    highest = int(np.ceil(np.log(max(len(level), 2)) / np.log(FAN_OUT)))
    for combination in rare:
        if done[combination].any():
            continue
        for node in combination[np.argsort(leaves[combination], kind="stable")]:
            height = level[item_of[node]] + 1
            if height <= highest:
                below = np.arange(len(level)) // FAN_OUT**height
                same = below == item_of[node] // FAN_OUT**height
                level[same] = np.maximum(level[same], height)
                done[np.unique(node_of[same])] = True
                break
