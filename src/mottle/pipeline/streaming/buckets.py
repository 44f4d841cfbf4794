"""The regions of a streamed table as `buckets` takes them, read from the sorted file."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from mottle.io.atomic_write import write_atomic
from mottle.methods.buckets.partitioned.decision import TierDecision
from mottle.methods.buckets.partitioned.shares import RegionRows, Result, RowShare
from mottle.pipeline.chunked.chunk import CHUNK, ChunkedPlan
from mottle.pipeline.chunked.external_sort import SortedRows
from mottle.typing import Int64Array
from mottle.utils.private_folders import new_private_file


@dataclass(frozen=True)
class StreamedPartitions:
    """The sorted rows of a share, or all, by section: `partitioned.shares.OrderedPartitions`."""

    plan: ChunkedPlan
    rows: SortedRows
    share: RowShare | None

    @property
    def cuts(self) -> Int64Array:
        """The first row of every section, and the end."""
        return self.plan.cuts if self.share is None else self.share.cuts

    def over(self, work: Callable[[RegionRows], Result]) -> list[Result]:
        """Return the results of ``work`` on all sections."""
        codec = self.plan.codec
        columns = [*codec.keys, *codec.values]
        return [
            work(self.plan.section(number, self.read(number, columns), self.cuts))
            for number in range(len(self.cuts) - 1)
        ]

    def read(self, number: int, columns: list[str] | None = None) -> pa.Table:
        """Read the coded rows of a section."""
        regions = [number] if self.share is None else self.share.regions(number)
        return pa.concat_tables([self._read(region, columns) for region in regions])

    def _read(self, region: int, columns: list[str] | None) -> pa.Table:
        first, last = self.plan.cuts[region], self.plan.cuts[region + 1]
        rows = self.rows.read(int(first), int(last), columns)
        return self.plan.part_of(region, rows, self.share)


class ChunkRows:
    """The coded rows of every chunk, which `buckets` may have combined from several regions."""

    def __init__(self, plan: ChunkedPlan, rows: SortedRows, stage: Path) -> None:
        self._plan = plan
        self._rows = rows
        self._stage = stage
        self._slot_files: list[
            tuple[Path, list[int]]
        ] = []  # files, and the chunks of their batches
        for tier in plan.decision.tiers if plan.decision is not None else ():
            sections = range(len(tier.share.cuts) - 1)
            self._slot_files += [self._assign_slots(tier, section) for section in sections]

    def read(self, number: int) -> pa.Table:
        """Read the rows of a chunk, in order."""
        decision = self._plan.decision
        if decision is None:
            return StreamedPartitions(self._plan, self._rows, None).read(number)
        batches = [
            _batch(path, chunks.index(number))
            for path, chunks in self._slot_files
            if number in chunks
        ]
        return pa.Table.from_batches(batches)

    def _assign_slots(self, tier: TierDecision, section: int) -> tuple[Path, list[int]]:
        """Write the rows of a section by chunk, then a completion marker."""
        path = self._stage / f"slots-{tier.share.part}-{section:05}.arrow"
        note = path.with_suffix(".json")
        if not note.exists():
            partitions = StreamedPartitions(self._plan, self._rows, tier.share)
            rows = self._plan.with_slots(tier, section, partitions.read(section))
            chunks, first = np.unique(rows.column(CHUNK).to_numpy(), return_index=True)
            new_private_file(path)
            with (
                pa.OSFile(str(path), "wb") as file,
                pa.ipc.new_file(
                    file, rows.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")
                ) as writer,
            ):
                for begin, end in zip(first, [*first[1:], rows.num_rows], strict=True):
                    writer.write(rows.slice(begin, end - begin).combine_chunks().to_batches()[0])
            write_atomic(note, json.dumps(chunks.tolist()))
        found: list[int] = json.loads(note.read_text(encoding="utf-8"))
        return path, found


def _batch(path: Path, place: int) -> pa.RecordBatch:
    with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
        return reader.get_batch(place)
