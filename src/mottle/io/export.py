"""Releases as files of other programs: workbooks, SPSS, Stata.

A cell is what it is in ``release.csv``. Ranges of numbers and days are two columns, so that they
can be calculated with. In SPSS and Stata other generalized cells and categories are codes with
value labels, whose text is the cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import DataError, UsageError
from mottle.io.atomic_write import staged
from mottle.io.foreign.formats import SPSS, STATA, XLSX_WRITER
from mottle.release.cell_text import text_columns, to_texts
from mottle.release.column import PublishedColumn
from mottle.release.data import ReleaseData

__all__ = ["EXPORTED", "export_release"]

_ROWS_OF_A_SHEET = (1 << 20) - 1  # below the header
_COLUMNS_OF_A_SHEET = 1 << 14
_LONGEST_CELL = 32_767  # characters of a cell of a workbook
_LONGEST_LABEL = {"spss": 120, "stata": 32_000}  # bytes
_LONGEST_TEXT = {"spss": 32_767, "stata": 2_045}  # bytes of a text variable
_MOST_LABELS = 10_000
_LONGEST_NAME = {"spss": 64, "stata": 31}  # a list of labels is called as its variable
_LONGEST_TITLE = {"spss": 255, "stata": 80}  # characters of the label of a variable
_RESERVED = (  # by SPSS or Stata, in any case
    *("all", "and", "by", "eq", "ge", "gt", "le", "lt", "ne", "not", "or", "to", "with"),
    *("byte", "double", "float", "if", "in", "int", "long", "strl", "using"),
)


@dataclass(frozen=True)
class _Variable:
    """One column of an exported file."""

    name: str
    values: pa.ChunkedArray
    measure: str  # nominal, ordinal or scale
    order: tuple[str, ...] | None = None  # of categories


def export_release(release: ReleaseData, path: Path, *, overwrite: bool = False) -> None:
    """Write a release as a workbook, an SPSS or a Stata file.

    Parameters
    ----------
    release : ReleaseData
        The release.
    path : Path
        The file; its suffix says which: ``.xlsx``, ``.sav``, ``.zsav`` or ``.dta``.
    overwrite : bool
        Whether an existing file is replaced.

    Raises
    ------
    UsageError
        There is no such format, or the package that writes it is not installed.
    DataError
        The format cannot hold the release: too many rows, or texts that are too long.
    StorageError
        The file exists or cannot be written.
    """
    write = EXPORTED.get(path.suffix.lower())
    if write is None:
        raise UsageError(
            f"{path} has no suffix that a release is exported to.",
            f"Suffixes are {', '.join(EXPORTED)}; other programs read release.csv.",
        )
    variables = [one for column in release.columns for one in _variables(release.table, column)]
    with staged(path.parent, [path.name], overwrite=overwrite) as stage:
        write(variables, release.num_rows, stage / path.name)


def _variables(table: pa.Table, column: PublishedColumn) -> list[_Variable]:
    """The exported columns of one published column."""
    cells = table.column(column.name)
    if column.form is None:
        is_text = pa.types.is_string(cells.type)
        measure = "ordinal" if column.order else "nominal" if is_text else "scale"
        return [_Variable(column.name, cells, measure, column.order)]
    if column.form.has_intervals and column.order is None and _is_measured(column.value_type):
        low, high, missing = (pc.struct_field(cells, name) for name in ("lo", "hi", "missing"))
        found = [
            _Variable(f"{column.name}_lo", low, "scale"),
            _Variable(f"{column.name}_hi", high, "scale"),
        ]
        if pc.any(missing).as_py():
            flag = pc.cast(missing, pa.int8())
            found.append(_Variable(f"{column.name}_may_be_missing", flag, "nominal"))
        return found
    parts = [to_texts(chunk, column.form) for chunk in cells.chunks]
    return [
        _Variable(name, pa.chunked_array([part[place] for part in parts], pa.string()), "nominal")
        for place, name in enumerate(text_columns(column.name, column.form))
    ]


def _is_measured(kind: pa.DataType) -> bool:
    return _is_number(kind) or bool(pa.types.is_decimal(kind) or pa.types.is_date(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


# ---------------------------------------------------------------------------------------- workbooks


def _write_workbook(variables: list[_Variable], rows: int, path: Path) -> None:
    """Write one sheet; texts are texts, so that none of them is taken for a formula."""
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


def _cells(variable: _Variable) -> pa.ChunkedArray:
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
    return _as_text(variable.values)


def _fitting_text(text: str, name: str) -> str:
    if len(text) > _LONGEST_CELL:
        raise DataError(
            f"Column '{name}' has cells of more than {_LONGEST_CELL:,} characters, which a workbook"
            " cannot hold.",
            "Use release.csv or release.parquet.",
        )
    return text


def _as_text(values: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_list(values.type):
        return pa.chunked_array([[None if one is None else str(one) for one in values.to_pylist()]])
    return pc.cast(values, pa.string())


# --------------------------------------------------------------------------------------- statistics


def _write_spss(variables: list[_Variable], rows: int, path: Path) -> None:
    facts = _Statistics.of(variables, "spss")
    package = SPSS.package.load()
    with _refusing(package):
        package.write_sav(
            facts.frame,
            str(path),
            column_labels=facts.labels,
            variable_value_labels=facts.codes,
            variable_measure=facts.measures,
            compress=path.suffix.lower() == ".zsav",
        )


def _write_stata(variables: list[_Variable], rows: int, path: Path) -> None:
    facts = _Statistics.of(variables, "stata")
    package = STATA.package.load()
    with _refusing(package):
        package.write_dta(
            facts.frame,
            str(path),
            column_labels=facts.labels,
            variable_value_labels=facts.codes,
        )


@contextmanager
def _refusing(package: Any) -> Iterator[None]:
    """Report what a format cannot hold: floats beyond its range, days before its calendar."""
    try:
        yield
    except (package.ReadstatError, package.PyreadstatError, OverflowError):
        raise DataError(
            "The release has values that the file cannot hold, such as numbers beyond its range.",
            "Use release.csv or release.parquet.",
        ) from None


@dataclass(frozen=True)
class _Statistics:
    """What pyreadstat writes."""

    frame: Any
    labels: list[str]  # the names that columns have in the release
    codes: dict[str, dict[int | float, str]]  # value labels, by column
    measures: dict[str, str]

    @classmethod
    def of(cls, variables: list[_Variable], program: str) -> _Statistics:
        """Give every column a name that the program allows, and categories codes with labels."""
        names = _names([variable.name for variable in variables], _LONGEST_NAME[program])
        columns: dict[str, pa.ChunkedArray] = {}
        codes: dict[str, dict[int | float, str]] = {}
        for name, variable in zip(names, variables, strict=True):
            values = _plain(variable.values)
            if pa.types.is_string(values.type):
                known = _categories(values, variable.order)
                if _can_label(known, program):
                    codes[name] = dict(enumerate(known.to_pylist(), start=1))
                    places = pc.index_in(values, value_set=known)
                    values = pc.cast(pc.add(places, 1), pa.float64())
                else:
                    _check_length(values, variable.name, program)
            columns[name] = values
        measures = {name: variable.measure for name, variable in zip(names, variables, strict=True)}
        labels = [variable.name[: _LONGEST_TITLE[program]] for variable in variables]
        return cls(_frame(columns), labels, codes, measures)


def _plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers as floats, days and points in time as they are, everything else as text."""
    kind = values.type
    if pa.types.is_boolean(kind):
        values = pc.cast(values, pa.int8())
    if pa.types.is_boolean(kind) or pa.types.is_decimal(kind) or _is_number(kind):
        return pc.cast(values, pa.float64())
    if pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None):
        return values
    return _as_text(values)


def _categories(values: pa.ChunkedArray, order: tuple[str, ...] | None) -> pa.Array:
    """The distinct texts, in the order of the column or in that of the alphabet."""
    if order is not None:
        return pa.array(order, pa.string())
    found = pc.unique(values).drop_null()
    return found.take(pc.sort_indices(found))


def _can_label(known: pa.Array, program: str) -> bool:
    longest = pc.max(pc.binary_length(known)).as_py() or 0
    shortest = pc.min(pc.binary_length(known)).as_py() or 0
    return len(known) <= _MOST_LABELS and shortest > 0 and longest <= _LONGEST_LABEL[program]


def _check_length(values: pa.ChunkedArray, name: str, program: str) -> None:
    longest = pc.max(pc.binary_length(values)).as_py() or 0
    if longest > _LONGEST_TEXT[program]:
        raise DataError(
            f"Column '{name}' has cells of more than {_LONGEST_TEXT[program]:,} bytes, which the"
            " file cannot hold.",
            "Use release.csv or release.parquet.",
        )


def _names(names: list[str], longest: int) -> list[str]:
    """Names that SPSS and Stata allow: letters, digits and underscores, none twice."""
    allowed: list[str] = []
    for name in names:
        plain = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)
        free = plain[:1].isalpha() and not _is_reserved(plain.lower())
        plain = (plain if free else f"v_{plain}")[:longest]
        number, unique = 2, plain
        while unique.lower() in (other.lower() for other in allowed):
            unique = f"{plain[: longest - 4]}_{number}"
            number += 1
        allowed.append(unique)
    return allowed


def _is_reserved(name: str) -> bool:
    return name in _RESERVED or (name.startswith("str") and name[3:].isdecimal())


def _frame(columns: dict[str, pa.ChunkedArray]) -> Any:
    """The frame of pandas that pyreadstat takes."""
    frame = pa.table(columns).to_pandas(date_as_object=True)
    for name, values in columns.items():
        if pa.types.is_string(values.type):
            frame[name] = frame[name].astype(object).where(frame[name].notna(), "")
    return frame


EXPORTED: dict[str, Callable[[list[_Variable], int, Path], None]] = {
    ".xlsx": _write_workbook,
    ".sav": _write_spss,
    ".zsav": _write_spss,
    ".dta": _write_stata,
}
