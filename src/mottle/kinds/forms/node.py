"""Nodes of a tree: the lowest one that has all possible values below it.

For a cell u of attribute A, NCP is 0 for a leaf, else (leaves below u) / |A| (FAST07 §2.1). The
missing value is a child of the root.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mottle.errors import UsageError
from mottle.hierarchy.tree import Hierarchy
from mottle.kinds._arrow import pa, pc
from mottle.kinds.coarsening import Coarsening
from mottle.kinds.columns import Domain, ReleasedColumn
from mottle.kinds.forms.base import (
    Cells,
    Described,
    Form,
    Growth,
    Layout,
    Preimages,
    Stored,
    TreeGrowth,
    View,
    register,
    take_values,
)
from mottle.kinds.forms.grammar import parse_cell, single, value_text
from mottle.kinds.forms.range import missed
from mottle.typing import BoolArray, Float64Array, Int32Array, Int64Array
from mottle.utils.distinct_cells import numbered


@dataclass(frozen=True)
class NodeCells(Cells):
    """Hierarchy nodes of one column; -1 for the missing value alone."""

    nodes: Int32Array  # [rows]

    def take(self, rows: Int32Array) -> NodeCells:
        """The cells of the given rows."""
        return NodeCells(self.nodes[rows])

    def is_well_formed(self, rows: int, domain: Domain) -> bool:
        """Whether there is one node of the tree for each row."""
        return bool(len(self.nodes) == rows and np.all(self.nodes < len(domain.tree.labels)))

    def check(self, preimages: Preimages, domain: Domain) -> str | None:
        """Invariant 2: a node is the range of the codes of its leaves."""
        first, last = domain.tree.extents
        missing = (self.nodes < 0) | (self.nodes == domain.tree.root)
        lowest = np.where(self.nodes < 0, -1, first[self.nodes]).astype(np.int32)
        highest = np.where(self.nodes < 0, -1, last[self.nodes]).astype(np.int32)
        return missed(preimages.outside_extents(domain.missing, lowest, highest, missing), domain)

    def ncp(self, domain: Domain) -> Float64Array:
        """The penalty of each node."""
        return np.where(self.nodes < 0, 0.0, node_penalties(domain)[self.nodes])

    def decode(self, domain: Domain) -> pa.Array:
        """Labels of the nodes."""
        return take_values(pa.array(domain.tree.labels, pa.string()), self.nodes)

    def distinct(self) -> Int32Array | None:
        """Cells are equal where their nodes are."""
        return numbered(self.nodes.astype(np.int64))

    def expected_features(self, domain: Domain) -> Float64Array:
        """Equal shares of all leaves below the node."""
        first, last = domain.tree.extents
        leaves = np.arange(domain.size)
        below = (leaves >= first[:, None]) & (leaves <= last[:, None])
        spread = below * (domain.form.weight(domain) / (last - first + 1))[:, None]
        return np.where(self.nodes[:, None] >= 0, spread[self.nodes], 0.0)


def node_penalties(domain: Domain) -> Float64Array:
    """NCP of every node of a column's hierarchy."""
    leaves = domain.tree.cardinality.astype(np.float64)
    leaves[domain.tree.root] = domain.size  # the missing value is a child of the root
    return np.where(leaves == 1, 0.0, leaves / domain.size)


@register
class Node(Form):
    """Cells that are labels of a tree's nodes."""

    name = "node"
    kernel_code = 2
    has_tree = True
    published_as = "broader terms of a hierarchy"

    def cover(self, preimages: Preimages, domain: Domain) -> NodeCells:
        """The lowest common ancestors of the preimages' leaves (FAST07 §2.1).

        Leaves are numbered in order, so the ancestor of the lowest and the highest is the ancestor
        of all between.
        """
        lowest, highest, missing = preimages.extents(domain.missing)
        nodes = domain.tree.common_ancestors(lowest, highest)
        nodes = np.where(missing, domain.tree.root, nodes)
        return NodeCells(np.where(lowest < 0, -1, nodes).astype(np.int32))

    def growth(self, domain: Domain, weight: float, degree: int) -> Growth:
        """Parents, lowest and highest code and NCP of the nodes.

        The missing value becomes one more leaf below the root, numbered after the other nodes.
        """
        tree = domain.tree
        first, last = (bounds.astype(np.int32) for bounds in tree.extents)
        parents, penalty = tree.parents, node_penalties(domain)
        nodes = np.arange(domain.size, dtype=np.int32)  # leaves come first among the nodes
        if domain.missing >= 0:
            last[tree.root] = domain.missing
            parents = np.append(parents, np.int32(tree.root))
            first, last = np.append(first, domain.missing), np.append(last, domain.missing)
            penalty = np.append(penalty, 0.0)
            nodes[domain.missing] = len(tree.labels)
        return Growth(tree=TreeGrowth(nodes, parents, first, last, weight * penalty))

    def coordinates(self, domain: Domain, counts: Int64Array) -> Float64Array:
        """Leaves in the order of a walk that takes frequent branches first; missing last."""
        tree = domain.tree
        leaf_counts = counts[: len(tree.leaves)]
        keys = []
        for nodes in tree.ancestors.T:  # from the leaves up to the root, which decides first
            keys += [nodes, -np.bincount(nodes, leaf_counts)[nodes]]
        order = np.lexsort(keys)
        covering = tree.common_ancestors(
            np.minimum(order[:-1], order[1:]), np.maximum(order[:-1], order[1:])
        )
        coordinates = np.zeros(domain.size)
        coordinates[order[1:]] = np.cumsum(node_penalties(domain)[covering])
        if domain.missing >= 0:
            # covered by the root, which loses 1
            coordinates[domain.missing] = coordinates.max() + 1.0
        coordinates /= coordinates.max()
        return coordinates

    def arrow_type(self, value_type: pa.DataType) -> pa.DataType:
        """Text."""
        return pa.string()

    def value_type(self, cell_type: pa.DataType) -> pa.DataType:
        """Text."""
        return cell_type

    def original_type(self, value_type: pa.DataType) -> pa.DataType:
        """Text, like the leaves, for original values of any type."""
        return pa.string()

    def cell_texts(self, cells: pa.Array) -> pa.Array:
        """The label."""
        return value_text(cells)

    def parse(
        self, texts: list[str], value_type: pa.DataType, rule: Coarsening | None = None
    ) -> pa.Array:
        """Labels from text."""
        return pa.array([single(member) for (member,) in map(parse_cell, texts)], pa.string())

    def flaw(self, cells: pa.Array, column: ReleasedColumn) -> str | None:
        """Labels that the tree does not have."""
        if column.hierarchy is None:
            return None
        labels = pa.array(column.hierarchy.labels, pa.string())
        found = pc.is_in(cells.drop_null(), value_set=labels)
        return None if pc.all(found).as_py() in (True, None) else "a label that its tree lacks"

    def stored_by(self, layout: Layout[Described, Stored], column: Described) -> Stored:
        """As text."""
        return layout.store_text(column)

    def seen_by(self, view: View[Described, Stored], cells: pa.Array, column: Described) -> Stored:
        """As labels of a tree."""
        return view.of_labels(cells, column)

    def keys(self, cells: pa.ChunkedArray) -> list[pa.ChunkedArray]:
        """The labels."""
        return [cells.cast(pa.string()) if pa.types.is_dictionary(cells.type) else cells]

    def inside(self, cells: pa.Array, others: pa.Array, column: ReleasedColumn) -> BoolArray:
        """A node is the interval of its leaves; the root holds the missing value as well."""
        tree = _tree(column)
        labels = pa.array(tree.labels, pa.string())
        nodes, other_nodes = (
            pc.fill_null(pc.index_in(values, value_set=labels), -1).to_numpy()
            for values in (cells, others)
        )
        first, last = tree.extents
        leaves_inside = (other_nodes >= 0) & (first[other_nodes] <= first[nodes])
        leaves_inside &= last[nodes] <= last[other_nodes]
        missing, other_missing = (
            (every < 0) | (every == tree.root) for every in (nodes, other_nodes)
        )
        contained: BoolArray = ((nodes < 0) | leaves_inside) & (~missing | other_missing)
        return contained

    def widths(self, cells: pa.Array, column: ReleasedColumn) -> Float64Array:
        """Leaves beyond the first."""
        assert column.hierarchy is not None
        tree = column.hierarchy
        leaves = dict(zip(tree.labels, tree.cardinality.tolist(), strict=True))
        coded = cells.dictionary_encode()
        counts = np.array([leaves[label] - 1 for label in coded.dictionary.to_pylist()] + [0.0])
        nodes = pc.fill_null(coded.indices, len(counts) - 1).to_numpy()
        return np.asarray(counts[nodes], np.float64)

    def width_in_words(self, width: float) -> str:
        """The number of leaves."""
        return f"{width + 1:,.0f} values below the term"


def _tree(column: ReleasedColumn) -> Hierarchy:
    if column.hierarchy is None:
        raise UsageError(f"The release does not carry the hierarchy of column '{column.name}'.")
    return column.hierarchy
