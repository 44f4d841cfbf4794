"""Map codes to points of the unit cube, as a space-filling curve needs them (FAST07 §5)."""

from __future__ import annotations

import numpy as np

from mottle.encoding.domain import Codes, Domain, Form
from mottle.loss.ncp import node_penalties, range_scale
from mottle.orderings.lexicographic import by_cardinality
from mottle.schema.model import Kind
from mottle.typing import Float64Array, Int32Array, Int64Array


def place(codes: Codes) -> Float64Array:
    """Return the records as points [n, dimensions] with coordinates between 0 and 1.

    Numbers, dates and ordered values are placed at their position. Hierarchy leaves are placed in
    order, the distance of neighbours being the loss of the node that covers both. Categories, which
    have no order of their own, are ordered by frequency. Columns with few values come first,
    because at every scale the curve changes the first coordinate least often. Columns with a single
    value are left out.

    The paper numbers leaves without gaps and does not say how to order other categories or columns.
    Together these choices lose 3-14 % less on ADULT and CENSUS than alphabetical order.

    >>> import pyarrow as pa
    >>> from mottle import Schema
    >>> from mottle.encoding.encode import encode
    >>> from mottle.schema.model import Representation
    >>> table = pa.table({"age": [20, 40, 30], "job": ["a", "b", "b"], "same": [1, 1, 1]})
    >>> schema = Schema.of(quasi_identifying=["age", "job", "same"])
    >>> place(encode(table, schema, Representation.RANGE)).tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.0, 0.5]]
    """
    columns = [
        coordinates_of_values(codes.domains[column], codes.matrix[:, column])[
            codes.matrix[:, column]
        ]
        for column in by_cardinality(codes.sizes)
        if codes.domains[column].size > 1
    ]
    return np.stack(columns).T if columns else np.zeros((codes.records, 0))


def coordinates_of_values(domain: Domain, codes: Int32Array) -> Float64Array:
    """Coordinate of each value of a column between 0 and 1; ``codes`` are those of all records."""
    counts = np.bincount(codes, minlength=domain.size)
    if domain.form is Form.RANGE:
        return _on_a_line(domain)
    if domain.form is Form.NODE:
        return _in_a_hierarchy(domain, counts)
    coordinates = np.linspace(0.0, 1.0, domain.size)
    if domain.column.kind is Kind.CATEGORY:
        coordinates[np.argsort(-counts, kind="stable")] = coordinates.copy()
    return coordinates


def _on_a_line(domain: Domain) -> Float64Array:
    extent, _ = range_scale(domain)
    coordinates: Float64Array = (domain.positions - domain.positions[0]) / extent
    if domain.missing >= 0:
        coordinates[domain.missing] = 1.0
    return coordinates


def _in_a_hierarchy(domain: Domain, counts: Int64Array) -> Float64Array:
    """Leaves in the order of a traversal with frequent branches first; the missing value last."""
    tree = domain.hierarchy
    assert tree is not None
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
        coordinates[domain.missing] = coordinates.max() + 1.0  # the root covers it, at a loss of 1
    coordinates /= coordinates.max()
    return coordinates
