"""Columns of item sets as text, for files whose cells hold text only."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from mottle.encoding.domain import Form
from mottle.encoding.set_columns import as_text_of_items
from mottle.release.column import PublishedColumn
from mottle.schema.model import SEPARATOR


def sets_as_text(table: pa.Table, columns: Sequence[PublishedColumn]) -> pa.Table:
    """Replace lists of items by text, as a CSV file may hold them.

    Parameters
    ----------
    table : pyarrow.Table
        An ordinary table, such as one that was sampled from a release.
    columns : sequence of PublishedColumn
        The columns of the release; they say which hold sets, and what separates items in text.

    Returns
    -------
    pyarrow.Table
        The table without lists.
    """
    for column in columns:
        if column.form is Form.WORLDS:
            place = table.column_names.index(column.name)
            separator = column.separator or SEPARATOR
            texts = as_text_of_items(table.column(place), column.name, separator)
            table = table.set_column(place, column.name, texts)
    return table
