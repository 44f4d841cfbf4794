"""Converting originals to the types in which a release publishes them, to compare the two."""

from __future__ import annotations

import pyarrow as pa

from mottle.kinds.forms.base import cast_originals
from mottle.release.column import PublishedColumn


def in_published_type(values: pa.Array, column: PublishedColumn) -> pa.Array:
    """Convert originals to the type of the release; a time becomes its day, NaN is missing.

    Parameters
    ----------
    values : pyarrow.Array
        A column of the original table.
    column : PublishedColumn
        The same column as the release describes it.

    Returns
    -------
    pyarrow.Array
        Single values, or sorted lists of items for a column of sets.

    Raises
    ------
    DataError
        The values cannot be those that the release was made from.
    """
    if column.form is None:
        return cast_originals(values, column.value_type, column.name)
    if column.kind is None:
        return column.form.original_values(values, column)
    return column.kind.originals(values, column)
