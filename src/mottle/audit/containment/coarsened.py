"""Originals and ends of cells as the lower ends of bins, for columns whose values are in bins.

An adversary knows the rule by which a column was made coarser, for the release states it, and
applies it to what is known of a person. This module does so on its own, value by value with exact
arithmetic, and shares nothing with `mottle.kinds.coarsening` but the description of the rule.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}


def is_time(kind: str | None) -> bool:
    """Return whether a column's values are names of times of day."""
    return kind == "time"


def times(values: pa.Array, facts: Mapping[str, Any]) -> pa.Array:
    """Return times of day as the release names them."""
    shown = {
        None if value is None else value: _time_text(value, facts.get("granularity"))
        for value in pc.unique(values).to_pylist()
    }
    return pa.array([shown[value] for value in values.to_pylist()], pa.string())


def _time_text(value: Any, unit: str | None) -> str | None:
    if value is None:
        return None
    if isinstance(value, str):
        hour, minute, *rest = value.strip().split(":")
        parts = [int(hour), int(minute), int(float(rest[0])) if rest else 0]
    else:
        parts = [value.hour, value.minute, value.second]
    if unit == "hour":
        return f"{parts[0]:02}h"
    return ":".join(f"{part:02}" for part in (parts[:2] if unit == "minute" else parts))


def durations(values: pa.Array, facts: Mapping[str, Any]) -> pa.Array:
    """Return durations as whole numbers of the column's unit."""
    unit = np.timedelta64(_SECONDS[facts.get("granularity", "second")], "s")
    lengths = values.cast(pa.duration("us"), safe=False).to_numpy(zero_copy_only=False)
    missing = np.isnat(lengths)
    counts = np.where(missing, np.timedelta64(0, "us"), lengths) // unit
    return pa.array(counts.astype(np.int64), pa.int64(), mask=missing)


def lower_ends(values: pa.Array, facts: Mapping[str, Any]) -> pa.Array:
    """Return the lower end of the bin of every value; missing values stay."""
    if not set(facts) & {"snap", "breaks", "bottom", "top", "granularity"}:
        return values
    encoded = values.dictionary_encode()
    known = encoded.dictionary.to_pylist()
    is_date = pa.types.is_date(values.type)
    narrow = values.type.to_pandas_dtype() if pa.types.is_floating(values.type) else None
    lowers = [
        _lower_day(value, facts) if is_date else _lower_number(value, facts, values.type, narrow)
        for value in known
    ]
    return pa.array(lowers, values.type).take(encoded.indices)


def _lower_day(day: date, facts: Mapping[str, Any]) -> date:
    bottom, top = (
        None if end not in facts else date.fromisoformat(facts[end]) for end in ("bottom", "top")
    )
    if bottom is not None and day <= bottom:
        return bottom
    if top is not None and day >= top:
        return top
    first = {
        "day": day,
        "week": day - timedelta(days=day.weekday()) if day > date(1, 1, 7) else day,
        "month": day.replace(day=1),
        "quarter": day.replace(month=day.month - (day.month - 1) % 3, day=1),
        "year": day.replace(month=1, day=1),
        "decade": day.replace(year=max(day.year - day.year % 10, 1), month=1, day=1),
    }[facts.get("granularity", "day")]
    return first if bottom is None else max(first, bottom + timedelta(days=1))


def _lower_number(value: Any, facts: Mapping[str, Any], kind: pa.DataType, narrow: Any) -> Any:
    """One number, of any type."""

    def own(number: Any) -> Any:
        """A number of the rule as a value of the column."""
        if narrow is not None:
            return float(narrow(float(Fraction(str(number)))))
        return Decimal(str(number)) if pa.types.is_decimal(kind) else int(number)

    def following(number: Any, direction: int) -> Any:
        if narrow is not None:
            return float(np.nextafter(narrow(number), narrow(direction * math.inf)))
        if pa.types.is_decimal(kind):
            return number + direction * Decimal(1).scaleb(-kind.scale)
        return number + direction

    breaks = facts.get("breaks")
    if breaks is not None:
        reached = [own(number) for number in breaks if own(number) <= value]
        return reached[-1] if reached else following(own(breaks[0]), -1)
    if "bottom" in facts and value <= own(facts["bottom"]):
        return own(facts["bottom"])
    if "top" in facts and value >= own(facts["top"]):
        return own(facts["top"])
    lower = value
    if "snap" in facts:
        lower = _step(value, Fraction(str(facts["snap"])), kind, narrow)
    if "bottom" in facts:
        lower = max(lower, following(own(facts["bottom"]), 1))
    return lower


def _step(value: Any, step: Fraction, kind: pa.DataType, narrow: Any) -> Any:
    """The largest multiple of the step that is not above a value."""
    if narrow is None:
        multiple = math.floor(Fraction(value) / step) * step
        if pa.types.is_decimal(kind):
            return Decimal(multiple.numerator) / Decimal(multiple.denominator)
        limits = np.iinfo(kind.to_pandas_dtype())
        return max(int(multiple), int(limits.min))
    place = math.floor(Fraction(value) / step) + 2
    while float(narrow(float(place * step))) > value:
        place -= 1
    return float(narrow(float(place * step))) + 0.0
