"""Sheets of workbooks (Excel, OpenDocument) as tables, with the values that cells show.

A formula counts as the value that the spreadsheet computed when it saved the file, and an error
such as #N/A as missing. Messages name sheets, rows and columns, never cells.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from mottle.errors import DataError, UsageError, did_you_mean
from mottle.io.foreign.formats import EXCEL

__all__ = ["read_workbook"]

_EXACT = 2**53  # beyond this a cell does not hold every whole number
_NAMED = 8  # sheets in a message
_MICROSECONDS = 1000
Warn = Callable[[str], None]


def read_workbook(
    path: Path, sheet: str | None, header_row: int | None, missing: Sequence[str], warn: Warn
) -> pa.Table:
    """Read one sheet whose first row with cells, or the row that is named, holds the header.

    Parameters
    ----------
    path : Path
        The workbook.
    sheet : str, optional
        The name or the number of the sheet; needed if several have cells.
    header_row : int, optional
        The row of the column names, counted from 1 as the spreadsheet does.
    missing : sequence of str
        Words that stand for a missing value: they are removed before columns get their types.
    warn : callable
        Gets what the user should know.

    Returns
    -------
    pyarrow.Table
        The rows below the header that are not empty.

    Raises
    ------
    UsageError
        There is no such sheet, or several have cells and none is named.
    DataError
        The sheet is no table: merged cells, columns without a name, nothing below the header.
    """
    calamine = EXCEL.package.load()
    try:
        book = calamine.CalamineWorkbook.from_path(str(path))
    except calamine.PasswordError:
        raise DataError(
            f"{path} is protected by a password.", "Save a copy of it without one."
        ) from None
    name = _chosen(path, book, calamine, sheet)
    found = book.get_sheet_by_name(name)
    place = f"{path}, sheet '{name}'"
    if found.start is None:
        raise DataError(f"{place} is empty.", "Name another sheet with --sheet.")
    rows = found.to_python(skip_empty_area=False)
    first = _header_place(place, rows, header_row)
    _refuse_merged(place, getattr(found, "merged_cell_ranges", None) or [], first)
    return _table(place, rows, first, frozenset(missing), warn)


def _chosen(path: Path, book: Any, calamine: Any, sheet: str | None) -> str:
    """The name of the sheet that is meant."""
    sheets = [
        one.name for one in book.sheets_metadata if one.typ == calamine.SheetTypeEnum.WorkSheet
    ]
    if sheet is not None:
        if sheet in sheets:
            return sheet
        if sheet.isdecimal() and 1 <= int(sheet) <= len(sheets):
            return str(sheets[int(sheet) - 1])
        if sheet.isdecimal():
            raise UsageError(
                f"{path} has {len(sheets)} sheets, and none called '{sheet}'.",
                f"Give --sheet a number from 1 to {len(sheets)}, or a name.",
            )
        raise UsageError(f"{path} has no sheet '{sheet}'.", did_you_mean(sheet, sheets))
    visible = calamine.SheetVisibleEnum.Visible
    shown = [one.name for one in book.sheets_metadata if one.visible == visible]
    filled = [one for one in sheets if book.get_sheet_by_name(one).start is not None]
    candidates = [one for one in filled if one in shown] or filled
    if not candidates:
        raise DataError(f"{path} has no sheet with cells.", "Give a workbook with a table.")
    if len(candidates) > 1:
        listed = ", ".join(f"'{one}'" for one in candidates[:_NAMED])
        more = ", …" if len(candidates) > _NAMED else ""
        raise UsageError(
            f"{path} has {len(candidates)} sheets with cells: {listed}{more}.",
            "Say which one is the table: --sheet NAME or --sheet NUMBER.",
        )
    return str(candidates[0])


def _header_place(place: str, rows: list[list[Any]], header_row: int | None) -> int:
    """The place of the header among the rows, from 0."""
    if header_row is not None:
        if not 1 <= header_row <= len(rows) or not any(map(_filled, rows[header_row - 1])):
            raise UsageError(
                f"{place}: row {header_row} has no cells.",
                "Give --header-row the row of the column names, as the spreadsheet counts it.",
            )
        return header_row - 1
    first = next(at for at, row in enumerate(rows) if any(map(_filled, row)))
    below = [sum(map(_filled, row)) for row in rows[first + 1 :]]
    widest = max(below, default=0)
    if sum(map(_filled, rows[first])) == 1 and widest > 1:
        named = first + 2 + below.index(widest)
        raise DataError(
            f"{place}: row {first + 1} has one cell and rows below it have up to {widest}, so it"
            " seems to be a title and not the header.",
            f"Delete the rows above the header, or give its number: --header-row {named}.",
        )
    return first


def _refuse_merged(place: str, ranges: Sequence[Any], first: int) -> None:
    """Refuse merged cells in the table: all but one of them would seem to be missing."""
    for (top, left), (bottom, right) in ranges:
        if bottom >= first and (top, left) != (bottom, right):
            area = f"{_letters(left)}{top + 1}:{_letters(right)}{bottom + 1}"
            what = "the header has" if top <= first else "the table has"
            raise DataError(
                f"{place}: {what} merged cells ({area}).",
                "Unmerge them and fill every cell, with one row of column names; rows above the"
                " header may stay as they are if --header-row names it.",
            )


def _table(
    place: str, rows: list[list[Any]], first: int, missing: frozenset[str], warn: Warn
) -> pa.Table:
    header = rows[first]
    body = [row for row in rows[first + 1 :] if any(map(_filled, row))]
    if not body:
        raise DataError(f"{place} has a header but no rows.", "Give a sheet with data rows.")
    columns: dict[str, pa.Array] = {}
    for at, title in enumerate(header):
        cells = [_cell(row[at], missing) for row in body]
        if not _filled(title):
            if all(cell is None for cell in cells):
                continue  # an empty column, for the look of it
            raise DataError(
                f"{place}: column {_letters(at)} has cells and no name in row {first + 1}.",
                "Name every column in one row, or give the row of the names: --header-row NUMBER.",
            )
        name = _text(title).strip()
        if name in columns:
            raise DataError(f"{place}: duplicate column names: {name}.", "Rename or drop them.")
        columns[name] = _typed(cells, name, place, warn)
    return pa.table(columns)


def _filled(cell: object) -> bool:
    return cell is not None and cell != ""


def _cell(cell: object, missing: frozenset[str]) -> object:
    """A cell, or None where it is empty or holds a word for a missing value."""
    if not _filled(cell) or (isinstance(cell, str) and (cell in missing or not cell.strip())):
        return None
    return cell


def _typed(cells: list[Any], name: str, place: str, warn: Warn) -> pa.Array:
    """A column in the one type that all cells have, or as text if they differ."""
    kinds = {_kind(cell) for cell in cells if cell is not None}
    if kinds <= {"number"}:
        return _numbers(cells)
    if kinds == {"bool"}:
        return pa.array(cells, pa.bool_())
    if kinds == {"date"}:
        return pa.array(cells, pa.date32())
    if kinds <= {"date", "moment"}:
        return _moments(cells)
    if kinds == {"time"}:
        return pa.array(cells, pa.time64("us"))
    if kinds == {"duration"}:
        return pa.array(cells, pa.duration("ms"))
    if len(kinds) > 1:
        found = ", ".join(sorted(_WORDS[kind] for kind in kinds))
        warn(
            f"{place}: column '{name}' holds {found}, so it is read as text. If the texts stand for"
            " missing values, name them with --missing."
        )
    return pa.array([None if cell is None else _text(cell) for cell in cells], pa.string())


_WORDS = {
    "number": "numbers",
    "bool": "truth values",
    "date": "dates",
    "moment": "points in time",
    "time": "times",
    "duration": "durations",
    "text": "texts",
}


def _kind(cell: object) -> str:
    if isinstance(cell, bool):
        return "bool"
    if isinstance(cell, (int, float)):
        return "number"
    if isinstance(cell, dt.datetime):
        return "moment"
    kinds = {dt.date: "date", dt.time: "time", dt.timedelta: "duration"}
    return next((word for known, word in kinds.items() if isinstance(cell, known)), "text")


def _numbers(cells: list[Any]) -> pa.Array:
    """Whole numbers if all are; a workbook stores every number as a float."""
    if all(cell is None or (float(cell).is_integer() and abs(cell) < _EXACT) for cell in cells):
        return pa.array([None if cell is None else int(cell) for cell in cells], pa.int64())
    return pa.array([None if cell is None else float(cell) for cell in cells], pa.float64())


def _moments(cells: list[Any]) -> pa.Array:
    """Points in time; days among them begin at midnight."""
    moments = [
        cell
        if cell is None or isinstance(cell, dt.datetime)
        else dt.datetime.combine(cell, dt.time())
        for cell in cells
    ]
    fine = any(moment is not None and moment.microsecond % _MICROSECONDS for moment in moments)
    return pa.array(moments, pa.timestamp("us" if fine else "ms"))


def _text(cell: object) -> str:
    """A cell as text: numbers in their shortest notation, times in ISO 8601."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < _EXACT:
        return str(int(cell))
    return cell.isoformat() if isinstance(cell, (dt.date, dt.time)) else str(cell)


def _letters(place: int) -> str:
    """Name a column as spreadsheets do.

    >>> _letters(0), _letters(27)
    ('A', 'AB')
    """
    letters = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters
