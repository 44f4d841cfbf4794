"""Releases as workbooks."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import DataError
from mottle.io.export.variables import ExportedVariable, as_text
from mottle.io.foreign.formats import XLSX_WRITER

__all__ = ["write_workbook"]

_ROWS_OF_A_SHEET = (1 << 20) - 1  # below the header
_COLUMNS_OF_A_SHEET = 1 << 14
_LONGEST_CELL = 32_767  # characters of a cell of a workbook


def write_workbook(variables: list[ExportedVariable], rows: int, path: Path) -> None:
    """Write one sheet; texts are texts, so that none of them is taken for a formula.

    Parameters
    ----------
    variables : list of ExportedVariable
        The columns.
    rows : int
        How many rows they have.
    path : Path
        The file.

    Raises
    ------
    DataError
        A sheet cannot hold so many rows or columns, or such a long text.
    """
    package = XLSX_WRITER.load()
    if rows > _ROWS_OF_A_SHEET or len(variables) > _COLUMNS_OF_A_SHEET:
        raise DataError(
            f"A sheet holds {_ROWS_OF_A_SHEET:,} rows and {_COLUMNS_OF_A_SHEET:,} columns; the"
            f" release has {rows:,} and {len(variables):,}.",
            "Use release.csv or release.parquet.",
        )
    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    with package.Workbook(str(path), options) as book:
        sheet = book.add_worksheet("release")
        day = book.add_format({"num_format": "yyyy-mm-dd"})
        moment = book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
        for place, variable in enumerate(variables):
            sheet.write_string(0, place, variable.name)
        columns = [_cells(variable) for variable in variables]
        for row in range(rows):
            for place, (column, cells) in enumerate(zip(variables, columns, strict=True)):
                cell = cells[row].as_py()
                if cell is None:
                    continue
                if isinstance(cell, bool):
                    sheet.write_boolean(row + 1, place, cell)
                elif isinstance(cell, str):
                    sheet.write_string(row + 1, place, _fitting_text(cell, column.name))
                elif isinstance(cell, (int, float)):
                    sheet.write_number(row + 1, place, cell)
                else:
                    style = moment if pa.types.is_timestamp(column.values.type) else day
                    sheet.write_datetime(row + 1, place, cell, style)


def _cells(variable: ExportedVariable) -> pa.ChunkedArray:
    """Values that a sheet has a type for; others as text."""
    kind = variable.values.type
    if pa.types.is_decimal(kind):
        return pc.cast(variable.values, pa.float64())
    if pa.types.is_floating(kind):
        finite = pc.is_finite(variable.values)
        return pc.if_else(finite, variable.values, pa.scalar(None, kind))
    is_day = pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None)
    old = is_day and (pc.min(pc.year(variable.values)).as_py() or 9999) < 1900
    if pa.types.is_integer(kind):
        largest = pc.max(pc.abs(pc.cast(variable.values, pa.float64()))).as_py() or 0
        return variable.values if largest < 2**53 else pc.cast(variable.values, pa.string())
    if pa.types.is_boolean(kind) or (is_day and not old):
        return variable.values
    return as_text(variable.values)


def _fitting_text(text: str, name: str) -> str:
    if len(text) > _LONGEST_CELL:
        raise DataError(
            f"Column '{name}' has cells of more than {_LONGEST_CELL:,} characters, which a workbook"
            " cannot hold.",
            "Use release.csv or release.parquet.",
        )
    return text
