"""Dummy records, which HET adds and publishes so that all buckets have the same size."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mottle.schema.model import Role, Schema


def add_dummies(table: pa.Table, schema: Schema, rows: NDArray[np.int64]) -> pa.Table:
    """Return the table with a dummy for each of ``rows``: its quasi-identifiers and nothing else.

    >>> people = pa.table({"age": [31, 45], "illness": ["flu", "cold"]})
    >>> schema = Schema.of(quasi_identifying=["age"], sensitive=["illness"])
    >>> add_dummies(people, schema, np.array([1])).to_pylist()[-1]
    {'age': 45, 'illness': None}
    """
    copied = {column.name for column in schema.with_role(Role.QUASI_IDENTIFYING)}
    nowhere = pa.nulls(len(rows), pa.int64())
    dummies = [
        table.column(name).take(pa.array(rows) if name in copied else nowhere)
        for name in table.column_names
    ]
    return pa.concat_tables([table, pa.Table.from_arrays(dummies, schema=table.schema)])


def dummies_notice(count: int) -> str:
    """The note on the certificate about ``count`` dummies."""
    return (
        f"{count} of the published records are dummies without a sensitive value. Anyone who rules"
        " them out has fewer candidates for the people they are matched with."
    )
