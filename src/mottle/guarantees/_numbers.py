"""Checks of the numbers that are parameters of guarantees."""

from __future__ import annotations

import math
from numbers import Real

from mottle.errors import UsageError


def check_whole(name: str, value: object) -> None:
    """Raise `UsageError` unless a value is a whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise UsageError(f"{name} must be a whole number, not {type(value).__name__}.")


def finite(name: str, value: object) -> float:
    """Return the value as a finite number, or raise `UsageError`."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise UsageError(f"{name} must be a number.")
    return float(value)


def checked_share(name: str, value: object) -> float:
    """Return the value as a share above 0 and at most 1, or raise `UsageError`."""
    share = finite(name, value)
    if not 0 < share <= 1:
        raise UsageError(f"{name} must be above 0 and at most 1.", "Write 0.05 for 5 %.")
    return share


def rounded_up(share: float) -> float:
    """Return a share rounded up to four digits, so that it is feasible as a cap."""
    return math.ceil(share * 10_000) / 10_000
