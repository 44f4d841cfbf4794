"""Numbers and dates as people write them: decimal commas, grouped digits, 31.12.2024.

Without options a number has a decimal point and a date is written 2024-12-31. Each function here
makes an attempt for `mottle.io.text.type_inference`: the typed cells, or None if one does not fit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import UsageError
from mottle.typing import Int64Array

__all__ = ["DateFormat", "check_marks", "date_formats", "dates_in", "plain_numbers"]

_TOKENS = {"yyyy": "year", "dd": "day", "d": "day", "hh": "hour", "h": "hour", "ss": "second"}
_STRPTIME = {"%d": "dd", "%m": "mm", "%Y": "yyyy", "%H": "hh", "%M": "mm", "%S": "ss"}
_LIMITS = {"hour": 24, "minute": 60, "second": 60}
_BY_DIGITS = {"year": r"\d{4}"}


def check_marks(decimal: str | None, thousands: str | None) -> None:
    """Check the decimal mark and the thousands separator.

    Parameters
    ----------
    decimal, thousands : str or None
        What is given.

    Raises
    ------
    UsageError
        One is not a single character other than a digit, a sign or a letter, or both are the same.
    """
    for option, mark in (("decimal", decimal), ("thousands", thousands)):
        if mark is not None and (len(mark) != 1 or mark.isalnum() or mark in "+-"):
            raise UsageError(
                f"--{option} must be one character that is no digit, sign or letter.",
                "Write for instance --decimal ',' --thousands '.'.",
            )
    if thousands is not None and thousands == (decimal or "."):
        raise UsageError(
            "The decimal mark and the thousands separator are the same character.",
            "Give both: --decimal ',' --thousands '.'.",
        )


def plain_numbers(
    cells: pa.ChunkedArray, decimal: str | None, thousands: str | None
) -> pa.ChunkedArray | None:
    """Write numbers of another notation with a decimal point and without separators.

    Parameters
    ----------
    cells : pyarrow.ChunkedArray
        Text without spaces around it.
    decimal : str or None
        The decimal mark; None for a point.
    thousands : str or None
        What separates groups of three digits; None for nothing.

    Returns
    -------
    pyarrow.ChunkedArray or None
        The numbers as text; None if a cell is no number of this notation: it has a leading plus
        sign or zero, as telephone numbers have, or separators where no group ends.

    Examples
    --------
    >>> plain_numbers(pa.chunked_array([["1.250,5", "7", None]]), ",", ".").to_pylist()
    ['1250.5', '7', None]
    >>> plain_numbers(pa.chunked_array([["1.5"]]), ",", None) is None
    True
    >>> plain_numbers(pa.chunked_array([["+4915", "0150"]]), ",", None) is None
    True
    """
    mark = decimal or "."
    grouped = "" if thousands is None else rf"[1-9]\d{{0,2}}(?:{re.escape(thousands)}\d{{3}})+|"
    pattern = rf"^-?(?:{grouped}0|[1-9]\d*)(?:{re.escape(mark)}\d+)?$"
    if not pc.all(pc.match_substring_regex(cells, pattern)).as_py():
        return None
    if thousands is not None:
        cells = pc.replace_substring(cells, thousands, "")
    return pc.replace_substring(cells, mark, ".")


@dataclass(frozen=True)
class DateFormat:
    """A format of dates such as ``dd.mm.yyyy``, or of points in time: ``dd.mm.yyyy hh:mm``."""

    text: str  # as it was given
    pattern: str  # of a cell, with a group for each part

    @classmethod
    def of(cls, text: str) -> DateFormat:
        """Read a format, also one of strptime.

        Parameters
        ----------
        text : str
            Made of yyyy, mm, dd and, after a date, hh, mm, ss, in any case; or ``%d.%m.%Y``.

        Returns
        -------
        DateFormat
            The format.

        Raises
        ------
        UsageError
            It does not have exactly one year, month and day, or years have two digits.

        Examples
        --------
        >>> DateFormat.of("dd.mm.yyyy") == DateFormat.of("dd.mm.yyyy")
        True
        """
        plain = text
        for directive, token in _STRPTIME.items():
            plain = plain.replace(directive, token)
        parts: list[str] = []
        pattern = ""
        for token in re.findall(r"y+|d+|m+|h+|s+|[^ydmhs]", plain.lower()):
            part = _TOKENS.get(token)
            if token in ("m", "mm"):
                part = "minute" if "hour" in parts else "month"
            if part is None and token[0] in "ydmhs":
                raise _not_a_format(text)
            if part is not None and part not in parts:
                parts.append(part)
                pattern += rf"(?P<{part}>{_BY_DIGITS.get(part, '[0-9]{1,2}')})"
            elif part is not None:
                raise _not_a_format(text)
            else:
                pattern += re.escape(token)
        if not {"year", "month", "day"} <= set(parts) or ("minute" in parts) != ("hour" in parts):
            raise _not_a_format(text)
        return cls(text, f"^{pattern}$")

    @property
    def has_time(self) -> bool:
        """Whether it is a format of points in time."""
        return "<hour>" in self.pattern


def _not_a_format(text: str) -> UsageError:
    return UsageError(
        f"--date-format {text!r} cannot be read.",
        "Write it with dd, mm and yyyy, such as dd.mm.yyyy, mm/dd/yyyy or dd.mm.yyyy hh:mm; years"
        " have four digits.",
    )


def date_formats(texts: Sequence[str]) -> list[DateFormat]:
    """Read formats of dates.

    Parameters
    ----------
    texts : sequence of str
        The formats, in the order in which they are tried.

    Returns
    -------
    list of DateFormat
        The formats.

    Raises
    ------
    UsageError
        One cannot be read.
    """
    return [DateFormat.of(text) for text in texts]


def dates_in(cells: pa.ChunkedArray, how: DateFormat) -> pa.ChunkedArray | None:
    """Read dates, or points in time, in one format.

    Parameters
    ----------
    cells : pyarrow.ChunkedArray
        Text without spaces around it.
    how : DateFormat
        The format.

    Returns
    -------
    pyarrow.ChunkedArray or None
        ``date32``, or ``timestamp[s]`` for a format with hours; None if a cell does not fit or is
        no day of the calendar.

    Examples
    --------
    >>> days = pa.chunked_array([["31.12.2024", None, "1.2.2020"]])
    >>> dates_in(days, DateFormat.of("dd.mm.yyyy")).to_pylist()
    [datetime.date(2024, 12, 31), None, datetime.date(2020, 2, 1)]
    >>> dates_in(pa.chunked_array([["31.02.2024"]]), DateFormat.of("dd.mm.yyyy")) is None
    True
    """
    distinct = pc.unique(cells).drop_null()
    found = pc.extract_regex(distinct, how.pattern)
    if found.null_count or len(found) == 0:
        return None
    parts = {
        field.name: pc.cast(pc.struct_field(found, field.name), pa.int64()).to_numpy()
        for field in found.type
    }
    seconds = _seconds(parts)
    if seconds is None:
        return None
    if how.has_time:
        typed = pc.cast(pa.array(seconds), pa.timestamp("s"))
    else:
        typed = pc.cast(pa.array((seconds // 86_400).astype(np.int32)), pa.date32())
    places = pc.index_in(cells, value_set=distinct)
    return pc.take(typed, places)


def _seconds(parts: dict[str, Int64Array]) -> Int64Array | None:
    """Seconds since 1970; None if a part is out of its limits."""
    year, month, day = parts["year"], parts["month"], parts["day"]
    if year.min() < 1 or month.min() < 1 or month.max() > 12 or day.min() < 1:
        return None
    first = (year - 1970).astype("M8[Y]").astype("M8[M]") + (month - 1).astype("m8[M]")
    days = first.astype("M8[D]") + (day - 1).astype("m8[D]")
    if (days.astype("M8[M]") != first).any():
        return None
    seconds = days.astype("M8[s]").astype(np.int64)
    for part, size in (("hour", 3600), ("minute", 60), ("second", 1)):
        if part in parts:
            if parts[part].max() >= _LIMITS[part]:
                return None
            seconds = seconds + parts[part] * size
    return np.asarray(seconds)
