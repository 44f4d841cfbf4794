"""A real Spark cluster of separate processes publishes what memory publishes, once, come what may.

All tests share one session per test process; Spark takes its time to start.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark.sql
import pytest

import mottle
from mottle import Caps, KAnonymity, KnownRecords, LDiversity, Schema, UsageError
from mottle.guarantees.base import Guarantee
from mottle.io.batch_source import parquet_source
from mottle.io.databases import DatabaseTable
from mottle.methods.buckets.tree import CutError, Knowledge
from mottle.pipeline.owner import OwnedTable
from mottle.pipeline.spark import engine as mottle_spark
from mottle.report import InternalReport, Owner, report_html

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning")

ROWS = 2400
CAPS = Caps({"none": 0.8}, default=0.34)
APART = 0.02  # by which engines may differ in GCP
QI = ["age", "sex", "education", "workclass"]
SCHEMA = Schema.of(
    quasi_identifying=QI,
    identifying=["person_id"],
    sensitive=["diagnosis"],
    rest="insensitive",
)


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
    [("nh", KAnonymity(5), None), ("freeform", KAnonymity(5), 0)],
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
        frame,
        SCHEMA,
        guarantee,
        staging=tmp_path / "staging",
        method=method,
        effort=effort,
        chunk_rows=1200,
    )
    memory = mottle.anonymize(table, SCHEMA, guarantee, method=method, effort=effort)
    assert memory.gcp is not None
    assert released.certificate.engine.chunks == 2
    assert abs(released.certificate.gcp / memory.gcp - 1) < APART
    assert released.dataframe.count() == ROWS
    owner = Owner(parquet_source(path, "people"))
    internal = InternalReport(tmp_path / "internal.html", owner)
    released.save(tmp_path / "out", internal=internal)
    assert report_html(mottle.read_release(tmp_path / "out")) == (
        tmp_path / "out" / "report.html"
    ).read_text(encoding="utf-8")
    assert 'class="before"' in internal.path.read_text(encoding="utf-8")
    memory.save(tmp_path / "memory")
    release = check(table, tmp_path / "out", guarantee)
    expected = mottle.read_release(tmp_path / "memory")
    assert release.table.schema.equals(expected.table.schema)
    assert release.columns == expected.columns
    assert [one.passed for one in release.certificate.checks] == [True] * 5


def test_a_person_column_may_have_a_dot_in_its_name(
    session: pyspark.sql.SparkSession, tmp_path: Path
) -> None:
    ages = [20 + row % 30 for row in range(200)]
    table = pa.table({"person.id": [f"P{row // 2}" for row in range(200)], "age.x": ages})
    pq.write_table(table, tmp_path / "dots.parquet")
    released = mottle_spark.anonymize(
        session.read.parquet(str(tmp_path / "dots.parquet")),
        Schema.of(quasi_identifying=["age.x"], person="person.id"),
        KAnonymity(4),
        staging=tmp_path / "staging",
        method="nh",
    )
    assert released.certificate.unit.people == 100


@pytest.mark.parametrize(
    ("sensitive", "guarantee", "chunk_rows"),
    [("income", LDiversity(3) & KnownRecords(9999), 8000), ("income", LDiversity(5), 6000)],
)
def test_buckets_lose_on_a_cluster_what_they_lose_in_memory(
    session: pyspark.sql.SparkSession,
    tmp_path: Path,
    sensitive: str,
    guarantee: Guarantee,
    chunk_rows: int,
) -> None:
    table = mottle.datasets.population(16_000, seed=3).select([*QI, sensitive])
    pq.write_table(table, tmp_path / "people.parquet")
    bins = {"income": 10} if sensitive == "income" else {}
    schema = Schema.of(quasi_identifying=QI, sensitive=[sensitive], bins=bins)
    run = {"method": "buckets", "effort": 0, "seed": 1}
    released = mottle_spark.anonymize(
        session.read.parquet(str(tmp_path / "people.parquet")),
        schema,
        guarantee,
        staging=tmp_path / "staging",
        chunk_rows=chunk_rows,
        **run,
    )
    memory = mottle.anonymize(table, schema, guarantee, **run)
    for fact in ("tiers", "wave"):
        assert getattr(released.certificate.method, fact) == getattr(
            memory.certificate.method, fact
        )
    # Chunks go on with the tree by themselves, so that blocks differ a little.
    assert abs(released.gcp / memory.gcp - 1) < 0.03, (released.gcp, memory.gcp)
    released.save(tmp_path / "out")
    release = mottle.read_release(tmp_path / "out")
    assert mottle.audit_release(table, release, schema=schema, guarantee=guarantee).passed


def test_a_database_gets_the_release_of_a_cluster(
    session: pyspark.sql.SparkSession,
    people: tuple[pa.Table, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    released = mottle_spark.anonymize(
        session.read.parquet(str(people[1])),
        SCHEMA,
        KAnonymity(5),
        staging=tmp_path / "staging",
        method="nh",
        chunk_rows=1200,
    )
    released.save(DatabaseTable("duckdb:///open.duckdb", "people"))
    assert mottle.read_database("open.duckdb", table="people_readable").num_rows == ROWS
    assert sorted(path.name for path in tmp_path.iterdir()) == ["open.duckdb", "staging"]
    with pytest.raises(UsageError, match="Examples need the owner's links"):
        released.save(
            tmp_path / "out", internal=InternalReport(tmp_path / "i", Owner(None), examples=True)
        )


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
        session.read.parquet(str(path)),
        SCHEMA,
        KAnonymity(5),
        staging=tmp_path / "staging",
        method="nh",
        chunk_rows=400,
    )
    assert marker.exists()
    assert released.certificate.engine.chunks == 6
    released.save(tmp_path / "out")
    check(table, tmp_path / "out", KAnonymity(5))


def test_a_cut_that_fails_in_a_worker_ends_the_run(
    session: pyspark.sql.SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = mottle.datasets.population(6000, seed=3).select([*QI, "diagnosis"])
    pq.write_table(table, tmp_path / "people.parquet")
    schema = Schema.of(quasi_identifying=QI, sensitive=["diagnosis"])
    publish = mottle_spark.publish_chunk

    def publish_with_failures(plan, key, rows):
        def failing(known, node):
            raise CutError

        check = Knowledge.check
        Knowledge.check = failing
        try:
            return publish(plan, key, rows)
        finally:
            Knowledge.check = check  # the worker goes on to other tests

    monkeypatch.setattr(mottle_spark, "publish_chunk", publish_with_failures)
    with pytest.raises(CutError, match="Nothing was published"):
        mottle_spark.anonymize(
            session.read.parquet(str(tmp_path / "people.parquet")),
            schema,
            CAPS,
            staging=tmp_path / "staging",
            chunk_rows=3000,
            effort=0,
            seed=1,
        )
    assert not list((tmp_path / "staging").glob("*/release"))


def test_what_chunks_cannot_do_is_refused(
    session: pyspark.sql.SparkSession, people: tuple[pa.Table, Path], tmp_path: Path
) -> None:
    frame = session.read.parquet(str(people[1]))
    with pytest.raises(UsageError, match="whole table in memory"):
        mottle_spark.anonymize(frame, SCHEMA, KAnonymity(5), staging=tmp_path, method="mondrian")
    with pytest.raises(UsageError, match="chunk_rows"):
        mottle_spark.anonymize(frame, SCHEMA, KAnonymity(5), staging=tmp_path, chunk_rows=0)
    assert list(tmp_path.iterdir()) == []


def test_same_key_gives_the_same_rows(
    session: pyspark.sql.SparkSession, people: tuple[pa.Table, Path], tmp_path: Path
) -> None:
    table, file = people
    owned = OwnedTable.of(bytes(32), SCHEMA.covering(table.column_names), [table])
    one, two = (
        mottle_spark.anonymize_owned(
            session.read.parquet(str(file)),
            SCHEMA,
            KAnonymity(5),
            staging=tmp_path / name,
            owned=owned,
            method="nh",
            chunk_rows=900,
        )
        for name in ("one", "two")
    )
    assert one.certificate.parameters.randomness == "owner's key"
    assert one.certificate.engine.chunks == 3
    assert one.table.equals(two.table)
