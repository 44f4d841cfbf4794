"""Delimited text (CSV, TSV): finds encoding, delimiter and quote, then reads typed columns.

pyarrow's reader parses the file itself as long as it is UTF-8; any other encoding is transcoded
first. All cells are read as text and each column is then given the narrowest type that keeps every
cell: nothing is rounded and no leading zero is lost. Messages name lines and columns, never cells.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import logging
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import charset_normalizer
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from mottle.errors import DataError, UsageError

logger = logging.getLogger(__name__)

HEAD_BYTES = 1 << 20  # what detection looks at; the header has to fit in
SAMPLE_RECORDS = 200
BLOCK_BYTES = 1 << 22  # one record has to fit in
GUESS_BYTES = 1 << 16
PROBED_CELLS = 500

DELIMITERS = "\t|;,:"  # rarest in ordinary text first: ties go to the stronger evidence
BYTE_ORDER_MARKS = {  # UTF-32 first: its mark begins with that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
GUESSED_ENCODINGS = [
    *("cp1252", "iso8859_15", "latin_1", "cp1250", "iso8859_2", "cp1251", "koi8_r", "iso8859_5"),
    *("cp1253", "iso8859_7", "cp1254", "iso8859_9", "cp1257", "cp437", "cp850", "mac_roman"),
]
CONTROL_CHARACTERS = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1a\x1b"))


@dataclass(frozen=True)
class Dialect:
    """How the cells of a file are kept apart."""

    delimiter: str
    quote: str


@dataclass(frozen=True)
class Sample:
    """The beginning of a text, and whether it is the whole of it."""

    text: str
    complete: bool


def read_delimited(
    path: Path,
    *,
    delimiter: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
) -> pa.Table:
    """Read a delimited text file, compressed or not, whose first row is the header.

    What is not given is detected. Empty cells and the words in ``missing`` are missing.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "people.csv")
    ...     _ = path.write_text("age;postcode\\n31;01234\\n?;98765\\n")
    ...     read_delimited(path, missing=["?"]).to_pylist()
    [{'age': 31, 'postcode': '01234'}, {'age': None, 'postcode': '98765'}]
    """
    delimiter = _single_character("delimiter", "\t" if delimiter == "\\t" else delimiter)
    quote = _single_character("quote", quote)
    if delimiter is not None and delimiter == quote:
        raise UsageError("delimiter and quote are the same character.", "Give two different ones.")
    encoding = _known_encoding(encoding)

    sample = _utf8_sample(path, encoding)
    if sample is not None:
        dialect = detect_dialect(sample, delimiter, quote)
        table = _parse(_open(path), _header(path, sample, dialect), dialect, missing)
        if table is not None and not any(map(_spans_lines, table.columns)):
            return table

    # Not UTF-8, or something may be wrong: the slow way, which can tell what and where.
    text = _decode(path, _content(path), encoding)
    sample = Sample(text[:HEAD_BYTES], len(text) <= HEAD_BYTES)
    dialect = detect_dialect(sample, delimiter, quote)
    header = _header(path, sample, dialect)
    table = _parse(pa.BufferReader(text.encode()), header, dialect, missing)
    if table is None or any(map(_spans_lines, table.columns)):
        _raise_for_broken_record(path, text, dialect, len(header.names))
    if table is None:
        raise DataError(
            f"{path} cannot be parsed as text delimited by {dialect.delimiter!r}.",
            "Check delimiter and quote, and that no record is longer than 4 MB.",
        )
    return table


# ---------------------------------------------------------------------------------------- options


def _single_character(option: str, given: str | None) -> str | None:
    if given is None or (len(given) == 1 and given.isascii() and given not in "\r\n\0"):
        return given
    raise UsageError(
        f"{option} {given!r} is not a single ASCII character.",
        'Give one character, such as , or \\t (tab) for the delimiter and " for the quote.',
    )


def _known_encoding(encoding: str | None) -> str | None:
    if encoding is None:
        return None
    try:
        # Unlike codecs.lookup this refuses codecs that are not for text, such as "hex".
        io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise UsageError(
            f"Unknown encoding {encoding!r}.",
            "Give one that Python knows, such as utf-8, cp1252, latin-1 or utf-16.",
        ) from None


# --------------------------------------------------------------------------------- bytes and text


def _open(path: Path) -> pa.NativeFile:
    return pa.input_stream(str(path), compression="detect")


def _content(path: Path) -> bytes:
    with _open(path) as stream:
        return bytes(stream.read())


def _utf8_sample(path: Path, encoding: str | None) -> Sample | None:
    """Return the beginning of the file, or None when it is not UTF-8 or is said not to be."""
    with _open(path) as stream:
        head = bytes(stream.read(HEAD_BYTES + 1))
    complete = len(head) <= HEAD_BYTES
    if not head.removeprefix(codecs.BOM_UTF8).strip():
        raise DataError(f"{path} is empty.", "Give a file with a header row and data rows.")
    marked = _marked_encoding(head)
    if encoding is None and marked in (None, "utf-8"):
        _check_is_text(path, head)
    if (encoding or marked or "utf-8") not in ("utf-8", "utf-8-sig"):
        return None
    try:
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(head, final=complete)
    except UnicodeDecodeError:
        return None
    return Sample(text, complete)


def _marked_encoding(content: bytes) -> str | None:
    return next((name for mark, name in BYTE_ORDER_MARKS.items() if content.startswith(mark)), None)


def _check_is_text(path: Path, head: bytes) -> None:
    controls = len(head) - len(head.translate(None, delete=CONTROL_CHARACTERS))
    if b"\0" in head or controls > len(head) / 50:
        raise DataError(
            f"{path} is not text: it holds binary data.",
            "Export the table as CSV or Parquet; "
            "for text in UTF-16 without a byte order mark give encoding utf-16-le or utf-16-be.",
        )


def _decode(path: Path, content: bytes, encoding: str | None) -> str:
    named = encoding or _marked_encoding(content)
    try:
        return content.decode(named or "utf-8").removeprefix("\ufeff")
    except UnicodeError as error:
        if named is not None:
            raise _undecodable(path, content, named, error) from None
    return _decode_by_guess(path, content)


def _undecodable(path: Path, content: bytes, encoding: str, error: UnicodeError) -> DataError:
    place = ""
    if isinstance(error, UnicodeDecodeError):
        before = content[: error.start].decode(encoding, errors="ignore")
        line = 1 + len(re.findall(r"\r\n|\r|\n", before))
        place = f" at byte {error.start} (line {line})"
    return DataError(
        f"{path} is not {encoding} text: it cannot be decoded{place}.",
        "Give the file's own encoding, or none to have it detected.",
    )


def _decode_by_guess(path: Path, content: bytes) -> str:
    for encoding in _likely_encodings(content):
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        logger.warning("%s is not UTF-8; read as %s, which is a guess.", path, encoding)
        return text
    raise DataError(
        f"{path} is neither UTF-8 nor text in an encoding that can be guessed.",
        "Give its encoding, such as cp1252.",
    )


def _likely_encodings(content: bytes) -> list[str]:
    """Rank encodings by how little the telling lines (those beyond ASCII) look like a mess."""
    lines = dict.fromkeys(line for line in content.splitlines() if not line.isascii())
    telling = b"\n".join(lines)[:GUESS_BYTES]
    matches = list(charset_normalizer.from_bytes(telling, cp_isolation=GUESSED_ENCODINGS))
    if not matches:
        return []
    least = min(match.chaos for match in matches)
    ranked = [name for match in matches for name in match.could_be_from_charset]
    tied = {
        name
        for match in matches
        if match.chaos <= least + 0.01
        for name in match.could_be_from_charset
    }
    # š and ž sit at the same place in cp1250 and cp1252, and are at home in the languages of the
    # first; otherwise the second is by far the more common.
    central = telling.translate(None, delete=b"\x8a\x8e\x9a\x9e") != telling
    preferred = [name for name in [("cp1252", "cp1250")[central]] if name in tied]
    return list(dict.fromkeys(preferred + ranked))


# ----------------------------------------------------------------------------------------- dialect


def detect_dialect(sample: Sample, delimiter: str | None, quote: str | None) -> Dialect:
    r"""Find the delimiter and quote that are not given.

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
            # A name such as 't Hooft opens a quote that is never closed: not one width then.
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
    """Count the fields of the first records; if strict, none when they break rules of quoting."""
    lines = io.StringIO(sample.text, newline="")
    widths: list[int] = []
    try:
        for record in itertools.islice(_reader(lines, dialect, strict=strict), SAMPLE_RECORDS):
            widths.append(len(record))  # noqa: PERF401 - what came before an error is kept
    except csv.Error:
        if strict and (sample.complete or lines.tell() < len(sample.text)):
            return []
    else:
        if not sample.complete and len(widths) < SAMPLE_RECORDS:
            widths.pop()  # the record that the sample cuts off
    return [width for width in widths if width > 0]  # blank lines do not count


def _reader(lines: Iterator[str], dialect: Dialect, *, strict: bool) -> Iterator[list[str]]:
    return csv.reader(lines, delimiter=dialect.delimiter, quotechar=dialect.quote, strict=strict)


# ----------------------------------------------------------------------------------------- parsing


@dataclass(frozen=True)
class Header:
    """The column names, and how many records (blank ones included) to pass to reach the data."""

    names: list[str]
    records: int


def _header(path: Path, sample: Sample, dialect: Dialect) -> Header:
    records = _reader(io.StringIO(sample.text, newline=""), dialect, strict=False)
    names: list[str] = []
    passed = 0
    try:
        while not names:
            names = next(records)
            passed += 1
        has_rows = not sample.complete or any(records)
    except csv.Error:  # an endless cell further down: parsing will tell
        has_rows = True
    except StopIteration:
        has_rows = False
    if not has_rows:
        raise DataError(f"{path} has a header but no rows.", "Give a file with data rows.")
    return Header([name.strip() for name in names], passed)


def _parse(
    stream: pa.NativeFile, header: Header, dialect: Dialect, missing: Sequence[str]
) -> pa.Table | None:
    """Read cells as text, then type them; None when records differ in width or are not UTF-8."""
    try:
        with stream:
            table = pacsv.read_csv(
                stream,
                read_options=pacsv.ReadOptions(
                    column_names=header.names,
                    skip_rows_after_names=header.records,
                    block_size=BLOCK_BYTES,
                ),
                parse_options=pacsv.ParseOptions(
                    delimiter=dialect.delimiter, quote_char=dialect.quote, newlines_in_values=True
                ),
                convert_options=pacsv.ConvertOptions(
                    column_types=dict.fromkeys(header.names, pa.string()),
                    null_values=[""],
                    strings_can_be_null=True,
                ),
            )
    except pa.ArrowInvalid:
        return None
    columns = [infer_type(blank_out(column, missing)) for column in table.columns]
    return pa.Table.from_arrays(columns, names=table.column_names)


def _spans_lines(column: pa.ChunkedArray) -> bool:
    """Tell whether a cell spans lines: rightly so, or because its quote was not closed in place.

    pyarrow reads on to the next quote and puts other records' cells into this one. Nothing would
    be wrong with the table's shape, but what was never looked at could be published.
    """
    if not pa.types.is_string(column.type):
        return False
    return any(pc.any(pc.match_substring(column, end)).as_py() for end in "\n\r")


def _raise_for_broken_record(path: Path, text: str, dialect: Dialect, expected: int) -> None:
    """Raise for the first record that is too short or too long or breaks the rules of quoting."""
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=dialect.delimiter,
        quotechar=dialect.quote,
        strict=True,
    )
    usual_limit = csv.field_size_limit(len(text) + 1)
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


# ------------------------------------------------------------------------------------------- types


def blank_out(column: pa.ChunkedArray, words: Sequence[str]) -> pa.ChunkedArray:
    """Make cells of a text column missing that hold one of the words, spaces around it or not.

    >>> blank_out(pa.chunked_array([["a", " ?", "NA"]]), ["?"]).to_pylist()
    ['a', None, 'NA']
    """
    if not words:
        return column
    value_set = pa.array([word.strip() for word in words], pa.string())
    found = pc.is_in(pc.utf8_trim_whitespace(column), value_set=value_set)
    return pc.if_else(found, pa.scalar(None, pa.string()), column)


def infer_type(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Give a text column the narrowest type that keeps all of its cells, else leave it as text.

    >>> infer_type(pa.chunked_array([["1", None, " 2"]])).type
    DataType(int64)
    >>> infer_type(pa.chunked_array([["01234", "98765"]])).type
    DataType(string)
    """
    if column.null_count == len(column):
        return column
    cells = pc.ascii_trim_whitespace(column)
    # A cast that fails on many cells is slow, so a few from all over the column are tried first.
    stride = max(1, len(cells) // PROBED_CELLS)
    probe = cells.take(pa.array(range(0, len(cells), stride), pa.int64()))
    for attempt in ATTEMPTS:
        if attempt(probe) is not None and (typed := attempt(cells)) is not None:
            return typed
    return column


def _integers(cells: pa.ChunkedArray) -> pa.ChunkedArray | None:
    typed = _cast(cells, pa.int64())
    return None if typed is None or _any_matches(cells, r"^-?0[0-9xX]") else typed


def _decimals(cells: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Refuse leading zeros, whole numbers that a double may round, infinities and NaN."""
    typed = _cast(cells, pa.float64())
    if typed is None or _any_matches(cells, r"^[+-]?(?:0[0-9]|[0-9]{16,}$)"):
        return None
    return None if pc.any(pc.invert(pc.is_finite(typed))).as_py() else typed


def _booleans(cells: pa.ChunkedArray) -> pa.ChunkedArray | None:
    typed = _cast(cells, pa.bool_())
    return None if typed is None or _any_matches(cells, "[01]") else typed


def _moments(cells: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Try dates, then moments without and with a time zone, coarse units first."""
    kinds = [pa.date32()]
    kinds += [pa.timestamp(unit, zone) for zone in (None, "UTC") for unit in ("s", "us", "ns")]
    return next((typed for kind in kinds if (typed := _cast(cells, kind)) is not None), None)


ATTEMPTS: tuple[Callable[[pa.ChunkedArray], pa.ChunkedArray | None], ...] = (
    _integers,
    _decimals,
    _booleans,
    _moments,
)


def _cast(cells: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray | None:
    try:
        return pc.cast(cells, kind)
    except pa.ArrowInvalid:
        return None


def _any_matches(cells: pa.ChunkedArray, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(cells, pattern)).as_py())
