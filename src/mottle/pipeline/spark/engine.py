"""The Spark engine: the chunks of `mottle.pipeline.chunked.chunk` on a cluster (PySpark 4).

Spark counts, sorts and distributes the rows; each chunk goes through the same steps as a table in
memory, in a Python worker. The driver sees domains, counts and one line of measurements per chunk,
never rows. The output of each stage is written to the staging folder before the next stage reads
it, so that a lost executor or a retried task cannot introduce two versions of a row: Spark commits
the output of one attempt of each task.
"""

from __future__ import annotations

import pickle
import secrets
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset

from mottle.errors import PrivacyError, UsageError
from mottle.guarantees.base import Guarantee
from mottle.guarantees.people import ChunkShareError
from mottle.io.batch_source import ROWS_PER_BATCH
from mottle.io.normalize import normalize
from mottle.methods.buckets.partitioned.decision import WaveRelease
from mottle.methods.buckets.partitioned.shares import RowShare
from mottle.methods.buckets.tree import CutError
from mottle.pipeline.chunked.chunk import CHUNK, PERSON, ChunkedPlan, RowCodec
from mottle.pipeline.chunked.driver import check_chunked, drive
from mottle.pipeline.chunked.risk import figures_found, risk_query
from mottle.pipeline.chunked.sets.run import check_chunked_sets
from mottle.pipeline.chunked.survey import DomainSurvey
from mottle.pipeline.measurements import Measurements
from mottle.pipeline.owner import OwnedTable
from mottle.pipeline.progress import Clock, Progress
from mottle.pipeline.release import Release
from mottle.pipeline.rules import broken_rules_in
from mottle.pipeline.settings import Settings
from mottle.pipeline.spark.arrow_bridge import arrow_schema, named, spark_schema
from mottle.pipeline.spark.buckets import SparkPartitions, SparkParts
from mottle.pipeline.spark.bundles import BUNDLE, ROWS, unbundle
from mottle.pipeline.spark.key_groups import figures_of
from mottle.pipeline.spark.ordering import Order
from mottle.pipeline.spark.source import SparkSource
from mottle.pipeline.spark.tasks import (
    CODED,
    COUNTED,
    HEAP,
    KEYS,
    MEASURED,
    OTHERS,
    PLACE,
    PUBLISHED,
    RELEASE,
    RELEASED,
    by_group,
    code_rows,
    coded_rows,
    count_combinations,
    grouped,
    join_counts,
    publish_chunk,
    publish_wave,
    released_rows,
    shuffle_heap,
    spell_people,
    survey_rows,
    surveyed_columns,
)
from mottle.pipeline.unit import Repeats, columns_to_count
from mottle.release.certificate import EngineFacts, ReleaseKind
from mottle.release.evidence_facts import RiskFigures
from mottle.release.set_release import SetReleaseData
from mottle.schema.model import Schema
from mottle.typing import Int64Array
from mottle.utils.csprng import Secret
from mottle.utils.person_names import check_names_people

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_RELEASE = "release"  # folder inside the staging folder, for the rows of the release
ROWS_PER_CHUNK = 200_000
_BATCHES = "spark.sql.execution.arrow.maxRecordsPerBatch"
_BUNDLES_AT_ONCE = 16  # that are read from files of the release
_TIMES = "mottle.times"  # a column in addition to the table's
# Parquet counts rows before it looks at their size, and a row may be a bundle of many: writer and
# reader would each hold some hundred megabytes per task, which Spark's usual memory does not allow.
# Bundles are compressed, and each says how many rows it has.
_OF_BUNDLES = {
    "compression": "none",
    "parquet.page.write-checksum.enabled": "false",
    "parquet.block.size": str(8 << 20),
    "parquet.block.size.row.check.min": "1",
    "parquet.page.size.row.check.min": "1",
    "parquet.enable.dictionary": "false",
}


@dataclass(frozen=True, repr=False)
class SparkRelease(Release):
    """A release whose rows are in the staging folder.

    If this machine can read the staging folder, it can be used as any other release, and `save`
    writes mottle's own files. If not, write ``dataframe`` with Spark and store ``certificate``
    with it.
    """

    dataframe: DataFrame | None = field(default=None, compare=False)  # rows in random order

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"dataframe": None}


@dataclass(frozen=True, repr=False)
class SparkSetRelease(SetReleaseData, SparkRelease):
    """A release of sets whose rows are in the staging folder."""


@dataclass(frozen=True)
class _SparkRows:
    """The rows of the Parquet files that Spark has written into a folder."""

    folder: str
    schema: pa.Schema
    num_rows: int

    def to_batches(self, max_chunksize: int) -> Iterator[pa.RecordBatch]:
        """Read all rows, at most ``max_chunksize`` at once."""
        files = pyarrow.dataset.dataset(self.folder, format="parquet")
        for batch in files.to_batches(
            columns=[BUNDLE], batch_size=_BUNDLES_AT_ONCE, use_threads=False, batch_readahead=2
        ):
            for rows in batch.column(BUNDLE).to_pylist():
                yield from unbundle([rows]).cast(self.schema).to_batches(max_chunksize)


def anonymize(
    df: DataFrame,
    schema: Schema,
    guarantee: Guarantee,
    *,
    staging: str | Path,
    method: str = "auto",
    representation: str = "range",
    objective: str | None = None,
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
    df : DataFrame
        Rows of plain columns. It is read twice and must hold the same rows both times.
    schema : Schema
        As for `mottle.anonymize`.
    guarantee : Guarantee
        As for `mottle.anonymize`.
    staging : str or Path
        A folder that all executors can write to (a path or a URL that Spark knows). Intermediate
        rows and the release are written to a new folder inside it; remove that folder afterwards.
    method : str
        As for `mottle.anonymize_stream`.
    representation : {"range", "set"}
        As for `mottle.anonymize`.
    objective : {"reading", "ncp", "entropy"}, optional
        As for `mottle.anonymize`; frequencies are those of the whole table.
    walk : {"closed", "closed-printed", "backtracking"}
        As for `mottle.anonymize`.
    effort : float, optional
        Seconds for improving the result, for each chunk.
    seed : int, optional
        As for `mottle.anonymize`.
    chunk_rows : int
        Rows that one Python worker holds at once.
    totals : bool
        As for `mottle.anonymize`.
    progress : callable, optional
        As for `mottle.anonymize`.

    Returns
    -------
    SparkRelease
        The release; its rows are in the staging folder.

    Raises
    ------
    UsageError
        An option has a wrong value, or the method does not give the guarantee in chunks.
    SchemaError, DataError, GuaranteeError
        As for `mottle.anonymize`.
    PrivacyError
        An invariant does not hold: this is a defect of the program, and nothing is returned.
    """
    return anonymize_owned(
        df,
        schema,
        guarantee,
        staging=staging,
        method=method,
        representation=representation,
        objective=objective,
        walk=walk,
        effort=effort,
        seed=seed,
        chunk_rows=chunk_rows,
        totals=totals,
        progress=progress,
    )


def anonymize_owned(
    df: DataFrame,
    schema: Schema,
    guarantee: Guarantee,
    *,
    staging: str | Path,
    file: Path | None = None,
    owned: OwnedTable | None = None,
    chunk_rows: int = ROWS_PER_CHUNK,
    progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> SparkRelease:
    """Anonymize as `anonymize` does, with the owner's key if there is one."""
    settings = Settings.of(**options, key=owned)
    settings = check_chunked(schema, guarantee, settings)
    covering = schema.covering(df.columns)
    to_count = columns_to_count(schema, arrow_schema(df))
    return _run(
        SparkRelease,
        df,
        covering,
        guarantee,
        settings,
        file=file,
        staging=staging,
        secret=_secret_of(owned, covering, guarantee, settings, chunk_rows),
        chunk_rows=chunk_rows,
        to_count=to_count,
        kind=ReleaseKind.TABLE,
        progress=progress,
    )


def anonymize_owned_sets(
    df: DataFrame,
    schema: Schema,
    guarantee: Guarantee,
    *,
    staging: str | Path,
    file: Path | None = None,
    owned: OwnedTable | None = None,
    chunk_rows: int = ROWS_PER_CHUNK,
    progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> SparkSetRelease:
    """Anonymize sets: a column of lists and, if there are any, the labels."""
    settings = Settings.of(**options, key=owned)
    settings = check_chunked_sets(guarantee, settings)
    release = _run(
        SparkSetRelease,
        df,
        schema,
        guarantee,
        settings,
        file=file,
        staging=staging,
        secret=_secret_of(owned, None, guarantee, settings, chunk_rows),
        chunk_rows=chunk_rows,
        to_count=(),
        kind=ReleaseKind.SETS,
        progress=progress,
    )
    assert isinstance(release, SparkSetRelease)
    return release


def _secret_of(
    owned: OwnedTable | None,
    schema: Schema | None,
    guarantee: Guarantee,
    settings: Settings,
    chunk_rows: int,
) -> Secret:
    """The secret of a run, from the owner's key if there is one."""
    if owned is None:
        return Secret.draw(settings.seed)
    return owned.secret(schema, guarantee, settings, {"name": "spark", "rows": chunk_rows})


def _run(
    release: type[SparkRelease],
    df: DataFrame,
    schema: Schema,
    guarantee: Guarantee,
    settings: Settings,
    *,
    file: Path | None,
    staging: str | Path,
    secret: Secret,
    chunk_rows: int,
    to_count: Sequence[str],
    kind: ReleaseKind,
    progress: Callable[[Progress], None] | None,
) -> SparkRelease:
    """Run all stages on the cluster; ``schema`` covers all columns."""
    if isinstance(chunk_rows, bool) or not isinstance(chunk_rows, int) or chunk_rows < 1:
        raise UsageError("chunk_rows must be a whole number of rows.", "Try 200000.")
    folder = f"{str(staging).rstrip('/')}/mottle-{secrets.token_hex(8)}"
    clock = Clock.of(progress)
    with _in_large_batches(df.sparkSession):
        engine = SparkEngine(SparkSource(df, file), guarantee, folder, chunk_rows)
        done = drive(
            engine, schema, guarantee, settings, secret, clock, to_count=to_count, kind=kind
        )
        with clock.stage("shuffle"):
            released = engine.shuffle(done.plan)
    clock.report_end()
    plan = done.plan
    rows = _SparkRows(f"{folder}/{_RELEASE}", plan.fields, plan.rows)
    certificate = done.certificate.with_changes(seconds=dict(clock.seconds))
    return release(rows, plan.columns, certificate, dataframe=released)


@contextmanager
def _in_large_batches(session: SparkSession) -> Iterator[None]:
    """Let workers receive large batches, so that calls of Python functions cost little.

    PySpark warns about every version of pandas newer than itself. The warning is suppressed because
    mottle uses Arrow only.
    """
    before = session.conf.get(_BATCHES)
    session.conf.set(_BATCHES, str(ROWS_PER_BATCH))
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
            yield
    finally:
        session.conf.set(_BATCHES, str(before))


class SparkEngine:
    """Moves rows on a cluster; each stage is written to the staging folder for the next one."""

    def __init__(
        self, source: SparkSource, guarantee: Guarantee, folder: str, chunk_rows: int
    ) -> None:
        self.source = source
        self.df = source.df
        self.guarantee = guarantee
        self.folder = folder
        self.chunk_rows = chunk_rows
        self.waves: list[DataFrame] = []
        self._known_parts: SparkParts | None = None

    def survey(self, schema: Schema, to_count: Sequence[str]) -> DomainSurvey:
        """Count how often values occur: in every partition, then by column."""
        types = normalize(arrow_schema(self.df).empty_table()).schema
        about_values = self.guarantee.about_values
        survey = DomainSurvey(schema, types, about_values)
        columns = surveyed_columns(schema, about_values)
        work = partial(survey_rows, schema, types, about_values)
        names = [column.name for column in columns]
        joined = by_group(join_counts, schema, types, about_values)
        found = (
            self.source.mapped(work, COUNTED, names)
            .groupBy(PLACE)
            .applyInArrow(joined, spark_schema(COUNTED))
            .toArrow()
        )
        for place, part in zip(*(column.to_pylist() for column in found.columns), strict=True):
            survey.add_counted(columns[place].name, pickle.loads(part))
        if columns and survey.counted:
            survey.rows = int(pc.sum(survey.counted[columns[0].name].column("count")).as_py())
        survey.repeats = tuple(self._repeats(name, schema.person) for name in to_count)
        self.types, self.rows = survey.types, survey.rows
        return survey

    def _repeats(self, name: str, person: str | None) -> Repeats:
        """Count the different values of a column, and how often the most frequent one occurs.

        Of the person column, variants in spelling are one value.
        """
        from pyspark.sql import functions as sql

        column, rows = sql.col(named(name)), self.df
        if name == person:
            check_names_people(name, arrow_schema(rows).field(name).type, "--person")
            fields = spark_schema(pa.schema([(PERSON, pa.string())]))
            # Spark looks columns up by name in mapInArrow, and takes a dot for a path
            rows = rows.select(column.alias(PERSON)).mapInArrow(partial(spell_people, name), fields)
            column = sql.col(PERSON)
        counted = (
            rows.where(column.isNotNull()).groupBy(column).agg(sql.count(sql.lit(1)).alias(_TIMES))
        )
        times = sql.col(named(_TIMES))
        found = counted.agg(sql.sum(times), sql.count(times), sql.max(times)).first()
        return Repeats(name, *(int(number or 0) for number in found or (0, 0, 0)))

    def order(self, codec: RowCodec, secret: Secret) -> tuple[Int64Array, Int64Array]:
        """Code all rows and count combinations of sensitive codes."""
        from pyspark.sql import functions as sql

        work = partial(code_rows, codec, self.types, secret, self.chunk_rows)
        coded = self.coded = self.keep("coded", self.source.mapped(work, CODED, self.df.columns))
        self.ordering = Order(self.keep, coded, codec, self.rows, self.chunk_rows)
        if not codec.sensitive:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        fields = pa.schema([("number", pa.int64()), ("times", pa.int64())])
        counted = (
            coded.select(OTHERS)
            .mapInArrow(partial(count_combinations, codec), spark_schema(fields))
            .groupBy("number")
            .agg(sql.sum("times").alias("times"))
            .toArrow()
        )
        numbers = counted.column("number").to_numpy()
        order = np.argsort(numbers)
        return numbers[order], counted.column("times").to_numpy()[order]

    def risk(self, codec: RowCodec) -> RiskFigures:
        """Measure how easily people are found by the keys of the ordered rows."""
        if not codec.people:
            return figures_found(figures_of(self.ordering.groups))
        names = [*codec.keys, PERSON]
        fields = pa.schema([codec.fields.field(name) for name in names])
        rows = self.coded.select(KEYS, OTHERS).mapInArrow(
            partial(coded_rows, names), spark_schema(fields)
        )
        row = self.df.sparkSession.sql(risk_query(codec), coded=rows).first()
        assert row is not None, "an aggregation without groups has one row"
        return figures_found(row)

    def largest_chunk(self, codec: RowCodec, survey: DomainSurvey, method: str, edges: int) -> int:
        """Return how many rows one Python worker holds at once."""
        return self.chunk_rows

    def partitions(self, plan: ChunkedPlan, share: RowShare | None) -> SparkPartitions:
        """Return the rows of a share, or all."""
        return self._parts(plan).partitions(share)

    def publish_wave(
        self, plan: ChunkedPlan, share: RowShare, buckets: int, number: int
    ) -> WaveRelease:
        """Publish the first wave of a tier in one worker; the driver gets what it shows."""
        fields = PUBLISHED.append(pa.field(RELEASED, pa.binary()))
        work = grouped(publish_wave, plan, buckets, number)
        rows = self._parts(plan).of(share)
        made = rows.groupBy(CHUNK).applyInArrow(work, spark_schema(fields))
        made = self.keep(f"wave{number}", made)
        self.waves.append(made.drop(RELEASED))
        found = made.where(made[MEASURED].isNotNull()).select(RELEASED).toArrow()
        if found.num_rows != 1:
            raise PrivacyError("Invariant 3: a first wave was published twice or not at all.")
        released: WaveRelease = pickle.loads(found.column(RELEASED)[0].as_py())
        return released

    def settle(self, plan: ChunkedPlan) -> None:
        """Assign every row to its chunk, and for `buckets` to its slot."""
        if plan.decision is None:
            self.chunks = self.ordering.in_regions(plan.cuts)
        else:
            self.chunks = self.keep("slots", self._parts(plan).with_slots(plan))

    def publish(self, plan: ChunkedPlan) -> list[Measurements]:
        """Publish every chunk in a worker; the driver gets one line of measurements for each."""
        from pyspark.errors import PythonException

        apart = self.chunks.repartition(plan.chunks, CHUNK)  # a task for about each
        made = apart.groupBy(CHUNK).applyInArrow(
            grouped(publish_chunk, plan), spark_schema(PUBLISHED)
        )
        try:
            self.published = self.keep("chunks", made)
        except PythonException as failed:
            for error in (CutError, ChunkShareError):
                if error.__name__ in str(failed):  # workers can only pass text on
                    raise error from failed
            if (refused := broken_rules_in(str(failed))) is not None:
                raise refused from None
            raise
        for wave in self.waves:
            self.published = self.published.union(wave)
        return self._measured(plan)

    def facts(self, plan: ChunkedPlan) -> EngineFacts:
        """Describe the engine for the certificate."""
        version = self.df.sparkSession.version
        return EngineFacts(
            name="spark", version=version, rows_per_chunk=plan.largest, chunks=plan.chunks
        )

    def shuffle(self, plan: ChunkedPlan) -> DataFrame:
        """Shuffle every heap, which makes a uniformly random order of all rows.

        A row's heap has been drawn at random, as `mottle.pipeline.streaming.chunk_files` describes.
        """
        from pyspark.sql import functions as sql

        pieces = self.published.select(CHUNK, HEAP, PLACE, BUNDLE)
        made = pieces.groupBy(HEAP).applyInArrow(
            by_group(shuffle_heap, plan), spark_schema(RELEASE)
        )
        released = self.keep(_RELEASE, made)
        found = released.agg(sql.sum(ROWS)).first()
        if found is None or found[0] != plan.rows:
            raise PrivacyError("Invariant 5: the release has more or fewer rows than the table.")
        opened = partial(released_rows, plan.fields)
        return released.select(BUNDLE).mapInArrow(opened, spark_schema(plan.fields))

    def keep(self, name: str, made: DataFrame) -> DataFrame:
        """Write the output of a stage and return it as stored, so that it is never recomputed."""
        path = f"{self.folder}/{name}"
        made.write.options(**_OF_BUNDLES).parquet(path)
        return self.df.sparkSession.read.schema(made.schema).parquet(path)

    def _parts(self, plan: ChunkedPlan) -> SparkParts:
        """Return the rows of every share of the table, which is cut into regions once."""
        if self._known_parts is None:
            regions = self.ordering.in_regions(plan.cuts)
            self._known_parts = SparkParts(plan, regions, self.keep)
        return self._known_parts

    def _measured(self, plan: ChunkedPlan) -> list[Measurements]:
        """Read the measurements of all chunks; raise unless each is complete and occurs once."""
        from pyspark.sql import functions as sql

        counted = (
            self.published.groupBy(CHUNK)
            .agg(
                sql.sum(ROWS).alias(ROWS),
                sql.count(MEASURED).alias("lines"),
                sql.max(MEASURED).alias(MEASURED),
            )
            .toArrow()
            .to_pylist()
        )
        found = {row[CHUNK]: row for row in counted}
        measured = [Measurements.from_json(row[MEASURED]) for _, row in sorted(found.items())]
        whole = all(
            row["lines"] == 1 and row[ROWS] == one.rows
            for (_, row), one in zip(sorted(found.items()), measured, strict=True)
        )
        if not whole or sorted(found) != list(range(plan.chunks)):
            raise PrivacyError("Invariant 3: a chunk was published twice, in part or not at all.")
        return measured
