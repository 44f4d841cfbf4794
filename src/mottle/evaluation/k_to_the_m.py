"""k^m-anonymity of sets by global recoding, the rival that market researchers know.

Terrovitis, Mamoulis, Kalnis: Privacy-preserving Anonymization of Set-valued Data (VLDB 2008).
Whoever knows up to m items of a person finds at least k sets that hold them, or none. Items are
replaced by nodes of a hierarchy, the same node for an item everywhere and for all items below it.
As in the paper's apriori algorithm, single items, then pairs and so on are made frequent; of the
nodes of a rare combination the one that stands for the fewest items is raised.

Nothing is promised against anybody who knows more than m items, or that an item is not held. It
is no generalization graph: sets of nodes are published as they are, and none of mottle's
guarantees holds for them. So it stands here beside the other rivals, not among the methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import comb

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import GuaranteeError, UsageError
from mottle.hierarchy.tree import Hierarchy
from mottle.itemsets.data import ItemSets
from mottle.typing import Float64Array, Int64Array

__all__ = ["ItemTree", "RecodedSets", "k_to_the_m"]

FAN_OUT = 5  # of the hierarchy that is made where none is given
MOST_COMBINATIONS = 200_000_000  # of items of all records that are counted at once


@dataclass(frozen=True, eq=False)
class ItemTree:
    """A hierarchy of items, whose leaves are ordered so that every node is a run of them."""

    leaf_of: Int64Array  # [items]: the leaf of every item, as a position
    parent: Int64Array  # [nodes]: leaves first, by position; the root is its own parent
    first: Int64Array  # [nodes]: position of the first leaf below
    last: Int64Array  # [nodes]: and of the last

    @classmethod
    def balanced(cls, items: int, fan_out: int = FAN_OUT) -> ItemTree:
        """Make a tree over items in the order of their codes, each node with some children.

        Parameters
        ----------
        items : int
            The number of items, at least 1.
        fan_out : int
            Children of a node.

        Returns
        -------
        ItemTree

        Examples
        --------
        >>> ItemTree.balanced(7, 5).parent
        array([7, 7, 7, 7, 7, 8, 8, 9, 9, 9])
        """
        first, last = [np.arange(items)], [np.arange(items)]
        parents = []
        nodes = items
        while len(first[-1]) > 1:
            groups = np.arange(len(first[-1])) // fan_out
            parents.append(nodes + groups)
            starts = np.arange(0, len(groups), fan_out)
            ends = np.minimum(starts + fan_out, len(groups)) - 1
            first, last = [*first, first[-1][starts]], [*last, last[-1][ends]]
            nodes += len(starts)
        parents.append(np.array([nodes - 1]))
        return cls(
            np.arange(items), np.concatenate(parents), np.concatenate(first), np.concatenate(last)
        )

    @classmethod
    def of(cls, hierarchy: Hierarchy, names: pa.Array) -> ItemTree:
        """Take a hierarchy whose leaves are items.

        Parameters
        ----------
        hierarchy : Hierarchy
            It may have leaves that are no items.
        names : pyarrow.Array
            The text of every item.

        Returns
        -------
        ItemTree

        Raises
        ------
        DataError
            Some items are not leaves.
        """
        hierarchy.check_covers(names.to_pylist())
        leaves = pa.array(hierarchy.leaves, names.type)
        first, last = hierarchy.extents
        positions = pc.index_in(names, value_set=leaves).to_numpy().astype(np.int64)
        lowest = hierarchy.ancestors[:, 0].astype(np.int64)  # the node of every leaf
        return cls(lowest[positions], hierarchy.parents.astype(np.int64), first, last)


@dataclass(frozen=True, eq=False)
class RecodedSets:
    """Published sets of nodes, and the node of every item."""

    node_of: Int64Array  # [items]
    leaves: Float64Array  # [nodes]: items below each
    record: Int64Array  # of every entry: its record, ascending
    node: Int64Array  # of every entry: the node that the record holds, ascending in a record
    records: int

    def counts(self, questions: Sequence[Sequence[int]]) -> Float64Array:
        """Count the records that hold all items of each question.

        Parameters
        ----------
        questions : sequence of sequence of int
            Codes of items.

        Returns
        -------
        float64[questions]
            As a reader counts who takes the items below a node for equally likely.
        """
        order = np.argsort(self.node, kind="stable")
        starts = np.searchsorted(self.node[order], np.arange(len(self.leaves) + 1))
        holders = self.record[order]
        answers = []
        for items in questions:
            nodes = [int(self.node_of[item]) for item in items]
            left = holders[starts[nodes[0]] : starts[nodes[0] + 1]]
            for node in nodes[1:]:
                left = np.intersect1d(left, holders[starts[node] : starts[node + 1]], True)
            answers.append(len(left) / np.prod([self.leaves[node] for node in nodes]))
        return np.array(answers, np.float64)

    @property
    def linked(self) -> float:
        """The share of people whom somebody who knows their whole sets links to their records.

        On average: among the records with the same set of nodes, he has to guess.
        """
        ends = np.searchsorted(self.record, np.arange(self.records + 1))
        content = self.node.astype("<i8")
        sets = [content[a:b].tobytes() for a, b in pairwise(ends)]
        return len(set(sets)) / self.records


def check_m(m: int) -> None:
    """Refuse numbers of known items that are not supported."""
    if m not in (1, 2, 3):
        raise UsageError(f"m = {m} is not supported.", "Give m = 1, 2 or 3.")


def k_to_the_m(data: ItemSets, k: int, m: int = 2, tree: ItemTree | None = None) -> RecodedSets:
    """Recode items until every combination of up to m nodes is in k records or in none.

    Parameters
    ----------
    data : ItemSets
        The sets.
    k : int
        The fewest records.
    m : int
        The most items that an adversary knows, from 1 to 3.
    tree : ItemTree, optional
        The hierarchy of items; without it a balanced one over the items in the order of their
        names.

    Returns
    -------
    RecodedSets

    Raises
    ------
    UsageError
        m is out of range, or there are too many combinations of items to count.
    GuaranteeError
        Fewer than k records hold any item.

    Examples
    --------
    >>> found = k_to_the_m(ItemSets.of(["ab", "ab", "a", "c", ""]), 2, tree=ItemTree.balanced(3, 2))
    >>> found.node_of.tolist(), found.leaves.tolist()
    ([0, 0, 0], [3.0])
    """
    check_m(m)
    held = int(np.count_nonzero(data.sizes))
    if 0 < held < k:
        raise GuaranteeError(f"Only {held} records hold any item, fewer than k = {k}.")
    tree = ItemTree.balanced(max(data.universe, 1)) if tree is None else tree
    chosen = tree.leaf_of.copy()  # [items]: the node of the tree
    record_of = np.repeat(np.arange(data.records), data.sizes)
    for size in range(1, m + 1):
        while True:
            found = _recoded(data, record_of, chosen)
            rare = _rare(found, size, k)
            if not len(rare):
                break
            _raise_nodes(tree, chosen, found, rare)
    return _recoded(data, record_of, chosen)


def _recoded(data: ItemSets, record_of: Int64Array, chosen: Int64Array) -> RecodedSets:
    """The sets of nodes, if every item is replaced by a node of the tree."""
    _, node_of, leaves = np.unique(chosen, return_inverse=True, return_counts=True)
    node_of = node_of.astype(np.int64).ravel()
    width = max(len(leaves), 1)
    record, node = np.divmod(np.unique(record_of * width + node_of[data.items]), width)
    return RecodedSets(node_of, leaves.astype(np.float64), record, node, data.records)


def _rare(found: RecodedSets, size: int, k: int) -> Int64Array:
    """[combinations, size]: combinations of nodes in fewer than k records, but in some."""
    nodes = len(found.leaves)
    sizes = np.bincount(found.record, minlength=found.records)
    if sum(comb(int(one), size) for one in sizes) > MOST_COMBINATIONS:
        raise UsageError(
            f"The sets have more than {MOST_COMBINATIONS:,} combinations of {size} items.",
            "Give a smaller m, or fewer records.",
        )
    place = np.arange(len(found.node))
    keys, last = found.node.copy(), place  # combinations that begin somewhere, and where they end
    ends = np.cumsum(sizes)[found.record]  # [entries]: where the record of each ends
    for _ in range(size - 1):
        more = ends[last] - last - 1  # entries of the record behind the last
        again = np.repeat(np.arange(len(last)), more)
        step = np.arange(len(again)) - np.repeat(np.cumsum(more) - more, more)
        last = last[again] + 1 + step
        keys = keys[again] * nodes + found.node[last]
    distinct, counts = np.unique(keys, return_counts=True)
    rare = distinct[counts < k]
    return np.stack([rare // nodes**power % nodes for power in range(size)], axis=1)


def _raise_nodes(tree: ItemTree, chosen: Int64Array, found: RecodedSets, rare: Int64Array) -> None:
    """Raise the cheapest node of every rare combination, unless one was raised already."""
    item_of = np.zeros(len(found.leaves), np.int64)
    item_of[found.node_of] = np.arange(len(chosen))
    done = np.zeros(len(found.leaves), np.bool_)
    for combination in rare:
        if done[combination].any():
            continue
        for node in combination[np.argsort(found.leaves[combination], kind="stable")]:
            at = chosen[item_of[node]]
            above = tree.parent[at]
            if above != at:
                inside = (tree.first[chosen] >= tree.first[above]) & (
                    tree.last[chosen] <= tree.last[above]
                )
                done[found.node_of[inside]] = True
                chosen[inside] = above
                break
