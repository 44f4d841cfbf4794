"""Columns that a notation may read in another way than they are meant are named."""

from __future__ import annotations

import logging
from pathlib import Path

import pyarrow as pa
import pytest

from mottle.io.batch_source import open_source
from mottle.io.read_table import read_table
from mottle.io.text.two_readings import TwoReadings
from mottle.schema.reading import ReadOptions

GERMAN = ReadOptions(decimal=",", thousands=".")


def warned(options: ReadOptions, *parts: list[str | None]) -> list[str]:
    found = TwoReadings(options)
    for part in parts:
        found.look_at("x", pa.chunked_array([pa.array(part, pa.string())]))
    return list(found.warnings())


@pytest.mark.parametrize(
    ("options", "cells", "words"),
    [
        (GERMAN, ["8.258", "9.371"], "two ways"),
        (GERMAN, ["8.258", "10"], "two ways"),
        (GERMAN, ["8.25", "9.37"], "is text"),
        (ReadOptions(decimal=","), ["8.258", "9.371"], "is text"),
        (ReadOptions(thousands=","), ["8,258", "9,371"], "two ways"),
    ],
)
def test_columns_that_may_be_meant_otherwise_are_named(
    options: ReadOptions, cells: list[str | None], words: str
) -> None:
    for parts in ([cells], [[cells[0]], [None], [cells[1]]]):
        (warning,) = warned(options, *parts)
        assert words in warning
        assert "Column 'x'" in warning
        assert "258" not in warning


@pytest.mark.parametrize(
    ("options", "cells"),
    [
        (GERMAN, ["1.234.567", "9.371"]),
        (GERMAN, ["1.250", "900"]),  # no numbers in one notation with a decimal point
        (GERMAN, ["1,5", "9,371"]),
        (GERMAN, ["a.b", "c"]),
        (GERMAN, ["12", "13"]),
        (ReadOptions(), ["8.258", "9.371"]),
        (ReadOptions(thousands=","), ["8,258", "9,371.5"]),
        (ReadOptions(thousands="'"), ["8'258", "9.5"]),
    ],
)
def test_clear_columns_are_not_named(options: ReadOptions, cells: list[str | None]) -> None:
    assert warned(options, cells) == []


def test_reading_a_file_warns(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "t.csv"
    path.write_text("size;dose\n1,5;8.258\n2,5;9.371\n", encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        read_table(path, decimal=",", thousands=".")
    whole, caplog.records[:] = caplog.messages, []
    with caplog.at_level(logging.WARNING):
        open_source(path, tmp_path / "copy.parquet", GERMAN)
    assert len(whole) == 1
    assert "'dose'" in whole[0]
    assert caplog.messages == whole
