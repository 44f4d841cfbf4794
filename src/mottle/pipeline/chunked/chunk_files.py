"""Published chunks on disk, and the release that is put together from them.

A chunk's file holds one batch for each *heap*: every row has been thrown onto one of the heaps at
random. The release is heap after heap, each shuffled in memory. That is a uniformly random order of
all rows: throwing a row onto a heap draws the first digits of a random number for it, shuffling the
heap the others, and rows end up sorted by independent random numbers.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mottle.errors import PrivacyError
from mottle.io.atomic_write import write_atomic
from mottle.io.batch_source import Source
from mottle.io.write_release import (
    CSV,
    PARQUET,
    REPORT,
    ROWS_PER_GROUP,
    append_csv,
    sha256_of,
    write_certificate,
    write_secretly,
)
from mottle.pipeline.chunked.link_column import LinkWriter
from mottle.pipeline.chunked.measurements import Measurements
from mottle.pipeline.chunked.target import INTERNAL, LINK_FILE, Beside
from mottle.release.column import PublishedColumn
from mottle.release.data import Release
from mottle.utils.csprng import Purpose, Secret

EXAMPLES = 10  # records whose people an internal report may show


class ChunkFiles:
    """The published chunks of a run in ``folder``, those of an earlier attempt included."""

    def __init__(self, folder: Path, heaps: int, secret: Secret) -> None:
        self._folder = folder
        self._heaps = heaps
        self._secret = secret

    def measured(self, number: int) -> Measurements | None:
        """What was measured in a chunk, if it is complete."""
        path = self._path(number, "json")
        return Measurements.from_json(path.read_text(encoding="utf-8")) if path.exists() else None

    def write(self, number: int, table: pa.Table, measured: Measurements) -> None:
        """Keep a chunk: first its rows, then the word that they are complete."""
        secret = self._secret.part("heaps of chunk", number)
        heap = secret.numbers(table.num_rows, bound=self._heaps)
        by_heap = table.take(pa.array(np.argsort(heap, kind="stable")))
        ends = np.cumsum(np.bincount(heap, minlength=self._heaps))
        path = self._path(number, "arrow")
        with pa.OSFile(str(path), "wb") as file:
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            with pa.ipc.new_file(file, table.schema, options=options) as writer:
                for start, end in zip([0, *ends[:-1]], ends, strict=True):
                    rows = by_heap.slice(start, end - start).combine_chunks()
                    batches = rows.to_batches()
                    writer.write(batches[0] if batches else _empty(table.schema))
        with path.open("rb") as written:
            os.fsync(written.fileno())
        write_atomic(self._path(number, "json"), measured.to_json())

    def forget(self, first: int) -> None:
        """Chunks from number ``first`` on have to be worked on again."""
        for path in self._folder.glob("chunk-*.json"):
            if int(path.stem.removeprefix("chunk-")) >= first:
                path.unlink()

    def heaps(self, chunks: int) -> Iterator[pa.Table]:
        """The rows of the release, in their order, a heap at a time."""
        for number in range(self._heaps):
            parts = [self._batch(chunk, number) for chunk in range(chunks)]
            table = pa.Table.from_batches(parts)
            order = self._secret.part("order of heap", number).permutation(
                Purpose.ROW_ORDER, table.num_rows
            )
            yield table.take(pa.array(order))

    def _batch(self, chunk: int, heap: int) -> pa.RecordBatch:
        with (
            pa.OSFile(str(self._path(chunk, "arrow"))) as file,
            pa.ipc.open_file(file) as reader,
        ):
            if reader.num_record_batches != self._heaps:
                raise PrivacyError(f"Invariant 5: chunk {chunk} has not been shuffled.")
            return reader.get_batch(heap)

    def _path(self, number: int, suffix: str) -> Path:
        return self._folder / f"chunk-{number:05}.{suffix}"


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)


def write_release(
    tables: Iterator[pa.Table],
    columns: tuple[PublishedColumn, ...],
    certificate: dict[str, Any],
    folder: Path,
    on_progress: Callable[[int], None] = lambda _: None,
    *,
    beside: Beside | None = None,
    original: Source | None = None,
    blocks: Sequence[int] = (),
    text: bool = True,
) -> dict[str, Any]:
    """Write the rows of a release, which come in their order, its reports and its certificate.

    Rows bring the owner's links with them if what is written ``beside`` has need of them;
    ``blocks`` are then the numbers of blocks of all chunks. ``original`` is what an internal report
    compares with; without ``text`` no CSV file is written. Returns the certificate as written.
    Refuses rows that are more or fewer than it says.
    """
    beside = beside or Beside(report=False)
    links = LinkWriter(folder / LINK_FILE, blocks) if beside.numbered else None
    began = time.perf_counter()
    written = _write_rows(tables, columns, folder, on_progress, links, text)
    if written != certificate["rows"]:
        raise PrivacyError("Invariant 5: the release has more or fewer rows than the table.")
    names = [PARQUET, CSV] if text else []
    certificate = {
        **certificate,
        "seconds": {**certificate["seconds"], "write": round(time.perf_counter() - began, 4)},
        "sha256": {name: sha256_of(folder / name) for name in names},
    }
    _write_reports(folder, certificate, beside, original, [] if links is None else links.examples)
    write_certificate(certificate, folder)
    return certificate


def _write_rows(
    tables: Iterator[pa.Table],
    columns: tuple[PublishedColumn, ...],
    folder: Path,
    on_progress: Callable[[int], None],
    links: LinkWriter | None,
    with_text: bool,
) -> int:
    """Write all rows, as Parquet and as text; returns how many they are."""
    fields = pa.schema([column.field() for column in columns])
    written = 0
    with (
        pq.ParquetWriter(folder / PARQUET, fields, compression="zstd") as parquet,
        open(folder / CSV, "wb") as text,
    ):
        for table in tables:
            if links is not None:
                links.add(table.columns[-1], EXAMPLES)
                table = table.remove_column(table.num_columns - 1)
            parquet.write_table(table, row_group_size=ROWS_PER_GROUP)
            if with_text:
                part = Release(table, columns, {})
                append_csv(
                    table,
                    lambda *rows, part=part: part.slice(*rows).to_text(),
                    text,
                    header=written == 0,
                )
            written += table.num_rows
            on_progress(written)
    if links is not None:
        links.close()
    return written


def _write_reports(
    folder: Path,
    certificate: dict[str, Any],
    beside: Beside,
    original: Source | None,
    examples: Sequence[int],
) -> None:
    """The publishable report and the owner's, from the rows that are written by now."""
    if not beside.report and beside.internal is None:
        return
    from mottle.report import ReleaseRows, page_of

    parts = ReleaseRows.of_folder(folder, certificate)
    if beside.report:
        (folder / REPORT).write_text(page_of(parts)(certificate), encoding="utf-8")
    if beside.internal is not None:
        assert original is not None
        owner = beside.internal.owner_of(original, examples)
        (folder / INTERNAL).unlink(missing_ok=True)  # of an earlier attempt
        write_secretly(page_of(parts, owner)(certificate), folder / INTERNAL)
