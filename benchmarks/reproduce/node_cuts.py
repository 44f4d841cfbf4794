"""Mondrian on taxonomies as its first authors describe it: a node is cut into all its children.

FAST07 does not say which Mondrian it ran. `mottle.methods.mondrian` cuts the leaves of a taxonomy
at a median, in their order; here a categorical cut is allowed only if every child that has records
has enough of them, so that one rare child stops it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mottle.encoding.domain import Codes, Domain

IntArray = NDArray[np.int64]


class _Attribute(NamedTuple):
    """A column of the records: positions of numbers, or nodes of a tree from the root down."""

    positions: NDArray[np.float64] | None  # [n]
    nodes: NDArray[np.int32] | None  # [levels, n]: the root first
    leaves: IntArray  # [nodes]: leaves below every node


def node_cuts(codes: Codes, is_allowed: Callable[[IntArray], bool]) -> list[IntArray]:
    """Records in groups that cannot be cut further; ``is_allowed`` tells which parts may be."""
    attributes = [
        _attribute(domain, codes.matrix[:, place]) for place, domain in enumerate(codes.domains)
    ]
    groups = []
    pending = [(np.arange(codes.records), (0,) * len(attributes))]
    while pending:
        part, levels = pending.pop()
        for pieces in _cuts(attributes, part, levels):
            if all(is_allowed(piece) for piece, _ in pieces):
                pending += pieces
                break
        else:
            groups.append(part)
    return groups


Pieces = list[tuple[IntArray, tuple[int, ...]]]


def _cuts(
    attributes: list[_Attribute], part: IntArray, levels: tuple[int, ...]
) -> Iterator[Pieces]:
    """All cuts of a part, the widest attribute first."""
    widths = [_width(each, part, level) for each, level in zip(attributes, levels, strict=True)]
    for place in np.argsort(-np.array(widths), kind="stable"):
        if widths[place] == 0:
            return
        attribute = attributes[place]
        if attribute.positions is not None:
            values = attribute.positions[part]
            middle = np.median(values)
            if middle == values.max():
                middle = values[values < middle].max()
            yield [(part[values <= middle], levels), (part[values > middle], levels)]
        else:
            assert attribute.nodes is not None
            level = levels[place]
            while len(found := np.unique(attribute.nodes[level, part])) == 1:
                level += 1
            deeper = (*levels[:place], level, *levels[place + 1 :])
            yield [(part[attribute.nodes[level, part] == node], deeper) for node in found]


def _width(attribute: _Attribute, part: IntArray, level: int) -> float:
    """The extent of a part as a share of the whole; 0 if it cannot be cut."""
    if attribute.positions is not None:
        whole = np.ptp(attribute.positions)
        return float(np.ptp(attribute.positions[part]) / whole) if whole else 0.0
    assert attribute.nodes is not None
    if np.all(attribute.nodes[-1, part] == attribute.nodes[-1, part[0]]):
        return 0.0
    while np.all(attribute.nodes[level, part] == attribute.nodes[level, part[0]]):
        level += 1
    node = attribute.nodes[level - 1, part[0]]
    return float(attribute.leaves[node] / attribute.leaves.max())


def _attribute(domain: Domain, column: NDArray[np.int32]) -> _Attribute:
    if domain.hierarchy is None:
        return _Attribute(domain.positions[column], None, np.empty(0, np.int64))
    nodes = domain.tree.ancestors[:, ::-1].T[:, column]
    return _Attribute(None, np.ascontiguousarray(nodes), domain.tree.cardinality)
