"""Input tables: files by their type, objects by the Arrow stream protocol, all made uniform."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mottle.errors import DataError, StorageError, UsageError
from mottle.io.text.delimited import read_delimited
from mottle.io.text.type_inference import blank_out
from mottle.utils.arrow import as_days, dictionary_order, is_plain

PANDAS_INDEX = re.compile(r"__index_level_\d+__")
ARROW_FILE_MAGIC = b"ARROW1"
PARQUET_MAGIC = b"PAR1"


def read_table(
    path: str | Path,
    *,
    delimiter: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
) -> pa.Table:
    """Read a table from a delimited text, Parquet or Arrow file.

    Parameters
    ----------
    path
        ``.csv .tsv .tab .txt`` (also compressed, such as ``.csv.gz``), ``.parquet .pq``,
        ``.arrow .feather .ipc``; any other file is known by its first bytes, or taken as text.
    delimiter, quote, encoding
        How a text file is written; what is not given is detected. They say nothing about
        other files.
    missing
        Words that stand for a missing value in text cells. Without them only the empty cell of a
        text file is missing: ``NA`` may be Namibia.

    Raises
    ------
    StorageError
        The file does not exist or cannot be opened.
    DataError
        The file is damaged, or is not a table with distinct column names and at least one row.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "people.csv")
    ...     _ = path.write_text("age,country\\n31,NA\\n45,\\n")
    ...     read_table(path).to_pylist()
    [{'age': 31, 'country': 'NA'}, {'age': 45, 'country': None}]
    """
    _refuse_database(path)
    path = Path(path)
    binary_reader = _binary_reader(path, first_bytes(path))
    try:
        if binary_reader is None:
            table = read_delimited(
                path, delimiter=delimiter, quote=quote, encoding=encoding, missing=missing
            )
        else:
            table = binary_reader(path)
    except (pa.ArrowException, OSError):  # the file could be opened: what it holds is at fault
        raise DataError(
            f"{path} is damaged, incomplete or not of the type its name says.",
            "Write it again, or give it the suffix of its type (.csv, .parquet, .arrow).",
        ) from None
    table = validate_table(normalize(table), str(path))
    return table if binary_reader is None else mask_missing_markers(table, missing)


def as_table(data: object) -> pa.Table:
    """Take a table from a file, from pyarrow or from anything with the Arrow stream protocol.

    >>> as_table(pa.table({"age": pa.array([31, 45], pa.int8())})).num_rows
    2
    >>> as_table([31, 45])
    Traceback (most recent call last):
    mottle.errors.UsageError: A list is not a table. Give ...
    """
    if isinstance(data, (str, os.PathLike)):
        return read_table(os.fspath(data))
    source = f"The {type(data).__name__}"
    return validate_table(normalize(_arrow_table(data, source)), source)


def normalize(table: pa.Table) -> pa.Table:
    """Make columns uniform whatever wrote them, and drop what is no data.

    Text becomes ``string``, bytes ``binary``, half floats ``float32``, short decimals
    ``decimal128`` and ``date64`` days; seconds become milliseconds, which Parquet has; dictionaries
    are decoded unless they are ordered; the unnamed index of pandas and all metadata go.

    >>> column = pa.array(["a", "b"], pa.large_string()).dictionary_encode()
    >>> normalize(pa.table({"letter": column, "__index_level_0__": [7, 8]})).schema
    letter: string
    """
    kept = [position for position, name in enumerate(table.column_names) if not _is_index(name)]
    names = [table.column_names[position] for position in kept]
    columns = [
        _uniform(table.column(position), name) for position, name in zip(kept, names, strict=True)
    ]
    return pa.Table.from_arrays(columns, names=names)


# ------------------------------------------------------------------------------------------- files


def _refuse_database(path: str | Path) -> None:
    from mottle.io.databases.url import is_database, parse

    if is_database(path):
        raise UsageError(
            f"{parse(path).shown} is a database.",
            "Say which rows of it: mottle.read_database(url, table=…), or --table on the command"
            " line.",
        )


def first_bytes(path: Path) -> bytes:
    """Open the file, so that whatever prevents this is told apart from damaged content."""
    try:
        if path.exists() and not path.is_file():
            raise StorageError(f"{path} is not a file.", "Give the file that holds the table.")
        with path.open("rb") as file:
            return file.read(8)
    except FileNotFoundError:
        raise StorageError(f"{path} does not exist.", "Check the path.") from None
    except OSError as error:
        raise StorageError(
            f"{path} cannot be read: {error.strerror}.", "Check path and permissions."
        ) from error


def _binary_reader(path: Path, magic: bytes) -> Callable[[Path], pa.Table] | None:
    """Find the reader of a Parquet or Arrow file; None for text."""
    suffix = path.suffix.lower()
    if suffix in TEXT_SUFFIXES:
        return None
    if suffix in BINARY_READERS:
        return BINARY_READERS[suffix]
    if magic.startswith(PARQUET_MAGIC):
        return _read_parquet
    if magic.startswith(ARROW_FILE_MAGIC):
        return _read_arrow
    return None


def is_parquet(path: Path, magic: bytes) -> bool:
    """Whether a file is read as Parquet."""
    return _binary_reader(path, magic) is _read_parquet


def is_arrow(path: Path, magic: bytes) -> bool:
    """Whether a file is read as Arrow's own format."""
    return _binary_reader(path, magic) is _read_arrow


def _read_parquet(path: Path) -> pa.Table:
    # Not read_table: it would turn a folder named year=2020 into a column.
    with pq.ParquetFile(path) as file:
        return file.read()


def _read_arrow(path: Path) -> pa.Table:
    with pa.OSFile(str(path)) as file:
        is_file_format = file.read(len(ARROW_FILE_MAGIC)) == ARROW_FILE_MAGIC
        file.seek(0)
        open_reader = pa.ipc.open_file if is_file_format else pa.ipc.open_stream
        with open_reader(file) as reader:
            return reader.read_all()


TEXT_SUFFIXES = {".csv", ".tsv", ".tab", ".txt"}
BINARY_READERS: dict[str, Callable[[Path], pa.Table]] = {
    ".parquet": _read_parquet,
    ".pq": _read_parquet,
    ".arrow": _read_arrow,
    ".feather": _read_arrow,
    ".ipc": _read_arrow,
}


# ----------------------------------------------------------------------------------------- objects


def _arrow_table(data: object, source: str) -> pa.Table:
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if not isinstance(data, pa.RecordBatchReader) and not hasattr(data, "__arrow_c_stream__"):
        raise UsageError(
            f"A {type(data).__name__} is not a table.",
            "Give a path, a pyarrow Table, a DataFrame of pandas or Polars, a DuckDB relation or "
            "another object with the Arrow stream protocol (__arrow_c_stream__).",
        )
    try:
        is_reader = isinstance(data, pa.RecordBatchReader)  # whose own errors get through
        reader = data if is_reader else pa.RecordBatchReader.from_stream(data)
        return reader.read_all()
    except (pa.ArrowException, ValueError, TypeError):  # their messages may quote cells
        raise DataError(
            f"{source} cannot be turned into an Arrow table.",
            "Give a table rather than a single column, with distinct column names and columns "
            "that each hold values of one type.",
        ) from None


# --------------------------------------------------------------------------- checks and uniformity


def validate_table(table: pa.Table, source: str) -> pa.Table:
    """Refuse what nobody could name or anonymize."""
    names = table.column_names
    for position, name in enumerate(names, start=1):
        if not name.strip():
            raise DataError(
                f"{source}: column {position} of {len(names)} has an empty name.",
                "Name every column in the header.",
            )
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(
            f"{source}: duplicate column names: {', '.join(twice)}.", "Rename or drop them."
        )
    if table.num_rows == 0 or not names:
        raise DataError(f"{source} has no rows.", "Give a table with at least one row.")
    return table


def mask_missing_markers(table: pa.Table, words: Sequence[str]) -> pa.Table:
    """Make text cells missing that hold one of the words."""
    columns = [
        blank_out(column, words) if pa.types.is_string(column.type) else column
        for column in table.columns
    ]
    return pa.Table.from_arrays(columns, names=table.column_names)


def _is_index(name: str) -> bool:
    return PANDAS_INDEX.fullmatch(name) is not None


def _uniform(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    if isinstance(column.type, pa.BaseExtensionType):
        storage = [chunk.storage for chunk in column.chunks]
        column = pa.chunked_array(storage, column.type.storage_type)
    if pa.types.is_dictionary(column.type):
        return _uniform_dictionary(column, name)
    if pa.types.is_date64(column.type):
        return as_days(column, name)
    target = _uniform_type(column.type)
    if column.type == target:
        return column
    try:
        return pc.cast(column, target)
    except pa.ArrowInvalid:
        raise DataError(
            f"Column '{name}' holds {column.type} values that {target} cannot hold.",
            "Replace the extreme ones by missing values or by a bound.",
        ) from None


def _uniform_dictionary(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Decode categories; where they are ordered, give all chunks one dictionary instead."""
    values = _uniform_type(column.type.value_type)
    if not is_plain(values):
        return column
    decoded = pa.chunked_array(
        [pc.cast(chunk.dictionary, values).take(chunk.indices) for chunk in column.chunks],
        values,
    )
    if not column.type.ordered:
        return decoded
    known = pc.cast(dictionary_order(column, name), values)
    kind = pa.dictionary(pa.int32(), values, ordered=True)
    chunks = [
        pa.DictionaryArray.from_arrays(pc.index_in(chunk, value_set=known), known, ordered=True)
        for chunk in decoded.chunks
    ]
    return pa.chunked_array(chunks, kind)


def _uniform_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if any(is_bytes(kind) for is_bytes in BYTES):
        return pa.binary()
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind):
        return pa.decimal128(kind.precision, kind.scale)
    if pa.types.is_timestamp(kind) and kind.unit == "s":
        return pa.timestamp("ms", kind.tz)
    if pa.types.is_time32(kind):
        return pa.time32("ms")
    return kind


BYTES = (pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary)
