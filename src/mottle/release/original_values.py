"""Originals in the types in which a release publishes them, for comparing the two."""

from __future__ import annotations

import pyarrow as pa

from mottle.kinds.forms.base import cast_originals
from mottle.release.column import PublishedColumn


def in_published_type(values: pa.Array, column: PublishedColumn) -> pa.Array:
    """The originals in the type they were published in; a time is its day, NaN is missing.

    Parameters
    ----------
    values
        A column of the original table.
    column
        The same column as the release describes it.

    Returns
    -------
    pa.Array
        Single values, or sorted lists of items for a column of sets.

    Raises
    ------
    DataError
        The values cannot be those that the release was made from.
    """
    if column.form is None:
        return cast_originals(values, column.value_type, column.name)
    return column.form.original_values(values, column)
