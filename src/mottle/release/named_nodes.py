"""The nodes that a release shows in place of items, found again in its cells."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.encoding.domain import Codes, Domain
from mottle.encoding.item_nodes import codes_of_nodes
from mottle.hierarchy.tree import Hierarchy
from mottle.itemsets.data import ItemSets
from mottle.itemsets.nodes import ItemNodes
from mottle.release.data import ReleaseData
from mottle.typing import Int64Array


def named_nodes(cells: pa.ChunkedArray, hierarchy: Hierarchy) -> ItemNodes:
    """Return what items are published as: the highest label above each that some cell names.

    Parameters
    ----------
    cells : pa.ChunkedArray
        A published column of sets.
    hierarchy : Hierarchy
        That of its items.

    Returns
    -------
    ItemNodes
        Whatever some record holds is named by the cells of those that may be it.
    """
    shown = set()
    for part in ("base", "uncertain"):
        shown.update(pc.unique(pc.list_flatten(pc.struct_field(cells, part))).to_pylist())
    named = np.array([label in shown for label in hierarchy.labels], np.bool_)
    return ItemNodes.none(hierarchy, np.zeros(len(named), np.int64)).raised_to(named)


def sets_as_published(data: ItemSets, release: ReleaseData) -> ItemSets:
    """Return the sets that a release of sets was made from with the nodes that it shows.

    Parameters
    ----------
    data : ItemSets
        The original sets.
    release : ReleaseData
        The release of sets.

    Returns
    -------
    ItemSets
        The same sets if items have no hierarchy.
    """
    column = release.columns[0]
    if column.hierarchy is None:
        return data
    column.hierarchy.check_covers(data.names.to_pylist())
    return named_nodes(release.table.column(column.name), column.hierarchy).of_sets(data)


def codes_as_published(codes: Codes, release: ReleaseData) -> Codes:
    """Return the codes of an original, columns of sets with the nodes that its release shows.

    Parameters
    ----------
    codes : Codes
        The quasi-identifiers of the original.
    release : ReleaseData
        The release of the table.

    Returns
    -------
    Codes
        Those with which the release was made.
    """
    trees = {column.name: column.hierarchy for column in release.columns}

    def choose(domain: Domain, times: Int64Array) -> ItemNodes | None:
        hierarchy = trees.get(domain.name)
        if hierarchy is None:
            return None
        return named_nodes(release.table.column(domain.name), hierarchy)

    return codes_of_nodes(codes, choose)
