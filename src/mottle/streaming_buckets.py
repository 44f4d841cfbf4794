"""What `buckets` decides for a streamed table, whose regions are read from the sorted file."""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from mottle.bucket_cuts import Region, Result, cuts_without
from mottle.bucket_decision import decide
from mottle.chunks import CHUNK, Plan
from mottle.coding import Float64s
from mottle.graph import Int64s
from mottle.io.chunk_files import ChunkFiles
from mottle.io.external_sort import SortedRows
from mottle.io.staging import write_whole


@dataclass(frozen=True)
class StreamedLine:
    """The sorted rows, region by region, without scouts; see `mottle.bucket_cuts.Line`."""

    plan: Plan
    rows: SortedRows
    scouts: Int64s | None

    @property
    def cuts(self) -> Int64s:
        """First row of every region, and the end."""
        return cuts_without(self.plan.cuts, self.scouts)

    def over(self, work: Callable[[Region], Result]) -> list[Result]:
        """What ``work`` says about every region."""
        coding = self.plan.coding
        columns = [*coding.keys, *coding.values]
        return [
            work(self.plan.region(number, self.read(number, columns), self.scouts))
            for number in range(self.plan.regions)
        ]

    def read(self, number: int, columns: list[str] | None = None) -> pa.Table:
        """The coded rows of a region, scouts included."""
        first, last = self.plan.cuts[number], self.plan.cuts[number + 1]
        return self.rows.read(int(first), int(last), columns)


def decided(plan: Plan, rows: SortedRows, files: ChunkFiles, stage: Path) -> Plan:
    """The plan with what `buckets` decides; scouts, if it wants any, are published on the way."""

    def publish_scouts(scouts: Int64s) -> Float64s:
        note = stage / "scouts.json"
        if files.measured(0) is None or not note.exists():
            line = StreamedLine(plan, rows, None)
            found = [
                plan.scouts_apart(number, line.read(number), scouts)[0]
                for number in range(plan.regions)
            ]
            table, measured, profiles = plan.anonymize_scouts(pa.concat_tables(found))
            write_whole(note, json.dumps(profiles.tolist()))
            files.write(0, table, measured)
        return np.array(json.loads(note.read_text(encoding="utf-8")), np.float64)

    decision = decide(
        plan.demand,
        plan.secret,
        plan.largest,
        lambda scouts: StreamedLine(plan, rows, scouts),
        publish_scouts,
    )
    note = stage / "decision.sha256"
    digest = hashlib.sha256(pickle.dumps(decision)).hexdigest()
    if not note.exists() or note.read_text(encoding="utf-8") != digest:
        files.forget(decision.first_chunk)
        for path in stage.glob("seated-*.json"):
            path.unlink()
        write_whole(note, digest)
    return replace(plan, decision=decision)


class ChunkRows:
    """The coded rows of every chunk, which `buckets` may have put together from several regions."""

    def __init__(self, plan: Plan, rows: SortedRows, stage: Path) -> None:
        self._plan = plan
        self._line = StreamedLine(plan, rows, None)
        self._stage = stage
        self._chunks: list[list[int]] = []  # by region: the chunks of its file's batches
        if plan.decision is not None and plan.decision.seating is not None:
            self._chunks = [self._seat(number) for number in range(plan.regions)]

    def read(self, number: int) -> pa.Table:
        """The rows of a chunk, in order."""
        decision = self._plan.decision
        if decision is None:
            return self._line.read(number)
        if decision.seating is None:
            region = number - decision.first_chunk
            rows = self._line.read(region)
            return self._plan.scouts_apart(region, rows, decision.scouts)[1]
        batches = [
            self._batch(region, chunks.index(number))
            for region, chunks in enumerate(self._chunks)
            if number in chunks
        ]
        return pa.Table.from_batches(batches)

    def _seat(self, region: int) -> list[int]:
        """Write the rows of a region, chunk by chunk; and the word that they are complete."""
        note = self._path(region, "json")
        if not note.exists():
            rows = self._plan.seated(region, self._line.read(region))
            chunks, first = np.unique(rows.column(CHUNK).to_numpy(), return_index=True)
            with (
                pa.OSFile(str(self._path(region, "arrow")), "wb") as file,
                pa.ipc.new_file(
                    file, rows.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")
                ) as writer,
            ):
                for begin, end in zip(first, [*first[1:], rows.num_rows], strict=True):
                    writer.write(rows.slice(begin, end - begin).combine_chunks().to_batches()[0])
            write_whole(note, json.dumps(chunks.tolist()))
        found: list[int] = json.loads(note.read_text(encoding="utf-8"))
        return found

    def _batch(self, region: int, place: int) -> pa.RecordBatch:
        with (
            pa.OSFile(str(self._path(region, "arrow"))) as file,
            pa.ipc.open_file(file) as reader,
        ):
            return reader.get_batch(place)

    def _path(self, region: int, suffix: str) -> Path:
        return self._stage / f"seated-{region:05}.{suffix}"
