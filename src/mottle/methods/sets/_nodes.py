"""Choose the nodes of a hierarchy that items are published as, where that loses less.

A rare item is in no base set: of the candidates of a record at most one in two would have to hold
it. The node above it may be. Which items are rare enough is tried out: for several numbers of
records, items that fewer hold become nodes (`mottle.itemsets.nodes`), some records are put into a
ring over their Gray order, and what their base sets misreport is compared. Everything follows from
sets, hierarchy and k alone, so that the guarantee does not depend on it (docs/guarantees.md).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mottle.graph.bit_voting import vote
from mottle.hierarchy.tree import Hierarchy
from mottle.itemsets.data import ItemSets
from mottle.itemsets.gray import gray_order
from mottle.itemsets.nodes import ItemNodes, nodes_held_by
from mottle.methods.sets.gray_ring import ring
from mottle.typing import Float64Array, Int64Array

MOST_RECORDS = 20_000  # that nodes are tried out with
_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)  # times k: records that a node is held by
_EDGES = 1 << 18  # pairs of a record and a candidate that are compared at once


class Chosen(NamedTuple):
    """The nodes, and what the records that were tried out lose with them."""

    nodes: ItemNodes
    loss: float
    loss_without: float  # if every item is published as itself


def every(records: int) -> int:
    """Return the step between records that nodes are tried out with."""
    return -(-records // MOST_RECORDS)


def choose_nodes(
    sample: ItemSets, hierarchy: Hierarchy, holders: Int64Array, degree: int
) -> Chosen:
    """Choose the nodes that lose least.

    Parameters
    ----------
    sample : ItemSets
        The records that nodes are tried out with.
    hierarchy : Hierarchy
        Its leaves are the items.
    holders : int64[nodes]
        Of all records, from `mottle.itemsets.nodes.holders_of_nodes`.
    degree : int
        How many candidates a published record has.

    Returns
    -------
    Chosen
        The same for the same sets, hierarchy and degree.
    """
    best = ItemNodes.none(hierarchy, holders)
    without = lost = item_loss(sample, best, degree)
    tried = best.node_of
    for step in _STEPS:
        nodes = nodes_held_by(hierarchy, holders, step * degree)
        if np.array_equal(nodes.node_of, tried):
            continue
        tried = nodes.node_of
        loss = item_loss(sample, nodes, degree)
        if loss < lost:
            best, lost = nodes, loss
        if len(np.unique(tried)) == 1:
            break
    return Chosen(best, lost, without)


def item_loss(data: ItemSets, nodes: ItemNodes, degree: int) -> float:
    """Measure what base sets misreport of items, if items are published as nodes.

    As the error rate, but an item whose node is in the base set costs the NCP of the node instead
    of nothing: the share of other items that the node may stand for.

    Parameters
    ----------
    data : ItemSets
        The records, of which a ring over their Gray order is made.
    nodes : ItemNodes
        What items are published as.
    degree : int
        How many candidates a published record has.

    Returns
    -------
    float
        The error rate if no item is published as a node.
    """
    shown = nodes.of_sets(data)
    sets, width = shown.sets(), max(shown.universe, 1)
    degree = min(degree, data.records)
    graph = ring(gray_order(sets), degree)
    votes = vote(graph, sets)
    cost, times = _costs(data, shown, nodes)
    rows = np.repeat(np.arange(len(votes.block_of)), np.diff(votes.base_starts))
    base = rows * width + votes.base
    base_sizes = np.diff(votes.base_starts)
    held = np.maximum(data.sizes, 1)
    total = 0.0
    per_step = max(_EDGES // degree, 1)
    for first in range(0, data.records, per_step):
        places = np.arange(first, min(first + per_step, data.records))
        row = np.repeat(votes.row_of[places].astype(np.int64), degree)
        around = (places[:, None] + np.arange(degree)) % data.records
        original = graph.members[around.ravel()]
        edge = np.repeat(np.arange(len(row)), sets.sizes[original])
        taken = sets.take(original)
        entry = np.arange(len(edge)) + np.repeat(
            sets.starts[original] - taken.starts[:-1], taken.sizes
        )
        keys = row[edge] * width + taken.items
        found = np.minimum(np.searchsorted(base, keys), max(len(base) - 1, 0))
        based = base[found] == keys if len(base) else np.zeros(len(keys), np.bool_)
        wrong = times[entry] * np.where(based, cost[taken.items], 1.0)
        absent = base_sizes[row] - np.bincount(edge[based], minlength=len(row))
        lost = np.bincount(edge, wrong, minlength=len(row)) + absent
        total += float((lost / held[original]).sum())
    return total / (data.records * degree)


def _costs(data: ItemSets, shown: ItemSets, nodes: ItemNodes) -> tuple[Float64Array, Int64Array]:
    """[shown items]: the NCP of each; [entries of shown]: how many items of the record it is."""
    labels = {label: place for place, label in enumerate(nodes.hierarchy.labels)}
    place_of = np.array([labels[name] for name in shown.names.to_pylist()], np.int64)
    code_of = np.zeros(len(labels), np.int64)
    code_of[place_of] = np.arange(len(place_of))
    leaf_of = np.array([labels[name] for name in data.names.to_pylist()], np.int64)
    width = max(shown.universe, 1)
    record_of = np.repeat(np.arange(data.records), data.sizes)
    keys = record_of * width + code_of[nodes.node_of[leaf_of]][data.items]
    _, times = np.unique(keys, return_counts=True)
    return nodes.costs[place_of], times.astype(np.int64)
