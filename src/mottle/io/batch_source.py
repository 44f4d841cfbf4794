"""Tables in batches: files too large to be read as a whole, read as often as needed.

Parquet files are read where they are. Arrow and text files and readers that can be read only once
(databases) are copied to a Parquet file first; text columns then have the types that they would be
given if the whole file were read into memory.
"""

from __future__ import annotations

import hashlib
import io
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from mottle.errors import DataError
from mottle.io.changing_input import input_files
from mottle.io.databases.base import DATABASES
from mottle.io.foreign.child import foreign_batches
from mottle.io.foreign.formats import format_of
from mottle.io.lakes import is_lake, lake_batches
from mottle.io.normalize import mask_missing_markers, normalize, validate_table
from mottle.io.parquet_folder import ParquetFiles
from mottle.io.read_table import first_bytes, is_arrow, is_parquet
from mottle.io.release_input import (
    refuse_generalized_cells,
    refuse_release_file,
    refuse_release_metadata,
)
from mottle.io.text.delimited import (
    BLOCK_BYTES,
    Dialect,
    Header,
    detect_dialect,
    header_of,
    parser_options,
    raise_for_broken_record,
    single_character,
    spans_lines,
)
from mottle.io.text.encodings import Sample, known_encoding, open_bytes, utf8_sample
from mottle.io.text.two_readings import TwoReadings
from mottle.io.text.type_inference import Attempt, blank_out, possible_types, single_types
from mottle.schema.reading import ReadOptions
from mottle.utils.paths import is_pattern
from mottle.utils.private_folders import new_private_file
from mottle.utils.untrusted.arrow import (
    arrow_batches,
    damaged,
)

__all__ = [
    "ROWS_PER_BATCH",
    "Batches",
    "Source",
    "content_hash",
    "copied",
    "open_source",
    "parquet_source",
    "rows_hash",
]

ROWS_PER_BATCH = 1 << 16
_logger = logging.getLogger(__name__)

_SAMPLE_BYTES = 1 << 20  # of a transcoded text file, for the detection of its dialect

Batches = Callable[[], Iterator[pa.Table]]  # starts reading from the first row


@dataclass(frozen=True)
class Source:
    """A table whose rows come in the same order every time they are read."""

    name: str  # for messages
    types: pa.Schema
    rows: int  # the number of rows
    read: Batches


def content_hash(path: Path) -> str:
    """Return a checksum of the content of a file or of all files of a folder, which are read.

    Parameters
    ----------
    path : Path
        The file, or a folder or a pattern of Parquet files.

    Returns
    -------
    str
        SHA-256, in hexadecimal.

    Raises
    ------
    StorageError
        The file does not exist or cannot be read.
    """
    if is_pattern(path) or os.path.isdir(path):
        files = input_files(path)
        content = [(str(file), content_hash(file)) for file in files]
        return hashlib.sha256(repr(content).encode()).hexdigest()
    first_bytes(path)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def rows_hash(path: Path) -> str:
    """Return a checksum of the rows of a Parquet file that does not depend on their order.

    Databases do not promise any order, so an interrupted run has to recognize its rows in any
    order.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    str
        SHA-256 of the columns and of order-independent sums over the rows, in hexadecimal.
    """
    duckdb = DATABASES["duckdb"].driver.load()
    with duckdb.connect(config={"temp_directory": ""}) as connection:
        connection.read_parquet(str(path)).create_view("rows")
        columns = connection.execute("DESCRIBE rows").fetchall()
        sums = connection.execute(
            "SELECT count(*), sum(hash(rows)), bit_xor(hash(rows, 1)) FROM rows"
        ).fetchall()
    return hashlib.sha256(repr((columns, sums)).encode()).hexdigest()


def open_source(path: Path, copy: Path, text: ReadOptions) -> Source:
    """Open a file in batches.

    Parameters
    ----------
    path : Path
        A file, a folder or pattern of Parquet files, or the folder of a Delta or Iceberg table.
    copy : Path
        Where what is no Parquet file is copied to as Parquet, unless the copy exists.
    text : ReadOptions
        How a text file is written (UTF-8 unless it says so), and which words stand for missing
        values.

    Returns
    -------
    Source
        The table in batches.

    Raises
    ------
    StorageError
        The file does not exist or cannot be opened.
    DataError
        The file is damaged, not a table, or a release.
    UsageError
        An option is not valid.
    """
    refuse_release_file(path)
    folder = is_pattern(path) or os.path.isdir(path)
    found = None if folder else format_of(path)
    magic = b"" if folder else first_bytes(path)
    if folder and is_lake(path):
        source = copied(lambda: _tables(lake_batches(path)), copy, str(path), text.missing)
    elif folder or is_parquet(path, magic):
        source = parquet_source(path, str(path), text.missing)
    elif found is not None:
        batches = partial(foreign_batches, path, found, text)
        source = copied(lambda: _tables(batches()), copy, str(path), text.missing)
    elif is_arrow(path, magic):
        source = copied(lambda: arrow_batches(path), copy, str(path), text.missing)
    else:
        if not copy.exists():
            _copy_text(path, copy, text)
        source = parquet_source(copy, str(path))
    if not text.allow_generalized:
        refuse_generalized_cells(next(source.read()), str(path))
    return source


def copied(read: Batches, copy: Path, name: str, missing: Sequence[str] = ()) -> Source:
    """Open batches of any size, or that come only once, through a copy.

    Parameters
    ----------
    read : Batches
        The batches; called at most once.
    copy : Path
        The Parquet file to which they are written, unless it exists.
    name : str
        The source, for messages.
    missing : sequence of str
        Words that stand for a missing value in text columns.

    Returns
    -------
    Source
        The table in batches.

    Raises
    ------
    DataError
        The batches cannot be read or there are no rows.
    """
    if not copy.exists():
        _write_copy(read(), copy, name)
    return parquet_source(copy, name, missing)


def parquet_source(path: Path, name: str, missing: Sequence[str] = ()) -> Source:
    """Open a Parquet file in batches, or a folder or pattern of such files.

    Parameters
    ----------
    path : Path
        The file, folder or pattern.
    name : str
        The source, for messages.
    missing : sequence of str
        Words that stand for a missing value in text columns.

    Returns
    -------
    Source
        The table in batches.

    Raises
    ------
    DataError
        There are no Parquet files, or one is damaged or not a table.
    """
    files = ParquetFiles.of(path)
    files.check_batches(ROWS_PER_BATCH)
    rows = files.rows
    first = next(files.batches(size=1), None)
    refuse_release_metadata(files.schema, name)
    empty = pa.Table.from_batches([first] if first is not None else [], files.schema)
    types = validate_table(_normalized(empty, missing), name).schema

    def read() -> Iterator[pa.Table]:
        for batch in files.batches(ROWS_PER_BATCH):
            yield _normalized(pa.Table.from_batches([batch]), missing)

    return Source(name, types, rows, read)


def _tables(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches that have rows, as tables."""
    return (pa.Table.from_batches([batch]) for batch in batches if batch.num_rows)


def _normalized(table: pa.Table, missing: Sequence[str]) -> pa.Table:
    return mask_missing_markers(normalize(table), missing)


def _storable(table: pa.Table) -> pa.Table:
    """The same cells in types that Parquet has: it lacks decimals with a negative scale."""
    for place, described in enumerate(table.schema):
        kind = described.type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if pa.types.is_decimal(kind) and kind.scale < 0:
            column = normalize(table.select([place])).column(0)
            table = table.set_column(place, described.with_type(column.type), column)
    return table


def _write_copy(batches: Iterator[pa.Table], copy: Path, name: str) -> None:
    """Write all batches, or no file."""
    partial = copy.with_name(f"{copy.name}.partial")
    writer: pq.ParquetWriter | None = None
    try:
        for table in map(_storable, batches):
            if writer is None:
                validate_table(table.slice(0, 1) if table.num_rows else table, name)
                new_private_file(partial)
                writer = pq.ParquetWriter(partial, table.schema, compression="zstd")
            writer.write_table(table)
        if writer is None:
            raise DataError(f"{name} has no rows.", "Give a table with at least one row.")
    except pa.ArrowException:
        partial.unlink(missing_ok=True)
        raise damaged(name) from None
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    finally:
        if writer is not None:
            writer.close()
    partial.rename(copy)


# ------------------------------------------------------------------------------------------- text


@dataclass(frozen=True)
class _TextFile:
    """A text file whose encoding, dialect and header are known."""

    path: Path
    encoding: str
    dialect: Dialect
    header: Header
    missing: Sequence[str]

    def bytes(self) -> pa.NativeFile:
        """Open the content as UTF-8."""
        stream = open_bytes(self.path)
        if self.encoding in ("utf-8", "utf-8-sig"):
            return stream
        return pa.transcoding_input_stream(stream, self.encoding, "utf-8")

    def batches(self) -> Iterator[pa.Table]:
        """Yield all cells as text."""
        try:
            with self.bytes() as stream:
                for batch in pacsv.open_csv(stream, **parser_options(self.header, self.dialect)):
                    columns = [
                        blank_out(pa.chunked_array([column]), self.missing)
                        for column in batch.columns
                    ]
                    yield pa.Table.from_arrays(columns, names=batch.schema.names)
        except (pa.ArrowInvalid, UnicodeError):
            self.check_records()
            raise DataError(
                f"{self.path} cannot be parsed as text delimited by {self.dialect.delimiter!r}.",
                "Check delimiter, quote and encoding, and that no record is longer than 4 MB.",
            ) from None

    def check_records(self) -> None:
        """Raise for the first record that is broken."""
        try:
            with io.TextIOWrapper(self.bytes(), "utf-8", newline="") as lines:
                raise_for_broken_record(
                    self.path, lines, self.dialect, len(self.header.names), BLOCK_BYTES
                )
        except UnicodeDecodeError:
            raise DataError(
                f"{self.path} is not {self.encoding} text.", "Give its encoding, such as cp1252."
            ) from None


def _copy_text(path: Path, copy: Path, text: ReadOptions) -> None:
    """Find the type of every column in a first pass, then copy the file with these types."""
    file = _open_text(path, text)
    possible: dict[str, list[Attempt]] = {name: single_types(text) for name in file.header.names}
    present = dict.fromkeys(file.header.names, False)
    suspicious = False
    readings = TwoReadings(text)
    for table in file.batches():
        for name, column in zip(table.column_names, table.columns, strict=True):
            possible[name] = possible_types(column, possible[name])
            readings.look_at(name, column)
            present[name] |= column.null_count < len(column)
            suspicious = suspicious or spans_lines(column)
    if suspicious:
        file.check_records()
    for warning in readings.warnings():
        _logger.warning("%s", warning)
    chosen = {name: possible[name][0] for name in possible if present[name] and possible[name]}

    def typed() -> Iterator[pa.Table]:
        for table in file.batches():
            columns = [
                chosen[name](pa.compute.ascii_trim_whitespace(column)) if name in chosen else column
                for name, column in zip(table.column_names, table.columns, strict=True)
            ]
            yield normalize(pa.Table.from_arrays(columns, names=table.column_names))

    _write_copy(typed(), copy, str(path))


def _open_text(path: Path, text: ReadOptions) -> _TextFile:
    delimiter = single_character("delimiter", "\t" if text.delimiter == "\\t" else text.delimiter)
    quote = single_character("quote", text.quote)
    encoding = known_encoding(text.encoding) or "utf-8"
    sample = utf8_sample(path, encoding)
    if sample is None:
        if encoding in ("utf-8", "utf-8-sig"):
            raise DataError(
                f"{path} is not UTF-8 text.",
                "Give --encoding, such as cp1252; it is not guessed for files that are streamed.",
            )
        with pa.transcoding_input_stream(open_bytes(path), encoding, "utf-8") as stream:
            head = bytes(stream.read(_SAMPLE_BYTES)).decode("utf-8", errors="ignore")
        sample = Sample(head, complete=False)
    dialect = detect_dialect(sample, delimiter, quote)
    return _TextFile(path, encoding, dialect, header_of(path, sample, dialect), text.missing)
