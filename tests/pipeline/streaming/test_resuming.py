"""A streamed run that is killed goes on where it was: one release, valid, and nothing beside it."""

from __future__ import annotations

import random
import stat
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import mottle
from mottle import KAnonymity, LDiversity, Schema, StorageError
from mottle.io.work_folder import run_folder, work_folder
from mottle.pipeline import streaming
from mottle.pipeline.anonymize import Progress
from mottle.pipeline.progress import Clock

pytestmark = pytest.mark.usefixtures("own_work")

ROWS = 6000
KILLS = 10
PATIENCE = 300.0

SCHEMA = Schema.of(
    quasi_identifying=["age", "sex", "education"], identifying=["person_id"], rest="insensitive"
)
RUN = {"method": "nh", "chunk_rows": 500}

SCRIPT = """
import sys
from pathlib import Path
from mottle import KAnonymity, Schema
from mottle.pipeline import streaming
schema = Schema.of(
    quasi_identifying=["age", "sex", "education"], identifying=["person_id"], rest="insensitive"
)
streaming.anonymize(
    sys.argv[1], schema, KAnonymity(5), sys.argv[2], method="nh", chunk_rows=500,
    progress=lambda progress: print(progress.stage, progress.share, flush=True),
)
"""


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "people.parquet"
    pq.write_table(mottle.datasets.population(ROWS, seed=5), path)
    return path


def hidden(folder: Path) -> list[Path]:
    """The work folders of runs into ``folder`` that are there."""
    assert not list(folder.glob(".mottle-*"))
    return sorted((folder.parent / "work").glob("mottle-work-*/run-*"))


def interrupt_at(stage: str, share: float):
    def on_progress(progress: Progress) -> None:
        if progress.stage == stage and (progress.share or 0) >= share:
            raise KeyboardInterrupt

    return on_progress


def check_whole(people: Path, folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == [
        "certificate.json",
        "release.csv",
        "release.parquet",
        "report.html",
    ]
    table = pq.read_table(people)
    release = mottle.read_release(folder)
    assert sorted(release.table.column("diagnosis").to_pylist()) == sorted(
        table.column("diagnosis").to_pylist()
    )
    report = mottle.audit_release(
        table, release, schema=SCHEMA.covering(table.column_names), guarantee=KAnonymity(5)
    )
    assert report.passed


def test_ten_kills_at_random_points_end_in_one_valid_release(people: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    chance = random.Random(4)
    command = [sys.executable, "-c", SCRIPT, str(people), str(folder)]
    killed = 0
    while killed < KILLS:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        for _ in range(chance.randint(1, 24)):
            if not process.stdout.readline():
                break
        process.kill()
        process.communicate(timeout=PATIENCE)
        killed += 1
        if (folder / "certificate.json").exists():
            break  # it had come to its end
        assert list(folder.glob("[!.]*")) == []
    if not (folder / "certificate.json").exists():
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
    assert killed >= KILLS / 2
    check_whole(people, folder)


def test_finished_chunks_are_not_worked_on_again(people: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        streaming.anonymize(
            people, SCHEMA, KAnonymity(5), folder, progress=interrupt_at("chunks", 0.5), **RUN
        )
    (stage,) = hidden(folder)
    assert oct((stage / "secret").stat().st_mode)[-3:] == "600"
    assert oct(stage.stat().st_mode)[-3:] == "700"
    kept = {path.name: path.stat().st_mtime_ns for path in stage.glob("chunk-*.arrow")}
    assert len(kept) >= 6
    seen: dict[str, int] = {}

    def look(progress: Progress) -> None:
        if progress.stage == "write" and not seen:
            seen.update({p.name: p.stat().st_mtime_ns for p in stage.glob("chunk-*.arrow")})

    streaming.anonymize(people, SCHEMA, KAnonymity(5), folder, progress=look, **RUN)
    assert {name: seen[name] for name in kept} == kept
    check_whole(people, folder)


def test_an_interrupted_run_publishes_what_an_undisturbed_one_would(
    people: Path, tmp_path: Path
) -> None:
    run = {**RUN, "seed": 9}
    for stage, share in (("sort", 0.1), ("chunks", 0.3), ("write", 0.5)):
        with pytest.raises(KeyboardInterrupt):
            streaming.anonymize(
                people,
                SCHEMA,
                KAnonymity(5),
                tmp_path / "a",
                progress=interrupt_at(stage, share),
                **run,
            )
    streaming.anonymize(people, SCHEMA, KAnonymity(5), tmp_path / "a", **run)
    streaming.anonymize(people, SCHEMA, KAnonymity(5), tmp_path / "b", **run)
    one, two = (mottle.read_release(tmp_path / name).table for name in "ab")
    assert one.equals(two)


def test_cuts_and_first_waves_are_the_same_after_an_interruption(tmp_path: Path) -> None:
    data = tmp_path / "people.parquet"
    pq.write_table(mottle.datasets.population(9000, seed=5), data)
    schema = Schema.of(
        quasi_identifying=["age", "sex", "education"],
        identifying=["person_id"],
        sensitive=["income"],
        bins={"income": 10},
        rest="insensitive",
    )
    run = {"method": "buckets", "chunk_rows": 2000, "effort": 0, "seed": 9}
    for share in (0.2, 0.6):
        with pytest.raises(KeyboardInterrupt):
            streaming.anonymize(
                data,
                schema,
                LDiversity(5),
                tmp_path / "a",
                progress=interrupt_at("chunks", share),
                **run,
            )
    certificate = streaming.anonymize(
        data, schema, LDiversity(5), tmp_path / "a", **run
    ).certificate
    assert certificate.method.wave > 0
    streaming.anonymize(data, schema, LDiversity(5), tmp_path / "b", **run)
    one, two = (mottle.read_release(tmp_path / name).table for name in "ab")
    assert one.equals(two)


def test_another_content_or_another_command_starts_afresh(people: Path, tmp_path: Path) -> None:
    folder, copy = tmp_path / "out", tmp_path / "people.parquet"
    copy.write_bytes(people.read_bytes())
    stop = interrupt_at("chunks", 0.5)
    with pytest.raises(KeyboardInterrupt):
        streaming.anonymize(copy, SCHEMA, KAnonymity(5), folder, progress=stop, **RUN)
    (stage,) = hidden(folder)
    secret = (stage / "secret").read_text()
    pq.write_table(mottle.datasets.population(ROWS, seed=6), copy)
    with pytest.raises(KeyboardInterrupt):
        streaming.anonymize(copy, SCHEMA, KAnonymity(5), folder, progress=stop, **RUN)
    assert hidden(folder) == [stage]
    assert (stage / "secret").read_text() != secret
    streaming.anonymize(copy, SCHEMA, KAnonymity(7), folder, **RUN)
    assert hidden(folder) == []
    check_whole(copy, folder)


def test_the_same_command_does_not_run_twice_at_once(people: Path, tmp_path: Path) -> None:
    def again(progress: Progress) -> None:
        if progress.stage == "chunks":
            with pytest.raises(StorageError, match="already running"):
                streaming.anonymize(people, SCHEMA, KAnonymity(5), tmp_path / "out", **RUN)

    streaming.anonymize(people, SCHEMA, KAnonymity(5), tmp_path / "out", progress=again, **RUN)
    check_whole(people, tmp_path / "out")


def test_a_run_that_was_killed_after_it_had_published_is_not_repeated(
    people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Clock, "report_end", killed)
    folder = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        streaming.anonymize(people, SCHEMA, KAnonymity(5), folder, **RUN)
    monkeypatch.undo()
    before = (folder / "release.csv").read_bytes()
    assert len(hidden(folder)) == 1
    certificate = streaming.anonymize(people, SCHEMA, KAnonymity(5), folder, **RUN).certificate
    assert certificate.rows == ROWS
    assert (folder / "release.csv").read_bytes() == before
    assert hidden(folder) == []
    check_whole(people, folder)


def test_errors_remove_the_folder_and_a_failing_disk_does_not(tmp_path: Path) -> None:
    note = {"command": "anonymize", "target": "out"}
    with pytest.raises(ValueError, match="ours"), run_folder(work_folder(), "a", note):
        raise ValueError("ours")
    assert not list((tmp_path / "work").iterdir())
    with pytest.raises(OSError, match="full"), run_folder(work_folder(), "b", note):
        raise OSError("disk full")
    assert len(hidden(tmp_path / "out")) == 1


def test_input_that_cannot_be_read_leaves_nothing(tmp_path: Path) -> None:
    """A secret without rows is of no use to a later run."""
    (tmp_path / "people.sav").mkdir()
    work = tmp_path / "work"
    with pytest.raises(StorageError, match="Parquet"):
        mottle.anonymize_stream(
            tmp_path / "people.sav", SCHEMA, KAnonymity(5), tmp_path / "out", work=work
        )
    assert not list(work.rglob("*"))


def test_nothing_of_the_original_is_ever_in_the_folder_that_is_published(
    people: Path, tmp_path: Path
) -> None:
    """A killed run leaves neither rows nor its secret inside the folder."""
    folder = tmp_path / "out"
    for stage, share in (("sort", 0.1), ("chunks", 0.5), ("write", 0.5)):
        with pytest.raises(KeyboardInterrupt):
            streaming.anonymize(
                people,
                SCHEMA,
                KAnonymity(5),
                folder,
                progress=interrupt_at(stage, share),
                **RUN,
            )
        assert not folder.exists()
        (work,) = hidden(folder)
        for path in (work, *work.rglob("*")):
            private = 0o700 if path.is_dir() else 0o600
            assert stat.S_IMODE(path.lstat().st_mode) == private, path
    streaming.anonymize(people, SCHEMA, KAnonymity(5), folder, **RUN)
    assert not list((tmp_path / "work").iterdir()), "nothing is left after success"
