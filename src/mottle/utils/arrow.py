"""Helpers for Arrow values: plain types, text, days, and the order of categories."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Hashable, Iterable, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import DataError

__all__ = [
    "as_days",
    "as_text",
    "by_distinct",
    "check_numbers",
    "dictionary_order",
    "is_plain",
    "merged_order",
    "numbered",
    "zoned_text",
]

LARGEST_FLOAT = 1e150  # of a published number: its square is finite


def is_plain(data_type: pa.DataType) -> bool:
    """Tell whether values of a type, or the categories of a dictionary, can be written as text.

    Parameters
    ----------
    data_type : pyarrow.DataType
        The type.

    Returns
    -------
    bool
        False for lists, structs, half floats and extension types, among others.

    Examples
    --------
    >>> is_plain(pa.date32()), is_plain(pa.list_(pa.int8()))
    (True, False)
    """
    if pa.types.is_dictionary(data_type):
        return is_plain(data_type.value_type)
    return any(is_such(data_type) for is_such in _PLAIN_TYPES)


_PLAIN_TYPES = (
    pa.types.is_null,
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_float32,
    pa.types.is_float64,
    pa.types.is_decimal128,
    pa.types.is_decimal256,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_binary,
    pa.types.is_date,
    pa.types.is_time,
    pa.types.is_timestamp,
    pa.types.is_duration,
)


def as_text(values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Convert values of a plain type to text.

    Parameters
    ----------
    values : pyarrow.ChunkedArray
        The values; bytes have to be UTF-8.
    name : str
        The column, for the message.

    Returns
    -------
    pyarrow.ChunkedArray
        The values as strings.

    Raises
    ------
    DataError
        The column holds bytes that are not UTF-8.
    """
    if pa.types.is_timestamp(values.type) and values.type.tz is not None:
        return zoned_text(values, pa.string())
    try:
        return pc.cast(values, pa.string())
    except pa.ArrowInvalid:
        raise DataError(
            f"Column '{name}' holds bytes that are not UTF-8 text.",
            f"Turn them into text, or leave the column out: --id {name}.",
        ) from None


def by_distinct(function: Callable[[pa.Array], pa.Array], values: pa.Array) -> pa.Array:
    """Apply a function of single values to the distinct ones, if these are much fewer.

    Parameters
    ----------
    function : callable
        Takes an array and returns one of the same length, each value by itself; a missing value
        stays missing.
    values : pyarrow.Array
        Texts, or other values that can be hashed.

    Returns
    -------
    pyarrow.Array
        What the function returns for the values.

    Examples
    --------
    >>> by_distinct(pc.utf8_upper, pa.array(["a", "b", "a", None, "a", "a"])).to_pylist()
    ['A', 'B', 'A', None, 'A', 'A']
    """
    encoded = values.dictionary_encode()
    if 2 * len(encoded.dictionary) > len(values):
        return function(values)
    return function(encoded.dictionary).take(encoded.indices)


def zoned_text(values: pa.Array, text_type: pa.DataType) -> pa.Array:
    """Write points in time in their own zone, or in UTC where its offset is not of whole minutes.

    Before the zones of today clocks followed the sun (Amsterdam: +00:19:32). Such an offset cannot
    be written in ISO 8601, and without its seconds another point in time would be read back.

    Parameters
    ----------
    values : pyarrow.Array
        Timestamps with a time zone.
    text_type : pyarrow.DataType
        The type of the texts.

    Returns
    -------
    pyarrow.Array
        The texts.

    Examples
    --------
    >>> times = pa.array([dt.datetime(1936, 5, 1), dt.datetime(2024, 5, 1)])
    >>> zoned_text(times.cast(pa.timestamp("s", "Europe/Amsterdam")), pa.string()).to_pylist()
    ['1936-05-01 00:00:00Z', '2024-05-01 02:00:00+0200']
    """
    unit = values.type.unit
    utc = pc.cast(values, pa.timestamp(unit, "UTC"))
    minute = {"s": 60, "ms": 60_000, "us": 60 * 10**6, "ns": 60 * 10**9}[unit]
    local, universal = (
        pc.cast(moments, pa.int64()) for moments in (pc.local_timestamp(values), values)
    )
    offset = pc.subtract(local, universal)
    whole = pc.equal(pc.multiply(pc.divide(offset, minute), minute), offset)
    return pc.if_else(whole, pc.cast(values, text_type), pc.cast(utc, text_type))


def numbered(table: pa.Table) -> pa.Table:
    """Name columns by their place, for functions that read a name such as ``.a`` as a path.

    Arrow's `group_by`, `sort_by` and `sort_indices` do, and `aggregate` adds names of its own.

    Parameters
    ----------
    table : pyarrow.Table
        Any table.

    Returns
    -------
    pyarrow.Table
        The same columns, named ``0``, ``1``, and so on.

    Examples
    --------
    >>> numbered(pa.table({".a": [2, 1], "b": [3, 4]})).sort_by("0").to_pydict()
    {'0': [1, 2], '1': [4, 3]}
    """
    return table.rename_columns([str(place) for place in range(table.num_columns)])


def as_days(values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Convert dates and timestamps to days of the calendar (years 1 to 9999).

    Parameters
    ----------
    values : pyarrow.ChunkedArray
        Dates or timestamps; a timestamp becomes the day in its own time zone.
    name : str
        The column, for the message.

    Returns
    -------
    pyarrow.ChunkedArray
        The days, as date32.

    Raises
    ------
    DataError
        The column has dates outside these years.
    """
    if pa.types.is_date64(values.type):  # milliseconds, which need not be those of midnight
        values = pc.cast(pc.cast(values, pa.int64()), pa.timestamp("ms"))
    days = pc.cast(values, pa.date32(), safe=False)
    if values.null_count == len(values):
        return days
    is_day = pa.types.is_date32(values.type)
    per_day = 1 if is_day else _TICKS_PER_DAY[values.type.unit]
    ticks = pc.min_max(pc.cast(values, pa.int32() if is_day else pa.int64())).as_py()
    local = pc.min_max(pc.cast(days, pa.int32())).as_py()
    if (  # the cast to days overflows for distant values; a time zone shifts a day by one at most
        ticks["min"] // per_day < _FIRST_DAY - 1
        or ticks["max"] // per_day > _LAST_DAY + 1
        or local["min"] < _FIRST_DAY
        or local["max"] > _LAST_DAY
    ):
        raise DataError(
            f"Column '{name}' has dates outside the years 1 to 9999.",
            "Replace them by missing values or by a bound.",
        )
    return days


def check_numbers(values: pa.ChunkedArray, name: str) -> None:
    """Refuse numbers that no report and no query could compute with.

    Parameters
    ----------
    values : pyarrow.ChunkedArray
        A column of any type.
    name : str
        The column, for the message.

    Raises
    ------
    DataError
        It holds decimals of more than 38 digits, or floats beyond ±1e150.
    """
    if pa.types.is_decimal256(values.type):
        raise DataError(
            f"Column '{name}' holds {values.type} values: decimals of more than 38 digits cannot"
            " be published.",
            "Round them to fewer digits, or turn them into text.",
        )
    if not pa.types.is_floating(values.type):
        return
    huge = pc.and_(pc.is_finite(values), pc.greater(pc.abs(values), LARGEST_FLOAT))
    if pc.any(huge).as_py():
        raise DataError(
            f"Column '{name}' has numbers beyond ±{LARGEST_FLOAT:g}, with which nobody can compute:"
            " their squares are infinite.",
            "Replace them by missing values or by a bound, or turn them into text.",
        )


_TICKS_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400 * 10**6, "ns": 86_400 * 10**9}
_FIRST_DAY, _LAST_DAY = ((day - dt.date(1970, 1, 1)).days for day in (dt.date.min, dt.date.max))


def merged_order(orders: Iterable[Sequence[Hashable]], name: str) -> list[Hashable]:
    """Merge several orders into the one order that keeps all of them.

    Parameters
    ----------
    orders : iterable of sequence
        Categories from lowest to highest, each sequence with some of them.
    name : str
        The column, for the message.

    Returns
    -------
    list
        All categories from lowest to highest.

    Raises
    ------
    DataError
        The orders contradict each other, or leave open which of two categories is lower.

    Examples
    --------
    >>> merged_order([["mid", "high"], ["low", "mid"]], "level")
    ['low', 'mid', 'high']
    """
    below: TopologicalSorter[Hashable] = TopologicalSorter()
    for order in orders:
        for value in order:
            below.add(value)
        for lower, higher in pairwise(order):
            below.add(higher, lower)
    merged: list[Hashable] = []
    try:
        below.prepare()
        while below.is_active():
            (lowest,) = below.get_ready()  # two values here would have no order between them
            below.done(lowest)
            merged.append(lowest)
    except (CycleError, ValueError):
        raise DataError(
            f"The parts of column '{name}' have orders of categories that do not fit together.",
            "Give all parts the same categories in the same order.",
        ) from None
    return merged


def dictionary_order(values: pa.ChunkedArray, name: str) -> pa.Array:
    """Return the categories of an ordered dictionary column, merged over its chunks.

    Parameters
    ----------
    values : pyarrow.ChunkedArray
        A column of an ordered dictionary type.
    name : str
        The column, for the message.

    Returns
    -------
    pyarrow.Array
        The categories from lowest to highest.

    Raises
    ------
    DataError
        The chunks have contradicting orders.
    """
    orders = {tuple(chunk.dictionary.drop_null().to_pylist()): None for chunk in values.chunks}
    return pa.array(merged_order(orders, name), values.type.value_type)
