"""Rows of the input on Spark: a data frame, or a file that workers read by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from mottle.io.batch_source import ROWS_PER_BATCH
from mottle.io.normalize import normalize
from mottle.pipeline.spark.arrow_bridge import arrow_schema, spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ROWS_PER_TASK = 1 << 18  # at least; a file's groups of rows are not divided

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class SparkSource:
    """The input of a run.

    Spark makes rows of its own of everything it reads, and hands them to Python cell by cell. From
    a Parquet file that they can open, workers read what they need instead.
    """

    df: DataFrame
    file: Path | None = None  # with the rows of ``df``, where all workers can read it

    def mapped(
        self, work: Callable[[Batches], Batches], fields: pa.Schema, columns: Sequence[str]
    ) -> DataFrame:
        """Return what ``work`` makes of the batches of every partition, with these columns."""
        if self.file is None or (tasks := self._tasks(self.file)) is None:
            # Spark takes a name with a dot for a path: columns have numbers on their way to Python.
            numbers = [str(self.df.columns.index(name)) for name in columns]
            rows = self.df.toDF(*map(str, range(len(self.df.columns)))).select(*numbers)
            return rows.mapInArrow(partial(_named, list(columns), work), spark_schema(fields))
        places = self.df.sparkSession.range(0, len(tasks), 1, len(tasks))
        reading = partial(_read_and_work, self.file, tasks, list(columns), work)
        return places.mapInArrow(reading, spark_schema(fields))

    def _tasks(self, file: Path) -> list[list[int]] | None:
        """The groups of rows of the file for each task; None if Spark has to read it.

        That is where Spark takes values for others than Arrow does, such as old timestamps, and
        where Arrow would take names for paths.
        """
        if any("." in name for name in self.df.columns):
            return None
        found = pq.read_metadata(file)
        ours, sparks = found.schema.to_arrow_schema(), arrow_schema(self.df)
        if not _same(normalize(ours.empty_table()).schema, normalize(sparks.empty_table()).schema):
            return None
        tasks: list[list[int]] = [[]]
        rows = 0
        for group in range(found.num_row_groups):
            if rows >= _ROWS_PER_TASK:
                tasks.append([])
                rows = 0
            tasks[-1].append(group)
            rows += found.row_group(group).num_rows
        return tasks


def _same(ours: pa.Schema, sparks: pa.Schema) -> bool:
    """Whether names and types agree; whether values may be missing does not matter."""
    return [(field.name, field.type) for field in ours] == [
        (field.name, field.type) for field in sparks
    ]


def _named(columns: Sequence[str], work: Callable[[Batches], Batches], batches: Batches) -> Batches:
    """Give columns their names and do the work."""
    yield from work(batch.rename_columns(list(columns)) for batch in batches)


def _read_and_work(
    file: Path,
    tasks: Sequence[Sequence[int]],
    columns: Sequence[str],
    work: Callable[[Batches], Batches],
    numbers: Batches,
) -> Batches:
    """Read the groups of rows of some tasks, and do the work."""
    mine = [number for batch in numbers for number in batch.column(0).to_pylist()]
    groups = [group for number in mine for group in tasks[number]]
    with pq.ParquetFile(file) as opened:
        read = opened.iter_batches(ROWS_PER_BATCH, row_groups=groups, columns=list(columns))
        yield from work(batch.select(list(columns)) for batch in read)
