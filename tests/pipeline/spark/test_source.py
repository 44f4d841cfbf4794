"""Workers read from a file what Spark would hand to them, or leave it to Spark."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mottle.pipeline.spark import source
from mottle.pipeline.spark.source import SparkSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning")

FIELDS = pa.schema([("line", pa.string())])


def lines() -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Each row as one text, so that types and order of columns show; workers know no tests."""
    fields = FIELDS

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            texts = [str(list(row.items())) for row in batch.to_pylist()]
            yield pa.record_batch([pa.array(texts, pa.string())], schema=fields)

    return work


def people(rows: int) -> pa.Table:
    return pa.table(
        {
            "age": pa.array([None if n % 7 == 0 else n for n in range(rows)], pa.int32()),
            "born": [dt.date(1950 + n % 50, 1, 1) for n in range(rows)],
            "seen": pa.array(
                [dt.datetime(2024, 1, 1 + n % 9) for n in range(rows)], "timestamp[us]"
            ),
            "items": [["a"] * (n % 3) for n in range(rows)],
        }
    )


def test_workers_read_what_spark_reads(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "_ROWS_PER_TASK", 200)
    path = tmp_path / "people.parquet"
    pq.write_table(people(1000), path, row_group_size=90)
    df = session.read.parquet(str(path))
    read_alone = SparkSource(df, path)
    tasks = read_alone._tasks(path)
    assert tasks is not None
    assert [len(groups) for groups in tasks] == [3, 3, 3, 3]
    for columns in (["items", "age"], df.columns):
        by_workers, by_spark = (
            each.mapped(lines(), FIELDS, columns).toArrow().column("line").to_pylist()
            for each in (read_alone, SparkSource(df))
        )
        assert len(by_workers) == 1000
        assert sorted(by_workers) == sorted(by_spark)


@pytest.mark.parametrize(
    "column",
    [
        pa.table({"a.b": [1, 2]}),  # Arrow takes it for a path
        pa.table({"small": pa.array([1, 2], pa.uint8())}),  # Spark has no such numbers
        pa.table({"when": pa.array([1, 2], pa.timestamp("us", "Europe/Berlin"))}),
    ],
)
def test_what_arrow_would_read_otherwise_is_left_to_spark(
    session: SparkSession, tmp_path: Path, column: pa.Table
) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(column, path)
    df = session.read.parquet(str(path))
    assert SparkSource(df, path)._tasks(path) is None
    found = SparkSource(df, path).mapped(lines(), FIELDS, df.columns).count()
    assert found == 2
