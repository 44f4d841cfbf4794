"""Rows in memory or in a Parquet file, which can be read in batches repeatedly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from mottle.errors import UsageError
from mottle.utils.untrusted.arrow import parquet_batches, parquet_rows, parquet_schema

__all__ = ["Rows", "RowsElsewhere", "StoredRows", "tables_of"]


class Rows(Protocol):
    """Rows that can be read in batches: a table in memory, or `StoredRows`."""

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""

    @property
    def num_rows(self) -> int:
        """Number of rows."""

    def to_batches(self, max_chunksize: int) -> Iterator[pa.RecordBatch]:
        """Yield all rows.

        Parameters
        ----------
        max_chunksize : int
            Maximum number of rows of a batch.
        """


@dataclass(frozen=True)
class StoredRows:
    """The rows of one Parquet file.

    Parameters
    ----------
    path : Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pa.parquet.write_table(pa.table({"age": [20, 30, 40]}), f"{folder}/ages.parquet")
    ...     rows = StoredRows(Path(folder, "ages.parquet"))
    ...     rows.num_rows, [batch.num_rows for batch in rows.to_batches(2)]
    (3, [2, 1])
    """

    path: Path

    @cached_property
    def schema(self) -> pa.Schema:
        """Names, types and metadata of the columns."""
        return parquet_schema(self.path)

    @cached_property
    def num_rows(self) -> int:
        """Number of rows."""
        return parquet_rows(self.path)

    def to_batches(self, max_chunksize: int) -> Iterator[pa.RecordBatch]:
        """Yield all rows in batches.

        Parameters
        ----------
        max_chunksize : int
            Maximum number of rows of a batch.

        Yields
        ------
        pyarrow.RecordBatch
            The rows, in the order of the file.
        """
        yield from parquet_batches(self.path, size=max_chunksize)


@dataclass(frozen=True)
class RowsElsewhere:
    """Rows that were written to a place that is not read here, such as a database."""

    place: str
    schema: pa.Schema
    num_rows: int

    def to_batches(self, max_chunksize: int) -> Iterator[pa.RecordBatch]:
        """Raise an error, because the rows cannot be read.

        Parameters
        ----------
        max_chunksize : int
            Not used.

        Raises
        ------
        UsageError
            Always.
        """
        raise UsageError(
            f"The rows of this release are in {self.place}.",
            "Read them there, or save to a folder.",
        )


def tables_of(rows: Rows, size: int) -> Iterator[pa.Table]:
    """Yield all rows in tables of exactly ``size`` rows; only the last one may be shorter.

    The same rows give the same tables however they are stored; readers of files do not promise
    this.

    Parameters
    ----------
    rows : Rows
        The rows.
    size : int
        Number of rows of a table.

    Yields
    ------
    pyarrow.Table
        The rows in their order.
    """
    waiting: list[pa.RecordBatch] = []
    have = 0
    for batch in rows.to_batches(max_chunksize=size):
        while have + batch.num_rows >= size:
            needed = size - have
            yield pa.Table.from_batches([*waiting, batch.slice(0, needed)], rows.schema)
            batch, waiting, have = batch.slice(needed), [], 0
        if batch.num_rows:
            waiting.append(batch)
            have += batch.num_rows
    if have:
        yield pa.Table.from_batches(waiting, rows.schema)
