"""Cells of other tools: every spelling of an interval or set means what its tool means."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mottle.io.external.cells import ANYTHING, NOTHING, intervals, sets

AGES = pa.array([18, 34, 71])


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("[20, 40[", 20, 39),  # ARX
        ("[20, 40]", 20, 40),
        ("]20, 40]", 21, 40),
        ("(20,40]", 21, 40),  # R's cut, sdcMicro
        ("[20,40)", 20, 39),
        ("(-Inf,20]", 18, 20),
        ("[65, Inf)", 65, 71),
        ("(1e+03,2e+03]", 1001, 2000),
        ("20-40", 20, 40),  # Amnesia, anonypy
        ("[20-40]", 20, 40),
        ("20 - 40", 20, 40),
        ("20..40", 20, 40),
        ("-5-3", -5, 3),
        ("-5--3", -5, -3),
        ("(19.5,40.5]", 20, 40),
        ("<20", 18, 19),
        ("<=20", 18, 20),
        (">=65", 65, 71),
        (">65", 66, 71),
        ("65+", 65, 71),
        ("34", 34, 34),
        ("34.0", 34, 34),
    ],
)
def test_intervals_of_whole_numbers(text, low, high):
    assert intervals([text], AGES) == ([{"lo": low, "hi": high, "missing": False}], 0)


@given(st.integers(-50, 50), st.integers(0, 60), st.booleans(), st.booleans())
def test_brackets_hold_exactly_the_numbers_they_say(low, width, low_open, high_open):
    high = low + width
    text = f"{'(' if low_open else '['}{low}, {high}{')' if high_open else ']'}"
    ((cell,), strange) = intervals([text], AGES)
    assert strange == 0
    inside = [n for n in range(-60, 120) if cell["lo"] <= n <= cell["hi"]]
    assert inside == [
        n
        for n in range(low, high + 1)
        if not (low_open and n == low) and not (high_open and n == high)
    ]


def test_open_bounds_of_floats_decimals_and_dates_leave_the_bound_out():
    ((cell,), _) = intervals(["(0.5, 0.7]"], pa.array([0.1, 0.9]))
    assert 0.5 < cell["lo"] < 0.5 + 1e-12
    assert cell["hi"] == 0.7
    cents = pa.array([Decimal("1.00"), Decimal("9.00")])
    ((cell,), _) = intervals(["[1.5, 2["], cents)
    assert (cell["lo"], cell["hi"]) == (Decimal("1.50"), Decimal("1.99"))
    days = pa.array([dt.date(2019, 1, 1)])
    cells, strange = intervals(["[2020-01-01, 2021-01-01[", "2020-05-01-2020-06-01"], days)
    assert strange == 0
    assert (cells[0]["lo"], cells[0]["hi"]) == (dt.date(2020, 1, 1), dt.date(2020, 12, 31))
    assert (cells[1]["lo"], cells[1]["hi"]) == (dt.date(2020, 5, 1), dt.date(2020, 6, 1))


def test_bounds_beyond_the_type_are_its_limits():
    ((cell,), _) = intervals(["[-999, 999]"], pa.array([1, 2], pa.int8()))
    assert (cell["lo"], cell["hi"]) == (-128, 127)


def test_words_for_anything_and_for_missing():
    cells, _ = intervals([ANYTHING, NOTHING], AGES)
    assert cells == [
        {"lo": 18, "hi": 71, "missing": True},
        {"lo": None, "hi": None, "missing": True},
    ]


@pytest.mark.parametrize("text", ["adult", "20-", "[20, 40", "20-40-60", "2020-01-01", "Europe"])
def test_what_is_no_interval_is_counted(text):
    assert intervals([text, "20-40"], AGES)[1] == 1


VALUES = pa.array(["Divorced", "Never-married", "Widowed", "Tech, support"])


@pytest.mark.parametrize(
    ("text", "members"),
    [
        ("Widowed", ["Widowed"]),
        ("Divorced,Widowed", ["Divorced", "Widowed"]),  # anonypy
        ("{Divorced, Widowed}", ["Divorced", "Widowed"]),  # ARX
        ("Divorced;Widowed", ["Divorced", "Widowed"]),
        ("Divorced|Widowed", ["Divorced", "Widowed"]),
        ("Tech, support", ["Tech, support"]),
        ("Divorced, Tech, support,Widowed", ["Divorced", "Tech, support", "Widowed"]),
        ("Widowed,Widowed", ["Widowed"]),
    ],
)
def test_sets_with_any_separator_even_inside_values(text, members):
    assert sets([text], VALUES) == ([members], 0)


def test_sets_of_numbers_have_numbers_as_members():
    assert sets(["3,1"], pa.array([1, 2, 3])) == ([[3, 1]], 0)


def test_anything_is_every_value_and_missing():
    found, strange = sets([ANYTHING, NOTHING, "Single"], pa.array(["a", "b"]))
    assert found[:2] == [["a", "b", None], [None]]
    assert strange == 1
