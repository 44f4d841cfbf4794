"""Originals in the types in which a release publishes them, for comparing the two."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from mottle.encoding.domain import Form
from mottle.encoding.set_columns import sorted_lists
from mottle.errors import DataError
from mottle.itemsets.arrow import is_list
from mottle.release.column import PublishedColumn
from mottle.schema.model import SEPARATOR
from mottle.utils.arrow import is_plain


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
    is_set = column.form is Form.WORLDS
    target = pa.string() if column.form is Form.NODE else column.value_type
    try:
        if is_set and (is_list(values.type) or is_plain(values.type)):
            separator = column.separator or SEPARATOR
            return sorted_lists(pa.chunked_array([values]), column.name, separator).combine_chunks()
        values = pc.cast(values, target, safe=not pa.types.is_date(target))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise DataError(
            f"Column '{column.name}' holds {values.type} values in the original and"
            f" {'sets of items' if is_set else f'{target} values'} in the release.",
            "Give the table the release was made from.",
        ) from None
    if pa.types.is_floating(target):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, target), values)
        values = pc.add(values, pa.scalar(0.0, target))  # -0.0 and 0.0 are one value
    return values
