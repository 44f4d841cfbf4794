"""More rows than memory: survey, sort on disk, then chunk after chunk, and a shuffle of all rows.

Everything lies in one hidden folder until it is complete. Finished chunks stay there when a run is
interrupted, beside the run's secret, and the same command goes on from them.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from mottle._version import __version__
from mottle.encoding.sensitive import SensitiveValues
from mottle.errors import DataError
from mottle.guarantees.base import Guarantee
from mottle.io.atomic_write import (
    empty_folder,
    finish_interrupted,
    resumable_folder,
    translating_os_errors,
    write_atomic,
)
from mottle.io.batch_source import (
    Source,
    TextOptions,
    content_hash,
    copied,
    open_source,
    rows_hash,
)
from mottle.io.databases import DatabaseTable
from mottle.io.write_release import CERTIFICATE
from mottle.methods.buckets.buckets import tiers_for
from mottle.methods.buckets.tiers import edges_per_record
from mottle.pipeline.anonymize import Clock, Progress
from mottle.pipeline.chunked.chunk import TIEBREAK, ChunkedPlan, RowCodec
from mottle.pipeline.chunked.chunk_files import ChunkFiles, write_release
from mottle.pipeline.chunked.measurements import Measurements
from mottle.pipeline.chunked.settings import (
    BASE_BYTES,
    Settings,
    certify,
    cut_regions,
    demand_of,
    memory_bytes,
    rows_per_chunk,
)
from mottle.pipeline.chunked.survey import DomainSurvey
from mottle.pipeline.chunked.target import Place
from mottle.pipeline.streaming.buckets import ChunkRows, decided
from mottle.pipeline.streaming.external_sort import SortedRows, sort_to_parquet
from mottle.schema.model import Schema
from mottle.typing import Int64Array
from mottle.utils import parallel
from mottle.utils.csprng import Secret

if TYPE_CHECKING:
    from mottle.report import InternalReport


def anonymize(
    data: str | Path | pa.RecordBatchReader,
    schema: Schema,
    guarantee: Guarantee,
    output: str | Path | DatabaseTable,
    *,
    memory: str | int = "4GB",
    method: str = "auto",
    representation: str = "range",
    walk: str = "closed",
    effort: float | None = None,
    seed: int | None = None,
    text: TextOptions | None = None,
    source: str = "",
    chunk_rows: int | None = None,
    totals: bool = True,
    overwrite: bool = False,
    report: bool = True,
    private: str | Path | None = None,
    internal: InternalReport | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> dict[str, Any]:
    """Anonymize a table that does not fit into memory; returns the certificate.

    ``release.parquet``, ``release.csv``, ``report.html`` and ``certificate.json`` appear in the
    folder ``output`` together, or not at all; or the release appears in a database, in one
    transaction. After an interruption the same call goes on where the last one was.

    Parameters
    ----------
    data
        The path of a CSV, Parquet or Arrow file, or a reader of record batches (a database).
    schema, guarantee, representation, walk, seed, progress, totals
        As for `mottle.anonymize`.
    memory
        What the process may take, such as ``"4GB"``. It decides how many rows are worked on at
        once; docs/scale.md says how.
    method
        ``"nh"`` or ``"freeform"`` for k-anonymity, ``"buckets"`` for sensitive values; ``"auto"``
        picks one.
    effort
        Seconds of improving, for each chunk.
    text
        How a text file is written.
    source
        What ``data`` is when it is a reader, so that an interrupted run is known again.
    chunk_rows
        Rows worked on at once, instead of what ``memory`` suggests.
    output
        A folder, or `DatabaseTable(url, table)`; then the run works in the current folder.
    overwrite
        Replace an earlier release in ``output``.
    report, private, internal
        As for `Release.save`; the owner of ``internal`` may leave the original out.

    Examples
    --------
    >>> import tempfile, mottle, pyarrow.parquet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     people = Path(folder, "people.parquet")
    ...     pyarrow.parquet.write_table(mottle.datasets.population(500, seed=1), people)
    ...     schema = Schema.of(quasi_identifying=["age", "sex"], identifying=["person_id"],
    ...                        rest="insensitive")
    ...     certificate = anonymize(people, schema, mottle.KAnonymity(5), Path(folder, "out"),
    ...                             method="nh", chunk_rows=200)
    ...     certificate["rows"], certificate["engine"]["chunks"], certificate["degree"]["min"]
    (500, 3, 5)
    """
    settings = Settings.check(
        schema,
        guarantee,
        method=method,
        representation=representation,
        walk=walk,
        effort=effort,
        seed=seed,
        totals=totals,
    )
    limit = memory_bytes(memory)
    place = Place.of(output, report=report, private=private, internal=internal, overwrite=overwrite)
    target = place.folder
    named = source or (str(Path(data).resolve()) if isinstance(data, (str, Path)) else "")
    key = _key(
        named,
        schema,
        guarantee,
        settings,
        limit,
        chunk_rows,
        text or TextOptions(),
        place.named,
        place.beside.numbered,
    )
    if finish_interrupted(target, key):
        return _written_certificate(target)
    with translating_os_errors(target), resumable_folder(target, key) as stage:
        place.check()
        run = _Run(stage, schema, guarantee, settings, limit, chunk_rows, progress, place)
        certificate = run.release(run.open(data, text or TextOptions(), named))
        place.publish(stage, certificate)
    return certificate


def _key(named: str, schema: Schema, guarantee: Guarantee, *options: object) -> str:
    """What makes two commands the same one; the content of the input is compared later."""
    columns = [
        (
            column.model_dump_json(exclude={"hierarchy", "hierarchy_file"}),
            column.hierarchy.rows() if column.hierarchy is not None else None,
        )
        for column in schema.columns
    ]
    words = [__version__, named, columns, schema.rest, repr(guarantee), repr(options)]
    return hashlib.sha256(json.dumps(words, default=str).encode()).hexdigest()[:32]


def _written_certificate(target: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((target / CERTIFICATE).read_text(encoding="utf-8"))
    return content


@dataclass
class _Run:
    """One run in its hidden folder."""

    stage: Path
    schema: Schema
    guarantee: Guarantee
    settings: Settings
    memory: int
    chunk_rows: int | None
    progress: Callable[[Progress], None] | None
    place: Place

    def __post_init__(self) -> None:
        self.clock = Clock(self.progress or (lambda _: None))

    # ------------------------------------------------------------------------------- the input

    def open(self, data: str | Path | pa.RecordBatchReader, text: TextOptions, name: str) -> Source:
        """The input, after forgetting an earlier attempt on another content."""
        copy = self.stage / "input.parquet"
        with self.clock.stage("read"):
            if isinstance(data, (str, Path)):
                path = Path(data)
                self._forget_unless(content_hash(path))
                return open_source(path, copy, text)
            arriving = self.stage / "arriving.parquet"
            arriving.unlink(missing_ok=True)
            copied(lambda: (pa.Table.from_batches([batch]) for batch in data), arriving, name)
            self._forget_unless(rows_hash(arriving), spare=arriving)
            if copy.exists():
                arriving.unlink()  # the same rows, which a database may send in another order
            else:
                os.replace(arriving, copy)
            return open_source(copy, copy, TextOptions(missing=text.missing))

    def _forget_unless(self, content: str, spare: Path | None = None) -> None:
        """Keep what is there only if it was made from the same content, under a known secret."""
        note = self.stage / "input.sha256"
        known = note.exists() and note.read_text(encoding="utf-8") == content
        if not known or not (self.stage / "secret").exists():
            empty_folder(self.stage, spare)
            self._keep_secret(Secret.draw(self.settings.seed))
            write_atomic(note, content)
        self.content = content

    def _keep_secret(self, secret: Secret) -> None:
        """Only the owner may read it; it goes with the folder when the run ends."""
        path = self.stage / "secret"
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(handle, "w", encoding="utf-8") as file:
            file.write(secret.key.hex())
            file.flush()
            os.fsync(file.fileno())

    @property
    def secret(self) -> Secret:
        """The run's secret, that of an interrupted attempt included."""
        text = (self.stage / "secret").read_text(encoding="utf-8")
        return Secret(bytes.fromhex(text), self.settings.seed)

    # ------------------------------------------------------------------------------- the line

    def release(self, source: Source) -> dict[str, Any]:
        """Survey, sort, publish chunk by chunk, shuffle."""
        schema = self.schema.covering(source.types.names)
        self.guarantee.check_feasible(source.rows)
        with self.clock.stage("survey"):
            survey = self._survey(source, schema)
            codec = RowCodec(
                schema,
                survey.domains(self.settings.representation),
                survey.sensitive_columns(),
                survey.unchanged_columns(),
                self.place.beside.numbered,
            )
            if self.guarantee.about_values and len(codec.sensitive) < 2:
                self._demand(codec, survey.rows, *_single_combinations(codec))
        with self.clock.stage("sort"):
            ordered = self.stage / "sorted.parquet"
            if not ordered.exists():
                self._sort(source, codec, ordered)
        with SortedRows(ordered, codec.fields) as rows:
            with self.clock.stage("cut"):
                plan, sensitive = self._plan(codec, survey, rows)
                files = ChunkFiles(self.stage, plan.regions, self.secret)
                if plan.demand.capped:
                    plan = decided(plan, rows, files, self.stage)
                chunks = ChunkRows(plan, rows, self.stage)
            with self.clock.stage("chunks"):
                measured = self._publish(plan, chunks, files)
        engine = {"name": "streaming", "memory": self.memory, "rows_per_chunk": plan.largest}
        certificate = certify(
            plan,
            self.settings,
            self.guarantee,
            sensitive,
            measured,
            engine,
            survey.notes,
            self.clock.seconds,
        )
        on_progress = partial(self._report_share, "write", plan.rows)
        certificate = write_release(
            files.heaps(plan.chunks),
            plan.columns,
            certificate,
            self.stage,
            on_progress,
            beside=self.place.beside,
            original=source,
            blocks=[part.blocks for part in measured],
            text=not isinstance(self.place.output, DatabaseTable),
        )
        self.clock.on_progress(Progress("done", certificate["gcp"]))
        return certificate

    def _survey(self, source: Source, schema: Schema) -> DomainSurvey:
        survey = DomainSurvey(schema, source.types, self.guarantee.about_values)
        for table in source.read():
            survey.add(table)
            self._report_share("survey", source.rows, survey.rows)
        if survey.rows != source.rows:
            raise DataError(f"{source.name} has changed while it was read.", "Run it again.")
        return survey

    def _sort(self, source: Source, codec: RowCodec, ordered: Path) -> None:
        """Write the coded rows along the order of their quasi-identifiers, then lots."""
        counted: dict[int, int] = {}

        def coded() -> Iterator[pa.Table]:
            done = 0
            for number, table in enumerate(source.read()):
                tiebreak = self.secret.part("lots of batch", number).numbers(table.num_rows)
                rows = codec.code(table, tiebreak, done)
                if codec.sensitive:
                    columns = [rows.column(name).to_numpy() for name in codec.values]
                    found, times = np.unique(codec.value_numbers(columns), return_counts=True)
                    for combination, count in zip(found.tolist(), times.tolist(), strict=True):
                        counted[combination] = counted.get(combination, 0) + count
                done += table.num_rows
                self._report_share("sort", source.rows, done)
                yield rows

        keys = [*codec.keys, TIEBREAK]
        sort_to_parquet(
            coded(),
            codec.fields,
            keys,
            ordered,
            memory=(self.memory - BASE_BYTES) // 2,
            threads=parallel.thread_count(),
            then=partial(self._keep_combinations, counted),
        )

    def _keep_combinations(self, counted: dict[int, int]) -> None:
        write_atomic(self.stage / "combinations.json", json.dumps(sorted(counted.items())))

    def _demand(
        self, codec: RowCodec, rows: int, combinations: Int64Array, counts: Int64Array
    ) -> Any:
        return demand_of(self.guarantee, codec, rows, combinations, counts)

    def _plan(
        self, codec: RowCodec, survey: DomainSurvey, rows: SortedRows
    ) -> tuple[ChunkedPlan, tuple[SensitiveValues, ...]]:
        """Everything that is decided for the whole table."""
        if rows.rows != survey.rows:
            raise DataError("The input has changed while it was read.", "Run it again.")
        content = json.loads((self.stage / "combinations.json").read_text(encoding="utf-8"))
        combinations, counts = np.array(content, np.int64).reshape(-1, 2).T
        demand, sensitive = self._demand(codec, rows.rows, combinations, counts)
        method = self.settings.method_for(self.guarantee, rows.rows)
        tiers = tiers_for(demand)
        edges = math.ceil(edges_per_record(tiers)) if tiers else demand.degree
        row_bytes = survey.kept_bytes / rows.rows + (8 * edges if codec.numbered else 0)
        largest = self.chunk_rows or rows_per_chunk(
            self.memory, method, edges, len(codec.domains), row_bytes
        )
        largest = min(max(largest, 2 * edges), rows.rows)
        cuts = cut_regions(demand, rows.rows, largest)
        plan = ChunkedPlan(
            codec,
            demand,
            combinations,
            method,
            self.settings.walk,
            self.settings.effort,
            self.secret,
            largest,
            cuts,
            self.settings.totals_of(survey, codec, demand),
            tiers,
        )
        return plan, sensitive

    def _publish(
        self, plan: ChunkedPlan, chunks: ChunkRows, files: ChunkFiles
    ) -> list[Measurements]:
        measured: list[Measurements] = []
        for number in range(plan.chunks):
            known = files.measured(number)
            if known is None:
                table, known = plan.anonymize(number, chunks.read(number))
                files.write(number, table, known)
            measured.append(known)
            done = Measurements.total(measured)
            self.clock.gcp = done.gcp / done.rows
            self._report_share("chunks", plan.rows, done.rows)
        return measured

    def _report_share(self, stage: str, rows: int, done: int) -> None:
        self.clock.on_progress(Progress(stage, self.clock.gcp, done / rows))


def _single_combinations(codec: RowCodec) -> tuple[Int64Array, Int64Array]:
    """The values of the only sensitive column and their counts; known before anything is sorted."""
    if not codec.sensitive:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    counts = codec.sensitive[0][1].counts
    return np.arange(len(counts)), counts
