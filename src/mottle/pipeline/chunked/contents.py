"""What a run in chunks releases: a table, or sets of items; everything in which they differ."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Protocol

import pyarrow as pa

from mottle.io.batch_source import Source, open_source, parquet_source
from mottle.itemsets.data import ItemSets
from mottle.pipeline.chunked.sets.input import (
    SetLayout,
    as_hashed,
    item_sets,
    sets_of_lines,
    sets_of_table,
)
from mottle.pipeline.owner import OwnedTable
from mottle.pipeline.release import Release, SetRelease
from mottle.pipeline.unit import columns_to_count
from mottle.release.certificate import Certificate, ReleaseKind
from mottle.release.column import PublishedColumn
from mottle.release.data import ReleaseData
from mottle.release.rows import Rows
from mottle.schema.context import Context
from mottle.schema.model import Schema
from mottle.schema.reading import ReadOptions


class Contents(Protocol):
    """The input of a run in chunks, and the kind of its release."""

    @property
    def kind(self) -> ReleaseKind:
        """The kind of the release."""

    @property
    def command(self) -> str:
        """The command, for the note in the folder of a run."""

    @property
    def data(self) -> str | Path | pa.RecordBatchReader:
        """A path, or batches that come once."""

    @property
    def named(self) -> str:
        """A name of the input, by which an interrupted run is recognized."""

    @property
    def schema(self) -> Schema:
        """The roles of the columns of what `open` returns."""

    @property
    def reading(self) -> ReadOptions | None:
        """How text files are read, for links and reports."""

    @property
    def recognized_by(self) -> Sequence[object]:
        """Further options that a run has to have in common with one that it resumes."""

    def open(self, path: Path, copy: Path, memory: int) -> Source:
        """Open a file; what is no Parquet file is copied to ``copy`` unless that exists."""

    def open_copy(self, rows: Path, copy: Path, memory: int) -> Source:
        """Open rows that came once and lie in a file, which becomes ``copy`` or is removed."""

    def owned(self, key: bytes, source: Source) -> OwnedTable:
        """Read all rows for the owner's key or a fingerprint."""

    def schema_of_key(self, source: Source) -> Schema | None:
        """The schema that is part of what the random numbers of a keyed run follow from."""

    def columns_to_count(self, source: Source) -> list[str]:
        """The columns that may name people."""

    def original(self, source: Source) -> Source | ItemSets:
        """The original, for an internal report."""

    def release_of(
        self,
        rows: Rows | pa.Table,
        columns: tuple[PublishedColumn, ...],
        certificate: Certificate | None,
    ) -> Release:
        """Make a release."""

    def as_release(self, read: ReleaseData) -> Release:
        """Make a release of one that was read."""


@dataclass(frozen=True)
class TableContents:
    """A table."""

    data: str | Path | pa.RecordBatchReader
    schema: Schema
    reading: ReadOptions
    named: str
    kind: ClassVar[ReleaseKind] = ReleaseKind.TABLE
    command: ClassVar[str] = "anonymize"
    recognized_by: ClassVar[Sequence[object]] = ()

    def open(self, path: Path, copy: Path, memory: int) -> Source:
        """Open a file of a table."""
        return open_source(path, copy, self.reading)

    def open_copy(self, rows: Path, copy: Path, memory: int) -> Source:
        """Open rows that came once."""
        if copy.exists():
            rows.unlink()
        else:
            os.replace(rows, copy)
        return open_source(copy, copy, self.reading)

    def owned(self, key: bytes, source: Source) -> OwnedTable:
        """Read all rows."""
        return OwnedTable.of(key, self.schema.covering(source.types.names), source.read())

    def schema_of_key(self, source: Source) -> Schema | None:
        """The roles of all columns."""
        return self.schema.covering(source.types.names)

    def columns_to_count(self, source: Source) -> list[str]:
        """The columns that may name people."""
        return columns_to_count(self.schema, source.types)

    def original(self, source: Source) -> Source | ItemSets:
        """The rows in batches."""
        return source

    def release_of(
        self,
        rows: Rows | pa.Table,
        columns: tuple[PublishedColumn, ...],
        certificate: Certificate | None,
    ) -> Release:
        """Make a release of a table."""
        return Release(rows, columns, certificate)

    def as_release(self, read: ReleaseData) -> Release:
        """Make a release of one that was read."""
        return Release.of(read)


@dataclass(frozen=True)
class SetContents:
    """Sets of items, each with or without a label."""

    data: str | Path | pa.RecordBatchReader
    layout: SetLayout
    named: str
    context: Context | None = None
    kind: ClassVar[ReleaseKind] = ReleaseKind.SETS
    command: ClassVar[str] = "anonymize-sets"
    reading: ClassVar[ReadOptions | None] = None

    @property
    def schema(self) -> Schema:
        """The set is the quasi-identifier, the label sensitive."""
        return self.layout.schema.with_context(self.context)

    @property
    def recognized_by(self) -> Sequence[object]:
        """Where the sets are in the input, and what the owner states."""
        return (self.layout, self.context)

    def open(self, path: Path, copy: Path, memory: int) -> Source:
        """Open a transaction file or the file of a table."""
        if copy.exists():
            return parquet_source(copy, str(path))
        if not self.layout.of_table:
            return sets_of_lines(path, self.layout, copy)
        table = copy.with_name("table.parquet")
        return self._prepared(open_source(path, table, ReadOptions()), table, copy, memory)

    def open_copy(self, rows: Path, copy: Path, memory: int) -> Source:
        """Open rows that came once."""
        if copy.exists():
            rows.unlink()
            return parquet_source(copy, self.named)
        return self._prepared(parquet_source(rows, self.named), rows, copy, memory)

    def _prepared(self, table: Source, file: Path, copy: Path, memory: int) -> Source:
        """Copy the sets of a table whose own copy, if there is one, is not needed any more."""
        prepared = sets_of_table(replace(table, name=self.named), self.layout, copy, memory)
        file.unlink(missing_ok=True)
        return prepared

    def owned(self, key: bytes, source: Source) -> OwnedTable:
        """Read all sets as they are hashed in memory."""
        return OwnedTable.of_batches_of_sets(key, as_hashed(source, self.layout))

    def schema_of_key(self, source: Source) -> Schema | None:
        """Nothing but the sets themselves, as in memory."""
        return None

    def columns_to_count(self, source: Source) -> list[str]:
        """Nothing names people: every set is taken for that of a person of its own."""
        return []

    def original(self, source: Source) -> Source | ItemSets:
        """All sets, in memory."""
        return item_sets(source, self.layout)

    def release_of(
        self,
        rows: Rows | pa.Table,
        columns: tuple[PublishedColumn, ...],
        certificate: Certificate | None,
    ) -> Release:
        """Make a release of sets."""
        return SetRelease(rows, columns, certificate)

    def as_release(self, read: ReleaseData) -> Release:
        """Make a release of one that was read."""
        return SetRelease.of(read)
