"""Parsing cells that other tools wrote: intervals in many spellings, sets with many separators."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["ANYTHING", "NOTHING", "Bounds", "Cell", "Word", "intervals", "sets"]


class Word(Enum):
    """Cells that hold no value."""

    ANYTHING = "any value, a missing one too"
    NOTHING = "a missing value"


ANYTHING, NOTHING = Word.ANYTHING, Word.NOTHING
Cell = str | Word
Bounds = dict[str, Any]  # lo, hi, missing
Bound = Decimal | dt.date | None  # None: no bound

_DATE = r"\d{4}-\d{2}-\d{2}"
_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_VALUE = rf"({_DATE}|{_NUMBER}|[-+]?(?:Inf(?:inity)?|∞))"
_BRACKETS = re.compile(rf"([\[(\]])\s*{_VALUE}\s*(?:[,;:]|-|\.\.)\s*{_VALUE}\s*([\])\[])")
_BETWEEN = re.compile(rf"{_VALUE}\s*(?:-|–|\.\.|to)\s*{_VALUE}")
_ONE_SIDED = re.compile(rf"(<=|>=|<|>|≤|≥)\s*{_VALUE}")
_AND_MORE = re.compile(rf"{_VALUE}\s*\+")
_SINGLE = re.compile(_VALUE)
_SEPARATORS = (",", ";", "|")


def intervals(cells: Sequence[Cell], known: pa.Array) -> tuple[list[Bounds], int]:
    """Parse cells as ranges.

    Bounds of the result are inclusive: an open one moves to the next number of the column's type.

    Parameters
    ----------
    cells : sequence of Cell
        The cells as text.
    known : pyarrow.Array
        The values of the original, ascending; a cell without a bound gets theirs.

    Returns
    -------
    bounds : list of Bounds
        The typed ranges.
    invalid : int
        How many cells are not intervals; these have no range.

    Examples
    --------
    >>> intervals(["[20, 40[", "34", ANYTHING], pa.array([18, 34, 71]))
    ([{'lo': 20, 'hi': 39, 'missing': False}, {'lo': 34, 'hi': 34, 'missing': False},
      {'lo': 18, 'hi': 71, 'missing': True}], 0)
    """
    lowest, highest = (known[0].as_py(), known[-1].as_py()) if len(known) else (None, None)
    bounds: list[Bounds] = []
    invalid = 0
    for cell in cells:
        if isinstance(cell, Word):
            ends = (lowest, highest) if cell is ANYTHING else (None, None)
            bounds.append({"lo": ends[0], "hi": ends[1], "missing": True})
            continue
        parts = _parts(cell)
        try:
            if parts is None:
                raise ValueError("not an interval")
            low, high, low_open, high_open = parts
            bounds.append(
                {
                    "lo": lowest if low is None else _inclusive(low, low_open, 1, known.type),
                    "hi": highest if high is None else _inclusive(high, high_open, -1, known.type),
                    "missing": False,
                }
            )
        except (ValueError, ArithmeticError):
            invalid += 1
    return bounds, invalid


def _parts(cell: str) -> tuple[Bound, Bound, bool, bool] | None:
    """Lower and upper bound, and whether each is open."""
    if match := _BRACKETS.fullmatch(cell):
        left, low, high, right = match.groups()
        return _bound(low), _bound(high), left in "(]", right in ")["
    if match := _BETWEEN.fullmatch(cell):
        return _bound(match[1]), _bound(match[2]), False, False
    if match := _ONE_SIDED.fullmatch(cell):
        sign, value = match.groups()
        if sign in ("<", "<=", "≤"):
            return None, _bound(value), False, sign == "<"
        return _bound(value), None, sign == ">", False
    if match := _AND_MORE.fullmatch(cell):
        return _bound(match[1]), None, False, False
    if match := _SINGLE.fullmatch(cell):
        return _bound(match[1]), _bound(match[1]), False, False
    return None


def _bound(text: str) -> Bound:
    if "Inf" in text or "∞" in text:
        return None
    if re.fullmatch(_DATE, text):
        return dt.date.fromisoformat(text)
    return Decimal(text)


def _inclusive(bound: Decimal | dt.date, is_open: bool, inward: int, kind: pa.DataType) -> Any:
    """The bound as a value of the column's type that still lies inside."""
    if pa.types.is_date(kind) != isinstance(bound, dt.date):
        raise ValueError("a number where a date belongs, or the other way round")
    if isinstance(bound, dt.date):
        return bound + dt.timedelta(inward) if is_open else bound
    if pa.types.is_floating(kind):
        value = float(bound)
        return math.nextafter(value, math.inf * inward) if is_open else value
    step = Decimal(1).scaleb(-kind.scale) if pa.types.is_decimal(kind) else Decimal(1)
    rounded = (bound / step).to_integral_value(ROUND_CEILING if inward > 0 else ROUND_FLOOR)
    if is_open and rounded * step == bound:
        rounded += inward
    if pa.types.is_decimal(kind):
        return rounded * step
    limits = np.iinfo(kind.to_pandas_dtype())
    return min(max(int(rounded), int(limits.min)), int(limits.max))


def sets(cells: Sequence[Cell], known: pa.Array) -> tuple[list[list[Any]], int]:
    """Parse cells as sets of values.

    Values may contain the separator themselves: a cell is split such that all parts are values of
    the original.

    Parameters
    ----------
    cells : sequence of Cell
        The cells as text.
    known : pyarrow.Array
        The values of the original.

    Returns
    -------
    members : list of list
        The values of each cell.
    invalid : int
        How many cells are neither a value nor a set of values.

    Examples
    --------
    >>> sets(["a,b", "{a, x, y}", ANYTHING], pa.array(["a", "b", "x, y"]))
    ([['a', 'b'], ['a', 'x, y'], ['a', 'b', 'x, y', None]], 0)
    """
    values = known.to_pylist()
    by_text = dict(zip(pc.cast(known, pa.string()).to_pylist(), values, strict=True))
    members: list[list[Any]] = []
    invalid = 0
    for cell in cells:
        if isinstance(cell, Word):
            members.append([*values, None] if cell is ANYTHING else [None])
            continue
        found = _members(cell, by_text)
        invalid += found is None
        members.append(found or [])
    return members, invalid


def _members(cell: str, by_text: dict[str, Any]) -> list[Any] | None:
    """The values a cell lists, or None."""
    if cell in by_text:
        return [by_text[cell]]
    inside = cell[1:-1] if cell[:1] == "{" and cell[-1:] == "}" else cell
    for separator in _SEPARATORS:
        found = _joined(inside.split(separator), separator, by_text)
        if found is not None:
            return list(dict.fromkeys(found))
    return None


def _joined(parts: list[str], separator: str, by_text: dict[str, Any]) -> list[Any] | None:
    """Values whose texts, joined by the separator, are ``parts``; long ones are tried first."""
    reached: list[list[Any] | None] = [[], *[None] * len(parts)]
    for end in range(1, len(parts) + 1):
        for begin in range(end):
            before = reached[begin]
            text = separator.join(parts[begin:end]).strip()
            if before is not None and text in by_text:
                reached[end] = [*before, by_text[text]]
                break
    return reached[-1]
