"""Codes → points of the unit cube: where records lie for a space-filling curve (FAST07 §5)."""

from __future__ import annotations

import numpy as np

from mottle.coding import Codes, Domain, Float64s, Form
from mottle.loss import range_scale


def place(codes: Codes) -> Float64s:
    """The records as points [n, dimensions] with coordinates between 0 and 1.

    Numbers, dates and ordered values lie at their position, categories at their code and hierarchy
    leaves at their in-order position; the missing value comes last. Columns whose domain is a
    single value have no place to differ in and give no dimension.

    >>> import pyarrow as pa
    >>> from mottle import Schema
    >>> from mottle.coding import encode
    >>> from mottle.schema import Representation
    >>> table = pa.table({"age": [20, 40, 30], "job": ["a", "b", "a"], "same": [1, 1, 1]})
    >>> schema = Schema.of(quasi_identifying=["age", "job", "same"])
    >>> place(encode(table, schema, Representation.RANGE)).tolist()
    [[0.0, 0.0], [1.0, 1.0], [0.5, 0.0]]
    """
    columns = [
        coordinates_of_values(domain)[codes.matrix[:, column]]
        for column, domain in enumerate(codes.domains)
        if domain.size > 1
    ]
    return np.column_stack(columns) if columns else np.zeros((codes.records, 0))


def coordinates_of_values(domain: Domain) -> Float64s:
    """Where each value of a column lies between 0 and 1."""
    if domain.form is not Form.RANGE:
        return np.linspace(0.0, 1.0, domain.size)
    extent, _ = range_scale(domain)
    coordinates: Float64s = (domain.positions - domain.positions[0]) / extent
    if domain.missing >= 0:
        coordinates[domain.missing] = 1.0
    return coordinates
