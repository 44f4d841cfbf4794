"""Published chunks on disk, and the uniformly random order in which their rows are released.

A chunk's file holds one batch for each *shuffle partition*: every row has been assigned to one of
the partitions at random. The release is the concatenation of the partitions, each shuffled in
memory. That is a uniformly random order of all rows: choosing the partition of a row draws the
first digits of a random number for it, shuffling the partition draws the others, and rows end up
sorted by independent random numbers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from mottle.errors import PrivacyError
from mottle.io.atomic_write import write_atomic
from mottle.pipeline.measurements import Measurements
from mottle.utils.csprng import Purpose, Secret
from mottle.utils.private_folders import new_private_file


class ChunkFiles:
    """The published chunks of a run in ``folder``, those of an earlier attempt included."""

    def __init__(self, folder: Path, partitions: int, secret: Secret) -> None:
        self._folder = folder
        self._partitions = partitions
        self._secret = secret

    def measured(self, number: int) -> Measurements | None:
        """Return what was measured on a chunk, or None if it is not complete."""
        path = self._path(number, "json")
        return Measurements.from_json(path.read_text(encoding="utf-8")) if path.exists() else None

    def write(self, number: int, table: pa.Table, measured: Measurements) -> None:
        """Write a chunk's rows, then its measurements as the completion marker."""
        # The words are part of the key of the random numbers, here and below, and must not change.
        secret = self._secret.part("heaps of chunk", number)
        partition = secret.numbers(table.num_rows, bound=self._partitions)
        by_partition = table.take(pa.array(np.argsort(partition, kind="stable")))
        ends = np.cumsum(np.bincount(partition, minlength=self._partitions))
        path = self._path(number, "arrow")
        new_private_file(path)
        with pa.OSFile(str(path), "wb") as file:
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            with pa.ipc.new_file(file, table.schema, options=options) as writer:
                for start, end in zip([0, *ends[:-1]], ends, strict=True):
                    rows = by_partition.slice(start, end - start).combine_chunks()
                    batches = rows.to_batches()
                    writer.write(batches[0] if batches else _empty(table.schema))
        with path.open("rb") as written:
            os.fsync(written.fileno())
        write_atomic(self._path(number, "json"), measured.to_json())

    def forget(self, first: int) -> None:
        """Mark the chunks from number ``first`` on as incomplete."""
        for path in self._folder.glob("chunk-*.json"):
            if int(path.stem.removeprefix("chunk-")) >= first:
                path.unlink()

    def shuffled(self, chunks: int) -> Iterator[pa.Table]:
        """Read the rows of the release in their order, one shuffle partition at a time."""
        for number in range(self._partitions):
            parts = [self._batch(chunk, number) for chunk in range(chunks)]
            table = pa.Table.from_batches(parts)
            order = self._secret.part("order of heap", number).permutation(
                Purpose.ROW_ORDER, table.num_rows
            )
            yield table.take(pa.array(order))

    def _batch(self, chunk: int, partition: int) -> pa.RecordBatch:
        with (
            pa.OSFile(str(self._path(chunk, "arrow"))) as file,
            pa.ipc.open_file(file) as reader,
        ):
            if reader.num_record_batches != self._partitions:
                raise PrivacyError(f"Invariant 5: chunk {chunk} has not been shuffled.")
            return reader.get_batch(partition)

    def _path(self, number: int, suffix: str) -> Path:
        return self._folder / f"chunk-{number:05}.{suffix}"


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)
