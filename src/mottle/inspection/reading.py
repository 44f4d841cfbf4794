"""Finds out how a table has to be read: words for missing values, decimal marks, date formats."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from mottle.encoding.numbers_as_text import are_numbers_as_text
from mottle.errors import UsageError
from mottle.io.foreign.formats import EXCEL, format_of
from mottle.io.normalize import mask_missing_markers, normalize, validate_table
from mottle.io.read_table import as_table, is_text_file, read_table
from mottle.io.release_input import refuse_generalized_cells, refuse_release_file
from mottle.io.text.delimited import TextCells, read_cells, with_types
from mottle.io.text.encodings import utf8_sample
from mottle.io.text.notation import DateFormat, dates_in, plain_numbers
from mottle.io.text.two_readings import TwoReadings
from mottle.schema.reading import ReadOptions
from mottle.utils.untrusted.arrow import reporting_damage

__all__ = ["ReadTable", "read_and_detect"]

_MISSING = frozenset(
    [
        *(
            "?",
            "??",
            "na",
            "n/a",
            "n.a.",
            "#n/a",
            "nan",
            "null",
            "-",
            "--",
            ".",
            "missing",
            "(null)",
        ),
        *("unknown", "not available", "not known", "unbekannt", "k.a.", "keine angabe", "inconnu"),
        *("desconocido", "sconosciuto", "<na>", "#null!", "nil", "<null>"),
    ]
)
_COUNTRY = re.compile(r"[A-Z]{2}")
_SHORT_WORD = 3
_CODES = 10  # two-letter values from which on NA is Namibia
_DAY = re.compile(r"\d{1,2}([./-])\d{1,2}\1\d{4}\b.*|\d{4}([./-])\d{1,2}\2\d{1,2}\b.*")
_FORMATS = [
    f"{date}{time}"
    for date in ("dd.mm.yyyy", "dd/mm/yyyy", "mm/dd/yyyy", "dd-mm-yyyy", "mm-dd-yyyy", "yyyy/mm/dd")
    for time in ("", " hh:mm", " hh:mm:ss")
]
_PROBED = 300  # cells that formats are tried on before all
_DECIMAL_COMMA = r"^[+-]?(\d{1,3}(\.\d{3})+|\d+),(\d{1,2}|\d{4,})$"
_DECIMAL_POINT = r"^-?(\d+\.(\d{1,2}|\d{4,})|0\.\d+|\d{4,}\.\d{3})$"  # nothing but a decimal point
_COMMA_AND_THREE = r"^-?\d{1,3},\d{3}$"
_NAMED = 3  # columns
_GROUPED_COMMA = r"^[+-]?\d{1,3}(,\d{3})+(\.\d+|,\d{3})$"
_GROUPED_POINT = r"^[+-]?\d{1,3}(\.\d{3})+(,\d+)?$"
_BASKET_LINES = 200


@dataclass(frozen=True)
class ReadTable:
    """A table, how it was read, and what was noticed on the way."""

    table: pa.Table
    options: ReadOptions
    notes: tuple[str, ...] = ()  # about the notation of columns; no values


def read_and_detect(data: object, given: ReadOptions) -> ReadTable:
    """Read a table, with what can be found out about how its cells are written.

    Parameters
    ----------
    data : str, Path or table
        A file, or a table in memory.
    given : ReadOptions
        What is known; it is not searched for.

    Returns
    -------
    ReadTable
        The table, and the options with which it is read in the same way again.

    Raises
    ------
    UsageError
        The file is no table: a transaction file with one set per line.
    DataError, StorageError
        As for `mottle.read_table`.
    """
    if isinstance(data, str | Path) and is_text_file(Path(data)):
        return _text_file(Path(data), given)
    read = (
        read_table(data, **given.model_dump())
        if isinstance(data, str | Path)
        else as_table(data, given)
    )
    words = given.missing or tuple(_missing_words(read))
    found = ReadOptions(missing=words).over(given)
    if words != given.missing and isinstance(data, str | Path) and format_of(Path(data)) is EXCEL:
        # Cells of a workbook have types of their own: without the words a column may be numbers.
        return ReadTable(read_table(data, **found.model_dump()), found)
    return ReadTable(mask_missing_markers(read, words), found)


def _text_file(path: Path, given: ReadOptions) -> ReadTable:
    refuse_release_file(path)
    with reporting_damage(str(path)):
        _refuse_baskets(path, given)
        cells = read_cells(path, given)
    table = validate_table(normalize(cells.table), str(path))
    if not given.allow_generalized:
        refuse_generalized_cells(table, str(path))
    words = given.missing or tuple(_missing_words(table))
    masked = mask_missing_markers(table, words)
    text = _still_text(masked, ReadOptions())
    decimal, thousands = given.decimal, given.thousands
    notes: list[str] = []
    if decimal is None and thousands is None:
        decimal, thousands, notes = _marks(text, masked)
    readings = TwoReadings(ReadOptions(decimal=decimal, thousands=thousands))
    for name in masked.column_names:
        readings.look_at(name, masked.column(name))
    formats, asked = (given.date_format, []) if given.date_format else _date_formats(text)
    options = given.model_copy(
        update={
            **_written(cells, given),
            "missing": words,
            "decimal": decimal,
            "thousands": thousands,
            "date_format": formats,
        }
    )
    typed = normalize(with_types(masked, options))
    notes = [*notes, *readings.warnings(), *asked]
    return ReadTable(typed, options, (*notes, *_mixed_numbers(typed, notes)))


def _written(cells: TextCells, given: ReadOptions) -> dict[str, object]:
    """Delimiter, quote and encoding as they were found."""
    return {**cells.options.given, **{k: v for k, v in given.given.items() if v is not None}}


def _still_text(table: pa.Table, options: ReadOptions) -> dict[str, pa.ChunkedArray]:
    """Columns that are text when numbers and dates have the usual notation, without spaces."""
    typed = with_types(table, options)
    return {
        name: pc.utf8_trim_whitespace(table.column(name))
        for name in table.column_names
        if pa.types.is_string(typed.column(name).type)
        and table.column(name).null_count < table.num_rows
    }


# ----------------------------------------------------------------------------------------- missing


def _missing_words(table: pa.Table) -> Iterator[str]:
    """Words that stand for a missing value in every text column that has them."""
    found: dict[str, None] = {}
    values_in: set[str] = set()  # words that are values of some column
    for column in table.columns:
        if not pa.types.is_string(column.type):
            continue
        distinct = pc.unique(pc.utf8_trim_whitespace(column)).drop_null()
        likely = distinct.filter(
            pc.is_in(pc.utf8_lower(distinct), value_set=pa.array(sorted(_MISSING), pa.string()))
        ).to_pylist()
        if len(likely) == len(distinct):
            continue  # nothing else: the column says nothing
        for word in likely:
            (values_in.add if _is_value(word, distinct) else found.setdefault)(word)
    yield from (word for word in found if word not in values_in)


def _is_value(word: str, distinct: pa.Array) -> bool:
    """Whether a word is a value: Na is sodium, Nan a name, - the contrary of +, NA Namibia."""
    if word.istitle() and len(word) <= _SHORT_WORD:
        return True
    if word == "-" and pc.any(pc.equal(distinct, "+")).as_py():
        return True
    if not _COUNTRY.fullmatch(word):
        return False
    codes = pc.sum(pc.match_substring_regex(distinct, "^[A-Z]{2}$")).as_py() or 0
    return codes >= _CODES and codes * 5 >= len(distinct) * 4


# ----------------------------------------------------------------------------------------- numbers


def _marks(
    text: dict[str, pa.ChunkedArray], table: pa.Table
) -> tuple[str | None, str | None, list[str]]:
    """The decimal mark and the thousands separator, as far as columns show them, and notes.

    Columns show a mark that are no numbers without it. Where they show different decimal marks,
    none is taken: it would hold for the whole table and change what other columns mean.
    """
    cells = {name: pc.utf8_trim_whitespace(table.column(name)) for name in table.column_names}
    commas = [name for name in text if _has(text[name], _DECIMAL_COMMA, ",", ".")]
    grouped = [name for name in text if _has(text[name], _GROUPED_COMMA, None, ",")]
    points = [name for name in cells if _has(cells[name], _DECIMAL_POINT, None, None)]
    if commas and (grouped or points):
        return None, None, [_contradiction(commas, grouped + points)]
    if commas:
        thousands = any(_has(column, _GROUPED_POINT, ",", ".") for column in text.values())
        return ",", "." if thousands else None, []
    if grouped:
        return None, ",", []
    unclear = [name for name in text if _has(text[name], _COMMA_AND_THREE, ",", None)]
    return None, None, [_unclear(name) for name in unclear]


def _has(column: pa.ChunkedArray, pattern: str, decimal: str | None, thousands: str | None) -> bool:
    """Whether all cells are numbers of a notation, and one has a pattern."""
    return _some(column, pattern) and plain_numbers(column, decimal, thousands) is not None


def _contradiction(commas: Sequence[str], points: Sequence[str]) -> str:
    """Say which columns have which decimal mark."""
    return (
        f"Decimal marks contradict each other: a comma in {_listed(commas)}, a point in"
        f" {_listed(points)}. A table has one decimal mark, so none was chosen, and numbers with a"
        " comma are text. Write all columns in one notation, then inspect the table again."
    )


def _unclear(name: str) -> str:
    return (
        f"Column '{name}' has numbers with a comma before three digits, which may be thousands or"
        " decimals; so it is text. Say which with --thousands ',' or --decimal ','."
    )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:_NAMED])
    return shown + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")


def _mixed_numbers(table: pa.Table, notes: Sequence[str]) -> Iterator[str]:
    """Name columns of numbers that are text because they are written in several ways."""
    for name in table.column_names:
        named = any(f"'{name}'" in note for note in notes)
        if not named and are_numbers_as_text(pc.unique(table.column(name))):
            yield (
                f"Column '{name}' holds numbers that are not all written in one way, so it is text."
                " Write all of them with the same number of decimals, or none with trailing zeros."
            )


def _some(column: pa.ChunkedArray, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(column, pattern)).as_py())


# ------------------------------------------------------------------------------------------- dates


def _date_formats(text: dict[str, pa.ChunkedArray]) -> tuple[tuple[str, ...], list[str]]:
    """Formats of dates that columns have, and what could not be decided."""
    fitting: dict[str, list[str]] = {}
    for name, column in text.items():
        distinct = pc.unique(column).drop_null()
        probe = distinct.slice(0, _PROBED)
        if len(probe) and all(_DAY.fullmatch(cell) for cell in probe.to_pylist()):
            fitting[name] = _fitting(pa.chunked_array([distinct]))
    clear = {formats[0]: None for formats in fitting.values() if len(formats) == 1}
    notes = []
    for name, formats in fitting.items():
        if len(formats) > 1 and not set(formats) & set(clear):
            either = " or ".join(formats)
            notes.append(
                f"The dates of column '{name}' may be {either}; say which with --date-format."
            )
        elif not formats:
            notes.append(
                f"Column '{name}' looks like dates, but not all of them have one format or are days"
                " of the calendar; it stays text."
            )
    return tuple(clear), notes


def _fitting(distinct: pa.ChunkedArray) -> list[str]:
    return [text for text in _FORMATS if dates_in(distinct, DateFormat.of(text)) is not None]


# ----------------------------------------------------------------------------------------- baskets


def _refuse_baskets(path: Path, given: ReadOptions) -> None:
    """Point to sets where lines are sets of items: different lengths, no header."""
    if given.delimiter is not None:
        return
    sample = utf8_sample(path, given.encoding)
    if sample is None:
        return
    lines = sample.text.splitlines()[:_BASKET_LINES]
    lines = [line for line in lines if line.strip()]
    if len(lines) < 2:
        return
    for separator in (None, ",", ";", "|", "\t"):
        if _are_baskets([line.split(separator) for line in lines], ragged=separator is not None):
            raise UsageError(
                f"{path} looks like a transaction file, with one set of items per line and no"
                " header; it is no table with columns.",
                f"Use: mottle anonymize-sets {path} --k 10 -o released (docs/sets.md).",
            )


def _are_baskets(lines: Sequence[list[str]], *, ragged: bool) -> bool:
    """Whether the first line has items like the others and, if ragged, lines differ in length."""
    lengths = {len(line) for line in lines}
    if max(lengths) < 2 or (ragged and len(lengths) < 3) or len(lines[0]) < 2:
        return False
    items = {item for line in lines[1:] for item in line}
    first = [item.strip() for item in lines[0]]
    alike = sum(item in items or item.isdecimal() for item in first)
    unlike = [item for line in lines[1:] for item in line if any(mark in item for mark in ",;|\t")]
    return alike >= 0.8 * len(first) and not unlike
