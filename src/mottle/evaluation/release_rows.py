"""A release as its report reads it: in parts, so that the number of rows is not limited."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mottle.encoding.domain import Form
from mottle.io.parquet_rows import Rows, StoredRows, tables_of
from mottle.io.write_release import PARQUET
from mottle.release.column import PublishedColumn
from mottle.release.data import Release

ROWS_PER_PART = 1 << 17


@dataclass(frozen=True)
class ReleaseRows:
    """The rows of a release, in memory or in its file, and what describes them.

    Attributes
    ----------
    stored : Rows
        The rows, in memory or in a file.
    columns : tuple of PublishedColumn
        How the columns are published.
    certificate : mapping
        The release's certificate.
    sensitive : pyarrow.Table or None
        Sensitive values by group, when they are published in a second table.
    """

    stored: Rows
    columns: tuple[PublishedColumn, ...]
    certificate: Mapping[str, Any]
    sensitive: pa.Table | None = None

    @classmethod
    def of(cls, release: Release) -> ReleaseRows:
        """Take the rows of a release in memory.

        Parameters
        ----------
        release : Release
            The release.

        Returns
        -------
        ReleaseRows
        """
        return cls(release.table, release.columns, release.certificate, release.sensitive)

    @classmethod
    def of_folder(cls, folder: Path, certificate: Mapping[str, Any]) -> ReleaseRows:
        """Read the rows of ``release.parquet`` in a folder, without loading them all.

        Parameters
        ----------
        folder : pathlib.Path
            The folder of the release.
        certificate : mapping
            Its certificate.

        Returns
        -------
        ReleaseRows
        """
        stored = StoredRows(folder / PARQUET)
        columns = tuple(PublishedColumn.of_field(field) for field in stored.schema)
        return cls(stored, columns, certificate)

    @property
    def rows(self) -> int:
        """The number of records."""
        return self.stored.num_rows

    def tables(self, size: int = ROWS_PER_PART) -> Iterator[pa.Table]:
        """Iterate over all rows, with only the columns that are described.

        Parameters
        ----------
        size : int
            The number of rows of each table.

        Returns
        -------
        iterator of pyarrow.Table
        """
        names = [column.name for column in self.columns]
        return (table.select(names) for table in tables_of(self.stored, size))

    def without_sets(self) -> ReleaseRows:
        """Return the rows without columns of item sets.

        Returns
        -------
        ReleaseRows
        """
        columns = tuple(column for column in self.columns if column.form is not Form.WORLDS)
        return replace(self, columns=columns)

    def first(self, rows: int) -> Release:
        """Return the first records, a random sample since the order of a release is random.

        Parameters
        ----------
        rows : int
            The number of records.

        Returns
        -------
        Release
        """
        table = next(self.tables(max(rows, 1)), self.stored.schema.empty_table())
        return self.release_of(table)

    def release_of(self, table: pa.Table) -> Release:
        """Make a release of some of the rows.

        A second table of sensitive values is kept only if these are all rows, because its groups
        belong to all of them.

        Parameters
        ----------
        table : pyarrow.Table
            Some of the rows.

        Returns
        -------
        Release
        """
        if table.num_rows == self.rows:
            columns, apart = self.columns, self.sensitive
        else:
            columns, apart = tuple(_scaled(one, table.num_rows) for one in self.columns), None
        return Release(table, columns, dict(self.certificate), sensitive=apart)


def _scaled(column: PublishedColumn, rows: int) -> PublishedColumn:
    """The column with totals scaled to ``rows``, about those of a random sample of that size."""
    if column.totals is None:
        return column
    counts = np.array(column.totals.counts, np.float64)
    counts *= rows / counts.sum()
    whole = np.floor(counts).astype(np.int64)
    nearest = np.argsort(whole - counts, kind="stable")[: rows - int(whole.sum())]
    whole[nearest] += 1
    return replace(column, totals=replace(column.totals, counts=tuple(whole.tolist())))
