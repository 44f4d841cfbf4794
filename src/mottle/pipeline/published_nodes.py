"""Items published as nodes of a hierarchy: choosing them for a run, and what is said about it."""

from __future__ import annotations

import numpy as np

from mottle.itemsets.columns import SetDomain
from mottle.itemsets.data import ItemSets
from mottle.itemsets.nodes import ItemNodes, holders_of_nodes, nodes_held_by
from mottle.methods.sets._nodes import choose_nodes, every
from mottle.pipeline.settings import Settings
from mottle.typing import Int64Array


def nodes_of_sets(data: ItemSets, settings: Settings, degree: int) -> ItemNodes | None:
    """Choose the nodes that items are published as.

    Parameters
    ----------
    data : ItemSets
        The sets of items.
    settings : Settings
        The hierarchy, and how many records have to hold a node if that is given.
    degree : int
        How many candidates a published record has.

    Returns
    -------
    ItemNodes or None
        None without a hierarchy.

    Raises
    ------
    DataError
        The hierarchy lacks items.
    """
    return _nodes(data, np.ones(data.records, np.int64), settings, degree)


def with_nodes(domain: SetDomain, times: Int64Array, settings: Settings, degree: int) -> SetDomain:
    """Return the sets that occur, of nodes if there is a hierarchy; see `nodes_of_sets`.

    ``times`` says how many records have each of the sets.
    """
    data = ItemSets(domain.names, domain.sets.starts, domain.sets.items)
    nodes = _nodes(data, times, settings, degree)
    return domain if nodes is None else domain.as_nodes(nodes, times)


def notes_on_nodes(nodes: ItemNodes | None) -> list[str]:
    """Say how many items are published as nodes; no items."""
    if nodes is None:
        return []
    if not nodes.nodes:
        return ["Every item is published as itself: nodes of the hierarchy would lose more."]
    return [
        f"{nodes.items_below:,} items are published as {nodes.nodes:,} nodes of the hierarchy."
        " The error rate is that of items and nodes."
    ]


def _nodes(data: ItemSets, times: Int64Array, settings: Settings, degree: int) -> ItemNodes | None:
    hierarchy = settings.item_hierarchy
    if hierarchy is None:
        return None
    holders = holders_of_nodes(hierarchy, data, times)
    if settings.node_holders is not None:
        return nodes_held_by(hierarchy, holders, settings.node_holders)
    records = int(times.sum())
    rows = np.searchsorted(np.cumsum(times), np.arange(0, records, every(records)), side="right")
    lists = data.sets().take(rows)
    sample = ItemSets(data.names, lists.starts, lists.items)
    return choose_nodes(sample, hierarchy, holders, degree).nodes
