"""The streaming engine: survey, sort on disk, anonymize chunk by chunk, shuffle all rows.

Rows and the run's secret are in the private work folder (`io/work_folder.py`), outside the folder
that is published. If a run is interrupted, they stay there, and the same command resumes from the
finished chunks.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from mottle.guarantees.base import Guarantee
from mottle.io.atomic_write import write_atomic
from mottle.io.batch_source import (
    Source,
    content_hash,
    copied,
    rows_hash,
)
from mottle.io.changing_input import InputState
from mottle.io.work_folder import empty_folder
from mottle.methods.buckets.partitioned.decision import WaveRelease
from mottle.methods.buckets.partitioned.shares import RowShare
from mottle.pipeline.chunked.chunk import TIEBREAK, ChunkedPlan, RowCodec
from mottle.pipeline.chunked.contents import Contents
from mottle.pipeline.chunked.external_sort import SortedRows, query_row, sort_to_parquet
from mottle.pipeline.chunked.memory import (
    BASE_BYTES,
    check_sets_fit,
    domain_bytes,
    rows_per_chunk,
)
from mottle.pipeline.chunked.risk import figures_found, risk_query
from mottle.pipeline.chunked.survey import DomainSurvey
from mottle.pipeline.measurements import Measurements
from mottle.pipeline.progress import Clock
from mottle.pipeline.settings import Settings
from mottle.pipeline.streaming.buckets import ChunkRows, StreamedPartitions
from mottle.pipeline.streaming.chunk_files import ChunkFiles
from mottle.pipeline.streaming.value_counts import count_values
from mottle.release.certificate import EngineFacts
from mottle.release.evidence_facts import RiskFigures
from mottle.schema.model import Schema
from mottle.typing import Int64Array
from mottle.utils import parallel
from mottle.utils.csprng import Secret
from mottle.utils.dependence import MOST_ROWS

INPUT = "input.parquet"  # the copy of the input in the folder of a run


class StreamingEngine:
    """Moves rows on one machine: sorted on disk, read chunk by chunk, all in a private folder."""

    def __init__(
        self,
        stage: Path,
        guarantee: Guarantee,
        settings: Settings,
        memory: int,
        chunk_rows: int | None,
        clock: Clock,
    ) -> None:
        self.stage = stage
        self.guarantee = guarantee
        self.settings = settings
        self.memory = memory
        self.chunk_rows = chunk_rows
        self.clock = clock
        self.rows: SortedRows | None = None
        self.input: InputState | None = None  # None for rows that came once and were copied

    def close(self) -> None:
        """Close the file of sorted rows."""
        if self.rows is not None:
            self.rows.close()

    # ------------------------------------------------------------------------------------- input

    def check_input(self) -> None:
        """Raise `DataError` if the input file has changed since it was opened."""
        if self.input is not None:
            self.input.check()

    def open(self, contents: Contents) -> Source:
        """Open the input; discard an earlier attempt if the content has changed."""
        with self.clock.stage("read"):
            self.source = self._open(contents)
        return self.source

    def _open(self, contents: Contents) -> Source:
        data, copy = contents.data, self.stage / INPUT
        sorting = (self.memory - BASE_BYTES) // 2
        if not isinstance(data, pa.RecordBatchReader):
            path = Path(data)
            self.input = InputState(path)
            self._forget_unless(content_hash(path))
            return contents.open(path, copy, sorting)
        arriving = self.stage / "arriving.parquet"
        arriving.unlink(missing_ok=True)
        copied(lambda: (pa.Table.from_batches([batch]) for batch in data), arriving, contents.named)
        self._forget_unless(rows_hash(arriving), spare=arriving)
        # If there is a copy, it has the same rows; a database may send them in another order.
        return contents.open_copy(arriving, copy, sorting)

    def _forget_unless(self, content: str, spare: Path | None = None) -> None:
        """Empty the folder unless it was made from the same content and holds the secret."""
        note = self.stage / "input.sha256"
        known = note.exists() and note.read_text(encoding="utf-8") == content
        if not known or not (self.stage / "secret").exists():
            empty_folder(self.stage, spare)
            self._keep_secret(Secret.draw(self.settings.seed))
            write_atomic(note, content)
        self.content = content

    def use_secret(self, secret: Secret) -> None:
        """Replace the secret; discard an earlier attempt unless it had the same."""
        if self.secret != secret:
            empty_folder(self.stage, spare=self.stage / INPUT)
            self._keep_secret(secret)
            write_atomic(self.stage / "input.sha256", self.content)

    def _keep_secret(self, secret: Secret) -> None:
        """Write the secret so that only the owner can read it; the end of the run removes it."""
        path = self.stage / "secret"
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(handle, "w", encoding="utf-8") as file:
            file.write(secret.key.hex())
            file.flush()
            os.fsync(file.fileno())

    @property
    def secret(self) -> Secret:
        """The secret of the run, also of one that was interrupted."""
        text = (self.stage / "secret").read_text(encoding="utf-8")
        return Secret(bytes.fromhex(text), self.settings.seed)

    # ------------------------------------------------------------------------------- moving rows

    def survey(self, schema: Schema, to_count: Sequence[str]) -> DomainSurvey:
        """Read all rows to find the domains and how often sensitive values occur."""
        source = self.source
        survey = DomainSurvey(schema, source.types, self.guarantee.about_values)
        survey.repeats = count_values(
            source.read() if to_count else iter(()),
            source.types,
            to_count,
            memory=(self.memory - BASE_BYTES) // 2,
            threads=parallel.thread_count(),
            folder=self.stage,
            person=schema.person,
        )
        step = -(-source.rows // MOST_ROWS)
        for table in source.read():
            survey.keep_some(table, step)
            survey.add(table)
            self.clock.report_share("survey", source.rows, survey.rows)
        self.check_input()
        check_sets_fit(survey.set_bytes, self.memory)
        return survey

    def order(self, codec: RowCodec, secret: Secret) -> tuple[Int64Array, Int64Array]:
        """Sort the coded rows by their quasi-identifiers and tie-breaks, on disk."""
        ordered, note = self.stage / "sorted.parquet", self.stage / "combinations.json"
        if not ordered.exists():
            counted: Counter[int] = Counter()
            sort_to_parquet(
                self._coded(codec, secret, counted),
                codec.fields,
                [*codec.keys, TIEBREAK],
                ordered,
                memory=(self.memory - BASE_BYTES) // 2,
                threads=parallel.thread_count(),
                then=lambda: write_atomic(note, json.dumps(sorted(counted.items()))),
            )
        content = json.loads(note.read_text(encoding="utf-8"))
        combinations, counts = np.array(content, np.int64).reshape(-1, 2).T
        self.rows = SortedRows(ordered, codec.fields)
        self.check_input()
        return combinations, counts

    def _coded(self, codec: RowCodec, secret: Secret, counted: Counter[int]) -> Iterator[pa.Table]:
        """Yield all rows as codes, and count combinations of sensitive codes in ``counted``."""
        done = 0
        for number, table in enumerate(self.source.read()):
            # The words are part of the key of the random numbers and must not change.
            tiebreak = secret.part("lots of batch", number).numbers(table.num_rows)
            rows = codec.code(table, tiebreak, done)
            if codec.sensitive:
                columns = [rows.column(name).to_numpy() for name in codec.values]
                found, times = np.unique(codec.value_numbers(columns), return_counts=True)
                counted.update(dict(zip(found.tolist(), times.tolist(), strict=True)))
            done += table.num_rows
            self.clock.report_share("sort", self.source.rows, done)
            yield rows

    def risk(self, codec: RowCodec) -> RiskFigures:
        """Measure how easily people are found by the keys of the sorted rows."""
        memory = (self.memory - BASE_BYTES) // 2
        path = self.stage / "sorted.parquet"
        row = query_row(risk_query(codec), path, memory=memory, threads=parallel.thread_count())
        return figures_found(row)

    def largest_chunk(self, codec: RowCodec, survey: DomainSurvey, method: str, edges: int) -> int:
        """Return how many rows fit into memory while a chunk is worked on."""
        row_bytes = survey.kept_bytes / survey.rows + (8 * edges if codec.numbered else 0)
        row_bytes += (
            edges * survey.item_bytes / survey.rows
        )  # a cell may list all candidates' items
        memory = self.memory - domain_bytes(survey.set_bytes)
        return self.chunk_rows or rows_per_chunk(
            memory, method, edges, len(codec.domains), row_bytes
        )

    def partitions(self, plan: ChunkedPlan, share: RowShare | None) -> StreamedPartitions:
        """Return the sorted rows of a share, or all."""
        return StreamedPartitions(plan, self._sorted, share)

    def publish_wave(
        self, plan: ChunkedPlan, share: RowShare, buckets: int, number: int
    ) -> WaveRelease:
        """Publish the first wave of a tier, which an interrupted attempt may have done."""
        rows = self.partitions(plan, share).read(0)
        table, measured, released = plan.anonymize_wave(number, rows, buckets)
        self._files(plan).write(number, table, measured)
        return released

    def settle(self, plan: ChunkedPlan) -> None:
        """Discard chunks of an earlier attempt that were made by other decisions."""
        if plan.decision is None:
            return
        note = self.stage / "decision.sha256"
        digest = hashlib.sha256(pickle.dumps(plan.decision)).hexdigest()
        if not note.exists() or note.read_text(encoding="utf-8") != digest:
            self._files(plan).forget(plan.decision.first_chunk)
            for path in self.stage.glob("slots-*.json"):
                path.unlink()
            write_atomic(note, digest)

    def publish(self, plan: ChunkedPlan) -> list[Measurements]:
        """Publish the chunks in turn, except those that an interrupted attempt completed."""
        chunks, files = ChunkRows(plan, self._sorted, self.stage), self._files(plan)
        measured: list[Measurements] = []
        for number in range(plan.chunks):
            known = files.measured(number)
            if known is None:
                table, known = plan.anonymize(number, chunks.read(number))
                files.write(number, table, known)
            measured.append(known)
            done = Measurements.total(measured)
            self.clock.gcp = done.mean_loss
            self.clock.report_share("chunks", plan.rows, done.rows)
        return measured

    def facts(self, plan: ChunkedPlan) -> EngineFacts:
        """Describe the engine for the certificate."""
        return EngineFacts(
            name="streaming", memory=self.memory, rows_per_chunk=plan.largest, chunks=plan.chunks
        )

    def rows_in_order(self, plan: ChunkedPlan) -> Iterator[pa.Table]:
        """Read all published rows in a uniformly random order."""
        return self._files(plan).shuffled(plan.chunks)

    @property
    def _sorted(self) -> SortedRows:
        assert self.rows is not None, "rows are ordered before they are read"
        return self.rows

    def _files(self, plan: ChunkedPlan) -> ChunkFiles:
        return ChunkFiles(self.stage, plan.regions, plan.secret)
