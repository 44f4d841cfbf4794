"""Spellings of a person that are one, those that are not, and cells that name nobody."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from mottle import DataError, UsageError
from mottle.utils.person_names import one_name, person_names


def names(cells: object, kind: pa.DataType | None = None) -> list[str | None]:
    return person_names(pa.chunked_array([pa.array(cells, kind)]), "who", "--same").to_pylist()


@pytest.mark.parametrize(
    "spellings",
    [
        ["p1", "P1", " p1", "p1\t", "\u00a0p1", "\uff501"],
        ["42", "0042", " 42", "42.0", "42.000", "\uff14\uff12"],
        ["0", "-0", "000", "0.0", "-0.00"],
        ["stra\u00dfe", "STRASSE"],
        ["\u00e9", "e\u0301", "E\u0301"],
    ],
)
def test_variants_are_one_name(spellings: list[str]) -> None:
    assert len({one_name(text) for text in spellings}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [("1", "-1"), ("10", "1"), ("p1", "p01"), ("1.5", "15"), ("a b", "ab"), ("42", "42a")],
)
def test_other_names_stay_different(one: str, other: str) -> None:
    assert one_name(one) != one_name(other)


def test_numbers_and_their_texts_are_alike() -> None:
    expected = ["7", "0", "12345678901234567"]
    numbers = [7, 0, 12345678901234567]
    assert names(numbers) == expected
    assert names([f"{number:020}" for number in numbers]) == expected
    assert names([Decimal(number) for number in numbers]) == expected
    assert names(numbers[:2], pa.uint64()) == expected[:2]
    assert names([7.0, -0.0]) == expected[:2]
    assert names(pa.array(["7", "07"]).dictionary_encode()) == ["7", "7"]


def test_what_is_missing_has_no_name() -> None:
    assert names(["a", None, "", "  "]) == ["a", None, None, None]
    assert names([1.5, None, float("nan")]) == ["1.5", None, None]


def test_other_types_have_names() -> None:
    assert names([dt.date(2020, 1, 2)]) == ["2020-01-02"]
    assert names([b"A ", b"a"]) == ["a", "a"]
    assert names([b"\xff" * 16], pa.binary(16)) == ["ff" * 16]
    assert names([float("inf"), 1e308]) == ["inf", str(int(1e308))]


def test_bytes_that_are_not_text_are_refused() -> None:
    with pytest.raises(DataError, match=r"'who' \(--same\) holds bytes that are not text"):
        names([b"\xff\xfe"])


@pytest.mark.parametrize("cells", [[[1]], [{"a": 1}]])
def test_lists_and_structs_are_refused(cells: object) -> None:
    with pytest.raises(UsageError, match="do not name people"):
        names(cells)
