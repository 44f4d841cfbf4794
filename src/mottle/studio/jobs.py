"""Runs of the studio: commands of mottle in processes of their own.

A run is what the command line would do: a process that executes ``mottle ARGUMENTS``, in a group of
its own, with a limit on memory. It may crash, be stopped or be cancelled without harm to the
server, and writes all its files or none. How far it is comes back as lines of JSON through a pipe.
Through another one it gets its command, and learns that the server has ended; so a process can be
started before there is a command, and load the kernels while somebody looks at columns.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from mottle.errors import MottleError
from mottle.studio.events import Events
from mottle.utils.progress_lines import PROGRESS_FD

_GRACE = 0.7  # seconds between asking a process to end and ending it
_LONGEST_LINE = 1 << 16
_MOST_LOSSES = 1000  # points of a curve
_MOST_OUTPUT = 1 << 20  # characters of what a process prints that are kept
MEMORY = "MOTTLE_STUDIO_MEMORY"  # of the environment: the most bytes of data of a run


WARM = "MOTTLE_STUDIO_WARM"  # of the environment: the process loads the kernels while it waits


class State(StrEnum):
    """Where a job is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass
class Job:
    """One command, and how far it is."""

    number: int
    purpose: str  # "run", "preview", "audit" …: what pages look for
    arguments: tuple[str, ...]  # the words after "mottle"
    folder: Path | None = None  # in which it runs; None: that of the server
    belongs_to: str = ""  # the state of the project when it was started
    module: str = "mottle"  # the program
    state: State = State.WAITING
    progress: dict[str, Any] = field(default_factory=dict)  # stage, words, share, loss, columns
    losses: list[tuple[float, float]] = field(default_factory=list)  # (seconds, loss)
    columns: dict[str, float] = field(default_factory=dict)  # what each loses so far, if known
    output: str = ""  # what it printed; messages of mottle quote no cell
    exit_code: int | None = None
    stopped: bool = False  # whether it was asked to stop and keep the best so far
    began: float | None = None
    ended: float | None = None
    process: asyncio.subprocess.Process | None = None

    @property
    def is_active(self) -> bool:
        """Whether it waits or runs."""
        return self.state in (State.WAITING, State.RUNNING)

    @property
    def seconds(self) -> float:
        """How long it runs, or has run."""
        if self.began is None:
            return 0.0
        return round((self.ended or time.monotonic()) - self.began, 2)

    @property
    def facts(self) -> dict[str, Any]:
        """What pages are told."""
        return {
            "number": self.number,
            "purpose": self.purpose,
            "state": self.state,
            "progress": self.progress,
            "seconds": self.seconds,
            "exit_code": self.exit_code,
        }


@dataclass(frozen=True)
class _Worker:
    """A process that waits for a command."""

    process: asyncio.subprocess.Process
    reading: int  # where it tells its progress


class Jobs:
    """A queue of commands, one running at a time.

    Parameters
    ----------
    events : Events
        Where progress is told.
    memory : int, optional
        The most bytes of data of one run.
    ended : callable, optional
        Called with every job that has ended, before pages are told.
    progressed : callable, optional
        Called with every job whenever it tells its progress.
    """

    def __init__(
        self,
        events: Events,
        memory: int | None = None,
        ended: Callable[[Job], None] = lambda job: None,
        progressed: Callable[[Job], None] = lambda job: None,
    ) -> None:
        self._events, self._memory = events, memory
        self._ended, self._on_progress = ended, progressed
        self._jobs: dict[int, Job] = {}
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting: asyncio.Task[_Worker] | None = None  # a process for the next job

    def __iter__(self) -> Iterator[Job]:
        return iter(list(self._jobs.values()))

    def get(self, number: int) -> Job | None:
        """Return a job by its number; None if there is none."""
        return self._jobs.get(number)

    def start(
        self,
        purpose: str,
        arguments: Sequence[str],
        folder: Path | None = None,
        state: str = "",
        module: str = "mottle",
    ) -> Job:
        """Put a command into the queue.

        Parameters
        ----------
        purpose : str
            What it is for.
        arguments : sequence of str
            The words after ``mottle``.
        folder : Path, optional
            The folder in which it runs.
        state : str, optional
            The state of the project that it belongs to.
        module : str, optional
            The program; by default the command line's.

        Returns
        -------
        Job
            The job, which waits for its turn.
        """
        job = Job(len(self._jobs) + 1, purpose, tuple(arguments), folder, state, module)
        self._jobs[job.number] = job
        task = asyncio.get_running_loop().create_task(self._run(job))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._tell(job)
        return job

    def prepare(self) -> None:
        """Start a process that loads the kernels and waits for the next job.

        Not while a job has its turn, which needs the processors, or if one waits already.
        """
        if self._waiting is None and not any(job.is_active for job in self):
            self._waiting = asyncio.get_running_loop().create_task(self._worker(warm=True))

    def stop(self, job: Job) -> None:
        """Ask a run to stop and keep the best so far, as Ctrl-C does; once, as twice ends it."""
        if not job.stopped:
            job.stopped = True
            _signal(job, signal.SIGINT)

    async def cancel(self, job: Job) -> None:
        """End a run at once; what it began is removed by the next one or by ``mottle clean``."""
        if job.state not in (State.WAITING, State.RUNNING):
            return
        job.state = State.CANCELLED
        _signal(job, signal.SIGTERM)
        if job.process is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(job.process.wait(), _GRACE)
            _signal(job, signal.SIGKILL)
        self._tell(job)

    async def close(self) -> None:
        """Cancel everything."""
        for job in list(self._jobs.values()):
            await self.cancel(job)
        if self._waiting is not None:
            worker = await self._waiting
            os.close(worker.reading)
            with suppress(ProcessLookupError):
                os.killpg(worker.process.pid, signal.SIGKILL)
            await worker.process.wait()
            self._waiting = None
        for task in list(self._tasks):
            task.cancel()

    def _tell(self, job: Job) -> None:
        self._events.tell("job", **job.facts)

    async def _worker(self, *, warm: bool) -> _Worker:
        """Start a process that waits for its command.

        Modules are not looked for in its folder (-P), which may come from somebody else.
        """
        reading, writing = os.pipe()
        environment = os.environ | {PROGRESS_FD: str(writing), "NO_COLOR": "1"}
        if warm:
            environment[WARM] = "1"
        if self._memory is not None:
            environment[MEMORY] = str(self._memory)
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "mottle.studio.worker"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                pass_fds=(writing,),
                start_new_session=True,
                env=environment,
            )
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        return _Worker(process, reading)

    async def _next_worker(self) -> _Worker:
        """The process that waits, if it still does, or a new one."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            worker = await waiting
            if worker.process.returncode is None:
                return worker
            os.close(worker.reading)
        return await self._worker(warm=False)

    async def _run(self, job: Job) -> None:
        async with self._turn:
            if job.state is State.CANCELLED:
                return
            job.state, job.began = State.RUNNING, time.monotonic()
            worker = await self._next_worker()
            job.process = worker.process
            if job.state is State.CANCELLED:  # while the process was started
                _signal(job, signal.SIGKILL)
            await self._command(job)
            self._tell(job)
            await asyncio.gather(self._follow(job, worker.reading), self._collect(job))
            job.exit_code, job.ended = await job.process.wait(), time.monotonic()
            if job.process.stdin is not None:
                job.process.stdin.close()
            if job.state is not State.CANCELLED:
                job.state = State.DONE if job.exit_code == 0 else State.FAILED
            try:
                self._ended(job)
            except (MottleError, OSError, KeyError, ValueError):
                job.state = State.FAILED
                job.output += "\nThe studio could not read what the run has written.\n"
            self._tell(job)

    async def _command(self, job: Job) -> None:
        """Tell a process what to do; its input stays open for as long as the server lives."""
        assert job.process is not None
        assert job.process.stdin is not None
        folder = None if job.folder is None else str(job.folder)
        command = {"module": job.module, "arguments": job.arguments, "folder": folder}
        with suppress(ConnectionError):  # it has ended; its exit code tells
            job.process.stdin.write(json.dumps(command).encode() + b"\n")
            await job.process.stdin.drain()

    async def _follow(self, job: Job, reading: int) -> None:
        """Read what the process says about its progress."""
        reader = asyncio.StreamReader(limit=_LONGEST_LINE)
        loop = asyncio.get_running_loop()
        with os.fdopen(reading, "rb") as pipe:
            transport, _ = await loop.connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(reader), pipe
            )
            try:
                async for line in reader:
                    with suppress(ValueError, TypeError):
                        self._progressed(job, json.loads(line))
            except ValueError:  # a line that is too long
                pass
            finally:
                transport.close()

    def _progressed(self, job: Job, said: dict[str, Any]) -> None:
        job.progress = {key: said.get(key) for key in ("stage", "words", "share", "loss")}
        if isinstance(said.get("columns"), dict):
            job.columns = said["columns"]
            job.progress["columns"] = list(job.columns.items())
        if isinstance(said.get("loss"), float) and job.began is not None:
            job.losses.append((round(time.monotonic() - job.began, 2), said["loss"]))
            if len(job.losses) > _MOST_LOSSES:
                del job.losses[1:-1:2]  # a long run is drawn as well by fewer points
        self._on_progress(job)
        self._tell(job)

    async def _collect(self, job: Job) -> None:
        """Keep what the process prints."""
        assert job.process is not None
        assert job.process.stdout is not None
        while part := await job.process.stdout.read(1 << 14):
            if len(job.output) < _MOST_OUTPUT:
                job.output += part.decode("utf-8", "replace")


def _signal(job: Job, number: int) -> None:
    """Send a signal to the group of a job's process, if it runs."""
    if job.process is not None and job.process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(job.process.pid, number)
