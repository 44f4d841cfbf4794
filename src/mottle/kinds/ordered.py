"""Ordered categories: values with an order from the schema or the data, published as ranges."""

from __future__ import annotations

import numpy as np

from mottle.errors import DataError, SchemaError
from mottle.kinds._arrow import arrow, pa, pc
from mottle.kinds.base import Kind, register
from mottle.kinds.codes import codes_in, plain_values, without_dictionary
from mottle.kinds.columns import Domain, ReleasedColumn, SchemaColumn
from mottle.kinds.forms.base import Form
from mottle.typing import Float64Array, Int32Array


@register
class Ordered(Kind):
    """A value is coded by its place in the order; its position is its rank."""

    name = "ordered"
    form = Form.RANGE
    usage = 'ordered (order = ["low", "high"])'
    options = ("order",)
    implied_by = "order"
    has_order = True

    def is_natural_for(self, data_type: pa.DataType) -> bool:
        """Dictionaries that say they are ordered."""
        return bool(pa.types.is_dictionary(data_type) and data_type.ordered)

    def check_options(self, column: SchemaColumn) -> None:
        """An order lists every value once."""
        order = column.order
        if order is not None and (len(set(order)) != len(order) or not order):
            raise ValueError("the order is empty or lists a value twice")

    def comparable(self, values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
        """Values unchanged; where all are missing, text, because the values of an order are."""
        values = without_dictionary(values)
        if pa.types.is_null(values.type):
            return arrow.as_text(values, name)
        return plain_values(values, name)

    def code(
        self, values: pa.ChunkedArray, column: SchemaColumn, form: Form
    ) -> tuple[Int32Array, pa.Array]:
        """Places in the order of the schema, or else of the data."""
        is_ordered = pa.types.is_dictionary(values.type) and values.type.ordered
        compared = self.comparable(values, column.name)
        if column.order is None and is_ordered and values.num_chunks:
            known = self.comparable(arrow.dictionary_order(values, column.name), column.name)
        else:
            known = _stated_order(compared, column)
        return codes_in(compared, known), known

    def heights(self, present: pa.Array) -> Float64Array:
        """The position of a value is its rank."""
        return np.arange(len(present), dtype=np.float64)

    def published_order(self, domain: Domain) -> tuple[str, ...] | None:
        """All values from lowest to highest."""
        return tuple(pc.cast(domain.values, pa.string()).drop_null().to_pylist())

    def schema_options(self, column: ReleasedColumn) -> dict[str, object]:
        """The order as well."""
        return {"kind": self, "order": column.order}

    def width_in_words(self, width: float, form: Form) -> str:
        """Ranges are counted in values."""
        if form is not self.form:
            return form.width_in_words(width)
        return f"{width + 1:,.0f} neighbouring values"


def _stated_order(values: pa.ChunkedArray, column: SchemaColumn) -> pa.Array:
    """The order that the schema gives, in the type of the values; checks that it is complete."""
    if column.order is None:
        raise SchemaError(
            f"Column '{column.name}' has kind 'ordered' but no order.",
            f'Give its values from lowest to highest: order = ["low", "high"] in mottle.toml,'
            f" or --order {column.name}=low,high.",
        )
    try:
        known = pc.cast(pa.array(column.order, pa.string()), values.type)
    except pa.ArrowException:
        raise DataError(
            f"Column '{column.name}' holds {values.type} values, which its order does not list.",
            "Write the order with values of that type.",
        ) from None
    if len(known.unique()) < len(known):
        raise SchemaError(
            f"The order of column '{column.name}' lists a value twice, in two spellings.",
            "List every value once.",
        )
    unlisted = pc.sum(pc.and_(pc.is_valid(values), pc.invert(pc.is_in(values, value_set=known))))
    if unlisted.as_py():
        raise DataError(
            f"Column '{column.name}' has {unlisted.as_py()} cells that are not in its order.",
            "Add the values to the order.",
        )
    return known
