"""A real Spark cluster of separate processes publishes what memory publishes, once, come what may.

All tests share one session per test process; Spark takes its time to start.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark.sql
import pytest

import mottle
from mottle import Caps, KAnonymity, Schema, UsageError
from mottle import spark as mottle_spark
from mottle.guarantees import Guarantee

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning")

ROWS = 2400
CAPS = Caps({"none": 0.8}, default=0.34)
MASTER = "local-cluster[2,1,1024]"  # executors are processes of their own
QI = ["age", "sex", "education", "workclass"]
SCHEMA = Schema.of(
    quasi_identifying=QI,
    identifying=["person_id"],
    sensitive=["diagnosis"],
    rest="insensitive",
)


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pyspark.sql.SparkSession]:
    folder = tmp_path_factory.mktemp("spark")
    os.environ |= {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    os.environ.pop("PYSPARK_DRIVER_PYTHON", None)
    from pyspark.sql import SparkSession

    running = (
        SparkSession.builder.master(MASTER)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.local.dir", str(folder / "local"))
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    running.sparkContext.setLogLevel("OFF")
    work = Path(pyspark.__file__).parent / "work" / running.sparkContext.applicationId
    yield running
    running.stop()
    shutil.rmtree(work, ignore_errors=True)  # where a local cluster keeps its logs


@pytest.fixture(scope="session")
def people(tmp_path_factory: pytest.TempPathFactory) -> tuple[pa.Table, Path]:
    table = mottle.datasets.population(ROWS, seed=3).select(
        ["person_id", *QI, "income", "diagnosis"]
    )
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    pq.write_table(table, path, row_group_size=600)
    return table, path


def check(table: pa.Table, folder: Path, guarantee: Guarantee) -> mottle.Release:
    release = mottle.read_release(folder)
    assert release.table.num_rows == ROWS
    for name in ("diagnosis", "income"):
        assert Counter(release.table.column(name).to_pylist()) == Counter(
            table.column(name).to_pylist()
        )
    schema = SCHEMA.covering(table.column_names)
    assert mottle.audit_release(table, release, schema=schema, guarantee=guarantee).passed
    return release


@pytest.mark.parametrize(
    ("method", "guarantee", "effort"),
    [("nh", KAnonymity(5), None), ("freeform", KAnonymity(5), 0), ("buckets", CAPS, 0)],
)
def test_same_audit_and_nearly_the_same_loss_as_in_memory(
    session: pyspark.sql.SparkSession,
    people: tuple[pa.Table, Path],
    tmp_path: Path,
    method: str,
    guarantee: Guarantee,
    effort: float | None,
) -> None:
    table, path = people
    frame = session.read.parquet(str(path))
    released = mottle_spark.anonymize(
        frame, SCHEMA, guarantee, staging=tmp_path / "staging", method=method, effort=effort,
        chunk_rows=1200,
    )  # fmt: skip
    memory = mottle.anonymize(table, SCHEMA, guarantee, method=method, effort=effort)
    assert memory.gcp is not None
    assert released.certificate["engine"]["chunks"] == 2
    limit = 0.3 if method == "buckets" else 0.05  # so few records that chance counts
    assert abs(released.certificate["gcp"] / memory.gcp - 1) < limit
    assert released.dataframe.count() == ROWS
    released.save(tmp_path / "out")
    memory.save(tmp_path / "memory")
    release = check(table, tmp_path / "out", guarantee)
    expected = mottle.read_release(tmp_path / "memory")
    assert release.table.schema.equals(expected.table.schema, check_metadata=True)
    assert [one["passed"] for one in release.certificate["checks"]] == [True] * 5


def test_a_killed_executor_leaves_one_whole_release(
    session: pyspark.sql.SparkSession,
    people: tuple[pa.Table, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table, path = people
    marker = tmp_path / "killed"
    publish = mottle_spark.publish_chunk

    def publish_or_die(plan, key, rows):
        """The first worker to come here kills its executor, the process that started it."""
        try:
            marker.touch(exist_ok=False)
        except FileExistsError:
            return publish(plan, key, rows)
        executor = os.getppid()
        while b"java" not in Path(f"/proc/{executor}/cmdline").read_bytes():
            status = Path(f"/proc/{executor}/stat").read_text()
            executor = int(status.rsplit(")", 1)[1].split()[1])
        os.kill(executor, signal.SIGKILL)
        signal.pause()
        return None

    monkeypatch.setattr(mottle_spark, "publish_chunk", publish_or_die)
    released = mottle_spark.anonymize(
        session.read.parquet(str(path)), SCHEMA, KAnonymity(5), staging=tmp_path / "staging",
        method="nh", chunk_rows=400,
    )  # fmt: skip
    assert marker.exists()
    assert released.certificate["engine"]["chunks"] == 6
    released.save(tmp_path / "out")
    check(table, tmp_path / "out", KAnonymity(5))


def test_what_chunks_cannot_do_is_refused(
    session: pyspark.sql.SparkSession, people: tuple[pa.Table, Path], tmp_path: Path
) -> None:
    frame = session.read.parquet(str(people[1]))
    with pytest.raises(UsageError, match="whole table in memory"):
        mottle_spark.anonymize(frame, SCHEMA, KAnonymity(5), staging=tmp_path, method="mondrian")
    with pytest.raises(UsageError, match="chunk_rows"):
        mottle_spark.anonymize(frame, SCHEMA, KAnonymity(5), staging=tmp_path, chunk_rows=0)
    assert list(tmp_path.iterdir()) == []
