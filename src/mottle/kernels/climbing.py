"""Walks up a column's tree: a kernel."""

from __future__ import annotations

from typing import Protocol

from mottle.typing import Int32Array
from mottle.utils.compiled import inner_kernel


class Tree(Protocol):
    """The arrays of `mottle.kernels.ncp_growth.Scales` that describe the nodes of all trees."""

    @property
    def parent(self) -> Int32Array:
        """[all nodes]: the node above; the root is its own."""
        ...

    @property
    def first_leaf(self) -> Int32Array:
        """[all nodes]: lowest code below the node."""
        ...

    @property
    def last_leaf(self) -> Int32Array:
        """[all nodes]: highest code below the node."""
        ...


@inner_kernel
def climb(tree: Tree, node: int, code: int) -> int:
    """The lowest node at or above ``node`` that has ``code`` below it."""
    while code < tree.first_leaf[node] or code > tree.last_leaf[node]:
        node = int(tree.parent[node])
    return node
