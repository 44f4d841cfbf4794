"""Tables on a cluster: the chunks of `mottle.chunks`, moved by Spark (PySpark 4).

Spark counts, sorts and deals out the rows; each chunk goes through the same straight line as in
memory, in a Python worker. The driver sees domains, counts and one line of measurements per chunk,
never rows. What a stage has made is written to the staging folder before the next one reads it, so
that a lost executor or a task tried twice cannot bring two versions of a row into play: Spark
commits the output of one attempt of each task.
"""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset
from numpy.typing import NDArray

from mottle.bucket_cuts import (
    Stretch,
    aligned_cuts,
    block_starts,
    broken_by_borders,
    choose_cut,
    tried_cuts,
)
from mottle.chunks import LOT, Coding, Plan, even_cuts
from mottle.engines import Settings, certify, demand_of
from mottle.errors import PrivacyError, UsageError
from mottle.graph import Int32s, Int64s
from mottle.guarantees import Guarantee
from mottle.io.chunk_files import write_release
from mottle.io.read import normalize
from mottle.io.staging import staged
from mottle.io.write import CERTIFICATE, CSV, FILES, PARQUET
from mottle.ledger import Measured
from mottle.pipeline import Clock, Progress
from mottle.randomness import Secret
from mottle.release import PublishedColumn
from mottle.schema import Role, Schema
from mottle.sensitive import SensitiveValues
from mottle.spark_workers import (
    CHUNK,
    MEASURED,
    PART,
    PLACE,
    RANDOM,
    add_chunk,
    add_place,
    add_random,
    code_rows,
    count_values_of_chunk,
    grouped,
    publish_chunk,
    sortable,
    try_cuts_of_chunk,
)
from mottle.survey import Survey

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS_PER_CHUNK = 200_000


@dataclass(frozen=True)
class SparkRelease:
    """A release that lies in the staging folder; `save` writes it as files of mottle's own."""

    dataframe: DataFrame  # typed cells, in an order that tells nothing
    certificate: dict[str, Any]
    columns: tuple[PublishedColumn, ...]
    folder: str  # where the data frame's Parquet files lie

    def save(self, output: str | Path, *, overwrite: bool = False) -> dict[str, Any]:
        """Write ``release.parquet``, ``release.csv`` and ``certificate.json``, all or none.

        For staging folders that this machine can read; the rows pass through it one batch after
        the other. Elsewhere, write ``dataframe`` with Spark and keep ``certificate`` beside it.
        """
        names = (PARQUET, CSV, CERTIFICATE)
        others = [name for name in FILES if name not in names]
        with staged(Path(output), names, overwrite=overwrite, obsolete=others) as stage:
            return write_release(self._tables(), self.columns, self.certificate, stage)

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
    progress: Callable[[Progress], None] | None = None,
) -> SparkRelease:
    """Anonymize a Spark DataFrame; nothing is returned unless all invariants hold.

    Parameters
    ----------
    df
        Rows of plain columns. It is read twice and must hold the same rows both times.
    schema, guarantee, method, representation, walk, effort, seed, progress
        As for `mottle.streaming.anonymize`; ``effort`` is for each chunk.
    staging
        A folder that all executors can write to (a path or a URL that Spark knows). Intermediate
        rows and the release are kept below it, in a folder of their own; remove it afterwards.
    chunk_rows
        Rows that one Python worker holds at once.
    """
    settings = Settings.check(
        schema, guarantee, method=method, representation=representation, walk=walk, effort=effort,
        seed=seed,
    )  # fmt: skip
    if isinstance(chunk_rows, bool) or not isinstance(chunk_rows, int) or chunk_rows < 1:
        raise UsageError("chunk_rows must be a whole number of rows.", "Try 200000.")
    place = f"{str(staging).rstrip('/')}/mottle-{secrets.token_hex(8)}"
    clock = Clock(progress or (lambda _: None))
    with _quiet():
        return _Job(df, schema, guarantee, settings, place, chunk_rows, clock).release()


@contextmanager
def _quiet() -> Iterator[None]:
    """PySpark warns about every pandas newer than itself; mottle uses Arrow only."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        yield


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
            coding = Coding(
                schema,
                survey.domains(self.settings.representation),
                survey.sensitive_columns(),
                survey.unchanged_columns(),
            )
        with self.clock.stage("code"):
            work = partial(code_rows, coding, survey.types, secret)
            coded = self._kept("coded", self.df.mapInArrow(work, _spark_schema(coding.fields)))
            combinations, counts = self._combinations(coded, coding)
            demand, sensitive = demand_of(self.guarantee, coding, survey.rows, combinations, counts)
        with self.clock.stage("cut"):
            rows = max(self.chunk_rows, 2 * demand.degree)
            plan = Plan(
                coding, demand, combinations,
                self.settings.method_for(self.guarantee, survey.rows),
                self.settings.walk, self.settings.effort, secret, even_cuts(survey.rows, rows),
            )  # fmt: skip
            order = _Order(self, coded, coding, survey.rows)
            if demand.capped:
                plan = _in_whole_blocks(plan, order)
        with self.clock.stage("chunks"):
            fields = plan.fields.append(pa.field(CHUNK, pa.int64()))
            fields = fields.append(pa.field(MEASURED, pa.string()))
            published = self._kept(
                "chunks",
                order.in_chunks(plan.cuts)
                .groupBy(CHUNK)
                .applyInArrow(grouped(publish_chunk, plan), _spark_schema(fields)),
            )
            measured = self._measured(published, plan)
        with self.clock.stage("shuffle"):
            released = self._shuffled(published, plan)
        return self._certified(plan, sensitive, measured, released, survey)

    # -------------------------------------------------------------------------- what Spark counts

    def _survey(self, schema: Schema) -> Survey:
        """Distinct values and counts by one aggregation, and one for each sensitive column."""
        from pyspark.sql import functions as sql

        types = normalize(_arrow_schema(self.df).empty_table()).schema
        survey = Survey(schema, types, self.guarantee.about_values)
        known = schema.with_role(Role.QUASI_IDENTIFYING)
        sums = [sql.count(sql.lit(1)).alias("rows")]
        for number, column in enumerate(known):
            values = sql.col(_named(column.name))
            sums += [
                sql.collect_set(values).alias(f"values{number}"),
                sql.count_if(values.isNull()).alias(f"missing{number}"),
            ]
        found = self.df.agg(*sums).toArrow()
        survey.rows = found.column("rows")[0].as_py()
        for number, column in enumerate(known):
            values = found.column(f"values{number}").combine_chunks().flatten()
            if found.column(f"missing{number}")[0].as_py():
                values = pa.concat_arrays([values, pa.nulls(1, values.type)])
            table = normalize(pa.table({column.name: values}))
            survey.add_values(column, table.column(column.name))
        for column in schema.with_role(Role.SENSITIVE) if self.guarantee.about_values else ():
            counted = self.df.groupBy(_named(column.name)).count().toArrow()
            table = normalize(counted.select([column.name]))
            counts = counted.column("count").to_numpy()
            survey.add_counts(column.name, table.column(column.name), counts)
        return survey

    def _combinations(self, coded: DataFrame, coding: Coding) -> tuple[Int64s, Int64s]:
        """How often each combination of sensitive codes occurs."""
        if not coding.sensitive:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        counted = coded.groupBy(*coding.values).count().toArrow()
        numbers = coding.value_numbers([counted.column(name).to_numpy() for name in coding.values])
        order = np.argsort(numbers)
        return numbers[order], counted.column("count").to_numpy()[order]

    def _measured(self, published: DataFrame, plan: Plan) -> list[Measured]:
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
        measured = [Measured.from_json(row[MEASURED]) for _, row in sorted(found.items())]
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

    def _shuffled(self, published: DataFrame, plan: Plan) -> DataFrame:
        """All rows by random numbers: a uniformly random order."""
        fields = plan.fields.append(pa.field(RANDOM, pa.int64()))
        work = partial(add_random, plan.secret, plan.fields)
        numbered = published.drop(CHUNK, MEASURED).mapInArrow(work, _spark_schema(fields))
        parts = max(plan.chunks, 1)
        ordered = numbered.repartitionByRange(parts, RANDOM).sortWithinPartitions(RANDOM)
        return self._kept("release", ordered.drop(RANDOM))

    def _certified(
        self,
        plan: Plan,
        sensitive: Sequence[SensitiveValues],
        measured: Sequence[Measured],
        released: DataFrame,
        survey: Survey,
    ) -> SparkRelease:
        if released.count() != plan.rows:
            raise PrivacyError("Invariant 5: the release has more or fewer rows than the table.")
        engine: dict[str, object] = {
            "name": "spark",
            "version": self.df.sparkSession.version,
            "rows_per_chunk": plan.largest,
        }
        certificate = certify(
            plan, self.settings, self.guarantee, sensitive, measured, engine, survey.notes,
            self.clock.seconds,
        )  # fmt: skip
        self.clock.tell(Progress("done", certificate["gcp"]))
        return SparkRelease(released, certificate, plan.columns, f"{self.place}/release")


class _Order:
    """The rows along their order: which rank a row has, which chunk it belongs to."""

    def __init__(self, job: _Job, coded: DataFrame, coding: Coding, rows: int) -> None:
        self._names = [*coding.keys, LOT]
        self._coded = coded
        parts = max(-(-rows // job.chunk_rows), 1)
        thin = coded.select(*self._names)
        ordered = thin.repartitionByRange(parts, *self._names).sortWithinPartitions(*self._names)
        fields = pa.schema([(name, pa.int64()) for name in [*self._names, PART, PLACE]])
        self._places = job._kept("order", ordered.mapInArrow(add_place, _spark_schema(fields)))
        counted = self._places.groupBy(PART).count().toArrow()
        sizes = dict(zip(*(column.to_pylist() for column in counted.columns), strict=True))
        self._parts = np.array(sorted(sizes), np.int64)
        ends = np.cumsum([sizes[part] for part in sorted(sizes)])
        self._starts = np.concatenate([[0], ends])

    def in_chunks(self, cuts: Int64s) -> DataFrame:
        """The coded rows, each with the number of its chunk."""
        fields = _arrow_schema(self._coded).append(pa.field(CHUNK, pa.int64()))
        work = partial(add_chunk, self._names, self._rows_at(cuts[1:-1]))
        return self._coded.mapInArrow(work, _spark_schema(fields))

    def _rows_at(self, ranks: Int64s) -> NDArray[np.bytes_]:
        """Keys and lots of the rows at some ranks: where chunks begin."""
        from pyspark.sql import functions as sql

        part = np.searchsorted(self._starts, ranks, side="right") - 1
        wanted = [
            (sql.col(PART) == int(self._parts[p])) & (sql.col(PLACE) == int(rank - self._starts[p]))
            for rank, p in zip(ranks, part, strict=True)
        ]
        if not wanted:
            return np.empty(0, f"S{8 * len(self._names)}")
        found = []
        for first in range(0, len(wanted), 100):  # Spark compiles a condition as one expression
            either = wanted[first]
            for condition in wanted[first + 1 : first + 100]:
                either = either | condition
            found.append(self._places.where(either).select(*self._names).toArrow())
        bounds = np.sort(sortable(pa.concat_tables(found), self._names))
        if len(bounds) != len(ranks):
            raise PrivacyError("Invariant 5: the cuts between chunks are not all to be found.")
        return bounds


def _in_whole_blocks(plan: Plan, order: _Order) -> Plan:
    """The plan with one number of blocks for the whole table, and chunks of whole blocks."""
    from pyspark.sql import functions as sql

    demand, total = plan.demand, plan.rows
    tried = tried_cuts(demand, total)
    chunks = order.in_chunks(plan.cuts).groupBy(CHUNK)
    fields = _spark_schema(pa.schema([(n, pa.int64()) for n in ("tried", "block", "mark", "n")]))
    found = (
        chunks.applyInArrow(grouped(try_cuts_of_chunk, plan, tried), fields)
        .groupBy("tried", "block", "mark")
        .agg(sql.sum("n").alias("n"))
        .toArrow()
    )
    borders = np.stack([column.to_numpy() for column in found.columns], axis=1)
    alive = np.ones(len(tried), np.bool_)
    alive[borders[borders[:, 1] < 0, 0]] = False
    across = borders[borders[:, 1] >= 0]
    alive[broken_by_borders(across, total, tried, demand.caps)] = False

    def values_of(stretches: Sequence[Stretch]) -> list[Int32s]:
        counts = pa.schema([("stretch", pa.int64()), ("value", pa.int64()), ("n", pa.int64())])
        work = grouped(count_values_of_chunk, plan, list(stretches))
        counted = chunks.applyInArrow(work, _spark_schema(counts)).toArrow()
        stretch, value, n = (column.to_numpy() for column in counted.columns)
        return [
            np.repeat(value[stretch == place], n[stretch == place]).astype(np.int32)
            for place in range(len(stretches))
        ]

    blocks = choose_cut(demand, total, tried[alive], values_of)
    cuts = aligned_cuts(total, blocks, plan.chunks)
    return replace(plan, cuts=cuts, blocks=block_starts(total, blocks))


def _named(name: str) -> str:
    """A column's name as Spark's expressions take it."""
    return "`" + name.replace("`", "``") + "`"


def _spark_schema(fields: pa.Schema) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(fields)


def _arrow_schema(df: DataFrame) -> pa.Schema:
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(df.schema, timezone="UTC")
