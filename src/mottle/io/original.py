"""Whether a table can be the original of a release, read as it was read then.

With the owner's link file that is decided by its fingerprint. Without one, what a release says
about its original is compared: the number of rows, the columns, sums over columns that are
published unchanged, and the totals of generalized ones.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import DataError
from mottle.io.batch_source import Source
from mottle.io.link_file import LinkFile
from mottle.release.column import PublishedColumn
from mottle.release.data import ROWS_PER_PART, ReleaseData
from mottle.release.original_values import in_published_type
from mottle.release.rows import tables_of
from mottle.release.value_totals import Totals
from mottle.schema.model import Schema
from mottle.schema.reading import ReadOptions
from mottle.typing import Int64Array
from mottle.utils.table_digest import Fingerprint

__all__ = ["check_fingerprint", "check_original", "remembered_reading"]

_REMEDY = (
    "Name the table of that run and read it as it was read then: give its mottle.toml (--schema) or"
    " the owner's link file (--private), or options such as --missing, --delimiter, --encoding,"
    " --decimal and --date-format."
)


def check_original(
    original: pa.Table | Source, release: ReleaseData, fingerprint: Fingerprint | None = None
) -> None:
    """Refuse a table that is not the original of a release.

    Parameters
    ----------
    original : pyarrow.Table or Source
        What the release is said to be made from.
    release : ReleaseData
        A release of a table.
    fingerprint : Fingerprint, optional
        That of the original, from the owner's link file.

    Raises
    ------
    DataError
        It is another table, or was read in another way.
    """
    if fingerprint is not None:
        check_fingerprint(_parts(original), fingerprint)
        return
    if isinstance(original, Source):
        rows, names = original.rows, original.types.names
    else:
        rows, names = original.num_rows, original.column_names
    if rows != release.num_rows:
        raise DataError(
            f"The original has {rows} rows and the release {release.num_rows}: it is not the table"
            " that the release was made from.",
            "Give that table, with all its rows.",
        )
    compared = [column for column in release.columns if column.name in names]
    absent = [column.name for column in release.columns if column.name not in names]
    if absent and release.sensitive is None:
        raise DataError(
            f"The original has no column '{absent[0]}', which the release has.", _REMEDY
        )
    for column in compared:
        if not _fits(original, release, column):
            raise DataError(
                "The original is not the table that the release was made from, or was read in"
                f" another way: column '{column.name}' holds other values.",
                _REMEDY,
            )


def _fits(original: pa.Table | Source, release: ReleaseData, column: PublishedColumn) -> bool:
    """Whether a column of the original can be what the release was made from."""
    if column.role.keyed:  # other values than the original's, made with the owner's key
        return True
    try:
        cells = _cells(original, column)
        if column.form is None:
            published = (table.column(column.name) for table in _published(release))
            return _alike(_sums(cells), _sums(published))
        return column.totals is None or _counts(cells, column, column.totals)
    except DataError:  # values of another type
        return False


def remembered_reading(schema: Schema | None, private: object) -> ReadOptions | None:
    """Return how an original was read.

    Parameters
    ----------
    schema : Schema, optional
        The schema, whose options come first.
    private : Links, str or Path, optional
        The owner's links; a link file says how the original was read.

    Returns
    -------
    ReadOptions or None
        None if neither says so.
    """
    if schema is not None:
        return schema.reading
    return LinkFile(Path(private)).reading if isinstance(private, str | os.PathLike) else None


def check_fingerprint(batches: Iterable[pa.Table], fingerprint: Fingerprint) -> None:
    """Refuse a table that does not fit a fingerprint.

    Parameters
    ----------
    batches : iterable of pyarrow.Table
        The table, in parts.
    fingerprint : Fingerprint
        From the owner's link file.

    Raises
    ------
    DataError
        It is another table, or was read in another way.
    """
    if not fingerprint.fits_batches(_with_columns(batches, fingerprint.columns)):
        raise DataError(
            "The original is not the table that the release was made from: it does not fit the"
            " fingerprint in the link file.",
            _REMEDY,
        )


def _with_columns(batches: Iterable[pa.Table], names: Sequence[str]) -> Iterator[pa.Table]:
    for rows in batches:
        absent = [name for name in names if name not in rows.column_names]
        if absent:
            raise DataError(
                f"The original has no column '{absent[0]}', which the table of the release had.",
                _REMEDY,
            )
        yield rows


def _parts(original: pa.Table | Source) -> Iterable[pa.Table]:
    return original.read() if isinstance(original, Source) else [original]


def _published(release: ReleaseData) -> Iterator[pa.Table]:
    if isinstance(release.stored, pa.Table):
        yield from tables_of(release.stored, ROWS_PER_PART)
        return
    for batch in release.stored.to_batches(ROWS_PER_PART):
        yield pa.Table.from_batches([batch])


def _cells(original: pa.Table | Source, column: PublishedColumn) -> Iterator[pa.ChunkedArray]:
    for part in _parts(original):
        cells = part.column(column.name).combine_chunks()
        yield pa.chunked_array([in_published_type(cells, column)])


def _sums(parts: Iterable[pa.ChunkedArray]) -> tuple[float, ...]:
    """Numbers that do not depend on the order of the rows: missing cells, and a sum."""
    missing, total = 0, 0.0
    for values in parts:
        missing += values.null_count
        kind = values.type
        if pa.types.is_string(kind) or pa.types.is_binary(kind):
            total += pc.sum(pc.binary_length(values)).as_py() or 0
        elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
            finite = values.filter(pc.is_finite(values))
            total += pc.sum(pc.cast(finite, pa.float64())).as_py() or 0.0
        elif pa.types.is_date(kind):
            total += pc.sum(pc.cast(pc.cast(values, pa.int32()), pa.int64())).as_py() or 0
    return float(missing), total


def _alike(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Whether sums are the same but for rounding, which depends on the order of the rows."""
    pairs = zip(one, other, strict=True)
    return all(math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-6) for a, b in pairs)


def _counts(parts: Iterable[pa.ChunkedArray], column: PublishedColumn, totals: Totals) -> bool:
    """Whether the original's values are as many as the published totals say."""
    counts = np.zeros(len(totals.counts), np.int64)
    for values in parts:
        groups = _groups(values, column, totals)
        if groups.min(initial=0) < 0:
            return False
        counts += np.bincount(groups, minlength=len(counts))
    return counts.tolist() == list(totals.counts)


def _groups(values: pa.ChunkedArray, column: PublishedColumn, totals: Totals) -> Int64Array:
    """The group of every value in the totals; -1 where it has none."""
    named = pc.cast(pa.array(totals.values, pa.string()), values.type)
    assert column.form is not None
    if not column.form.has_intervals:
        found = pc.fill_null(pc.index_in(values, value_set=named), len(named))
        groups = np.asarray(found, np.int64).copy()
        groups[groups >= len(totals.counts)] = -1
    else:
        places, starts = _places(values, column), _places(pa.chunked_array([named]), column)
        groups = np.asarray(np.searchsorted(starts, places, side="right"), np.int64) - 1
    groups[np.asarray(values.is_null())] = totals.missing
    return groups


def _places(values: pa.ChunkedArray, column: PublishedColumn) -> np.ndarray:
    """Numbers that compare as the values of the column do; any number where one is missing."""
    if column.order is not None:
        order = pc.cast(pa.array(column.order, pa.string()), values.type)
        return np.asarray(pc.fill_null(pc.index_in(values, value_set=order), -1))
    if pa.types.is_date(values.type):
        values = pc.cast(values, pa.int32())
    if pa.types.is_decimal(values.type):
        values = pc.cast(values, pa.float64())
    return np.asarray(pc.fill_null(values, 0))
