"""Sorting more rows than memory holds: DuckDB, which spills to disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mottle.errors import StorageError

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
    """Write rows ascending by ``keys`` to ``target``; it appears when it is complete.

    ``then`` is called after all rows have passed and before the file appears.

    DuckDB keeps to about ``memory`` bytes and puts the rest into a folder beside ``target``.
    """
    partial = target.with_name(f"{target.name}.partial")
    failed: list[BaseException] = []

    def stored() -> Iterator[pa.RecordBatch]:
        try:
            for table in batches:
                yield from _to_storage(table).to_batches()
        except (Exception, KeyboardInterrupt) as error:  # DuckDB would wrap it in one of its own
            failed.append(error)
            raise

    reader = pa.RecordBatchReader.from_batches(_storage_schema(fields), stored())
    settings: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": f"{memory // 2**20}MiB",
        "temp_directory": str(target.with_name("spill")),
        "threads": threads,
        "preserve_insertion_order": False,
    }
    order = ", ".join(f'"{key}"' for key in keys)
    with duckdb.connect(config=settings) as connection:
        connection.register("coded", reader)
        try:
            connection.execute(
                f"COPY (SELECT * FROM coded ORDER BY {order}) TO {_quoted(partial)}"
                f" (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROWS_PER_GROUP})"
            )
        except duckdb.Error as error:
            if failed:
                raise failed[0] from None
            raise StorageError(
                f"Sorting failed beside {target.parent}: {_first_line(error)}",
                "Check the space there, or give more --memory.",
            ) from None
    then()
    partial.rename(target)


class SortedRows:
    """The rows of a sorted file, any stretch of them at a time."""

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
        """All of them."""
        return self._starts[-1]

    def read(self, first: int, last: int, columns: Sequence[str] | None = None) -> pa.Table:
        """Rows ``first .. last - 1``, or only some columns of them."""
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


# Types that DuckDB would change go as numbers of the same width, or as text.


def _storage_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_date(kind) or not (pa.types.is_temporal(kind) or _is_odd(kind)):
        return kind
    if _is_odd(kind):
        return pa.string()
    return pa.int32() if kind.bit_width == 32 else pa.int64()


def _is_odd(kind: pa.DataType) -> bool:
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
    if _is_odd(kind) or _is_odd(column.type):
        return pc.cast(column, kind)
    return pa.chunked_array([chunk.view(kind) for chunk in column.chunks], kind)


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def _first_line(error: Exception) -> str:
    """What DuckDB says about itself; cells are never part of it while sorting numbers."""
    return str(error).splitlines()[0]
