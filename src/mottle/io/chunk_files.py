"""Published chunks on disk, and the release that is put together from them.

A chunk's file holds one batch for each *heap*: every row has been thrown onto one of the heaps at
random. The release is heap after heap, each shuffled in memory. That is a uniformly random order of
all rows: throwing a row onto a heap draws the first digits of a random number for it, shuffling the
heap the others, and rows end up sorted by independent random numbers.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mottle.errors import PrivacyError
from mottle.io.staging import write_whole
from mottle.io.write import CSV, PARQUET, ROWS_PER_GROUP, append_csv, sha256_of, write_certificate
from mottle.ledger import Measured
from mottle.randomness import Purpose, Secret
from mottle.release import PublishedColumn, Release


class ChunkFiles:
    """The published chunks of a run in ``folder``, those of an earlier attempt included."""

    def __init__(self, folder: Path, chunks: int, secret: Secret) -> None:
        self._folder = folder
        self._chunks = chunks
        self._secret = secret

    def measured(self, number: int) -> Measured | None:
        """What was measured in a chunk, if it is complete."""
        path = self._path(number, "json")
        return Measured.from_json(path.read_text(encoding="utf-8")) if path.exists() else None

    def write(self, number: int, table: pa.Table, measured: Measured) -> None:
        """Keep a chunk: first its rows, then the word that they are complete."""
        secret = self._secret.part("heaps of chunk", number)
        heap = secret.numbers(table.num_rows, bound=self._chunks)
        by_heap = table.take(pa.array(np.argsort(heap, kind="stable")))
        ends = np.cumsum(np.bincount(heap, minlength=self._chunks))
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
        write_whole(self._path(number, "json"), measured.to_json())

    def heaps(self) -> Iterator[pa.Table]:
        """The rows of the release, in their order, a heap at a time."""
        for number in range(self._chunks):
            parts = [self._batch(chunk, number) for chunk in range(self._chunks)]
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
            if reader.num_record_batches != self._chunks:
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
    tell: Callable[[int], None] = lambda _: None,
) -> dict[str, Any]:
    """Write the rows of a release, which come in their order, and its certificate.

    Returns the certificate as written. Refuses rows that are more or fewer than it says.
    """
    fields = pa.schema([column.field() for column in columns])
    began, written = time.perf_counter(), 0
    with (
        pq.ParquetWriter(folder / PARQUET, fields, compression="zstd") as parquet,
        open(folder / CSV, "wb") as text,
    ):
        for table in tables:
            part = Release(table, columns, {})
            parquet.write_table(table, row_group_size=ROWS_PER_GROUP)
            append_csv(table, lambda *rows: part.slice(*rows).to_text(), text, header=written == 0)  # noqa: B023 - called at once
            written += table.num_rows
            tell(written)
    if written != certificate["rows"]:
        raise PrivacyError("Invariant 5: the release has more or fewer rows than the table.")
    certificate = {
        **certificate,
        "seconds": {**certificate["seconds"], "write": round(time.perf_counter() - began, 4)},
        "sha256": {name: sha256_of(folder / name) for name in (PARQUET, CSV)},
    }
    write_certificate(certificate, folder)
    return certificate
