"""Sorts more rows than fit into memory, by DuckDB, which spills to disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mottle.errors import StorageError
from mottle.utils.private_folders import new_private_file

ROWS_PER_GROUP = 122_880  # DuckDB's own unit


def sort_to_parquet(
    batches: Iterator[pa.Table],
    fields: pa.Schema,
    keys: Sequence[str],
    target: Path,
    *,
    memory: int,
    threads: int,
    then: Callable[[], None] = lambda: None,
) -> None:
    """Write rows to a Parquet file, sorted; the file appears when it is complete.

    Parameters
    ----------
    batches : iterator of pa.Table
        The rows.
    fields : pa.Schema
        Their columns.
    keys : sequence of str
        The columns by which rows are sorted, ascending.
    target : Path
        The file.
    memory : int
        Bytes that DuckDB uses, approximately; it writes the rest to a folder next to ``target``.
    threads : int
        The number of threads.
    then : callable
        Called after all rows have been read and before the file appears.

    Raises
    ------
    StorageError
        DuckDB cannot sort, for instance because the disk is full.
    """
    partial = target.with_name(f"{target.name}.partial")
    failed: list[BaseException] = []

    def stored() -> Iterator[pa.RecordBatch]:
        try:
            for table in batches:
                yield from _to_storage(table).to_batches()
        except (Exception, KeyboardInterrupt) as error:  # DuckDB would wrap it in its own error
            failed.append(error)
            raise

    reader = pa.RecordBatchReader.from_batches(_storage_schema(fields), stored())
    order = ", ".join(f'"{key}"' for key in keys)
    new_private_file(partial)
    with duckdb.connect(config=_settings(target, memory, threads)) as connection:
        connection.register("coded", reader)
        try:
            connection.execute(
                f"COPY (SELECT * FROM coded ORDER BY {order}) TO {_quoted(partial)}"
                f" (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROWS_PER_GROUP},"
                " USE_TMP_FILE false)"
            )
        except duckdb.Error as error:
            if failed:
                raise failed[0] from None
            raise StorageError(
                f"Sorting failed in {target.parent}: {_first_line(error)}",
                "Check the free space there, or give more --memory.",
            ) from None
    then()
    partial.rename(target)


def query_row(query: str, sorted_file: Path, *, memory: int, threads: int) -> tuple[float, ...]:
    """Answer a query by one row, from a file that `sort_to_parquet` has written.

    Parameters
    ----------
    query : str
        A query of a table that is written ``{coded}``.
    sorted_file : Path
        The file.
    memory, threads : int
        As for `sort_to_parquet`.

    Returns
    -------
    tuple of float
        The row.

    Raises
    ------
    StorageError
        DuckDB cannot answer, for instance because the disk is full.
    """
    text = query.format(coded=f"read_parquet({_quoted(sorted_file)})")
    with duckdb.connect(config=_settings(sorted_file, memory, threads)) as connection:
        try:
            row = connection.execute(text).fetchone()
        except duckdb.Error as error:
            raise StorageError(
                f"Counting equal rows failed in {sorted_file.parent}: {_first_line(error)}",
                "Check the free space there, or give more --memory.",
            ) from None
    assert row is not None, "an aggregation without groups has one row"
    return row


def _settings(
    target: Path, memory: int, threads: int
) -> dict[str, str | bool | int | float | list[str]]:
    return {
        "memory_limit": f"{memory // 2**20}MiB",
        "temp_directory": str(target.with_name("spill")),
        "threads": threads,
        "preserve_insertion_order": False,
    }


class SortedRows:
    """The rows of a sorted file, any section of them at a time."""

    def __init__(self, path: Path, fields: pa.Schema) -> None:
        self._file = pq.ParquetFile(path)
        self._fields = fields
        sizes = [
            self._file.metadata.row_group(group).num_rows
            for group in range(self._file.metadata.num_row_groups)
        ]
        self._starts = [0]
        for size in sizes:
            self._starts.append(self._starts[-1] + size)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self._starts[-1]

    def read(self, first: int, last: int, columns: Sequence[str] | None = None) -> pa.Table:
        """Read rows ``first .. last - 1``, all columns or some."""
        names = self._fields.names if columns is None else list(columns)
        groups = [
            group
            for group in range(len(self._starts) - 1)
            if self._starts[group] < last and self._starts[group + 1] > first
        ]
        table = self._file.read_row_groups(groups, columns=names)
        offset = first - self._starts[groups[0]] if groups else 0
        fields = pa.schema([self._fields.field(name) for name in names])
        return _from_storage(table.select(names).slice(offset, last - first), fields)


# Types that DuckDB would change are stored as numbers of the same width, or as text.


def _storage_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_date(kind) or not (pa.types.is_temporal(kind) or _is_stored_as_text(kind)):
        return kind
    if _is_stored_as_text(kind):
        return pa.string()
    return pa.int32() if kind.bit_width == 32 else pa.int64()


def _is_stored_as_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_decimal256(kind) or pa.types.is_null(kind))


def _storage_schema(fields: pa.Schema) -> pa.Schema:
    return pa.schema([(field.name, _storage_type(field.type)) for field in fields])


def _to_storage(table: pa.Table) -> pa.Table:
    columns = [_stored(column, _storage_type(column.type)) for column in table.columns]
    return pa.Table.from_arrays(columns, schema=_storage_schema(table.schema))


def _from_storage(table: pa.Table, fields: pa.Schema) -> pa.Table:
    columns = [
        _stored(pc.cast(column, _storage_type(field.type)), field.type)
        for column, field in zip(table.columns, fields, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=fields)


def _stored(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if column.type == kind:
        return column
    if pa.types.is_null(kind):
        return pa.chunked_array([pa.nulls(len(column))])
    if _is_stored_as_text(kind) or _is_stored_as_text(column.type):
        return pc.cast(column, kind)
    return pa.chunked_array([chunk.view(kind) for chunk in column.chunks], kind)


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def _first_line(error: Exception) -> str:
    """The first line of DuckDB's message; it never contains cells while numbers are sorted."""
    return str(error).splitlines()[0]
