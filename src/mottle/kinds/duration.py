"""Durations, published as ranges of whole seconds, minutes, hours or days.

A value is the number of whole units in it, rounded down; the unit is the column's granularity, by
default the second. Steps and open ends are in that unit as well.
"""

from __future__ import annotations

from mottle.errors import DataError, SchemaError
from mottle.kinds._arrow import pa, pc
from mottle.kinds.base import Kind, check_holds, register
from mottle.kinds.coarsening import SPANS, Coarsening
from mottle.kinds.codes import codes_of_distinct, without_dictionary
from mottle.kinds.columns import Domain, ReleasedColumn, SchemaColumn
from mottle.kinds.forms.base import Form, not_the_original
from mottle.typing import Int32Array

_MICROSECONDS = {"second": 10**6, "minute": 60 * 10**6, "hour": 3600 * 10**6, "day": 86400 * 10**6}


@register
class Duration(Kind):
    """A duration is coded by the rank of its number of whole units."""

    name = "duration"
    form = Form.RANGE
    usage = "duration"
    is_measured = True
    coarsened_by = ("snap", "breaks", "bottom", "top", "granularity")
    granularities = SPANS

    def is_natural_for(self, data_type: pa.DataType) -> bool:
        """Columns of durations."""
        return bool(pa.types.is_duration(data_type))

    def check_type(self, data_type: pa.DataType, name: str) -> None:
        """Refuse what is not a duration."""
        if pa.types.is_nested(data_type):
            super().check_type(data_type, name)
        check_holds(
            pa.types.is_duration(data_type),
            self,
            data_type,
            name,
            "Durations come from Parquet or Arrow; numbers of days or hours are of kind 'number'.",
        )

    def rule(self, column: SchemaColumn | ReleasedColumn) -> Coarsening | None:
        """Steps and tails; the unit is that of the values."""
        given = column.coarsening
        if given is None:
            return None
        return Coarsening.of(
            snap=given.snap, breaks=given.breaks, bottom=given.bottom, top=given.top
        )

    def comparable(self, values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
        """Durations in microseconds."""
        values = without_dictionary(values)
        if pa.types.is_null(values.type):
            return values
        try:
            return pc.cast(values, pa.duration("us"), safe=False)
        except pa.ArrowInvalid:
            raise DataError(f"Column '{name}' has durations that are too long.") from None

    def code(
        self, values: pa.ChunkedArray, column: SchemaColumn, form: Form
    ) -> tuple[Int32Array, pa.Array]:
        """Ranks of the numbers of units."""
        return codes_of_distinct(_units(self.comparable(values, column.name), column))

    def values_in(self, values: pa.ChunkedArray, domain: Domain) -> pa.ChunkedArray:
        """Numbers of units, or the lower ends of their bins."""
        units = _units(self.comparable(values, domain.name), domain.column)
        rule = self.rule(domain.column)
        if rule is None or pa.types.is_null(units.type):
            return units
        encoded = units.combine_chunks().dictionary_encode()
        lower = rule.bins(encoded.dictionary, domain.name).lower
        return pa.chunked_array([lower.take(encoded.indices)])

    def originals(self, values: pa.Array, column: ReleasedColumn) -> pa.Array:
        """Numbers of units."""
        try:
            self.check_type(values.type, column.name)
        except (DataError, SchemaError):
            raise not_the_original(column.name, values.type, "numbers of durations") from None
        found = _units(self.comparable(pa.chunked_array([values]), column.name), column)
        units = found.combine_chunks()
        rule = self.rule(column)
        return units if rule is None else rule.within_tails(units, column.name)

    def describe_cells(self, form: Form) -> str:
        """Ranges are of durations."""
        return "ranges of durations" if form is self.form else form.published_as


def _units(values: pa.ChunkedArray, column: SchemaColumn | ReleasedColumn) -> pa.ChunkedArray:
    """The number of whole units in every duration."""
    if pa.types.is_null(values.type):
        return values
    given = None if column.coarsening is None else column.coarsening.granularity
    divisor = _MICROSECONDS[given or "second"]
    counts = pc.cast(values, pa.int64())
    whole = pc.divide(counts, divisor)
    rounded_up = pc.greater(pc.multiply(whole, divisor), counts)
    return pc.subtract(whole, pc.cast(rounded_up, pa.int64()))
