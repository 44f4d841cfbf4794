"""Hierarchies built from values: every builder gives a valid tree over exactly the values."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mottle import DataError, Hierarchy, UsageError
from mottle.hierarchy import (
    builders,
    from_cooccurrence,
    from_dates,
    from_frequency,
    from_intervals,
    from_mapping,
    from_prefixes,
    from_quantiles,
    from_standard,
)
from mottle.hierarchy.validation import lint

numbers = st.lists(st.integers(-500, 500), min_size=1, max_size=40)
codes = st.lists(st.text("ABC012", min_size=1, max_size=6), min_size=1, max_size=30)


def valid(hierarchy: Hierarchy, values: list[object]) -> None:
    """The tree has the values as leaves, and lint finds nothing wrong."""
    texts = {str(value) for value in values}
    assert set(hierarchy.leaves) == texts
    assert lint(hierarchy.rows(), values=texts) == []
    assert Hierarchy.from_rows(hierarchy.rows()) == hierarchy


@given(numbers)
def test_intervals_hold_their_numbers(values: list[int]):
    hierarchy = from_intervals(values, widths=[5, 20, 100])
    valid(hierarchy, list(values))
    assert list(hierarchy.leaves) == [str(value) for value in sorted(set(values))]
    for leaf, *labels, _ in hierarchy.rows():
        for label, width in zip(labels, (5, 20, 100), strict=True):
            low, high = map(int, label.split(" to " if " to " in label else "-"))
            assert low <= int(leaf) <= high == low + width - 1
    valid(from_intervals(values, breaks=[-10, 0, 65]), list(values))


@given(numbers, st.integers(2, 9))
def test_quantiles_divide_the_rows(values: list[int], groups: int):
    hierarchy = from_quantiles(values, groups=groups)
    valid(hierarchy, list(values))
    lowest = {row[1] for row in hierarchy.rows()} - {"*"}
    assert len(lowest) <= groups


def test_quantiles_of_distinct_numbers_are_equally_large():
    rows = from_quantiles(range(100), groups=4).rows()
    assert [row[1] for row in rows].count("0-24") == 25
    assert {row[2] for row in rows} == {"0-49", "50-99"}


@given(st.lists(st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)), min_size=1, max_size=30))
def test_dates_are_below_the_units_they_are_in(values: list[dt.date]):
    hierarchy = from_dates(values)
    valid(hierarchy, list(values))
    for day, month, _, year, decade, _ in hierarchy.rows():
        assert day.startswith(month)
        assert month.startswith(year)
        assert decade == f"{year[:3]}0s"


@given(codes, st.sets(st.integers(1, 5), min_size=1))
def test_prefixes_stand_for_the_codes_that_begin_so(values: list[str], lengths: set[int]):
    hierarchy = from_prefixes(values, lengths=sorted(lengths, reverse=True))
    valid(hierarchy, list(values))
    for label in hierarchy.labels[len(hierarchy.leaves) : -1]:
        prefix = label.rstrip("*")
        begun = {value for value in values if value.startswith(prefix)}
        assert set(hierarchy.leaves_under(label)) == begun


@given(codes, st.integers(2, 5))
def test_rare_values_are_pooled(values: list[str], least: int):
    hierarchy = from_frequency(values, least=least)
    valid(hierarchy, list(values))
    rare = {value for value in values if values.count(value) < least}
    if rare:
        assert set(hierarchy.leaves_under("other values")) == rare


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("xyz")), min_size=1))
def test_similar_values_make_a_tree_whatever_the_rows(rows: list[tuple[str, str]]):
    values, others = ([row[place] for row in rows] for place in (0, 1))
    valid(from_cooccurrence(values, {"other": others}), list(values))


def test_values_with_equal_profiles_are_grouped():
    random = np.random.default_rng(1)
    values = [f"v{number % 12}" for number in range(2400)]
    beside = [f"g{number % 12 % 4}" for number in range(2400)]
    noise = random.normal(size=2400).tolist()
    hierarchy = from_cooccurrence(values, {"beside": beside, "noise": noise}, groups=[4])
    for group in range(4):
        members = [f"v{group}", f"v{group + 4}", f"v{group + 8}"]
        label = hierarchy.lowest_common_ancestor(members)
        assert sorted(hierarchy.leaves_under(label)) == sorted(members)


def test_missing_values_are_left_out():
    assert from_intervals([None, 3, float("nan")], widths=[5]).leaves == ("3",)
    assert from_mapping(["a", None, "b"], ["x", "y", None]).rows() == [
        ("a", "x", "*"),
        ("b", "b", "*"),
    ]


def test_standards_shorten_codes_by_their_rule():
    assert from_standard(["A00.1", "A01.0"], "icd").rows()[0] == ("A00.1", "A00**", "A****", "*")
    assert from_standard(["2211", "2212"], "isco").rows()[0] == (
        "2211",
        "221*",
        "22**",
        "2***",
        "*",
    )
    assert from_standard([34], "ages").rows() == [("34", "30-34", "30-39", "20-39", "0-39", "*")]
    assert all(from_standard(["1234", "5678"], name).leaves for name in builders.STANDARDS)


@pytest.mark.parametrize(
    "build",
    [
        lambda: from_intervals([1]),
        lambda: from_intervals([1], widths=[5, 7]),
        lambda: from_intervals([1], widths=[0]),
        lambda: from_intervals([1], breaks=[3, 3]),
        lambda: from_quantiles([1], groups=1),
        lambda: from_dates(["2024-01-01"], units=["year", "month"]),
        lambda: from_dates(["2024-01-01"], units=["fortnight"]),
        lambda: from_prefixes(["a"], lengths=[2, 3]),
        lambda: from_frequency(["a"], least=1),
        lambda: from_frequency(["other values"], least=3),
        lambda: from_cooccurrence(["a"], {}),
        lambda: from_cooccurrence(["a"], {"b": [1, 2]}),
        lambda: from_cooccurrence(["a"], {"b": [1]}, groups=[1]),
        lambda: from_mapping(["a"]),
        lambda: from_mapping(["a"], ["x", "y"]),
        lambda: from_standard(["a"], "soundex"),
    ],
)
def test_wrong_parameters_are_refused(build):
    with pytest.raises(UsageError):
        build()


@pytest.mark.parametrize(
    "build",
    [
        lambda: from_intervals(["CANARY"], widths=[5]),
        lambda: from_quantiles(["CANARY"]),
        lambda: from_dates(["CANARY"]),
        lambda: from_mapping(["CANARY", "CANARY"], ["x", "y"]),
        lambda: from_prefixes([None], lengths=[1]),
        lambda: from_frequency(["*"], least=2),
    ],
)
def test_values_that_do_not_fit_are_refused_without_naming_them(build):
    with pytest.raises(DataError) as refused:
        build()
    assert "CANARY" not in str(refused.value)
