"""Items published as nodes of a hierarchy: which node stands for which item, everywhere alike.

A node stands for all items below it, and a record holds a node if it holds any of them. Sets of
nodes are a function of the sets of items and of the hierarchy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.hierarchy.tree import Hierarchy
from mottle.itemsets.data import ItemSets
from mottle.typing import BoolArray, Float64Array, Int64Array

__all__ = ["ItemNodes", "holders_of_nodes", "nodes_held_by"]


@dataclass(frozen=True, eq=False)
class ItemNodes:
    """The node that every leaf of a hierarchy is published as; most often the leaf itself."""

    hierarchy: Hierarchy
    node_of: Int64Array  # [leaves]
    holders: Int64Array  # [nodes]: records that hold some item below each

    @classmethod
    def none(cls, hierarchy: Hierarchy, holders: Int64Array) -> ItemNodes:
        """Publish every item as itself."""
        return cls(hierarchy, hierarchy.ancestors[:, 0].astype(np.int64), holders)

    def raised_to(self, chosen: BoolArray) -> ItemNodes:
        """Publish every item as the highest of some nodes above it; ``chosen`` is by node."""
        node_of = self.node_of
        for level in self.hierarchy.ancestors.T:
            node_of = np.where(chosen[level], level, node_of)
        return replace(self, node_of=node_of)

    @cached_property
    def labels(self) -> pa.Array:
        """The text of every node."""
        return pa.array(self.hierarchy.labels, pa.string())

    @property
    def costs(self) -> Float64Array:
        """[nodes]: NCP of each, the share of other leaves that it may stand for."""
        return (self.hierarchy.cardinality - 1) / max(len(self.hierarchy.leaves) - 1, 1)

    def costs_of(self, names: pa.Array) -> Float64Array:
        """[items]: NCP of the node that each item is published as."""
        return self.costs[self.node_of[_leaves(self.hierarchy, names)]]

    @property
    def nodes(self) -> int:
        """How many nodes stand for several items."""
        return int((self.hierarchy.cardinality[np.unique(self.node_of)] > 1).sum())

    @property
    def items_below(self) -> int:
        """How many items that records hold are published as a node."""
        raised = self.hierarchy.cardinality[self.node_of] > 1
        return int((raised & (self.holders[self.hierarchy.ancestors[:, 0]] > 0)).sum())

    def of_sets(self, data: ItemSets) -> ItemSets:
        """Replace items by nodes.

        Parameters
        ----------
        data : ItemSets
            Sets of leaves.

        Returns
        -------
        ItemSets
            The same records in the same order; a node that stands for several items of a record is
            in it once.

        Examples
        --------
        >>> tree = Hierarchy.from_rows([("brie", "cheese", "*"), ("feta", "cheese", "*"),
        ...                             ("tea", "tea", "*")])
        >>> data = ItemSets.of([["brie", "feta"], ["tea"]])
        >>> nodes = nodes_held_by(tree, holders_of_nodes(tree, data), 2)
        >>> [nodes.of_sets(data).record(number) for number in range(2)]
        [['*'], ['*']]
        """
        leaves = _leaves(self.hierarchy, data.names)
        names = self.labels.take(pa.array(self.node_of[leaves]))
        record_of = np.repeat(np.arange(data.records), data.sizes)
        values = pc.cast(names.take(pa.array(data.items)), pa.large_string())
        found = ItemSets.of_pairs(data.records, record_of, values)
        return replace(data, names=found.names, starts=found.starts, items=found.items)


def holders_of_nodes(
    hierarchy: Hierarchy, data: ItemSets, times: Int64Array | None = None
) -> Int64Array:
    """[nodes]: how many records hold some item below each node of a hierarchy.

    ``times`` says how many records each set stands for; by default one. Raises `DataError` if some
    items are not leaves of the hierarchy.
    """
    hierarchy.check_covers(data.names.to_pylist())
    leaves = _leaves(hierarchy, data.names)[data.items]
    record_of = np.repeat(np.arange(data.records), data.sizes)
    width = len(hierarchy.labels)
    found = np.zeros(width, np.int64)
    for level in hierarchy.ancestors.T:
        record, node = np.divmod(np.unique(record_of * width + level[leaves]), width)
        weights = None if times is None else times[record]
        counts = np.bincount(node, weights, minlength=width).astype(np.int64)
        found = np.maximum(found, counts)
    return found


def nodes_held_by(hierarchy: Hierarchy, holders: Int64Array, least: int) -> ItemNodes:
    """Choose the lowest nodes so that each is held by at least some records, or by none.

    As in the apriori algorithm of Terrovitis et al. for single items: a node that fewer records
    hold is replaced by the one above it, together with everything else below that one.

    Parameters
    ----------
    hierarchy : Hierarchy
        The tree.
    holders : int64[nodes]
        From `holders_of_nodes`.
    least : int
        The fewest records.

    Returns
    -------
    ItemNodes
        Nodes none of which is below another.
    """
    rare = (holders > 0) & (holders < least)
    merged = np.zeros(len(holders), np.bool_)
    merged[hierarchy.parents[rare]] = True
    return ItemNodes.none(hierarchy, holders).raised_to(merged)


def _leaves(hierarchy: Hierarchy, names: pa.Array) -> Int64Array:
    """The position of every item among the leaves."""
    leaves = pa.array(hierarchy.leaves, names.type)
    return np.asarray(pc.index_in(names, value_set=leaves), np.int64)
