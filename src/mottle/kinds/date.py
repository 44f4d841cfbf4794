"""Dates: days, published as ranges; a point in time is taken as its day."""

from __future__ import annotations

from mottle.kinds._arrow import arrow, pa
from mottle.kinds.base import Kind, check_holds, register
from mottle.kinds.coarsening import CALENDAR
from mottle.kinds.codes import is_date, plain_values, without_dictionary
from mottle.kinds.forms.base import Form


@register
class Date(Kind):
    """A day is coded by its rank; its position is its number of days."""

    name = "date"
    form = Form.RANGE
    usage = "date"
    is_measured = True
    coarsened_by = ("granularity", "bottom", "top")
    granularities = CALENDAR

    def is_natural_for(self, data_type: pa.DataType) -> bool:
        """Columns of days or points in time."""
        return is_date(data_type)

    def check_type(self, data_type: pa.DataType, name: str) -> None:
        """Refuse what is not a date."""
        super().check_type(data_type, name)
        check_holds(
            is_date(data_type),
            self,
            data_type,
            name,
            "Dates are read in the form 2024-12-31, others with --date-format dd.mm.yyyy; otherwise"
            " use kind 'category'. 'mottle inspect DATA' finds what applies.",
        )

    def canonical(self, values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
        """Points in time as days."""
        values = without_dictionary(values)
        return values if pa.types.is_null(values.type) else arrow.as_days(values, name)

    def comparable(self, values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
        """Points in time as days."""
        return plain_values(self.canonical(values, name), name)

    def describe_cells(self, form: Form) -> str:
        """Ranges are of days."""
        return "ranges of days" if form is self.form else form.published_as

    def width_in_words(self, width: float, form: Form) -> str:
        """Ranges are counted in days."""
        return f"{width:,.0f} days wide" if form is self.form else form.width_in_words(width)
