"""Runs in processes of their own: progress, failure, cancelling and a limit on memory."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import mottle
from mottle.studio.events import Events
from mottle.studio.jobs import Job, Jobs, State


async def ended(jobs: Jobs, job: Job) -> Job:
    while job.state in (State.WAITING, State.RUNNING):
        await asyncio.sleep(0.02)
    await asyncio.gather(*jobs._tasks)
    return job


@pytest.fixture
def people(tmp_path: Path) -> Path:
    table = mottle.datasets.population(300, seed=1).select(["age", "sex"])
    file = tmp_path / "people.csv"
    file.write_text(table.to_pandas().to_csv(index=False))
    return file


def test_a_run_tells_its_progress_and_its_losses(people, tmp_path):
    async def play() -> Job:
        jobs = Jobs(Events())
        words = ["anonymize", str(people), "--qi", "age,sex", "--k", "5", "--seconds", "0.2"]
        return await ended(jobs, jobs.start("run", [*words, "-o", str(tmp_path / "out")]))

    job = asyncio.run(play())
    assert (job.state, job.exit_code) == (State.DONE, 0), job.output
    assert (tmp_path / "out" / "certificate.json").is_file()
    assert job.losses
    assert list(job.columns) == ["age", "sex"]
    assert all(0 <= loss <= 1 for loss in job.columns.values())
    assert job.progress["stage"] in ("write", "done")


def test_a_run_that_fails_says_why_and_harms_nothing(people, tmp_path):
    async def play() -> Job:
        jobs = Jobs(Events())
        words = ["anonymize", str(people), "--qi", "aeg", "--k", "5", "-o", str(tmp_path / "out")]
        return await ended(jobs, jobs.start("run", words))

    job = asyncio.run(play())
    assert job.state is State.FAILED
    assert "aeg" in job.output
    assert not (tmp_path / "out").exists()


def test_a_cancelled_run_is_gone_and_the_next_one_has_its_turn(people, tmp_path):
    async def play() -> tuple[Job, Job]:
        jobs = Jobs(Events())
        words = ["anonymize", str(people), "--qi", "age,sex", "--k", "5"]
        long = jobs.start("run", [*words, "--seconds", "600", "-o", str(tmp_path / "long")])
        short = jobs.start("run", ["--version"])
        while not long.losses and long.state in (State.WAITING, State.RUNNING):
            await asyncio.sleep(0.02)
        process = long.process
        await jobs.cancel(long)
        assert process is not None
        await process.wait()
        with pytest.raises(ProcessLookupError):
            os.killpg(process.pid, 0)
        return long, await ended(jobs, short)

    long, short = asyncio.run(play())
    assert (long.state, short.state) == (State.CANCELLED, State.DONE)
    assert not (tmp_path / "long").exists()


def test_a_killed_run_harms_nothing_and_the_next_one_has_its_turn(people, tmp_path):
    async def play() -> tuple[Job, Job]:
        jobs = Jobs(Events())
        words = ["anonymize", str(people), "--qi", "age,sex", "--k", "5"]
        long = jobs.start("run", [*words, "--seconds", "600", "-o", str(tmp_path / "long")])
        while not long.losses and long.state in (State.WAITING, State.RUNNING):
            await asyncio.sleep(0.02)
        assert long.process is not None
        os.killpg(long.process.pid, signal.SIGKILL)
        return await ended(jobs, long), await ended(jobs, jobs.start("run", ["--version"]))

    long, short = asyncio.run(play())
    assert (long.state, long.exit_code, short.state) == (State.FAILED, -9, State.DONE)
    assert not (tmp_path / "long").exists()


def test_a_run_that_needs_too_much_memory_fails_by_itself(people, tmp_path):
    async def play() -> Job:
        jobs = Jobs(Events(), memory=150 << 20)
        words = ["anonymize", str(people), "--qi", "age,sex", "--k", "5"]
        return await ended(jobs, jobs.start("run", [*words, "-o", str(tmp_path / "out")]))

    job = asyncio.run(play())
    assert job.state is State.FAILED
    assert not (tmp_path / "out").exists()


def test_a_process_that_waited_with_warm_kernels_makes_the_same_release(people, tmp_path):
    """Nor is a module taken from the folder of the project, which may come from somebody else."""
    for name in ("numpy", "pyarrow", "mottle", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text("open('taken', 'w').close()\n")

    async def play() -> list[Job]:
        jobs, done = Jobs(Events()), []
        for name in ("cold", "warm"):
            words = ["anonymize", "people.csv", "--qi", "age,sex", "--k", "5", "-o", name]
            if name == "warm":
                jobs.prepare()
                jobs.prepare()
            job = jobs.start(name, [*words, "--key", "owner.key"], folder=tmp_path)
            done.append(await ended(jobs, job))
        jobs.prepare()
        await jobs.close()
        return done

    for job in asyncio.run(play()):
        assert job.state is State.DONE, job.output
    words = ["anonymize", "people.csv", "--qi", "age,sex", "--k", "5", "-o", "untold"]
    untold = [sys.executable, "-P", "-m", "mottle", *words, "--key", "owner.key"]
    subprocess.run(untold, cwd=tmp_path, check=True, capture_output=True)  # tells no progress
    for name in ("release.csv", "release.parquet"):
        made = [(tmp_path / each / name).read_bytes() for each in ("cold", "warm", "untold")]
        assert made[0] == made[1] == made[2]
    assert not (tmp_path / "taken").exists()


SERVER = """
import asyncio, sys
from mottle.studio.events import Events
from mottle.studio.jobs import Jobs

async def play():
    jobs = Jobs(Events())
    words = ["anonymize", "people.csv", "--qi", "age,sex", "--k", "5", "--seconds", "600"]
    job = jobs.start("run", [*words, "-o", "long"])
    jobs.prepare()
    while not job.losses:
        await asyncio.sleep(0.02)
    print(job.process.pid, flush=True)
    await asyncio.sleep(600)

asyncio.run(play())
"""


def runs(process: int) -> bool:
    """Whether a process is there and has not ended, though nobody may have asked for its code."""
    try:
        said = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return said.rpartition(")")[2].split()[0] != "Z"


def test_a_run_ends_with_a_server_that_is_killed_and_leaves_nothing(people):
    folder = people.parent
    words = [sys.executable, "-c", SERVER]
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        run = int(server.stdout.readline())
        assert runs(run)
        server.kill()
    while runs(run):
        time.sleep(0.05)
    assert [path.name for path in folder.iterdir()] == ["people.csv"]


def test_a_page_learns_what_happened_before_it_listened():
    async def play() -> list[bytes]:
        events = Events()
        seen = events.changes
        ended: list[tuple[str, dict]] = []
        stream = events.stream(lambda: ended, seen=seen)  # the page is made, and listens later
        events.tell("changed")
        ended.append(("job", {"state": "done"}))
        found = [await anext(stream) for _ in range(3)]
        await stream.aclose()
        return found

    _, job, changed = asyncio.run(play())
    assert b'"done"' in job
    assert b"event: changed" in changed


def test_pages_that_sleep_are_told_to_load_again():
    async def play() -> list[bytes]:
        events = Events()
        stream = events.stream()
        found = [await anext(stream)]
        for number in range(1000):
            events.tell("job", number=number)
        found.append(await anext(stream))
        await stream.aclose()
        assert events.pages == 0
        return found

    first, second = asyncio.run(play())
    assert first.startswith(b":")
    assert b"event: reload" in second or b'"number": 0' in second


def test_a_run_is_stopped_and_kept_where_it_is_good_enough(visit, people, monkeypatch):
    here = visit(people.parent)
    stopped: list[int] = []
    monkeypatch.setattr(here.studio.jobs, "stop", lambda job: stopped.append(job.number))
    here.post("/run/enough", status=422, percent="much")
    here.post("/run/enough", status=422, percent="101")
    here.post("/run/enough", percent="5 %")
    timed, whole = ("anonymize", "--seconds", "60"), ("anonymize", "--key", "owner.key")
    for number, words, loss in ((1, timed, 0.06), (2, timed, 0.05), (3, whole, 0.01)):
        here.studio._progressed(Job(number, "run", words, losses=[(1.0, loss)]))
    assert stopped == [2]
    here.post("/run/enough", percent="")
    here.studio._progressed(Job(4, "run", timed, losses=[(1.0, 0.01)]))
    assert stopped == [2]
