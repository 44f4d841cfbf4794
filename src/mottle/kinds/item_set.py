"""Sets of items: diagnoses, articles bought, places visited; published as possible worlds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mottle.kinds._arrow import arrow, pa, pc
from mottle.kinds.base import Kind, changed_input, register
from mottle.kinds.columns import Domain, ReleasedColumn, SchemaColumn, tree_options
from mottle.kinds.forms.base import Form
from mottle.kinds.forms.worlds import SEPARATOR as SEPARATOR
from mottle.kinds.hierarchy import check_leaves
from mottle.typing import Int32Array, Int64Array
from mottle.utils.lazy import lazy_module

if TYPE_CHECKING:
    from mottle.itemsets import columns as item_columns
else:
    item_columns = lazy_module("mottle.itemsets.columns")

_SEPARATED = 0.1  # least share of cells with a separator for which text may be sets of items


@register
class ItemSet(Kind):
    """A set is coded by its rank in the Gray order."""

    name = "set"
    form = Form.WORLDS
    external_form = None
    usage = (
        'set (of items, in lists or in text: separator = ";"; published as nodes of'
        ' hierarchy = "f.csv" where that loses less, or as those that node_holders = 50 records'
        " hold)"
    )
    options = ("separator", "hierarchy", "node_holders")
    implied_by = "separator"

    def is_natural_for(self, data_type: pa.DataType) -> bool:
        """Lists of plain values."""
        return bool(_is_list(data_type) and arrow.is_plain(data_type.value_type))

    def check_options(self, column: SchemaColumn) -> None:
        """A separator is a text within a line; nodes are those of a hierarchy."""
        separator = column.separator
        if separator == "" or set(separator or "") & set("\r\n"):
            raise ValueError("the separator of items must be one or more characters of a line")
        if column.node_holders is not None and column.hierarchy is None:
            raise ValueError("node_holders needs a hierarchy: hierarchy = 'FILE.csv'")

    def check_type(self, data_type: pa.DataType, name: str) -> None:
        """Refuse structures and lists of them."""
        if not self.is_natural_for(data_type):
            super().check_type(data_type, name)

    def proposal(self, name: str, values: pa.ChunkedArray) -> str | None:
        """Text with separators between few items that recur."""
        if not pa.types.is_string(values.type) or values.null_count == len(values):
            return None
        if pc.mean(pc.match_substring(values, SEPARATOR)).as_py() < _SEPARATED:
            return None
        items = pc.list_flatten(pc.split_pattern(values, SEPARATOR))
        if len(items.unique()) * 2 >= len(values.unique()):
            return None
        return f"its cells are items that come again, with '{SEPARATOR}' between them"

    def form_in(self, representation: str) -> Form:
        """Sets of items look the same in both representations."""
        return self.form

    def encode_values(
        self, values: pa.ChunkedArray, column: SchemaColumn, representation: str
    ) -> tuple[Domain, Int32Array]:
        """The sets that occur and the codes of the rows."""
        return self._encode(values, None, column)

    def countable(self, values: pa.ChunkedArray, column: SchemaColumn) -> pa.ChunkedArray:
        """Every set as one text."""
        return item_columns.set_texts(values, column.name, column.separator or SEPARATOR)

    def encode_counted(
        self,
        values: pa.ChunkedArray,
        times: Int64Array,
        column: SchemaColumn,
        representation: str,
    ) -> tuple[Domain, Int32Array]:
        """The sets that occur; items and sets are as frequent as ``times`` says."""
        return self._encode(item_columns.of_set_texts(values), times, column)

    def _encode(
        self, values: pa.ChunkedArray, times: Int64Array | None, column: SchemaColumn
    ) -> tuple[Domain, Int32Array]:
        separator = column.separator or SEPARATOR
        sets, known, codes = item_columns.encode_sets(values, column.name, separator, times)
        if column.hierarchy is not None:
            check_leaves(sets.names.to_pylist(), column)
        missing = len(known) if len(sets.sets.sizes) > len(known) else -1
        if missing >= 0:
            known = pa.concat_arrays([known, pa.nulls(1, known.type)])
        domain = Domain(column, self.form, known, missing, np.empty(0), None, sets)
        return domain, np.where(codes < 0, np.int32(missing), codes)

    def encode_more(self, values: pa.ChunkedArray, domain: Domain) -> Int32Array:
        """The codes of sets that are known."""
        texts = self.countable(values, domain.column)
        known = domain.items.texts if domain.missing < 0 else domain.items.texts[:-1]
        found = pc.index_in(texts.combine_chunks(), value_set=known)
        unknown = found.null_count - texts.null_count
        if unknown or (domain.missing < 0 and texts.null_count):
            raise changed_input(domain.name)
        codes: Int32Array = pc.fill_null(found, domain.missing).to_numpy().astype(np.int32)
        return codes

    def notes(self, values: pa.ChunkedArray, domain: Domain) -> list[str]:
        """What was done to items."""
        return list(domain.items.notes)

    def schema_options(self, column: ReleasedColumn) -> dict[str, object]:
        """The separator as well, and the hierarchy of the items."""
        options: dict[str, object] = {"kind": self, "separator": column.separator}
        return options if column.hierarchy is None else options | tree_options(column)


def _is_list(data_type: pa.DataType) -> bool:
    return bool(
        pa.types.is_list(data_type)
        or pa.types.is_large_list(data_type)
        or pa.types.is_fixed_size_list(data_type)
    )
