"""Tables on a cluster: the chunks of `mottle.pipeline.chunked.chunk`, moved by Spark (PySpark 4).

Spark counts, sorts and deals out the rows; each chunk goes through the same straight line as in
memory, in a Python worker. The driver sees domains, counts and one line of measurements per chunk,
never rows. What a stage has made is written to the staging folder before the next one reads it, so
that a lost executor or a task tried twice cannot bring two versions of a row into play: Spark
commits the output of one attempt of each task.
"""

from __future__ import annotations

import math
import secrets
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset

from mottle.encoding.sensitive import SensitiveValues
from mottle.errors import PrivacyError, UsageError
from mottle.guarantees.base import Guarantee
from mottle.io.atomic_write import resumable_folder, translating_os_errors
from mottle.io.batch_source import ROWS_PER_BATCH, Source
from mottle.io.databases import DatabaseTable
from mottle.io.normalize import normalize
from mottle.methods.buckets.buckets import tiers_for
from mottle.methods.buckets.tiers import edges_per_record
from mottle.pipeline.anonymize import Clock, Progress
from mottle.pipeline.chunked.chunk import CHUNK, ChunkedPlan, RowCodec
from mottle.pipeline.chunked.chunk_files import write_release
from mottle.pipeline.chunked.measurements import Measurements
from mottle.pipeline.chunked.settings import Settings, certify, cut_regions, demand_of
from mottle.pipeline.chunked.survey import DomainSurvey
from mottle.pipeline.chunked.target import Place
from mottle.pipeline.spark.arrow_bridge import arrow_schema, named, spark_schema
from mottle.pipeline.spark.buckets import decided
from mottle.pipeline.spark.ordering import Order
from mottle.pipeline.spark.tasks import (
    MEASURED,
    RANDOM,
    code_rows,
    grouped,
    publish_chunk,
    published_fields,
)
from mottle.release.column import PublishedColumn
from mottle.schema.model import Role, Schema
from mottle.typing import Int64Array
from mottle.utils.csprng import Secret

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from mottle.report import InternalReport

ROWS_PER_CHUNK = 200_000
_BATCHES = "spark.sql.execution.arrow.maxRecordsPerBatch"
_GROUPING, _TIMES = "mottle.grouping", "mottle.times"  # beside the columns of a table


@dataclass(frozen=True)
class SparkRelease:
    """A release that lies in the staging folder; `save` writes it as files of mottle's own."""

    dataframe: DataFrame  # typed cells, in an order that tells nothing
    certificate: dict[str, Any]
    columns: tuple[PublishedColumn, ...]
    folder: str  # where the data frame's Parquet files lie

    def save(
        self,
        output: str | Path | DatabaseTable,
        *,
        overwrite: bool = False,
        report: bool = True,
        internal: InternalReport | None = None,
        original: Source | None = None,
    ) -> dict[str, Any]:
        """Write mottle's own files, report.html included, all or none; or tables of a database.

        For staging folders that this machine can read; the rows pass through it one batch after
        the other. Elsewhere, write ``dataframe`` with Spark and keep ``certificate`` beside it.
        ``internal`` asks for the owner's report, which compares with ``original``
        (`mottle.io.batch_source.parquet_source`).
        """
        place = Place.of(
            output, report=report, private=None, internal=internal, overwrite=overwrite
        )
        if internal is not None and (internal.examples or original is None):
            raise UsageError(
                "An internal report on a Spark release needs the original, and has no examples.",
                "Give original=parquet_source(path, name), and leave examples out.",
            )
        target = place.folder
        with (
            translating_os_errors(target),
            resumable_folder(target, secrets.token_hex(16)) as stage,
        ):
            place.check()
            certificate = write_release(
                self._tables(),
                self.columns,
                self.certificate,
                stage,
                beside=place.beside,
                original=original,
                text=not isinstance(output, DatabaseTable),
            )
            place.publish(stage, certificate)
        return certificate

    def _tables(self) -> Iterator[pa.Table]:
        fields = pa.schema([column.field() for column in self.columns])
        files = pyarrow.dataset.dataset(self.folder, format="parquet")
        for batch in files.to_batches(batch_size=1 << 17, use_threads=False, batch_readahead=2):
            if batch.num_rows:
                yield pa.Table.from_batches([batch]).cast(fields)


def anonymize(
    df: DataFrame,
    schema: Schema,
    guarantee: Guarantee,
    *,
    staging: str | Path,
    method: str = "auto",
    representation: str = "range",
    walk: str = "closed",
    effort: float | None = None,
    seed: int | None = None,
    chunk_rows: int = ROWS_PER_CHUNK,
    totals: bool = True,
    progress: Callable[[Progress], None] | None = None,
) -> SparkRelease:
    """Anonymize a Spark DataFrame; nothing is returned unless all invariants hold.

    Parameters
    ----------
    df
        Rows of plain columns. It is read twice and must hold the same rows both times.
    schema, guarantee, method, representation, walk, effort, seed, totals, progress
        As for `mottle.pipeline.streaming.engine.anonymize`; ``effort`` is for each chunk.
    staging
        A folder that all executors can write to (a path or a URL that Spark knows). Intermediate
        rows and the release are kept below it, in a folder of their own; remove it afterwards.
    chunk_rows
        Rows that one Python worker holds at once.
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
    if isinstance(chunk_rows, bool) or not isinstance(chunk_rows, int) or chunk_rows < 1:
        raise UsageError("chunk_rows must be a whole number of rows.", "Try 200000.")
    place = f"{str(staging).rstrip('/')}/mottle-{secrets.token_hex(8)}"
    clock = Clock(progress or (lambda _: None))
    with _in_large_batches(df.sparkSession):
        return _Job(df, schema, guarantee, settings, place, chunk_rows, clock).release()


@contextmanager
def _in_large_batches(session: SparkSession) -> Iterator[None]:
    """Workers get batches that are worth a call.

    PySpark warns about every pandas newer than itself; mottle uses Arrow only.
    """
    before = session.conf.get(_BATCHES)
    session.conf.set(_BATCHES, str(ROWS_PER_BATCH))
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
            yield
    finally:
        session.conf.set(_BATCHES, str(before))


@dataclass(frozen=True)
class _Job:
    df: DataFrame
    schema: Schema
    guarantee: Guarantee
    settings: Settings
    place: str
    chunk_rows: int
    clock: Clock

    def release(self) -> SparkRelease:
        """Survey, code, cut, publish, shuffle: each stage written before the next one reads it."""
        schema = self.schema.covering(self.df.columns)
        secret = Secret.draw(self.settings.seed)
        with self.clock.stage("survey"):
            survey = self._survey(schema)
            self.guarantee.check_feasible(survey.rows)
            codec = RowCodec(
                schema,
                survey.domains(self.settings.representation),
                survey.sensitive_columns(),
                survey.unchanged_columns(),
            )
        with self.clock.stage("code"):
            work = partial(code_rows, codec, survey.types, secret)
            coded = self._kept("coded", self.df.mapInArrow(work, spark_schema(codec.fields)))
            combinations, counts = self._combinations(coded, codec)
            demand, sensitive = demand_of(self.guarantee, codec, survey.rows, combinations, counts)
        with self.clock.stage("cut"):
            tiers = tiers_for(demand)
            edges = math.ceil(edges_per_record(tiers)) if tiers else demand.degree
            rows = min(max(self.chunk_rows, 2 * edges), survey.rows)
            plan = ChunkedPlan(
                codec,
                demand,
                combinations,
                self.settings.method_for(self.guarantee, survey.rows),
                self.settings.walk,
                self.settings.effort,
                secret,
                rows,
                cut_regions(demand, survey.rows, rows),
                self.settings.totals_of(survey, codec, demand),
                tiers,
            )
            order = Order(self._kept, coded, codec, survey.rows, self.chunk_rows)
            chunks = order.in_regions(plan.cuts)
            scouts = None
            if demand.capped:
                plan, chunks, scouts = decided(plan, chunks, self._kept)
        with self.clock.stage("chunks"):
            publishing = grouped(publish_chunk, plan)
            fields = spark_schema(published_fields(plan))
            made = chunks.groupBy(CHUNK).applyInArrow(publishing, fields)
            published = self._kept("chunks", made)
            if scouts is not None:
                published = published.union(scouts)
            measured = self._measured(published, plan)
        with self.clock.stage("shuffle"):
            released = self._shuffled(published, plan)
        return self._certified(plan, sensitive, measured, released, survey)

    # -------------------------------------------------------------------------- what Spark counts

    def _survey(self, schema: Schema) -> DomainSurvey:
        """How often values occur, by one aggregation over all columns that matter."""
        from pyspark.sql import functions as sql

        types = normalize(arrow_schema(self.df).empty_table()).schema
        survey = DomainSurvey(schema, types, self.guarantee.about_values)
        known = schema.with_role(Role.QUASI_IDENTIFYING)
        sensitive = schema.with_role(Role.SENSITIVE) if self.guarantee.about_values else ()
        looked_at = [*known, *sensitive]
        columns = [sql.col(named(column.name)) for column in looked_at]
        counted = (
            self.df.groupingSets([[column] for column in columns], *columns)
            .agg(sql.grouping_id().alias(_GROUPING), sql.count(sql.lit(1)).alias(_TIMES))
            .toArrow()
        )
        for place, column in enumerate(looked_at):
            others = (1 << len(looked_at)) - 1 - (1 << (len(looked_at) - 1 - place))
            rows = counted.filter(pc.equal(counted.column(_GROUPING), others))
            values = normalize(rows.select([column.name])).column(column.name)
            times = rows.column(_TIMES).to_numpy()
            if column in known:
                survey.add_values(column, values, times)
                survey.rows = int(times.sum())
            else:
                survey.add_counts(column.name, values, times)
        return survey

    def _combinations(self, coded: DataFrame, codec: RowCodec) -> tuple[Int64Array, Int64Array]:
        """How often each combination of sensitive codes occurs."""
        if not codec.sensitive:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        counted = coded.groupBy(*codec.values).count().toArrow()
        numbers = codec.value_numbers([counted.column(name).to_numpy() for name in codec.values])
        order = np.argsort(numbers)
        return numbers[order], counted.column("count").to_numpy()[order]

    def _measured(self, published: DataFrame, plan: ChunkedPlan) -> list[Measurements]:
        """One line for each chunk, after checking that each was published once and whole."""
        from pyspark.sql import functions as sql

        counted = (
            published.groupBy(CHUNK)
            .agg(
                sql.count(sql.lit(1)).alias("rows"),
                sql.count(MEASURED).alias("lines"),
                sql.max(MEASURED).alias(MEASURED),
            )
            .toArrow()
            .to_pylist()
        )
        found = {row[CHUNK]: row for row in counted}
        measured = [Measurements.from_json(row[MEASURED]) for _, row in sorted(found.items())]
        whole = all(
            row["lines"] == 1 and row["rows"] == one.rows
            for (_, row), one in zip(sorted(found.items()), measured, strict=True)
        )
        if not whole or sorted(found) != list(range(plan.chunks)):
            raise PrivacyError("Invariant 3: a chunk was published twice, in part or not at all.")
        return measured

    # ----------------------------------------------------------------------------- moving rows

    def _kept(self, name: str, made: DataFrame) -> DataFrame:
        """Write what a stage has made and go on from there: it is never made again."""
        path = f"{self.place}/{name}"
        made.write.parquet(path)
        return self.df.sparkSession.read.schema(made.schema).parquet(path)

    def _shuffled(self, published: DataFrame, plan: ChunkedPlan) -> DataFrame:
        """All rows by random numbers: a uniformly random order.

        Which part a row comes to is a function of its number alone, and so is its place there.
        """
        numbered = published.drop(CHUNK, MEASURED)
        ordered = numbered.repartition(plan.chunks, RANDOM).sortWithinPartitions(RANDOM)
        return self._kept("release", ordered.drop(RANDOM))

    def _certified(
        self,
        plan: ChunkedPlan,
        sensitive: Sequence[SensitiveValues],
        measured: Sequence[Measurements],
        released: DataFrame,
        survey: DomainSurvey,
    ) -> SparkRelease:
        if released.count() != plan.rows:
            raise PrivacyError("Invariant 5: the release has more or fewer rows than the table.")
        engine: dict[str, object] = {
            "name": "spark",
            "version": self.df.sparkSession.version,
            "rows_per_chunk": plan.largest,
        }
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
        self.clock.on_progress(Progress("done", certificate["gcp"]))
        return SparkRelease(released, certificate, plan.columns, f"{self.place}/release")
