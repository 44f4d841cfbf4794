"""The original of a release, read in parts and in the release's types; for its owner only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from mottle.encoding.domain import Form
from mottle.errors import DataError
from mottle.evaluation.cell_counts import Tally, tallies
from mottle.io.batch_source import Source
from mottle.release.column import PublishedColumn
from mottle.release.data import ROWS_PER_PART, ReleaseData
from mottle.release.original_values import in_published_type
from mottle.release.rows import tables_of


@dataclass(frozen=True)
class Original:
    """The table that a release was made from, in memory or in batches."""

    source: pa.Table | Source
    columns: tuple[PublishedColumn, ...]  # the release's columns that the original has too
    apart: tuple[PublishedColumn, ...]  # sensitive columns, when published in a second table

    @classmethod
    def of(cls, source: pa.Table | Source, release: ReleaseData) -> Original:
        """Describe the original of a release; a table that cannot be the original is refused."""
        if isinstance(source, Source):
            names, rows = source.types.names, source.rows
        else:
            names, rows = source.column_names, source.num_rows
        apart = [] if release.sensitive is None else list(release.sensitive.schema)[1:-1]
        missing = [column.name for column in release.columns if column.name not in names]
        if rows != release.num_rows or (missing and not apart):
            raise DataError(
                "The original is not the table that the release was made from.",
                "Give the table that was anonymized.",
            )
        return cls(
            source,
            tuple(column for column in release.columns if column.name in names),
            tuple(PublishedColumn.of_field(field) for field in apart if field.name in names),
        )

    def tables(self) -> Iterator[pa.Table]:
        """The rows, a part at a time, in the types of the release."""
        if isinstance(self.source, Source):
            parts = self.source.read()
        else:
            parts = tables_of(self.source, ROWS_PER_PART)
        for part in parts:
            yield pa.table(
                {
                    column.name: in_published_type(
                        part.column(column.name).combine_chunks(), column
                    )
                    for column in (*self.columns, *self.apart)
                }
            )

    def tallies(self) -> dict[str, Tally]:
        """How often each value occurs, by column."""
        kinds = next(self.tables()).schema
        described = [
            PublishedColumn(column.name, column.role, None, *_as_values(kinds.field(column.name)))
            for column in (*self.columns, *self.apart)
        ]
        return tallies(self.tables(), described)

    def rows(self, numbers: Sequence[int], names: Sequence[str]) -> list[dict[str, object]]:
        """The rows of the given numbers, unchanged."""
        wanted, first = set(numbers), 0
        found: dict[int, dict[str, object]] = {}
        parts = self.source.read() if isinstance(self.source, Source) else [self.source]
        for part in parts:
            here = [number - first for number in wanted if first <= number < first + part.num_rows]
            rows = part.select(names).take(pa.array(here, pa.int64())).to_pylist()
            found |= {first + place: row for place, row in zip(here, rows, strict=True)}
            first += part.num_rows
        return [found[number] for number in numbers]


def _as_values(field: pa.Field) -> tuple[Form | None, pa.DataType]:
    """The form and type of original values; item sets are counted as sets."""
    is_set = pa.types.is_list(field.type) or pa.types.is_large_list(field.type)
    return (Form.SET, field.type.value_type) if is_set else (None, field.type)
