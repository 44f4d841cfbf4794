"""Facts about columns: shapes of values, medians, variants of spelling."""

from __future__ import annotations

import pyarrow as pa
import pytest

from mottle.inspection.profile import Profile, spelling_variants


def profile(values: list[object], name: str = "x") -> Profile:
    found = Profile.of(name, pa.chunked_array([pa.array(values)]))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("values", "shape"),
    [
        (["a@b.de", "c.d@e.org", None], "e-mail addresses"),
        (["https://a.b/c", "www.x.org"], "web addresses (URLs)"),
        (["10.0.0.1", "192.168.1.77"], "IP addresses"),
        (["123-45-6789", "987-65-4321"], "social security numbers"),
        (["+49 170 1234567", "0049 30 123456"], "telephone numbers"),
        (["DE89370400440532013000", "FR1420041010050500013M02606"], "account numbers"),
        (["550e8400-e29b-41d4-a716-446655440000"], "other unique identifying numbers"),
        (["cook", "nurse"], ""),
        (["2020-01-01", "2021-02-02"], ""),
        (["1.25", "2.5"], ""),
    ],
)
def test_values_are_recognized_by_their_shape(values: list[object], shape: str) -> None:
    held = profile(values).held
    assert ("" if held is None else held.title) == shape


def test_counts_are_those_of_the_column() -> None:
    found = profile([3, 3, None, 7, 9, None])
    assert (found.rows, found.filled, found.distinct, found.nulls) == (6, 4, 3, 2)
    assert (found.singles, found.middle) == (2, 3.0)


def test_columns_without_values_and_lists_are_no_trouble() -> None:
    empty = Profile.of("x", pa.chunked_array([pa.nulls(3)]))
    assert empty is not None
    assert (empty.distinct, empty.nulls, empty.size) == (0, 3, 1)
    assert Profile.of("x", pa.chunked_array([pa.array([[1], [2]])])) is None


def test_values_that_differ_in_capitals_or_spaces_are_put_together() -> None:
    assert list(spelling_variants(profile(["m", "M", "w", "W ", "d", "d"]))) == [
        ("M", "m"),
        ("W ", "w"),
    ]
    assert list(spelling_variants(profile([1, 2]))) == []
