"""Converting Arrow columns to small integer codes, on which methods compute.

A code is the position of a value in its column's *domain*, as the column's kind orders it
(`mottle.kinds`): numbers and dates ascending, ordered categories in their order, hierarchy leaves
in in-order position, categories by their text, sets of items in Gray order. The missing value,
where it occurs, is one more value with the last code.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from mottle.encoding.domain import Codes, Domain
from mottle.errors import SchemaError
from mottle.kinds.base import Kind, check_quasi_identifier
from mottle.kinds.codes import codes_of_distinct
from mottle.schema.model import Column, Representation, Role, Schema
from mottle.typing import Int32Array


def encode(table: pa.Table, schema: Schema, representation: Representation) -> Codes:
    """Code the quasi-identifiers of ``table``; ``schema`` covers all its columns.

    >>> from mottle.schema.model import Schema
    >>> table = pa.table({"age": [40, 20, None, 20]})
    >>> codes = encode(table, Schema.of(quasi_identifying=["age"]), Representation.RANGE)
    >>> codes.matrix[:, 0], codes.domains[0].missing
    (array([1, 0, 2, 0], dtype=int32), 2)
    """
    columns = schema.with_role(Role.QUASI_IDENTIFYING)
    coded = [encode_column(table.column(column.name), column, representation) for column in columns]
    matrix = np.empty((table.num_rows, len(columns)), np.int32)
    for place, (_, codes) in enumerate(coded):
        matrix[:, place] = codes
    domains = tuple(domain for domain, _ in coded)
    notes = [
        note for domain in domains for note in domain.kind.notes(table.column(domain.name), domain)
    ]
    return Codes(domains, matrix, tuple(notes))


def encode_column(
    values: pa.ChunkedArray, column: Column, representation: Representation
) -> tuple[Domain, Int32Array]:
    """Code a column: return its domain and the code of every row."""
    kind = kind_of(values.type, column)
    described = column.model_copy(update={"kind": kind})
    return kind.encode_values(values, described, representation)


def along_orders(codes: Codes) -> Codes:
    """Return the codes with sets as values on a line, for methods that do not count votes.

    The distance of a set from the one before it in Gray order is the number of items that differ.
    """
    domains = tuple(domain.form.along_a_line(domain) for domain in codes.domains)
    if all(new is old for new, old in zip(domains, codes.domains, strict=True)):
        return codes
    return replace(codes, domains=domains)


def encode_in(values: pa.ChunkedArray, domain: Domain) -> Int32Array:
    """Code rows in a domain that is already known, such as that of a larger table.

    >>> age = Column(name="age", role=Role.QUASI_IDENTIFYING)
    >>> domain, _ = encode_column(pa.chunked_array([[20, 30, 40]]), age, Representation.RANGE)
    >>> encode_in(pa.chunked_array([[40, 20]]), domain)
    array([2, 0], dtype=int32)
    """
    return domain.kind.encode_more(values, domain)


def codes_of_values(values: pa.ChunkedArray, column: Column) -> tuple[Int32Array, pa.Array]:
    """Code a column that is not generalized by the rank of its values; -1 for missing."""
    return codes_of_distinct(comparable(values, column))


def kind_of(data_type: pa.DataType, column: Column) -> Kind:
    """Return the kind from the schema or from the column's type; check that they fit."""
    if column.kind is not None:
        column.kind.check_type(data_type, column.name)
        return column.kind
    kind = Kind.of_type(data_type)
    if not kind.form.has_items:
        check_quasi_identifier(data_type, column.name)
    if column.coarsening is not None:
        try:
            kind.check_coarsening(column.coarsening)
        except ValueError as error:
            raise SchemaError(f"Column '{column.name}': {error}.") from None
    return kind


def comparable(values: pa.ChunkedArray, column: Column) -> pa.ChunkedArray:
    """Convert values so that they compare correctly: dates as days, NaN as missing.

    A column without a kind is treated as a category.
    """
    return (column.kind or Kind.CATEGORY).comparable(values, column.name)
