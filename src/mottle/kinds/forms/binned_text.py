"""Ranges of bins as text: months and years by their names, open tails, half-open steps of floats.

==========================  =====================================  ===========================
published ends              of a column with                       text
==========================  =====================================  ===========================
20 to 29                    ``snap = 5``                           ``20..29``
20.0 to below 25.0          ``snap = 5``, floats                   ``20..<25``
85 to the upper tail        ``top = 90``                           ``85+``
the upper tail              ``top = 90``                           ``90+``
the lower tail to 20        ``bottom = 10``                        ``..20``
both tails and all between                                         ``..``
above 10.0 to below 15.0    ``snap = 5``, ``bottom = 10``, floats  ``>10..<15``
2024-03-01 to 2024-05-31    ``granularity = "month"``              ``2024-03..2024-05``
the same as one unit        ``quarter``, ``year``, ``decade``      ``2024-Q1``, ``2024``, ``2020s``
==========================  =====================================  ===========================

As in the grammar of all cells, ``{85+|}`` may be missing and an empty cell is missing.
"""

from __future__ import annotations

import re
from datetime import date

import numpy as np

from mottle.kinds._arrow import pa, pc
from mottle.kinds.coarsening import Coarsening, calendar_bins
from mottle.kinds.forms.grammar import BETWEEN, value_text

OPEN = "+"
_SHORT = {
    "week": re.compile(r"(\d{4,})-W(\d\d)"),
    "month": re.compile(r"(\d{4,})-(\d\d)"),
    "quarter": re.compile(r"(\d{4,})-Q([1-4])"),
    "year": re.compile(r"(\d{4,})"),
    "decade": re.compile(r"(\d{4,})s"),
}
_DAY = re.compile(r"-?\d{4,}-\d\d-\d\d")


def cell_texts(cells: pa.Array, rule: Coarsening) -> pa.Array:
    """Convert each cell of struct<lo, hi, missing> to one text; empty where only missing."""
    lowest, highest, missing = cells.flatten()
    if pa.types.is_null(lowest.type):
        return pa.array([""] * len(cells), pa.string())
    bottom, top = rule.tail_values(lowest.type, "")
    low = low_texts(lowest, rule, bottom)
    high = high_texts(highest, rule, bottom, top)
    single = pc.equal(low, high)
    ranges = pc.if_else(single, low, pc.binary_join_element_wise(low, high, BETWEEN))
    nothing = pa.scalar(False)
    below = nothing if bottom is None else pc.fill_null(pc.equal(lowest, bottom), False)
    above = nothing if top is None else pc.fill_null(pc.equal(highest, top), False)
    ranges = pc.if_else(above, pc.binary_join_element_wise(low, OPEN, ""), ranges)
    ranges = pc.if_else(below, pc.binary_join_element_wise(BETWEEN, high, ""), ranges)
    ranges = pc.if_else(pc.and_(below, above), BETWEEN, ranges)
    ranges = pc.if_else(pc.is_valid(lowest), ranges, "")
    or_missing = pc.and_(missing, pc.is_valid(lowest))
    return pc.if_else(or_missing, pc.binary_join_element_wise("{", ranges, "|}", ""), ranges)


def parse(texts: list[str], value_type: pa.DataType, rule: Coarsening) -> list[pa.Array]:
    """Read the parts of cells from text: lowest, highest, missing. Raises ValueError otherwise."""
    missing = [text == "" or (text.startswith("{") and text.endswith("|}")) for text in texts]
    inside = [text[1:-2] if text.startswith("{") else text for text in texts]
    if pa.types.is_null(value_type):
        return [pa.nulls(len(texts)), pa.nulls(len(texts)), pa.array(missing, pa.bool_())]
    bottom, top = rule.tail_values(value_type, "")
    lowest: list[object] = []
    highest: list[object] = []
    for text in inside:
        low, between, high = text.partition(BETWEEN)
        if text == BETWEEN:
            ends = (_of(bottom), _of(top))
        elif text.endswith(OPEN) and not between:
            ends = (_end(text[:-1], value_type, rule, 0), _of(top))
        elif between and not low:
            ends = (_of(bottom), _end(high, value_type, rule, 1))
        elif text:
            ends = (
                _end(low, value_type, rule, 0),
                _end(high if between else low, value_type, rule, 1),
            )
        else:
            ends = (None, None)
        lowest.append(ends[0])
        highest.append(ends[1])
    return [pa.array(lowest, value_type), pa.array(highest, value_type), pa.array(missing)]


def _of(tail: pa.Scalar | None) -> object:
    if tail is None:
        raise ValueError("an open end in a column without a tail")
    return tail.as_py()


# ------------------------------------------------------------------------------------- single ends


def _has_steps(value_type: pa.DataType, rule: Coarsening) -> bool:
    """Whether bins end below a float, and not at it."""
    return pa.types.is_floating(value_type) and (rule.snap is not None or rule.breaks is not None)


def low_texts(ends: pa.Array, rule: Coarsening, bottom: pa.Scalar | None) -> pa.Array:
    """Lower ends of ranges as text."""
    if pa.types.is_date(ends.type):
        return _day_texts(ends, rule, 0)
    texts = value_text(ends)
    if not _has_steps(ends.type, rule) or bottom is None:
        return texts
    after = pc.equal(ends, _neighbour(pa.array([bottom]), 1)[0])
    return pc.if_else(pc.fill_null(after, False), f">{value_text(pa.array([bottom]))[0]}", texts)


def high_texts(
    ends: pa.Array, rule: Coarsening, bottom: pa.Scalar | None, top: pa.Scalar | None
) -> pa.Array:
    """Upper ends of ranges as text."""
    if pa.types.is_date(ends.type):
        return _day_texts(ends, rule, 1)
    texts = value_text(ends)
    if not _has_steps(ends.type, rule):
        return texts
    below = pc.binary_join_element_wise("<", value_text(_neighbour(ends, 1)), "")
    plain = pa.scalar(False)
    for tail in (top, None if rule.breaks is not None else bottom):
        if tail is not None:
            plain = pc.or_(plain, pc.fill_null(pc.equal(ends, tail), False))
    return pc.if_else(plain, texts, below)


def _neighbour(ends: pa.Array, direction: int) -> pa.Array:
    """The next float above (1) or below (-1)."""
    own = ends.type.to_pandas_dtype()
    floats = ends.to_numpy(zero_copy_only=False).astype(own)
    moved = np.nextafter(floats, own(direction * np.inf)) + own(0.0)
    return pa.array(moved, ends.type, mask=np.asarray(ends.is_null()))


def _day_texts(ends: pa.Array, rule: Coarsening, end: int) -> pa.Array:
    """The name of the unit where an end is that of a unit, otherwise the day."""
    texts = value_text(ends)
    if rule.granularity in (None, "day"):
        return texts
    assert rule.granularity is not None
    days = pc.fill_null(pc.cast(pc.cast(ends, pa.date32()), pa.int32()), 0).to_numpy()
    distinct, place = np.unique(days.astype(np.int64), return_inverse=True)
    whole = calendar_bins(distinct, rule.granularity)[end] == distinct
    first = calendar_bins(distinct, rule.granularity)[0]
    names = [_name(int(day), rule.granularity) for day in first]
    short = pa.array(names, pa.string()).take(pa.array(place))
    use = pa.array(whole[place] & (calendar_year(first)[place] >= 0))
    return pc.if_else(pc.and_(use, pc.is_valid(ends)), short, texts)


def calendar_year(days: np.ndarray) -> np.ndarray:
    """Return the year of every day since 1970-01-01."""
    return np.asarray(days.astype("datetime64[D]").astype("datetime64[Y]").astype(np.int64) + 1970)


def _name(first: int, unit: str) -> str:
    """The name of the unit that begins on a day."""
    if unit == "week":
        thursday = first + 3
        year = int(calendar_year(np.array([thursday]))[0])
        january = int(np.datetime64(f"{year:04}-01-01").astype(np.int64))
        return f"{year:04}-W{(thursday - january) // 7 + 1:02}"
    month = int(np.datetime64(first, "D").astype("datetime64[M]").astype(np.int64)) + 1970 * 12
    year, months = divmod(month, 12)
    return {
        "month": f"{year:04}-{months + 1:02}",
        "quarter": f"{year:04}-Q{months // 3 + 1}",
        "year": f"{year:04}",
        "decade": f"{year:04}s",
    }[unit]


def _end(text: str, value_type: pa.DataType, rule: Coarsening, end: int) -> object:
    """One end of a range from its text: lower (0) or upper (1)."""
    if pa.types.is_date(value_type):
        return _day(text, rule, end)
    if text[:1] in "<>" and _has_steps(value_type, rule):
        direction = -1 if text[0] == "<" else 1
        edge = pc.cast(pa.array([text[1:]], pa.string()), value_type)
        return _neighbour(edge, direction)[0].as_py()
    return pc.cast(pa.array([text], pa.string()), value_type)[0].as_py()


def _day(text: str, rule: Coarsening, end: int) -> date:
    unit = rule.granularity or "day"
    if _DAY.fullmatch(text) or unit == "day":
        return date.fromisoformat(text)
    match = _SHORT[unit].fullmatch(text)
    if match is None:
        raise ValueError("not a day and not a unit of the calendar")
    if unit == "week":
        day = date.fromisocalendar(int(match[1]), int(match[2]), 1)
    else:
        part = int(match[2]) if match.lastindex == 2 else 1
        month = 3 * part - 2 if unit == "quarter" else part
        day = date(int(match[1]), month, 1)
    days = calendar_bins(np.array([(day - date(1970, 1, 1)).days]), unit)[end]
    found: date = days.astype("datetime64[D]")[0].astype(date)
    return found
