"""Literals of conditions, converted to the type of the column they are compared with."""

from __future__ import annotations

import datetime as dt
from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pyarrow as pa

from mottle.errors import UsageError

_EPOCH = dt.date(1970, 1, 1)


def is_numeric(value_type: pa.DataType) -> bool:
    """Whether values of this type can be added up."""
    return bool(
        pa.types.is_integer(value_type)
        or pa.types.is_floating(value_type)
        or pa.types.is_decimal(value_type)
    )


def is_text(value_type: pa.DataType) -> bool:
    """Whether values of this type are text."""
    return bool(
        pa.types.is_string(value_type)
        or pa.types.is_large_string(value_type)
        or pa.types.is_string_view(value_type)
    )


def check_numeric(name: str, value_type: pa.DataType) -> None:
    """Raise a `UsageError` unless a column's values can be added up."""
    if not is_numeric(value_type):
        raise UsageError(
            f"Column '{name}' holds {value_type} values, which cannot be added up.",
            "Count them, or group by them.",
        )


_LARGEST_PRECISION = 76  # digits of Arrow's decimals


def as_scalar(value: object, value_type: pa.DataType, name: str) -> pa.Scalar:
    """Return a value to compare a column with: in the column's type if possible, else unchanged.

    >>> as_scalar(30, pa.int8(), "age").type, as_scalar(30.5, pa.int8(), "age").type
    (DataType(int8), DataType(double))
    """
    if isinstance(value, np.generic):
        value = value.item()
    states_text = isinstance(value, str)
    wants_text = is_text(value_type)
    if states_text != wants_text and (wants_text or isinstance(value, bool)):
        raise UsageError(
            f"Column '{name}' holds {value_type} values, which cannot be compared with {value}.",
            f"Write '{value}' in quotes.",
        )
    try:
        scalar = pa.scalar(value)
        if is_numeric(value_type) and states_text:
            scalar = pa.scalar(Decimal(str(value)))
    except (pa.ArrowException, ArithmeticError):
        raise _unreadable(value, value_type, name) from None
    try:
        return scalar.cast(value_type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        comparable = is_numeric(value_type) and is_numeric(scalar.type)
        comparable |= pa.types.is_temporal(value_type) and pa.types.is_temporal(scalar.type)
        if not comparable:
            raise _unreadable(value, value_type, name) from None
        return _between_values(scalar, value_type)


def _between_values(scalar: pa.Scalar, value_type: pa.DataType) -> pa.Scalar:
    """A decimal with one decimal more than a column's, which compares with all its values alike.

    Arrow compares decimals if a common type of no more than 76 digits holds both.
    """
    if not (pa.types.is_decimal(scalar.type) and pa.types.is_decimal(value_type)):
        return scalar
    with localcontext(Context(prec=100)):
        exact = scalar.as_py()
        below = exact.quantize(Decimal(1).scaleb(-value_type.scale), ROUND_FLOOR)
        half = Decimal(5).scaleb(-value_type.scale - 1)
        nearest = below if exact == below else below + half
        return pa.scalar(nearest, pa.decimal256(_LARGEST_PRECISION - 1, value_type.scale + 1))


def exact_number(value: object, value_type: pa.DataType, name: str) -> Fraction | float:
    """Return a number or date as an exact number; infinities stay floats.

    Dates become days since 1970.

    >>> exact_number("2.5", pa.int64(), "age"), exact_number("1970-01-02", pa.date32(), "born")
    (Fraction(5, 2), Fraction(1, 1))
    """
    if isinstance(value, np.generic):
        value = value.item()
    try:
        if pa.types.is_date(value_type):
            return _days(value)
        if isinstance(value, float) and np.isinf(value):
            return value
        if isinstance(value, int | float | Decimal | Fraction | str):
            return Fraction(value)
    except (ValueError, OverflowError, ZeroDivisionError):
        pass
    raise _unreadable(value, value_type, name)


def _days(value: object) -> Fraction:
    """Days since 1970, with the fraction of a day for timestamps."""
    if isinstance(value, str):
        value = dt.datetime.fromisoformat(value)
    if isinstance(value, dt.datetime):
        midnight = dt.datetime.combine(value.date(), dt.time(), value.tzinfo)
        return (value.date() - _EPOCH).days + Fraction((value - midnight) / dt.timedelta(days=1))
    if isinstance(value, dt.date):
        return Fraction((value - _EPOCH).days)
    raise ValueError("not a date")


def _unreadable(value: object, value_type: pa.DataType, name: str) -> UsageError:
    """An error about a literal that cannot be compared with the column's values."""
    remedy = "Write dates as 2024-12-31." if pa.types.is_date(value_type) else ""
    return UsageError(
        f"Column '{name}' holds {value_type} values, and {value!r} cannot be compared with them.",
        remedy,
    )
