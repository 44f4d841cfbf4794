"""Parquet and Arrow files of others: every buffer is validated before anything reads it.

Arrow trusts the offsets, lengths and dictionary indices of an IPC file, and access to an array
with a wrong one may read anywhere in memory or end the process. ``validate(full=True)`` looks at
all of them and at the encoding of texts, and is called here for every batch, before any other
function sees it. Columns of types that no command can use are refused by the schema, unread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from operator import mul
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mottle.errors import DataError
from mottle.typing import Int64Array
from mottle.utils.untrusted.memory import available_memory, bounded_memory, check_fits
from mottle.utils.untrusted.parquet_footer import column_values

__all__ = [
    "arrow_batches",
    "check_batches",
    "check_decoded",
    "checked_schema",
    "damaged",
    "parquet_batches",
    "parquet_rows",
    "parquet_schema",
    "read_arrow",
    "read_parquet",
    "reporting_damage",
    "validated",
]

LONGEST_TEXT = 2**31 - 1  # bytes of an entry of the metadata of a Parquet file
ARROW_FILE_MAGIC = b"ARROW1"
DEEPEST_TYPE = 8  # lists and structs within each other
ROWS_PER_BATCH = 1 << 16
# What pyarrow raises for content that is not as it should be; names of columns and time zones that
# are not UTF-8 are found only when they are read.
_DAMAGE = (pa.ArrowException, OSError, ValueError, KeyError, OverflowError, TypeError)


@contextmanager
def reporting_damage(name: str) -> Iterator[None]:
    """Turn Arrow's errors, which may quote cells, into a `DataError` that names the file.

    Parameters
    ----------
    name : str
        The file.

    Raises
    ------
    DataError
        In place of any error of pyarrow.
    """
    try:
        yield
    except MemoryError:
        raise DataError(
            f"{name} takes more memory than is available.",
            "Read it in parts: --memory 4GB. If it should be small, it is damaged.",
        ) from None
    except _DAMAGE:
        raise damaged(name) from None


def damaged(name: str) -> DataError:
    """Return the error for a file whose content is not as it should be.

    Parameters
    ----------
    name : str
        The file.

    Returns
    -------
    DataError
        It names the file and quotes nothing.
    """
    return DataError(
        f"{name} is damaged, incomplete or not of the type its name says.",
        "Write it again, or give it the suffix of its type (.csv, .parquet, .arrow).",
    )


def read_parquet(path: Path, name: str | None = None) -> pa.Table:
    """Read a Parquet file.

    Parameters
    ----------
    path : Path
        The file.
    name : str, optional
        How messages name it.

    Returns
    -------
    pyarrow.Table
        All rows.

    Raises
    ------
    DataError
        The file is damaged, takes more memory than there is, or has columns of odd types.
    """
    # Not pq.read_table: it would turn a folder named year=2020 into a column.
    name = name or str(path)
    with reporting_damage(name), pq.ParquetFile(path) as file:
        checked_schema(file.schema_arrow, name)
        check_fits(_decoded_size(path, file), name)
        with bounded_memory():
            return validated(file.read(), name)


def parquet_batches(
    path: Path,
    name: str | None = None,
    *,
    size: int = ROWS_PER_BATCH,
    columns: Sequence[str] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Read a Parquet file in batches.

    Parameters
    ----------
    path : Path
        The file.
    name : str, optional
        How messages name it.
    size : int, optional
        The most rows of a batch.
    columns : sequence of str, optional
        The columns that are read; by default all.

    Yields
    ------
    pyarrow.RecordBatch
        The rows, in the order of the file.

    Raises
    ------
    DataError
        As for `read_parquet`.
    """
    name = name or str(path)
    with ExitStack() as opened:
        with reporting_damage(name):
            file = opened.enter_context(pq.ParquetFile(path, thrift_string_size_limit=LONGEST_TEXT))
            checked_schema(file.schema_arrow, name)
            batches = file.iter_batches(size, columns=None if columns is None else list(columns))
        while True:
            with reporting_damage(name), bounded_memory():
                batch = next(batches, None)
                if batch is None:
                    return
                batch.validate(full=True)
            yield batch  # errors of the consumer are its own


def check_batches(path: Path, name: str | None = None, size: int = ROWS_PER_BATCH) -> None:
    """Check that batches of a Parquet file fit into memory, before they are read.

    Parameters
    ----------
    path : Path
        The file.
    name : str, optional
        How messages name it.
    size : int, optional
        The most rows of a batch.

    Raises
    ------
    DataError
        The file is damaged, or a batch of its longest texts does not fit.
    """
    name = name or str(path)
    with reporting_damage(name), pq.ParquetFile(path) as file:
        longest = sum(
            max((int(lengths.max(initial=0)) for lengths in _text_lengths(path, chunks)), default=0)
            for chunks in _texts(file, _row_groups(file), size)
        )
    check_fits(longest * size, name)


def check_decoded(paths: Iterable[Path], name: str) -> None:
    """Check that all rows of several Parquet files fit into memory together.

    Parameters
    ----------
    paths : iterable of Path
        The files.
    name : str
        How messages name all of them.

    Raises
    ------
    DataError
        A file is damaged, or they do not fit.
    """
    size = 0
    for path in paths:
        with reporting_damage(str(path)), pq.ParquetFile(path) as file:
            size += _decoded_size(path, file)
    check_fits(size, name)


def parquet_schema(path: Path, name: str | None = None) -> pa.Schema:
    """Read names, types and metadata of the columns of a Parquet file.

    Parameters
    ----------
    path : Path
        The file.
    name : str, optional
        How messages name it.

    Returns
    -------
    pyarrow.Schema
        The columns.

    Raises
    ------
    DataError
        As for `read_parquet`.
    """
    name = name or str(path)
    with reporting_damage(name):
        return checked_schema(pq.read_schema(path), name)


def parquet_rows(path: Path, name: str | None = None) -> int:
    """Return the number of rows that a Parquet file states.

    Parameters
    ----------
    path : Path
        The file.
    name : str, optional
        How messages name it.

    Returns
    -------
    int
        The number, at least 0.

    Raises
    ------
    DataError
        The file is damaged.
    """
    name = name or str(path)
    with reporting_damage(name):
        rows = int(pq.read_metadata(path).num_rows)
        if rows < 0:
            raise ValueError("a negative number of rows")
        return rows


def read_arrow(path: Path, name: str | None = None) -> pa.Table:
    """Read an Arrow file or stream (IPC, Feather).

    Parameters
    ----------
    path : Path
        The file.
    name : str, optional
        How messages name it.

    Returns
    -------
    pyarrow.Table
        All rows.

    Raises
    ------
    DataError
        As for `read_parquet`.
    """
    name = name or str(path)
    with reporting_damage(name), _open_arrow(path) as reader:
        checked_schema(reader.schema, name)
        return pa.Table.from_batches(_checked_batches(reader, name), reader.schema)


def arrow_batches(path: Path, name: str | None = None) -> Iterator[pa.Table]:
    """Read an Arrow file or stream (IPC, Feather) in the batches in which it was written.

    Parameters
    ----------
    path : Path
        The file.
    name : str, optional
        How messages name it.

    Yields
    ------
    pyarrow.Table
        The rows of each batch.

    Raises
    ------
    DataError
        As for `read_parquet`.
    """
    name = name or str(path)
    with reporting_damage(name), _open_arrow(path) as reader:
        checked_schema(reader.schema, name)
        for batch in _checked_batches(reader, name, together=False):
            yield pa.Table.from_batches([batch])


_Reader: TypeAlias = pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader


def _checked_batches(
    reader: _Reader, name: str, *, together: bool = True
) -> Iterator[pa.RecordBatch]:
    """All batches, validated, as far as they fit into memory: all together, or each by itself."""
    if isinstance(reader, pa.ipc.RecordBatchFileReader):
        batches = map(reader.get_batch, range(reader.num_record_batches))
    else:
        batches = iter(reader)
    limit, size = available_memory(), 0
    while True:
        with bounded_memory():
            batch = next(batches, None)
            if batch is None:
                return
            batch.validate(full=True)
        decoded = sum(_decoded_bytes(column) for column in batch.columns)
        size = size + decoded if together else decoded
        check_fits(size, name, limit)
        yield batch


def _decoded_bytes(column: pa.Array) -> int:
    """The bytes of a column when every row has a copy of its category."""
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    rows, categories = len(column), column.dictionary
    if categories.type.num_fields == 0 and not _is_fixed(categories.type):
        lengths = pc.fill_null(pc.binary_length(categories), 0).to_numpy()
        times = np.bincount(column.indices.drop_null().to_numpy(), minlength=len(lengths))
        return 4 * rows + int(times @ lengths.astype(np.int64))
    return rows * int(categories.nbytes) // max(len(categories), 1)


@contextmanager
def _open_arrow(path: Path) -> Iterator[_Reader]:
    with pa.OSFile(str(path)) as file:
        is_file_format = file.read(len(ARROW_FILE_MAGIC)) == ARROW_FILE_MAGIC
        file.seek(0)
        with (pa.ipc.open_file if is_file_format else pa.ipc.open_stream)(file) as reader:
            yield reader


def validated(table: pa.Table, name: str) -> pa.Table:
    """Validate all buffers of a table.

    Parameters
    ----------
    table : pyarrow.Table
        The table.
    name : str
        Where it comes from, for the message.

    Returns
    -------
    pyarrow.Table
        The same table.

    Raises
    ------
    DataError
        An offset or index points to nowhere, or a text is not UTF-8.
    """
    with reporting_damage(name):
        table.validate(full=True)
    return table


def checked_schema(schema: pa.Schema, name: str) -> pa.Schema:
    """Check names and types of columns.

    Parameters
    ----------
    schema : pyarrow.Schema
        The columns.
    name : str
        Where they come from, for the message.

    Returns
    -------
    pyarrow.Schema
        The same.

    Raises
    ------
    DataError
        A name is not UTF-8, or a type is nested deeply or one that no command uses (unions, runs,
        intervals).
    """
    with reporting_damage(name):
        names, types = list(schema.names), schema.types
    for column, data_type in zip(names, types, strict=True):
        if not _is_usable(data_type, 0):
            raise DataError(
                f"{name}: column '{column}' has a type that is not supported.",
                "Write it as numbers, text, dates or lists of these, or leave the column out.",
            )
    return schema


def _is_usable(data_type: pa.DataType, depth: int) -> bool:
    if isinstance(data_type, pa.BaseExtensionType):
        data_type = data_type.storage_type
    if depth > DEEPEST_TYPE or any(is_odd(data_type) for is_odd in _ODD):
        return False
    if pa.types.is_dictionary(data_type):
        return _is_usable(data_type.value_type, depth + 1)
    inner = [data_type.field(place).type for place in range(data_type.num_fields)]
    return all(_is_usable(one, depth + 1) for one in inner)


_ODD = (pa.types.is_union, pa.types.is_run_end_encoded, pa.types.is_interval)


def _decoded_size(path: Path, file: pq.ParquetFile) -> int:
    """The bytes that all rows take: a few bytes of Parquet can state a billion equal values."""
    types = file.schema_arrow.types
    width = sum(_bits(data_type) for data_type in types) // 8
    groups = _row_groups(file)
    size = sum(max(rows * width, stored) for rows, stored in groups)
    if any(data_type.num_fields for data_type in types):
        widths = [_bits(leaf) for data_type in types for leaf in _leaves(data_type)]
        items = (sum(map(mul, counts, widths)) // 8 for counts in column_values(path))
        size = max(size, sum(items))
    for chunks in _texts(file, groups, 0):
        size += sum(int(lengths.sum()) for lengths in _text_lengths(path, chunks))
    return size


def _leaves(data_type: pa.DataType) -> list[pa.DataType]:
    """The innermost types, which are columns of Parquet, in their order there."""
    if isinstance(data_type, pa.BaseExtensionType):
        return _leaves(data_type.storage_type)
    if pa.types.is_dictionary(data_type):
        return _leaves(data_type.value_type)
    inner = [data_type.field(place).type for place in range(data_type.num_fields)]
    return [leaf for one in inner for leaf in _leaves(one)] or [data_type]


def _bits(data_type: pa.DataType) -> int:
    return int(data_type.bit_width) if _is_fixed(data_type) else 32  # an offset


def _is_fixed(data_type: pa.DataType) -> bool:
    """Whether all values take the same number of bits."""
    try:
        return bool(data_type.bit_width)
    except ValueError:
        return False


def _row_groups(file: pq.ParquetFile) -> list[tuple[int, int]]:
    """Rows and bytes of every row group. Metadata of columns would say more, and can crash."""
    metadata = file.metadata
    found = [metadata.row_group(place) for place in range(metadata.num_row_groups)]
    return [(group.num_rows, group.total_byte_size) for group in found]


_Chunks = tuple[str, list[int]]  # a column of texts, and the row groups in question


def _texts(file: pq.ParquetFile, groups: list[tuple[int, int]], rows: int) -> Iterator[_Chunks]:
    """Columns whose texts, each in the file once, may be too much if all rows repeat them."""
    limit = available_memory()
    large = [place for place, (own, stored) in enumerate(groups) if max(rows, own) * stored > limit]
    leaves = [file.schema.column(place) for place in range(len(file.schema))]
    if large:
        yield from ((leaf.path, large) for leaf in leaves if leaf.physical_type == "BYTE_ARRAY")


def _text_lengths(path: Path, chunks: _Chunks) -> Iterator[Int64Array]:
    """The lengths of all texts of a column, which is read without repeating them in memory."""
    column, groups = chunks
    with pq.ParquetFile(path, read_dictionary=[column]) as file:
        for group in groups:
            table = file.read_row_group(group, columns=[column])
            table.validate(full=True)
            for chunk in table.column(0).chunks:
                leaves: pa.Array = chunk
                while leaves.type.num_fields:
                    leaves = leaves.flatten()
                    leaves = leaves[0] if isinstance(leaves, list) else leaves
                if pa.types.is_dictionary(leaves.type):
                    of_texts = pc.fill_null(pc.binary_length(leaves.dictionary), 0).to_numpy()
                    used = leaves.indices.drop_null().to_numpy()
                    yield of_texts[used].astype(np.int64)
