"""Numbers: whole numbers, floats and decimals, published as ranges."""

from __future__ import annotations

from mottle.errors import DataError
from mottle.kinds._arrow import pa, pc
from mottle.kinds.base import Kind, check_holds, register
from mottle.kinds.codes import is_number, plain_values, without_dictionary
from mottle.kinds.forms.base import Form

_WAY_OUT = (
    "Some cells are not numbers. Numbers with decimal commas are read with --decimal ','"
    " (and --thousands '.'); words for missing values are named with --missing WORD;"
    " otherwise use kind 'category'. 'mottle inspect DATA' finds what applies."
)
_LIKE_A_CODE = r"^\+|^-?0[0-9]|^-?[0-9]{16,}$|[0-9.]{18,}"  # numbers of telephones, articles …
_TOO_LONG = r"^[+-]?[0-9]{16,}$|[0-9.]{18,}"  # digits of text that a float may round


@register
class Number(Kind):
    """A value is coded by its rank; its position is the value itself."""

    name = "number"
    form = Form.RANGE
    usage = "number"
    is_measured = True
    coarsened_by = ("snap", "breaks", "bottom", "top")

    def is_natural_for(self, data_type: pa.DataType) -> bool:
        """Columns of numbers."""
        return is_number(data_type)

    def check_type(self, data_type: pa.DataType, name: str) -> None:
        """Refuse what is not a number."""
        super().check_type(data_type, name)
        fits = is_number(data_type) or pa.types.is_string(data_type)
        check_holds(fits, self, data_type, name, _WAY_OUT)

    def comparable(self, values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
        """Numbers unchanged; infinite ones are refused, because no range can hold them.

        Text is read as numbers, however these are written: ``+1.50`` is 1.5.
        """
        comparable = plain_values(self.canonical(values, name), name)
        if pa.types.is_floating(comparable.type):
            infinite = pc.sum(pc.is_inf(comparable)).as_py() or 0
            if infinite:
                raise DataError(
                    f"Column '{name}' has {infinite} infinite values, which no range can hold.",
                    "Replace them by missing values or by a bound, or use kind 'category'.",
                )
        return comparable

    def canonical(self, values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
        """Text as floats."""
        values = without_dictionary(values)
        if not pa.types.is_string(values.type):
            return values
        cells = pc.ascii_trim_whitespace(values)
        try:
            numbers = pc.cast(pc.replace_substring_regex(cells, r"^\+", ""), pa.float64())
        except pa.ArrowInvalid:
            check_holds(False, self, values.type, name, _WAY_OUT)
            raise
        if pc.any(pc.match_substring_regex(cells, _TOO_LONG)).as_py():
            raise DataError(
                f"Column '{name}' has numbers of more digits than a float can hold.",
                "Round them, or use kind 'category'.",
            )
        return numbers

    def proposal(self, name: str, values: pa.ChunkedArray) -> str | None:
        """Text of numbers that are not written in one way, unless it looks like codes."""
        if not pa.types.is_string(values.type):
            return None
        cells = pc.unique(pc.ascii_trim_whitespace(values)).drop_null()
        with_point = pc.any(pc.match_substring(cells, ".")).as_py()
        if not with_point or pc.any(pc.match_substring_regex(cells, _LIKE_A_CODE)).as_py():
            return None
        try:
            numbers = pc.cast(cells, pa.float64())
        except pa.ArrowInvalid:
            return None
        if not pc.all(pc.is_finite(numbers)).as_py() or len(pc.unique(numbers)) < len(cells):
            return None  # 250.0 and 250.00 are two codes
        return "all cells are numbers; they stay text otherwise, to come out as they were written"

    def describe_cells(self, form: Form) -> str:
        """Ranges are of numbers."""
        return "ranges of numbers" if form is self.form else form.published_as
