"""Parts of a release that are releases of their own: samples to ask, columns to leave out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from mottle.release.column import PublishedColumn
from mottle.release.data import ReleaseData


def without_sets(release: ReleaseData) -> ReleaseData:
    """The release without columns of sets of items."""
    columns = tuple(
        column for column in release.columns if column.form is None or not column.form.has_items
    )
    return replace(release, columns=columns)


def first_rows(release: ReleaseData, rows: int) -> ReleaseData:
    """The first records: a random sample of all, since the order of a release is random."""
    table = next(release.tables(max(rows, 1)), release.stored.schema.empty_table())
    return part_of(release, table)


def part_of(release: ReleaseData, table: pa.Table) -> ReleaseData:
    """Some of the rows as a release of their own.

    Sensitive values that are published by group belong to all of the rows only.
    """
    if table.num_rows == release.num_rows:
        return replace(release, stored=table, links=None)
    columns = tuple(_scaled(column, table.num_rows) for column in release.columns)
    return replace(release, stored=table, columns=columns, links=None, sensitive=None)


def _scaled(column: PublishedColumn, rows: int) -> PublishedColumn:
    """The column with totals for ``rows`` rows, as a random sample of them has about."""
    if column.totals is None:
        return column
    counts = np.array(column.totals.counts, np.float64)
    counts *= rows / counts.sum()
    whole = np.floor(counts).astype(np.int64)
    nearest = np.argsort(whole - counts, kind="stable")[: rows - int(whole.sum())]
    whole[nearest] += 1
    return replace(column, totals=replace(column.totals, counts=tuple(whole.tolist())))
