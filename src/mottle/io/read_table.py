"""Input tables: files by their type, objects by the Arrow stream protocol, in uniform types."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from weakref import WeakValueDictionary

import pyarrow as pa

from mottle.errors import DataError, StorageError, UsageError
from mottle.io.changing_input import refusing_changes
from mottle.io.databases.url import is_database, parse
from mottle.io.foreign.child import read_foreign
from mottle.io.foreign.formats import EXCEL, STATISTICS, format_of
from mottle.io.lakes import is_lake, lake_batches
from mottle.io.normalize import mask_missing_markers, normalize, validate_table
from mottle.io.parquet_folder import ParquetFiles
from mottle.io.release_input import (
    refuse_generalized_cells,
    refuse_release_file,
    refuse_release_metadata,
)
from mottle.io.text.delimited import read_delimited
from mottle.schema.reading import ReadOptions
from mottle.utils.paths import is_pattern
from mottle.utils.untrusted.arrow import (
    ARROW_FILE_MAGIC,
    read_arrow,
    read_parquet,
    reporting_damage,
    validated,
)

__all__ = ["as_table", "first_bytes", "is_arrow", "is_parquet", "is_text_file", "read_table"]

PARQUET_MAGIC = b"PAR1"

# Tables that `read_table` has checked and returned, by their identity: tables do not change.
_CHECKED: WeakValueDictionary[int, pa.Table] = WeakValueDictionary()


@refusing_changes
def read_table(
    path: str | Path,
    *,
    delimiter: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
    decimal: str | None = None,
    thousands: str | None = None,
    date_format: Sequence[str] = (),
    sheet: str | int | None = None,
    header_row: int | None = None,
    user_missing: bool = False,
    allow_generalized: bool = False,
) -> pa.Table:
    """Read a table from a file, a folder of Parquet files, or a Delta or Iceberg table.

    Parameters
    ----------
    path : str or Path
        ``.csv .tsv .tab .txt`` (also compressed, such as ``.csv.gz``), ``.parquet .pq``,
        ``.arrow .feather .ipc``, ``.xlsx .xlsm .xlsb .xls .ods``, ``.sav .zsav .por`` (SPSS),
        ``.dta`` (Stata), ``.sas7bdat .xpt`` (SAS); any other file is recognized by its first
        bytes, or taken as text. A folder or a pattern (``data/*.parquet``) of Parquet files, or
        the folder of a Delta or Iceberg table.
    delimiter, quote, encoding : str, optional
        How a text file is written; what is not given is detected. They do not apply to other
        files.
    missing : sequence of str
        Words that stand for a missing value in text cells. Without them only the empty cell of a
        text file is missing: ``NA`` may be Namibia.
    decimal, thousands : str, optional
        The decimal mark of numbers in a text file and what separates groups of three digits. By
        default a point and nothing.
    date_format : sequence of str
        Formats of dates in a text file, such as ``dd.mm.yyyy``, in addition to 2024-12-31.
    sheet : str or int, optional
        The sheet of a workbook, by its name or its number from 1; needed if several have cells.
    header_row : int, optional
        The row of a workbook that holds the column names; by default the first with cells.
    user_missing : bool
        Whether codes that a file of SPSS, Stata or SAS declares missing (refused, does not apply)
        are categories of columns with labels. They are missing by default.
    allow_generalized : bool
        Whether a table is accepted whose cells look like those of a release (``{a|b}``, ``1..5``).

    Returns
    -------
    pyarrow.Table
        The rows, in uniform types.

    Raises
    ------
    StorageError
        The file does not exist or cannot be opened.
    UsageError
        The path is a database, or an option is not valid.
    DataError
        The file is damaged, belongs to a release, or is not a table with distinct column names and
        at least one row.

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
    refuse_release_file(path)
    binary_reader = _reader(
        path,
        ReadOptions(
            missing=tuple(missing),
            sheet=None if sheet is None else str(sheet),
            header_row=header_row,
            user_missing=user_missing,
        ),
    )
    with reporting_damage(str(path)):  # the file could be opened, so its content is at fault
        if binary_reader is None:
            table = read_delimited(
                path,
                delimiter=delimiter,
                quote=quote,
                encoding=encoding,
                missing=missing,
                decimal=decimal,
                thousands=thousands,
                date_format=date_format,
            )
        else:
            table = binary_reader(path)
            refuse_release_metadata(table.schema, str(path))
    table = validate_table(normalize(table), str(path))
    if not allow_generalized:
        refuse_generalized_cells(table, str(path))
    if binary_reader is not None:
        table = mask_missing_markers(table, missing)
    if not allow_generalized:
        _CHECKED[id(table)] = table
    return table


def as_table(data: object, options: ReadOptions | None = None) -> pa.Table:
    """Take a table from a file, from pyarrow or from anything with the Arrow stream protocol.

    Parameters
    ----------
    data : str, Path or object
        A path for `read_table`, a pyarrow object, or an object with ``__arrow_c_stream__`` such as
        a DataFrame.
    options : ReadOptions, optional
        How a file is read; of other tables, which words stand for missing values in text columns.

    Returns
    -------
    pyarrow.Table
        The rows, in uniform types.

    Raises
    ------
    UsageError
        The object is not a table.
    DataError
        It has no rows, columns without distinct names, cannot be turned into an Arrow table, or is
        a release.

    Examples
    --------
    >>> as_table(pa.table({"age": pa.array([31, 45], pa.int8())})).num_rows
    2
    >>> as_table([31, 45])
    Traceback (most recent call last):
    mottle.errors.UsageError: A list is not a table. Give ...
    """
    options = options or ReadOptions()
    if isinstance(data, (str, os.PathLike)):
        return read_table(os.fspath(data), **options.model_dump())
    if data is not None and _CHECKED.get(id(data)) is data:
        return mask_missing_markers(data, options.missing)
    source = f"The {type(data).__name__}"
    arrow = validated(_arrow_table(data, source), source)
    refuse_release_metadata(arrow.schema, source)
    table = validate_table(normalize(arrow), source)
    if not options.allow_generalized:
        refuse_generalized_cells(table, source)
    return mask_missing_markers(table, options.missing)


# ------------------------------------------------------------------------------------------- files


def _refuse_database(path: str | Path) -> None:
    if is_database(path):
        raise UsageError(
            f"{parse(path).shown} is a database.",
            "Name the rows to read: mottle.read_database(url, table=…), or --table on the command"
            " line.",
        )


def first_bytes(path: Path) -> bytes:
    """Open a file, so that a file that cannot be opened is distinguished from damaged content.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    bytes
        Its first 8 bytes.

    Raises
    ------
    StorageError
        The file does not exist, is a folder, or cannot be read.
    """
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
    except ValueError:
        raise StorageError("A path holds a NUL character.", "Check the path.") from None


def _reader(path: Path, options: ReadOptions) -> Callable[[Path], pa.Table] | None:
    """Find the reader of anything that is not text; None for text."""
    found = format_of(path)
    if found is not EXCEL:
        for option, value in (("sheet", options.sheet), ("header-row", options.header_row)):
            if value is not None:
                raise UsageError(
                    f"--{option} is for workbooks, and {path} is none.", f"Leave --{option} out."
                )
    if options.user_missing and found not in STATISTICS:
        raise UsageError(
            f"--user-missing is for files of SPSS, Stata and SAS, and {path} is none.",
            "Leave --user-missing out.",
        )
    if is_pattern(path) or os.path.isdir(path):
        if is_lake(path):
            return lambda folder: pa.Table.from_batches(list(lake_batches(folder)))
        return lambda folder: ParquetFiles.of(folder).read()
    magic = first_bytes(path)
    if found is not None:
        return lambda file: read_foreign(file, found, options)
    return _binary_reader(path, magic)


def _binary_reader(path: Path, magic: bytes) -> Callable[[Path], pa.Table] | None:
    """Find the reader of a Parquet or Arrow file; None for text."""
    suffix = path.suffix.lower()
    if suffix in TEXT_SUFFIXES:
        return None
    if suffix in BINARY_READERS:
        return BINARY_READERS[suffix]
    if magic.startswith(PARQUET_MAGIC):
        return read_parquet
    if magic.startswith(ARROW_FILE_MAGIC):
        return read_arrow
    return None


def is_text_file(path: Path) -> bool:
    """Tell whether a path is a file that is read as delimited text.

    Parameters
    ----------
    path : Path
        The path.

    Returns
    -------
    bool
        False for folders, patterns and databases as well.
    """
    if is_database(path) or os.path.isdir(path) or is_pattern(path) or format_of(path):
        return False
    return _binary_reader(path, first_bytes(path)) is None


def is_parquet(path: Path, magic: bytes) -> bool:
    """Tell whether a file is read as Parquet.

    Parameters
    ----------
    path : Path
        The file; its suffix counts first.
    magic : bytes
        Its first bytes.

    Returns
    -------
    bool
        Whether the file is read as Parquet.
    """
    return _binary_reader(path, magic) is read_parquet


def is_arrow(path: Path, magic: bytes) -> bool:
    """Tell whether a file is read as Arrow IPC.

    Parameters
    ----------
    path : Path
        The file; its suffix counts first.
    magic : bytes
        Its first bytes.

    Returns
    -------
    bool
        Whether the file is read as Arrow IPC.
    """
    return _binary_reader(path, magic) is read_arrow


TEXT_SUFFIXES = {".csv", ".tsv", ".tab", ".txt"}
BINARY_READERS: dict[str, Callable[[Path], pa.Table]] = {
    ".parquet": read_parquet,
    ".pq": read_parquet,
    ".arrow": read_arrow,
    ".feather": read_arrow,
    ".ipc": read_arrow,
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
