"""Numbers and dates in other notations: decimal commas, groups of digits, formats of dates."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mottle.errors import UsageError
from mottle.io.text.notation import DateFormat, check_marks, dates_in, plain_numbers
from mottle.io.text.type_inference import infer_type, possible_types, single_types
from mottle.schema.reading import ReadOptions


def column(*cells: str | None) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(cells, pa.string())])


GERMAN = ReadOptions(decimal=",", thousands=".", date_format=("dd.mm.yyyy",))


@given(st.lists(st.decimals(-(10**9), 10**9, places=2), min_size=1, max_size=20))
def test_german_numbers_are_read_as_the_numbers_they_are(numbers: list[object]) -> None:
    texts = [
        f"{number:,}".replace(",", "x").replace(".", ",").replace("x", ".") for number in numbers
    ]
    plain = plain_numbers(column(*texts), ",", ".")
    assert plain is not None
    assert [float(text) for text in plain.to_pylist()] == [float(str(n)) for n in numbers]


@pytest.mark.parametrize(
    "cells", [("1.5",), ("1.2345",), ("1,5,5",), ("a",), ("1,",), (",5",), ("12.34,5",), ("+1",)]
)
def test_cells_of_another_notation_are_refused(cells: tuple[str, ...]) -> None:
    assert plain_numbers(column(*cells), ",", ".") is None


def test_columns_get_the_types_of_their_notation() -> None:
    assert infer_type(column("1.250", "3"), GERMAN).to_pylist() == [1250, 3]
    assert infer_type(column("1,5", None), GERMAN).to_pylist() == [1.5, None]
    assert infer_type(column("31.12.2024"), GERMAN).to_pylist() == [dt.date(2024, 12, 31)]
    assert infer_type(column("2024-12-31"), GERMAN).to_pylist() == [dt.date(2024, 12, 31)]
    assert infer_type(column("01234", "98765"), GERMAN).type == pa.string()


def test_a_point_is_no_decimal_mark_where_a_comma_is() -> None:
    assert infer_type(column("1.5", "2.5"), ReadOptions(decimal=",")).type == pa.string()


@pytest.mark.parametrize(
    "cells",
    [
        ("+4915112345678", "+4915112345679"),  # became the ends of ranges
        ("+1,5", "2"),
        ("0150721", "0150722"),
        ("01.234", "1.234"),
        ("0.123", "1.234"),
        ("250,0", "250,00"),  # two codes, which became one number
        ("1,0", "2,5", "3"),
    ],
)
def test_cells_that_a_number_would_change_stay_text(cells: tuple[str, ...]) -> None:
    assert infer_type(column(*cells), GERMAN).type == pa.string()
    assert infer_type(column(*cells), ReadOptions(decimal=",")).type == pa.string()


@pytest.mark.parametrize("cells", [("1,5", "2"), ("1,50", "2.000,25"), ("1.250", "3"), ("+1", "2")])
def test_files_in_parts_get_the_same_types(cells: tuple[str, ...]) -> None:
    whole = infer_type(column(*cells), GERMAN)
    possible = possible_types(column(*cells), single_types(GERMAN))
    assert (possible[0](column(*cells)) if possible else column(*cells)) == whole


@given(st.lists(st.dates(dt.date(1, 1, 1)), min_size=1, max_size=20))
@pytest.mark.parametrize(
    ("form", "pattern"),
    [
        ("dd.mm.yyyy", "{d:02}.{m:02}.{y:04}"),
        ("%m/%d/%Y", "{m}/{d}/{y:04}"),
        ("YYYY/MM/DD", "{y:04}/{m}/{d}"),
    ],
)
def test_dates_are_read_as_the_days_they_are(form: str, pattern: str, days: list[dt.date]) -> None:
    cells = [pattern.format(d=day.day, m=day.month, y=day.year) for day in days]
    read = dates_in(column(*cells, None), DateFormat.of(form))
    assert read is not None
    assert read.to_pylist() == [*days, None]


def test_points_in_time_are_read() -> None:
    read = dates_in(column("31.12.2024 23:59"), DateFormat.of("dd.mm.yyyy hh:mm"))
    assert read is not None
    assert read.to_pylist() == [dt.datetime(2024, 12, 31, 23, 59)]
    assert dates_in(column("31.12.2024 24:00"), DateFormat.of("dd.mm.yyyy hh:mm")) is None


@pytest.mark.parametrize("cell", ["31.02.2024", "29.02.2023", "00.01.2024", "1.13.2024", "1.1.24"])
def test_days_that_do_not_exist_are_no_dates(cell: str) -> None:
    assert dates_in(column("01.01.2024", cell), DateFormat.of("dd.mm.yyyy")) is None


@pytest.mark.parametrize(
    "form", ["dd.mm.yy", "dd.mm", "yyyy", "dd.dd.yyyy", "dmy", "", "dd.mm.yyyy hh"]
)
def test_formats_without_day_month_and_year_are_refused(form: str) -> None:
    with pytest.raises(UsageError, match=r"dd\.mm\.yyyy"):
        DateFormat.of(form)


@pytest.mark.parametrize(
    ("decimal", "thousands"), [(",", ","), (None, "."), ("ab", None), ("1", None), ("-", None)]
)
def test_marks_that_cannot_be_told_apart_are_refused(
    decimal: str | None, thousands: str | None
) -> None:
    with pytest.raises(UsageError):
        check_marks(decimal, thousands)
