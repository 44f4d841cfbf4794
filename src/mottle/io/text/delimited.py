"""Delimited text (CSV, TSV): detects encoding, delimiter and quote, then reads typed columns.

pyarrow's reader parses the file directly if it is UTF-8; any other encoding is transcoded first.
All cells are read as text and each column is then given the narrowest type that keeps every cell:
nothing is rounded and no leading zero is lost. Messages name lines and columns, never cells.
"""

from __future__ import annotations

import csv
import io
import itertools
import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from mottle.errors import DataError, UsageError
from mottle.io.text.encodings import (
    HEAD_BYTES,
    Sample,
    check_size,
    decode_and_name,
    known_encoding,
    open_bytes,
    utf8_sample,
    whole_content,
)
from mottle.io.text.two_readings import TwoReadings
from mottle.io.text.type_inference import blank_out, infer_type
from mottle.schema.reading import ReadOptions

__all__ = [
    "BLOCK_BYTES",
    "Dialect",
    "Header",
    "TextCells",
    "detect_dialect",
    "header_of",
    "parser_options",
    "raise_for_broken_record",
    "read_cells",
    "read_delimited",
    "single_character",
    "spans_lines",
    "with_types",
]

_logger = logging.getLogger(__name__)

SAMPLE_RECORDS = 200  # that detection looks at
BLOCK_BYTES = 1 << 22  # of pyarrow's parser; one record has to fit into a block

# In the order in which ties are broken: the character that is rarest in ordinary text comes first,
# because it is the stronger evidence.
DELIMITERS = "\t|;,:"


@dataclass(frozen=True)
class Dialect:
    """How the cells of a file are separated."""

    delimiter: str  # between cells
    quote: str  # around cells that hold the delimiter or line breaks


@dataclass(frozen=True)
class TextCells:
    """The cells of a text file, all of them text, and how the file is written."""

    table: pa.Table
    dialect: Dialect
    encoding: str

    @property
    def options(self) -> ReadOptions:
        """How the file is written, as options with which it is read again."""
        return ReadOptions(
            delimiter=self.dialect.delimiter, quote=self.dialect.quote, encoding=self.encoding
        )


def read_delimited(
    path: Path,
    *,
    delimiter: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
    decimal: str | None = None,
    thousands: str | None = None,
    date_format: Sequence[str] = (),
    typed: bool = True,
) -> pa.Table:
    """Read a delimited text file, compressed or not, whose first row is the header.

    Parameters
    ----------
    path : Path
        The file.
    delimiter, quote, encoding : str, optional
        How the file is written; what is not given is detected.
    missing : sequence of str
        Words that stand for a missing value, in addition to the empty cell.
    decimal, thousands : str, optional
        The decimal mark of numbers and what separates groups of three digits. By default a point
        and nothing.
    date_format : sequence of str
        Formats of dates such as ``dd.mm.yyyy``, in addition to 2024-12-31.
    typed : bool
        Whether columns are given types; otherwise all of them stay text.

    Returns
    -------
    pyarrow.Table
        The rows below the header.

    Raises
    ------
    UsageError
        The delimiter, the quote, the encoding, a mark or a format is not valid.
    DataError
        The file is empty, is not text, or has records that are broken.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "people.csv")
    ...     _ = path.write_text("age;code;size\\n31;012;1,75\\n?;987;1,8\\n")
    ...     read_delimited(path, missing=["?"], decimal=",").to_pylist()
    [{'age': 31, 'code': '012', 'size': 1.75}, {'age': None, 'code': '987', 'size': 1.8}]
    """
    options = ReadOptions(
        missing=tuple(missing),
        delimiter=delimiter,
        quote=quote,
        encoding=encoding,
        decimal=decimal,
        thousands=thousands,
        date_format=tuple(date_format),
    )
    table = read_cells(path, options).table
    if not typed:
        return table
    readings = TwoReadings(options)
    for name, column in zip(table.column_names, table.columns, strict=True):
        readings.look_at(name, column)
    for warning in readings.warnings():
        _logger.warning("%s", warning)
    return with_types(table, options)


def read_cells(path: Path, options: ReadOptions) -> TextCells:
    """Read all cells of a delimited text file as text; `with_types` gives columns their types.

    Parameters
    ----------
    path : Path
        The file.
    options : ReadOptions
        How it is written; what is not given is detected.

    Returns
    -------
    TextCells
        The cells, with words for missing values masked, and how the file is written.

    Raises
    ------
    UsageError
        The delimiter, the quote or the encoding is not valid.
    DataError
        The file is empty, is not text, or has records that are broken.
    """
    given = options.delimiter
    delimiter = single_character("delimiter", "\t" if given == "\\t" else given)
    quote = single_character("quote", options.quote)
    if delimiter is not None and delimiter == quote:
        raise UsageError("delimiter and quote are the same character.", "Give two different ones.")
    encoding = known_encoding(options.encoding)
    check_size(path)

    sample = utf8_sample(path, encoding)
    if sample is not None:
        dialect = detect_dialect(sample, delimiter, quote)
        header = header_of(path, sample, dialect)
        table = _parse(open_bytes(path), header, dialect, options.missing)
        if table is not None and not any(map(spans_lines, table.columns)):
            return TextCells(table, dialect, encoding or "utf-8")

    # Not UTF-8, or something may be wrong: the slow way, which can say what and where.
    text, encoding = decode_and_name(path, whole_content(path), encoding)
    sample = Sample(text[:HEAD_BYTES], len(text) <= HEAD_BYTES)
    dialect = detect_dialect(sample, delimiter, quote)
    header = header_of(path, sample, dialect)
    table = _parse(pa.BufferReader(text.encode()), header, dialect, options.missing)
    if table is None or any(map(spans_lines, table.columns)):
        lines = io.StringIO(text, newline="")
        raise_for_broken_record(path, lines, dialect, len(header.names), len(text) + 1)
    if table is None:
        raise DataError(
            f"{path} cannot be parsed as text delimited by {dialect.delimiter!r}.",
            "Check delimiter and quote, and that no record is longer than 4 MB.",
        )
    return TextCells(table, dialect, encoding)


# ---------------------------------------------------------------------------------------- options


def single_character(option: str, given: str | None) -> str | None:
    """Check that a delimiter or quote is one ASCII character.

    Parameters
    ----------
    option : str
        The name of the option, for the message.
    given : str or None
        The character, or None to have it detected.

    Returns
    -------
    str or None
        The same.

    Raises
    ------
    UsageError
        It is not a single ASCII character, or is a line break.
    """
    if given is None or (len(given) == 1 and given.isascii() and given not in "\r\n\0"):
        return given
    raise UsageError(
        f"{option} {given!r} is not a single ASCII character.",
        'Give one character, such as , or \\t (tab) for the delimiter and " for the quote.',
    )


# ----------------------------------------------------------------------------------------- dialect


def detect_dialect(sample: Sample, delimiter: str | None, quote: str | None) -> Dialect:
    r"""Find the delimiter and quote that are not given.

    Parameters
    ----------
    sample : Sample
        The beginning of the file.
    delimiter, quote : str or None
        What is given.

    Returns
    -------
    Dialect
        What is given, and what is detected.

    Examples
    --------
    >>> detect_dialect(Sample("name;size\n'a;b';1,5\n", complete=True), None, None)
    Dialect(delimiter=';', quote="'")
    """
    quote = quote or _detect_quote(sample, delimiter)
    return Dialect(delimiter or _detect_delimiter(sample, quote), quote)


def _detect_quote(sample: Sample, delimiter: str | None) -> str:
    """Return ``'`` if it encloses cells and ``"`` never opens one, else ``"``."""
    border = re.escape(delimiter or DELIMITERS)
    if delimiter != "'" and not re.search(rf'(?:^|[{border}])"', sample.text, re.MULTILINE):
        enclosed = rf"(?:^|[{border}])'[^']*'(?:[{border}\r]|$)"
        if re.search(enclosed, sample.text, re.MULTILINE):
            chosen = Dialect(delimiter or _detect_delimiter(sample, "'"), "'")
            # A name such as 't Hooft opens a quote that is never closed; widths then differ.
            if len(set(_widths(sample, chosen, strict=True))) == 1:
                return "'"
    return '"' if delimiter != '"' else "'"


def _detect_delimiter(sample: Sample, quote: str) -> str:
    """Return the delimiter that gives all sampled records the same number of fields, above one."""
    candidates = [candidate for candidate in DELIMITERS if candidate != quote]
    strict = {each: _widths(sample, Dialect(each, quote), strict=True) for each in candidates}
    consistent = [each for each, widths in strict.items() if len(set(widths)) == 1]
    several = [each for each in consistent if strict[each][0] > 1]
    if several:
        return max(several, key=lambda each: (each != ":", strict[each][0]))

    # Records that differ: the delimiter of the header, so that the broken line can be named.
    loose = {each: _widths(sample, Dialect(each, quote), strict=False) for each in candidates}
    ragged = [each for each in candidates if each != ":" and loose[each][:1] > [1]]
    if ragged:
        return max(ragged, key=lambda each: loose[each].count(loose[each][0]) / len(loose[each]))
    return next(iter(consistent), ",")


def _widths(sample: Sample, dialect: Dialect, *, strict: bool) -> list[int]:
    """Count the fields of the first records; if strict, empty when they break quoting rules."""
    lines = io.StringIO(sample.text, newline="")
    widths: list[int] = []
    try:
        for record in itertools.islice(_reader(lines, dialect, strict=strict), SAMPLE_RECORDS):
            widths.append(len(record))  # noqa: PERF401 - keeps what came before an error
    except csv.Error:
        if strict and (sample.complete or lines.tell() < len(sample.text)):
            return []
    else:
        if not sample.complete and len(widths) < SAMPLE_RECORDS:
            widths.pop()  # the record at which the sample ends
    return [width for width in widths if width > 0]  # blank lines do not count


def _reader(lines: Iterator[str], dialect: Dialect, *, strict: bool) -> Iterator[list[str]]:
    return csv.reader(lines, delimiter=dialect.delimiter, quotechar=dialect.quote, strict=strict)


# ----------------------------------------------------------------------------------------- parsing


@dataclass(frozen=True)
class Header:
    """The header of a file."""

    names: list[str]  # of the columns
    records: int  # to skip to reach the data, blank ones included


def header_of(path: Path, sample: Sample, dialect: Dialect) -> Header:
    """Find the column names.

    Parameters
    ----------
    path : Path
        The file, for the message.
    sample : Sample
        Its beginning.
    dialect : Dialect
        How cells are separated.

    Returns
    -------
    Header
        The names without spaces around them.

    Raises
    ------
    DataError
        The file has no rows below the header, or a name holds a NUL character.
    """
    records = _reader(io.StringIO(sample.text, newline=""), dialect, strict=False)
    names: list[str] = []
    passed = 0
    try:
        while not names:
            names = next(records)
            passed += 1
        has_rows = not sample.complete or any(records)
    except csv.Error:  # an unclosed cell further down: parsing reports it
        has_rows = True
    except StopIteration:
        has_rows = False
    if not has_rows:
        raise DataError(f"{path} has a header but no rows.", "Give a file with data rows.")
    if any("\0" in name for name in names):  # Arrow would pass over more than the header
        raise DataError(
            f"{path}: the name of a column holds a NUL character.", "Rename the column."
        )
    return Header([name.strip() for name in names], passed)


def _parse(
    stream: pa.NativeFile, header: Header, dialect: Dialect, missing: Sequence[str]
) -> pa.Table | None:
    """Read cells as text; None when records differ in width or are not UTF-8."""
    try:
        with stream:
            table = pacsv.read_csv(stream, **parser_options(header, dialect))
    except pa.ArrowInvalid:
        return None
    columns = [blank_out(column, missing) for column in table.columns]
    return pa.Table.from_arrays(columns, names=table.column_names)


def parser_options(header: Header, dialect: Dialect) -> dict[str, Any]:
    """Return pyarrow's options: every cell is read as text, the empty one as missing.

    Parameters
    ----------
    header : Header
        The column names.
    dialect : Dialect
        How cells are separated.

    Returns
    -------
    dict
        Keyword arguments of ``pyarrow.csv.read_csv`` and ``open_csv``.
    """
    return {
        "read_options": pacsv.ReadOptions(
            column_names=header.names,
            skip_rows_after_names=header.records,
            block_size=BLOCK_BYTES,
        ),
        "parse_options": pacsv.ParseOptions(
            delimiter=dialect.delimiter, quote_char=dialect.quote, newlines_in_values=True
        ),
        "convert_options": pacsv.ConvertOptions(
            column_types=dict.fromkeys(header.names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
        ),
    }


def with_types(table: pa.Table, options: ReadOptions) -> pa.Table:
    """Give the text columns of a table the narrowest types that keep their cells.

    Parameters
    ----------
    table : pyarrow.Table
        Cells that are text.
    options : ReadOptions
        How numbers and dates are written.

    Returns
    -------
    pyarrow.Table
        The same cells with types.
    """
    columns = [infer_type(column, options) for column in table.columns]
    return pa.Table.from_arrays(columns, names=table.column_names)


def spans_lines(column: pa.ChunkedArray) -> bool:
    """Tell whether a cell spans lines: correctly, or because its quote was not closed in place.

    pyarrow reads on to the next quote and puts other records' cells into this one. The table would
    have the right shape, but cells that were never examined could be published.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        A column as it was parsed.

    Returns
    -------
    bool
        Whether a text cell holds a line break.
    """
    if not pa.types.is_string(column.type):
        return False
    return any(pc.any(pc.match_substring(column, end)).as_py() for end in "\n\r")


def raise_for_broken_record(
    path: Path, lines: Iterable[str], dialect: Dialect, expected: int, longest_cell: int
) -> None:
    """Raise for the first record that is too short or too long or breaks the rules of quoting.

    Parameters
    ----------
    path : Path
        The file, for the message.
    lines : iterable of str
        Its text, line by line.
    dialect : Dialect
        How cells are separated.
    expected : int
        The number of columns.
    longest_cell : int
        The limit of a cell, in characters.

    Raises
    ------
    DataError
        A record is broken; the message has its line.
    """
    reader = csv.reader(
        lines,
        delimiter=dialect.delimiter,
        quotechar=dialect.quote,
        strict=True,
    )
    usual_limit = csv.field_size_limit(longest_cell)
    line = 1  # where the record begins: a cell may span lines
    try:
        for record in reader:
            if record and len(record) != expected:
                raise DataError(
                    f"{path}, line {line}: expected {expected} fields, found {len(record)}.",
                    f"Complete the line, or put quotes ({dialect.quote}) around cells that hold "
                    f"the delimiter {dialect.delimiter!r}; if that is not the delimiter, give it.",
                )
            line = reader.line_num + 1
    except csv.Error:
        raise DataError(
            f"{path}, line {line}: a quote is opened and not closed at the end of its cell.",
            f"Close it, and double quotes within cells; if {dialect.quote} is not the quote "
            "character, give it.",
        ) from None
    finally:
        csv.field_size_limit(usual_limit)
