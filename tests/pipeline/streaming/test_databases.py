"""PostgreSQL as the source of a stream: in batches, and again after a kill or a lost connection."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from adbc_driver_postgresql import dbapi as postgresql_driver
from postgresql_server import run

import mottle
from mottle import KAnonymity, Schema, StorageError
from mottle.io.databases import database_batches
from mottle.pipeline import streaming
from mottle.pipeline.anonymize import Progress

ROWS = 6000
PEOPLE = mottle.datasets.population(ROWS, seed=5)
QI = ["age", "sex", "education"]
SCHEMA = Schema.of(quasi_identifying=QI, identifying=["person_id"], rest="insensitive")
RUN = {"method": "nh", "chunk_rows": 500, "source": "people"}
OTHERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


pytestmark = pytest.mark.usefixtures("own_work")


def fill_postgresql(url: str, people: pa.Table = PEOPLE) -> str:
    with postgresql_driver.connect(url) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("people", people, mode="replace")
        connection.commit()
    return url


def hidden(folder: Path) -> list[Path]:
    """The work folders of runs into ``folder`` that are there."""
    assert not list(folder.glob(".mottle-*"))
    return sorted((folder.parent / "work").glob("mottle-work-*/run-*"))


def interrupt_at(stage: str, share: float):
    def on_progress(progress: Progress) -> None:
        if progress.stage == stage and (progress.share or 0) >= share:
            raise KeyboardInterrupt

    return on_progress


def check_whole(folder: Path) -> None:
    assert hidden(folder) == []
    release = mottle.read_release(folder)
    assert release.table.num_rows == ROWS
    assert sorted(release.table.column("diagnosis").to_pylist()) == sorted(
        PEOPLE.column("diagnosis").to_pylist()
    )
    report = mottle.audit_release(
        PEOPLE, release, schema=SCHEMA.covering(PEOPLE.column_names), guarantee=KAnonymity(5)
    )
    assert report.passed


def test_batches_are_written_down_as_they_come(postgresql: str, tmp_path: Path) -> None:
    """No more than a batch is held: the copy grows while the database is still sending."""
    fill_postgresql(postgresql)
    reader = database_batches(
        postgresql, query="SELECT people.* FROM people, generate_series(1, 60)"
    )
    (tmp_path / "out").mkdir()
    grown: list[int] = []

    def watched() -> Iterator[pa.RecordBatch]:
        for batch in reader:
            (stage,) = hidden(tmp_path / "out")
            grown.append(sum(path.stat().st_size for path in stage.glob("arriving*")))
            yield batch

    streaming.anonymize(
        pa.RecordBatchReader.from_batches(reader.schema, watched()),
        Schema.of(quasi_identifying=QI, identifying=["person_id"], rest="insensitive", unit="row"),
        KAnonymity(5),
        tmp_path / "out",
        method="nh",
        source="people",
        report=False,
    )
    assert len(grown) > 2
    assert grown[-1] > grown[1] > 0


def test_a_killed_run_goes_on_even_if_rows_come_in_another_order(
    postgresql: str, tmp_path: Path
) -> None:
    fill_postgresql(postgresql)
    folder = tmp_path / "out"
    script = (
        "import os, sys\nfrom mottle import KAnonymity, Schema\n"
        "from mottle.pipeline import streaming\n"
        "from mottle.io.databases import database_batches\n"
        f"schema = Schema.of(quasi_identifying={QI}, identifying=['person_id'],"
        " rest='insensitive')\n"
        "streaming.anonymize(database_batches(sys.argv[1], table='people'), schema,"
        " KAnonymity(5), sys.argv[2], method='nh', chunk_rows=500, source='people',"
        " progress=lambda progress:"
        " os.write(1, f'{progress.stage} {progress.share}\\n'.encode()))\n"
        # one write per line, not through a buffer: threads report progress too
    )
    run_it = [sys.executable, "-c", script, postgresql, str(folder)]
    with subprocess.Popen(run_it, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            stage_name, share = line.split()
            if stage_name == "chunks" and share != "None" and float(share) > 0.4:
                break
        process.kill()
    (stage,) = hidden(folder)
    secret = (stage / "secret").read_text()
    done = {path.name: path.stat().st_mtime_ns for path in stage.glob("chunk-*.arrow")}
    assert len(done) >= 4
    run(postgresql, "CREATE TABLE turned AS SELECT * FROM people ORDER BY person_id DESC")
    seen: dict[str, int] = {}

    def look(progress: Progress) -> None:
        if progress.stage == "write" and not seen:
            assert (stage / "secret").read_text() == secret
            seen.update({path.name: path.stat().st_mtime_ns for path in stage.glob("chunk-*")})

    streaming.anonymize(
        database_batches(postgresql, table="turned"),
        SCHEMA,
        KAnonymity(5),
        folder,
        progress=look,
        **RUN,
    )
    assert {name: seen[name] for name in done} == done
    check_whole(folder)


def test_other_rows_start_afresh(postgresql: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    fill_postgresql(postgresql, mottle.datasets.population(ROWS, seed=6))
    with pytest.raises(KeyboardInterrupt):
        streaming.anonymize(
            database_batches(postgresql, table="people"),
            SCHEMA,
            KAnonymity(5),
            folder,
            progress=interrupt_at("chunks", 0.5),
            **RUN,
        )
    (stage,) = hidden(folder)
    secret = (stage / "secret").read_text()
    fill_postgresql(postgresql)
    told: list[str] = []

    def look(progress: Progress) -> None:
        if progress.stage == "chunks" and not told:
            told.append((stage / "secret").read_text())

    streaming.anonymize(
        database_batches(postgresql, table="people"),
        SCHEMA,
        KAnonymity(5),
        folder,
        progress=look,
        **RUN,
    )
    assert told != [secret]
    check_whole(folder)


def killed_after_first(url: str) -> pa.RecordBatchReader:
    """People sixty times, from a connection that is killed after the first batch."""
    reader = database_batches(url, query="SELECT people.* FROM people, generate_series(1, 600)")

    def batches() -> Iterator[pa.RecordBatch]:
        yield next(reader)
        run(url, OTHERS)
        yield from reader

    return pa.RecordBatchReader.from_batches(reader.schema, batches())


def test_a_connection_killed_while_rows_arrive_leaves_nothing(
    postgresql: str, tmp_path: Path
) -> None:
    fill_postgresql(postgresql)
    with pytest.raises(StorageError, match="was lost") as caught:
        streaming.anonymize(
            killed_after_first(postgresql), SCHEMA, KAnonymity(5), tmp_path / "out", **RUN
        )
    assert caught.value.exit_code == 5
    assert re.search("s3cret|owner:", str(caught.value)) is None
    assert not (tmp_path / "out").exists()


def test_a_connection_killed_in_a_second_attempt_keeps_the_first(
    postgresql: str, tmp_path: Path
) -> None:
    fill_postgresql(postgresql)
    folder = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        streaming.anonymize(
            database_batches(postgresql, table="people"),
            SCHEMA,
            KAnonymity(5),
            folder,
            progress=interrupt_at("chunks", 0.5),
            **RUN,
        )
    (stage,) = hidden(folder)
    kept = sorted(path.name for path in stage.glob("chunk-*.json"))
    with pytest.raises(StorageError, match="was lost"):
        streaming.anonymize(killed_after_first(postgresql), SCHEMA, KAnonymity(5), folder, **RUN)
    assert sorted(path.name for path in stage.glob("chunk-*.json")) == kept
    assert list(stage.glob("arriving*")) == []
    streaming.anonymize(
        database_batches(postgresql, table="people"), SCHEMA, KAnonymity(5), folder, **RUN
    )
    check_whole(folder)
