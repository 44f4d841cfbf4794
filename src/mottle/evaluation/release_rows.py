"""A release as its report reads it: part after part, so that any number of rows can be told of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mottle.io.parquet_rows import Rows, StoredRows, tables_of
from mottle.io.write_release import PARQUET
from mottle.release.column import PublishedColumn
from mottle.release.data import Release

ROWS_PER_PART = 1 << 17


@dataclass(frozen=True)
class ReleaseRows:
    """The rows of a release, in memory or in its file, and what describes them."""

    stored: Rows
    columns: tuple[PublishedColumn, ...]
    certificate: Mapping[str, Any]
    sensitive: pa.Table | None = None  # sensitive values by group, when published apart

    @classmethod
    def of(cls, release: Release) -> ReleaseRows:
        """A release in memory."""
        return cls(release.table, release.columns, release.certificate, release.sensitive)

    @classmethod
    def of_folder(cls, folder: Path, certificate: Mapping[str, Any]) -> ReleaseRows:
        """A release whose ``release.parquet`` lies in a folder and stays there."""
        stored = StoredRows(folder / PARQUET)
        columns = tuple(PublishedColumn.of_field(field) for field in stored.schema)
        return cls(stored, columns, certificate)

    @property
    def rows(self) -> int:
        """How many records there are."""
        return self.stored.num_rows

    def tables(self, size: int = ROWS_PER_PART) -> Iterator[pa.Table]:
        """All rows, in tables of so many; only the columns that are described."""
        names = [column.name for column in self.columns]
        return (table.select(names) for table in tables_of(self.stored, size))

    def without_sets(self) -> ReleaseRows:
        """The same without columns of sets of items."""
        columns = tuple(
            column for column in self.columns if column.form is None or not column.form.has_items
        )
        return replace(self, columns=columns)

    def first(self, rows: int) -> Release:
        """The first records: a random sample of all, since the order of a release is random."""
        table = next(self.tables(max(rows, 1)), self.stored.schema.empty_table())
        return self.release_of(table)

    def release_of(self, table: pa.Table) -> Release:
        """Some of the rows as a release of their own; groups apart belong to all of them only."""
        if table.num_rows == self.rows:
            columns, apart = self.columns, self.sensitive
        else:
            columns, apart = tuple(_scaled(one, table.num_rows) for one in self.columns), None
        return Release(table, columns, dict(self.certificate), sensitive=apart)


def _scaled(column: PublishedColumn, rows: int) -> PublishedColumn:
    """The column with totals of so many rows, as a random sample of them has about."""
    if column.totals is None:
        return column
    counts = np.array(column.totals.counts, np.float64)
    counts *= rows / counts.sum()
    whole = np.floor(counts).astype(np.int64)
    nearest = np.argsort(whole - counts, kind="stable")[: rows - int(whole.sum())]
    whole[nearest] += 1
    return replace(column, totals=replace(column.totals, counts=tuple(whole.tolist())))
