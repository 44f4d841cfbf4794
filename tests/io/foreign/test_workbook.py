"""Workbooks: the sheet that is meant, the types that cells have, and sheets that are no tables."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import xlsxwriter

import mottle
from mottle import DataError, UsageError
from mottle.inspection import inspect
from mottle.schema.reading import ReadOptions

PEOPLE: list[list[Any]] = [["age", "zip", "born"], [31, "007", dt.date(1993, 5, 1)]]


def workbook(
    path: Path, sheets: dict[str, list[list[Any]]], edit: Callable[[Any], None] = lambda _: None
) -> Path:
    """A workbook whose sheets have these cells; None is an empty one."""
    with xlsxwriter.Workbook(path) as book:
        day = book.add_format({"num_format": "yyyy-mm-dd"})
        moment = book.add_format({"num_format": "yyyy-mm-dd hh:mm"})
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for row, cells in enumerate(rows):
                for place, cell in enumerate(cells):
                    if isinstance(cell, dt.date):
                        style = moment if isinstance(cell, dt.datetime) else day
                        sheet.write_datetime(row, place, cell, style)
                    elif isinstance(cell, str) and not cell.startswith("="):
                        sheet.write_string(row, place, cell)
                    elif cell is not None:
                        sheet.write(row, place, cell)
            edit(sheet)
    return path


def test_cells_keep_their_types(tmp_path: Path) -> None:
    header = ["number", "float", "code", "yes", "day", "moment", "mixed", "empty"]
    moment = dt.datetime(2020, 1, 2, 3, 4)
    rows = [
        header,
        [31, 0.5, "007", True, dt.date(1900, 3, 1), moment, 1, None],
        [None, 2, "12", False, dt.date(2024, 2, 29), dt.date(2020, 1, 3), "x", None],
        [None] * 8,  # a row for the look of it
        [45, None, None, None, None, None, 2.5, None],
    ]
    table = mottle.read_table(workbook(tmp_path / "a.xlsx", {"People": rows}))
    assert table.column_names == header
    assert table.column("number").to_pylist() == [31, None, 45]
    assert table.schema.field("number").type == pa.int64()
    assert table.column("float").to_pylist() == [0.5, 2.0, None]
    assert table.column("code").to_pylist() == ["007", "12", None]
    assert table.column("yes").to_pylist() == [True, False, None]
    assert table.column("day").to_pylist()[1] == dt.date(2024, 2, 29)
    assert table.column("moment").to_pylist()[:2] == [moment, dt.datetime(2020, 1, 3)]
    assert table.column("mixed").to_pylist() == ["1", "x", "2.5"]
    assert table.column("empty").null_count == 3


def test_a_formula_counts_as_the_value_it_had_and_an_error_as_missing(tmp_path: Path) -> None:
    def edit(sheet: Any) -> None:
        sheet.write_formula(1, 1, "=A2*2", None, 62)
        sheet.write_formula(2, 1, "=1/0", None, "#DIV/0!")

    path = workbook(tmp_path / "a.xlsx", {"x": [["a", "double"], [31], [4]]}, edit)
    assert mottle.read_table(path).column("double").to_pylist() == [62, None]


def test_the_sheet_has_to_be_named_if_several_have_cells(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", {"One": PEOPLE, "Empty": [], "2": [["b"], [7]]})
    with pytest.raises(UsageError, match=r"2 sheets with cells: 'One', '2'.*--sheet NAME"):
        mottle.read_table(path)
    assert mottle.read_table(path, sheet="One").column_names == ["age", "zip", "born"]
    assert mottle.read_table(path, sheet=1).column_names == ["age", "zip", "born"]
    assert mottle.read_table(path, sheet="2").column_names == ["b"]  # a name comes first
    with pytest.raises(UsageError, match="Did you mean 'One'"):
        mottle.read_table(path, sheet="Onne")
    with pytest.raises(UsageError, match="number from 1 to 3"):
        mottle.read_table(path, sheet=9)
    with pytest.raises(DataError, match="sheet 'Empty' is empty"):
        mottle.read_table(path, sheet="Empty")


def test_what_is_no_table_is_refused_with_the_place(tmp_path: Path) -> None:
    title = workbook(tmp_path / "t.xlsx", {"x": [["Patients 2024"], [], *PEOPLE]})
    with pytest.raises(DataError, match=r"row 1 has one cell.*--header-row 3"):
        mottle.read_table(title)
    assert mottle.read_table(title, header_row=3).num_rows == 1
    with pytest.raises(UsageError, match="row 2 has no cells"):
        mottle.read_table(title, header_row=2)
    blank = workbook(tmp_path / "b.xlsx", {"x": [["age", None, "zip"], [31, 7, "007"]]})
    with pytest.raises(DataError, match="column B has cells and no name in row 1"):
        mottle.read_table(blank)
    merged = workbook(
        tmp_path / "m.xlsx", {"x": PEOPLE}, lambda sheet: sheet.merge_range("A3:A5", "north")
    )
    with pytest.raises(DataError, match=r"merged cells \(A3:A5\)"):
        mottle.read_table(merged)
    with pytest.raises(DataError, match="header but no rows"):
        mottle.read_table(workbook(tmp_path / "h.xlsx", {"x": [["age", "zip"]]}))
    (tmp_path / "a.csv").write_text("age\n31\n")
    with pytest.raises(UsageError, match="--sheet is for workbooks"):
        mottle.read_table(tmp_path / "a.csv", sheet="x")


def test_inspect_finds_words_for_missing_values_among_numbers_and_remembers(tmp_path: Path) -> None:
    rows = [["age", "city"], *([20 + row % 40, "Ulm"] for row in range(60)), ["NA", "Ulm"]]
    path = workbook(tmp_path / "a.xlsx", {"People": rows, "Notes": [["x"], [1]]})
    found = inspect(path, ReadOptions(sheet="People"))
    assert found.reading.words() == ["--missing", "NA", "--sheet", "People"]
    assert 'sheet = "People"' in found.to_toml()
    age = mottle.read_table(path, **found.reading.model_dump()).column("age")
    assert (age.type, age.null_count) == (pa.int64(), 1)


def test_damaged_workbooks_are_named(tmp_path: Path) -> None:
    content = workbook(tmp_path / "a.xlsx", {"x": PEOPLE}).read_bytes()
    for number, damaged in enumerate((content[:-200], b"PK\x03\x04" + b"x" * 500, b"")):
        path = tmp_path / f"{number}.xlsx"
        path.write_bytes(damaged)
        with pytest.raises(DataError, match="is damaged"):
            mottle.read_table(path)
