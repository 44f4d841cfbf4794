"""Items published as nodes of a hierarchy: choosing them for a run, and what is said about it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from mottle.encoding.domain import Codes, Domain
from mottle.encoding.item_nodes import codes_of_nodes, domain_of_nodes
from mottle.hierarchy.tree import Hierarchy
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
    if settings.item_hierarchy is None:
        return None
    times = np.ones(data.records, np.int64)
    return _nodes(data, times, settings.item_hierarchy, settings.node_holders, degree)


def codes_with_nodes(codes: Codes, degree: int) -> Codes:
    """Return the codes of a table, columns of sets with a hierarchy as sets of its nodes.

    Parameters
    ----------
    codes : Codes
        The quasi-identifiers.
    degree : int
        How many candidates a published record has.

    Returns
    -------
    Codes
        The same codes if no column of sets has a hierarchy.
    """
    return codes_of_nodes(codes, partial(_of_column, degree=degree))


def domains_with_nodes(
    domains: Sequence[Domain], settings: Settings, degree: int
) -> tuple[Domain, ...]:
    """Return the domains of a table that is worked on in chunks, as in memory.

    ``settings`` are those of the run: sets without a table have their hierarchy there.
    """
    found = []
    for domain in domains:
        assert domain.counts is not None, "domains of a survey know how often values occur"
        nodes = _of_column(domain, domain.counts, degree=degree, settings=settings)
        shown = domain if nodes is None else domain_of_nodes(domain, nodes, domain.counts)[0]
        found.append(shown)
    return tuple(found)


def notes_on_nodes(nodes: ItemNodes | None, column: str | None = None) -> list[str]:
    """Say how many items are published as nodes; no items.

    ``column`` is their column in a table; None for sets without a table.
    """
    if nodes is None:
        return []
    where = "" if column is None else f"Column '{column}': "
    if not nodes.nodes:
        noun = "Every item" if column is None else "every item"
        return [f"{where}{noun} is published as itself: nodes of the hierarchy would lose more."]
    rate = "The error rate is that of items and nodes."
    if where:
        rate = "Its loss counts each as the share of other items that its node may stand for."
    return [
        f"{where}{nodes.items_below:,} items are published as {nodes.nodes:,} nodes of the"
        f" hierarchy. {rate}"
    ]


def notes_on_columns_of_nodes(domains: Sequence[Domain]) -> list[str]:
    """Say of every column of sets with a hierarchy how many items are published as nodes."""
    return [
        note
        for domain in domains
        if domain.sets is not None
        for note in notes_on_nodes(domain.sets.nodes, domain.name)
    ]


def _of_column(
    domain: Domain, times: Int64Array, *, degree: int, settings: Settings | None = None
) -> ItemNodes | None:
    """The nodes of a column of sets; records without a set are left out of the choice."""
    if domain.sets is None:
        return None
    hierarchy, least = domain.column.hierarchy, domain.column.node_holders
    if settings is not None and settings.item_hierarchy is not None:
        hierarchy, least = settings.item_hierarchy, settings.node_holders
    if hierarchy is None:
        return None
    known = times.copy()
    if domain.missing >= 0:
        known[domain.missing] = 0
    sets = domain.items
    data = ItemSets(sets.names, sets.sets.starts, sets.sets.items)
    return _nodes(data, known, hierarchy, least, degree)


def _nodes(
    data: ItemSets, times: Int64Array, hierarchy: Hierarchy, least: int | None, degree: int
) -> ItemNodes:
    """The nodes for some sets, each of so many records."""
    holders = holders_of_nodes(hierarchy, data, times)
    if least is not None:
        return nodes_held_by(hierarchy, holders, least)
    records = int(times.sum())
    if records == 0:
        return ItemNodes.none(hierarchy, holders)
    rows = np.searchsorted(np.cumsum(times), np.arange(0, records, every(records)), side="right")
    lists = data.sets().take(rows)
    sample = ItemSets(data.names, lists.starts, lists.items)
    return choose_nodes(sample, hierarchy, holders, degree).nodes
