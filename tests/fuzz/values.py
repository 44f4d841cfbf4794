"""Strategies for the cells and names of tables: every Arrow type, and values that are odd in it."""

from __future__ import annotations

import datetime as dt
import decimal
from dataclasses import dataclass
from random import Random
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

MARK = "zqx"  # begins every distinctive text: it is in no message, option or name
SECRET = "zqid"  # begins every identifier: it is in no file of a release

ODD_TEXTS = [
    "", " ", "NA", "null", "NaN", "None", "*", "•", "..", ".a.", "a..b", "1..5", "{a|b}", "{}", "|",
    "\\", "\\e", "a\\", "{", "}", "a|b", "a,b", "a;b", ";", '"', '""', "'", "'=x", "''+y", "\n",
    "a\nb", "\r\n", "\t", "=1+1", "=HYPERLINK(A1)", "@SUM(A1)", "+49170", "-5", "－5", "＝x", "007",
    "1e3", "250.0", "250.00", "0", "-0", "true", "TRUE", "2024-12-31", "9999-12-31", "é", "e\u0301",
    "ß", "İ", "ı", "\u202eabc", "😀", "\u0000", "\ufeff", "\u2028", "\u00a0", "x" * 300,
    "[bold]x[/]", "[/x]", "<b>&amp;", "%s", "{0}", "$HOME", "../x", "A", "a", "b", "c",
]  # fmt: skip
ODD_NAMES = [
    "age", "sex", "Age", "a b", "=x", "@y", "'=z", "a,b", "[/x]", "a.b", "a.base", "a.distance",
    "a_min", "x" * 120, "ä", "a\nb", 'a"b', "a'b", "[x]", "{x}", "a=b", "a;b", "count", "release",
    "group", "published", "original", "weight", "select", "rows", "\u202ex", "😀", "1", "-", "NULL",
    "true", "a|b", "\\", "%s", "id", "name", "patient", "birth year", "postcode",
]  # fmt: skip

texts = st.one_of(
    st.sampled_from(ODD_TEXTS),
    st.integers(0, 10**6).map(lambda number: f"{MARK}{number:07d}"),
    st.integers(0, 30).map(lambda number: f"{MARK}-{number}"),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
)
names = st.one_of(
    st.sampled_from(ODD_NAMES),
    st.sampled_from([f"c{place}" for place in range(12)]),
    st.sampled_from(ODD_NAMES),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=5),
)
empty_names = st.sampled_from(["", " ", "\n", "\x00"])
days = st.one_of(
    st.dates(dt.date(1930, 1, 1), dt.date(2030, 1, 1)),
    st.sampled_from([dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1582, 10, 10)]),
)
# Up to 2037: Arrow does not know summer time in later years, and so finds other days than Python.
moments = st.one_of(
    st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2037, 1, 1)),
    st.sampled_from([dt.datetime(1936, 5, 1, 12), dt.datetime(2024, 3, 31, 1, 30)]),
)
reals = st.one_of(
    st.sampled_from([0.0, -0.0, float("nan"), 1.5, -2.25, 1e-300, 1e15, 0.1, 1e22]),
    st.floats(-1e6, 1e6),
    st.integers(-50, 50).map(float),
)
wild_reals = st.sampled_from([float("inf"), float("-inf"), 1e151, -1.7e308, 5e-324, 1.0])


@dataclass(frozen=True)
class Type:
    """An Arrow type, what its values are, and how often it is drawn."""

    arrow: pa.DataType
    values: st.SearchStrategy[Any]
    often: int = 1


def whole(bits: int, *, signed: bool = True) -> st.SearchStrategy[int]:
    """Integers of a width: small ones, and the ends."""
    least = -(1 << (bits - 1)) if signed else 0
    most = (1 << (bits - signed)) - 1
    near = st.integers(max(least, -20), min(most, 100))
    ends = [least, least + 1, most, most - 1, most // 2]
    large = st.integers(max(least, -(10**9)), min(most, 10**9))
    return st.one_of(near, near, st.sampled_from(ends), large)


def exact(digits: int, scale: int) -> st.SearchStrategy[decimal.Decimal]:
    """Decimals of a precision and a scale."""
    most = 10**digits - 1
    numbers = st.one_of(
        st.integers(-min(most, 500), min(most, 500)), st.sampled_from([most, -most])
    )
    wide = decimal.Context(prec=80)
    return numbers.map(lambda number: wide.scaleb(decimal.Decimal(number), -scale))


def lists(members: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.one_of(members, members, members, st.none()), max_size=4)


def zoned(unit: str) -> list[Type]:
    kinds = [None, "UTC", "Europe/Amsterdam", "+05:30", "America/New_York"]
    return [Type(pa.timestamp(unit, zone), moments) for zone in kinds]


# Types whose values can be published.
USUAL = [
    Type(pa.string(), texts, 14),
    Type(pa.large_string(), texts, 2),
    Type(pa.string_view(), texts),
    Type(pa.int64(), whole(64), 4),
    Type(pa.int64(), st.integers(0, 90), 8),
    *(Type(getattr(pa, f"int{bits}")(), whole(bits)) for bits in (8, 16, 32)),
    *(Type(getattr(pa, f"uint{bits}")(), whole(bits, signed=False)) for bits in (8, 16, 32, 64)),
    Type(pa.float64(), reals, 5),
    Type(pa.float64(), st.integers(-9, 9).map(lambda number: number / 4), 5),
    Type(pa.float32(), st.floats(width=32, min_value=-(2.0**30), max_value=2.0**30), 2),
    Type(pa.float16(), st.floats(width=16, min_value=-100, max_value=100)),
    Type(pa.bool_(), st.booleans(), 3),
    Type(pa.decimal128(10, 2), exact(10, 2), 2),
    Type(pa.decimal128(38, 0), exact(38, 0)),
    Type(pa.decimal128(38, 38), exact(38, 38)),
    Type(pa.decimal32(5, 1), exact(5, 1)),
    Type(pa.decimal64(12, 3), exact(12, 3)),
    Type(pa.date32(), days, 4),
    Type(pa.date64(), days),
    *(zoned("s") + zoned("ms") + zoned("us") + zoned("ns")),
    Type(pa.time32("s"), st.times().map(lambda time: time.replace(microsecond=0))),
    Type(pa.time64("us"), st.times()),
    Type(pa.binary(), texts.map(str.encode)),
    Type(pa.large_binary(), texts.map(str.encode)),
    Type(pa.dictionary(pa.int8(), pa.string()), texts, 4),
    Type(pa.dictionary(pa.int32(), pa.string(), ordered=True), texts, 2),
    Type(pa.dictionary(pa.int16(), pa.int64()), st.integers(0, 20)),
    Type(pa.list_(pa.string()), lists(texts), 4),
    Type(pa.list_(pa.int64()), lists(st.integers(0, 9)), 2),
    Type(pa.large_list(pa.string()), lists(texts)),
    Type(pa.null(), st.none()),
]
# Cells of CSV files, as texts: what is inferred from them is the reader's matter.
TEXTUAL = [
    Type(pa.string(), texts.filter(lambda text: "\x00" not in text), 5),
    Type(pa.string(), st.integers(-30, 90).map(str), 3),
    Type(pa.string(), whole(64).map(str)),
    Type(pa.string(), exact(9, 2).map(str), 2),
    Type(pa.string(), st.floats(-1e6, 1e6).map(repr)),
    Type(pa.string(), days.map(dt.date.isoformat), 2),
    Type(pa.string(), moments.map(dt.datetime.isoformat)),
    Type(pa.string(), st.sampled_from(["true", "false"])),
    Type(pa.string(), st.sampled_from(["+491701234524", "0049", "250.0", "250.00", "1e3", "-0"])),
    Type(pa.string(), st.sampled_from([" 1", "2 ", "3", "", "01.02.2024", "1,5", "12:30"])),
]
# Types and values that are mostly refused.
ODD = [
    Type(pa.float64(), wild_reals, 3),
    Type(pa.decimal128(5, -3), exact(5, -3)),
    Type(pa.decimal256(60, 5), exact(60, 5)),
    Type(pa.duration("s"), st.integers(-(10**6), 10**6)),
    Type(pa.month_day_nano_interval(), st.tuples(*[st.integers(-9, 9)] * 3)),
    Type(pa.binary(), st.binary(max_size=5)),
    Type(pa.binary_view(), texts.map(str.encode)),
    Type(pa.binary(3), st.binary(min_size=3, max_size=3)),
    Type(pa.list_(pa.int32(), 2), st.lists(st.integers(0, 5), min_size=2, max_size=2)),
    Type(pa.list_view(pa.string()), lists(texts)),
    Type(pa.list_(pa.list_(pa.int8())), lists(lists(st.integers(0, 3)))),
    Type(pa.struct({"x": pa.int64(), "y": pa.string()}), st.fixed_dictionaries({"x": whole(8)})),
    Type(pa.map_(pa.string(), pa.int8()), st.lists(st.tuples(texts, whole(8)), max_size=2)),
]
UNUSUAL = ("run-end", "union", "extension", "far dates")


def often(types: list[Type]) -> st.SearchStrategy[Type]:
    """A type, the frequent ones more often."""
    return st.sampled_from([kind for kind in types for _ in range(kind.often)])


@st.composite
def columns(draw: st.DrawFn, rows: int, textual: bool = False) -> pa.Array:
    """A column: few or many different values, with or without missing ones."""
    rarity = draw(st.integers(0, 49))
    if textual:
        kind = draw(often(TEXTUAL))
    elif rarity == 49:
        return draw(unusual_columns(rows))
    else:
        kind = draw(often(ODD if rarity in (47, 48) else USUAL))
    pool = draw(st.lists(kind.values, min_size=1, max_size=draw(st.sampled_from([1, 3, 6, 25]))))
    if draw(st.integers(0, 3)) == 0:
        pool = [*pool, None]
    chance = Random(draw(st.integers(0, 2**32)))
    return array(chance.choices(pool, k=rows), kind.arrow)


def array(cells: list[Any], kind: pa.DataType) -> pa.Array:
    """Build an array; dictionaries by their values."""
    if pa.types.is_dictionary(kind):
        encoded = pa.array(cells, kind.value_type).dictionary_encode()
        indices = encoded.indices.cast(kind.index_type)
        return pa.DictionaryArray.from_arrays(indices, encoded.dictionary, ordered=kind.ordered)
    return pa.array(cells, kind)


@st.composite
def unusual_columns(draw: st.DrawFn, rows: int) -> pa.Array:
    """Columns that Python values do not make."""
    match draw(st.sampled_from(UNUSUAL)):
        case "run-end":
            ends = pa.array([rows] if rows else [], pa.int32())
            return pa.RunEndEncodedArray.from_arrays(ends, pa.array(["a"] * len(ends)))
        case "union":
            kinds = pa.array([0] * rows, pa.int8())
            return pa.UnionArray.from_sparse(kinds, [pa.array(range(rows), pa.int64())])
        case "extension":
            some = draw(st.lists(st.none() | st.binary(min_size=16, max_size=16), min_size=1))
            cells = pa.array([some[row % len(some)] for row in range(rows)], pa.binary(16))
            return pa.ExtensionArray.from_storage(pa.uuid(), cells)
    days_away = draw(st.sampled_from([3_000_000, -800_000, 2**31 - 1, -(2**31)]))
    return pa.array([days_away] * rows, pa.int32()).cast(pa.date32())
