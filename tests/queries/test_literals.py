"""Values of conditions compare with a column as they are, however many digits they have."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mottle.queries._literals import as_scalar

VALUES = [Decimal("-1.25"), Decimal("0.00"), Decimal("1.70"), Decimal("1.71"), Decimal("250.00")]


@given(st.decimals(-300, 300, allow_nan=False).filter(lambda end: end.is_finite()))
@pytest.mark.parametrize("end", [Decimal("1.7000000000000000000000000000000000000000001")])
def test_ends_of_ranges_with_many_digits_are_compared_exactly(end: Decimal, drawn: Decimal) -> None:
    """Arrow compares decimals of 76 digits at most; the internal report could not be made."""
    column = pa.array(VALUES, pa.decimal128(38, 2))
    for value in (end, drawn):
        at_least = pc.greater_equal(column, as_scalar(value, column.type, "size"))
        assert at_least.to_pylist() == [one >= value for one in VALUES]
