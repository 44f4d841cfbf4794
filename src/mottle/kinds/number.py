"""Numbers: whole numbers, floats and decimals, published as ranges."""

from __future__ import annotations

from mottle.errors import DataError
from mottle.kinds._arrow import pa, pc
from mottle.kinds.base import Kind, check_holds, register
from mottle.kinds.codes import is_number, plain_values
from mottle.kinds.forms.base import Form


@register
class Number(Kind):
    """A value is coded by its rank; its position is the value itself."""

    name = "number"
    form = Form.RANGE
    usage = "number"
    is_measured = True

    def is_natural_for(self, data_type: pa.DataType) -> bool:
        """Columns of numbers."""
        return is_number(data_type)

    def check_type(self, data_type: pa.DataType, name: str) -> None:
        """Refuse what is not a number."""
        super().check_type(data_type, name)
        check_holds(
            is_number(data_type),
            self,
            data_type,
            name,
            "Some cells are not numbers. Numbers with decimal commas are read with --decimal ','"
            " (and --thousands '.'); words for missing values are named with --missing WORD;"
            " otherwise use kind 'category'. 'mottle inspect DATA' finds what applies.",
        )

    def comparable(self, values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
        """Numbers unchanged; infinite ones are refused, because no range can hold them."""
        comparable = plain_values(values, name)
        if pa.types.is_floating(comparable.type):
            infinite = pc.sum(pc.is_inf(comparable)).as_py() or 0
            if infinite:
                raise DataError(
                    f"Column '{name}' has {infinite} infinite values, which no range can hold.",
                    "Replace them by missing values or by a bound, or use kind 'category'.",
                )
        return comparable

    def describe_cells(self, form: Form) -> str:
        """Ranges are of numbers."""
        return "ranges of numbers" if form is self.form else form.published_as
