"""Checks of the numbers that guarantees are made of."""

from __future__ import annotations

import math
from numbers import Real

from mottle.errors import UsageError


def check_whole(name: str, value: object) -> None:
    """Refuse a value that is not a whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise UsageError(f"{name} must be a whole number, not {type(value).__name__}.")


def finite(name: str, value: object) -> float:
    """The value as a finite number; anything else is refused."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise UsageError(f"{name} must be a number.")
    return float(value)
