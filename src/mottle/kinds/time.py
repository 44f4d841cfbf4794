"""Times of day, published as ranges of seconds, minutes or hours: ``08:15..09:30``, ``08h..10h``.

A value is the name of its second, minute or hour, as text, so that a range of them is read as a
range of ordered values is. Its position is the time since midnight.
"""

from __future__ import annotations

import numpy as np

from mottle.errors import DataError
from mottle.kinds._arrow import pa, pc
from mottle.kinds.base import Kind, check_holds, register
from mottle.kinds.coarsening import CLOCK, Coarsening
from mottle.kinds.codes import codes_of_distinct, without_dictionary
from mottle.kinds.columns import Domain, ReleasedColumn, SchemaColumn
from mottle.kinds.forms.base import Form
from mottle.typing import Float64Array, Int32Array

_TIME = r"^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]$"
_WAY_OUT = "Times are read in the form 08:15 or 08:15:30; otherwise use kind 'category'."


@register
class Time(Kind):
    """A time is coded by its rank among the times that occur."""

    name = "time"
    form = Form.RANGE
    usage = "time"
    has_order = True
    coarsened_by = ("granularity",)
    granularities = CLOCK

    def check_type(self, data_type: pa.DataType, name: str) -> None:
        """Refuse what is neither a time nor text."""
        super().check_type(data_type, name)
        held = data_type.value_type if pa.types.is_dictionary(data_type) else data_type
        fits = pa.types.is_time(held) or pa.types.is_timestamp(held) or pa.types.is_string(held)
        check_holds(fits, self, data_type, name, _WAY_OUT)

    def proposal(self, name: str, values: pa.ChunkedArray) -> str | None:
        """Columns of times."""
        if not pa.types.is_time(values.type):
            return None
        return "it holds times of day, which are published as ranges"

    def rule(self, column: SchemaColumn | ReleasedColumn) -> Coarsening | None:
        """Values are names of units already, so there are no bins."""
        return None

    def canonical(self, values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
        """Times as text to the second."""
        values = without_dictionary(values)
        if pa.types.is_null(values.type):
            return pc.cast(values, pa.string())
        if pa.types.is_timestamp(values.type):
            values = pc.strftime(pc.floor_temporal(values, unit="second"), "%H:%M:%S")
        texts = pc.utf8_trim_whitespace(pc.cast(values, pa.string()))
        texts = pc.replace_substring_regex(texts, r"^([0-9]:)", r"0\1")
        texts = pc.replace_substring_regex(texts, r"\.[0-9]+$", "")
        texts = pc.if_else(pc.equal(pc.utf8_length(texts), 5), _joined(texts, ":00"), texts)
        strange = pc.sum(pc.invert(pc.match_substring_regex(texts, _TIME))).as_py() or 0
        if strange:
            raise DataError(f"Column '{name}' has {strange} cells that are no times.", _WAY_OUT)
        return texts

    def comparable(self, values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
        """Times as text to the second."""
        return self.canonical(values, name)

    def code(
        self, values: pa.ChunkedArray, column: SchemaColumn, form: Form
    ) -> tuple[Int32Array, pa.Array]:
        """Ranks of the units."""
        return codes_of_distinct(_units(self.canonical(values, column.name), column))

    def values_in(self, values: pa.ChunkedArray, domain: Domain) -> pa.ChunkedArray:
        """The units of the times."""
        return _units(self.canonical(values, domain.name), domain.column)

    def originals(self, values: pa.Array, column: ReleasedColumn) -> pa.Array:
        """The units of the times."""
        texts = self.canonical(pa.chunked_array([values]), column.name)
        return _units(texts, column).combine_chunks()

    def heights(self, present: pa.Array) -> Float64Array:
        """The position of a unit is the time since midnight."""
        parts = [text.rstrip("h").split(":") for text in present.to_pylist()]
        seconds = [
            sum(int(part) * unit for part, unit in zip(each, (3600, 60, 1), strict=False))
            for each in parts
        ]
        return np.array(seconds, np.float64) - (seconds[0] if seconds else 0)

    def published_order(self, domain: Domain) -> tuple[str, ...] | None:
        """The times that occur, from the earliest to the latest."""
        return tuple(domain.values.drop_null().to_pylist())

    def describe_cells(self, form: Form) -> str:
        """Ranges are of times."""
        return "ranges of times of day" if form is self.form else form.published_as

    def width_in_words(self, width: float, form: Form) -> str:
        """Ranges are counted in values."""
        if form is not self.form:
            return form.width_in_words(width)
        return f"{width + 1:,.0f} neighbouring times"


def _units(texts: pa.ChunkedArray, column: SchemaColumn | ReleasedColumn) -> pa.ChunkedArray:
    """The names of the units that times are in."""
    unit = None if column.coarsening is None else column.coarsening.granularity
    if unit == "hour":
        return _joined(pc.utf8_slice_codeunits(texts, 0, 2), "h")
    return pc.utf8_slice_codeunits(texts, 0, 5) if unit == "minute" else texts


def _joined(texts: pa.ChunkedArray, ending: str) -> pa.ChunkedArray:
    return pc.binary_join_element_wise(texts, ending, "")
