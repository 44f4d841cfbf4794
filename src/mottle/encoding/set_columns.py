"""Columns of a table that a schema declares as sets of items, converted to lists of text.

Reading, coding and writing such columns is in `mottle.itemsets.columns`.
"""

from __future__ import annotations

import pyarrow as pa

from mottle.itemsets.columns import LISTS as LISTS
from mottle.itemsets.columns import SetDomain as SetDomain
from mottle.itemsets.columns import as_lists as as_lists
from mottle.itemsets.columns import as_text_of_items as as_text_of_items
from mottle.itemsets.columns import changed_items as changed_items
from mottle.itemsets.columns import encode_sets as encode_sets
from mottle.itemsets.columns import read_sets as read_sets
from mottle.itemsets.columns import sorted_lists as sorted_lists
from mottle.schema.model import SEPARATOR, Role, Schema
from mottle.utils.arrow import is_plain


def sets_as_lists(table: pa.Table, schema: Schema) -> pa.Table:
    """Convert the columns that a schema declares as sets of items to lists of text."""
    for column in schema.with_role(Role.QUASI_IDENTIFYING):
        values = table.column(column.name)
        if column.kind is not None and column.kind.form.has_items and is_plain(values.type):
            lists = sorted_lists(values, column.name, column.separator or SEPARATOR)
            table = table.set_column(table.column_names.index(column.name), column.name, lists)
    return table


def held_items(values: pa.ChunkedArray, name: str, separator: str | None) -> list[str | None]:
    """Return the items of all sets of a column, each as often as a set holds it.

    >>> held_items(pa.chunked_array([["b;a", None, "a"]]), "x", None)
    ['a', 'b', 'a']
    """
    sets = read_sets(values, name, separator or SEPARATOR)
    items: list[str | None] = sets.names.take(pa.array(sets.items)).to_pylist()
    return items
