"""Shows the progress of a run: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from rich.progress import BarColumn, ProgressColumn, SpinnerColumn, Task, TimeElapsedColumn
from rich.progress import Progress as ProgressBar
from rich.table import Column
from rich.text import Text

from mottle.cli import _jit_cache
from mottle.cli._console import Console
from mottle.cli._engine_options import TimeEstimate, duration, time_left
from mottle.pipeline.progress import Progress
from mottle.utils.progress_lines import is_asked, tell_progress
from mottle.utils.steps import Step, StepTimes

err = Console(stderr=True)

_COMPILING = ("arrange", "sort", "cut", "chunks", "preview")  # first stages that may call kernels
_INTERVAL = 30.0  # seconds between lines where there is no terminal
_LOOK = 5.0  # seconds after which it is looked whether a line is due
_TOLD = 0.1  # seconds between lines of JSON about the same stage
_MEASURED = 0.5  # and between those for which the loss has to be measured
KEEPS_BEST = "Ctrl-C keeps the best so far."

# What every stage does, in words.
_WORDS = {
    "read": "Reading the table",
    "survey": "Reading the table",
    "code": "Looking at the values",
    "arrange": "Choosing who may stand for whom",
    "sort": "Sorting similar rows together",
    "cut": "Cutting the table into chunks",
    "chunks": "Anonymizing chunk by chunk",
    "cover": "Widening cells",
    "assign": "Drawing the true records",
    "check": "Checking the promise",
    "publish": "Putting the release together",
    "calibrate": "Measuring how far answers are off",
    "shuffle": "Shuffling the rows",
    "audit": "Attacking the release",
    "write": "Writing the files",
    "preview": "Previewing",
    "done": "Done",
}
_IMPROVING = "Improving the cells"  # what choosing is called once there is a loss to lower


@contextmanager
def progress_bar(
    seconds: float | None = None, *, keeps_best: bool = False
) -> Iterator[Callable[[Progress], None]]:
    """Show the stages of a run.

    That kernels are compiled is announced when the first stage begins that needs them: options,
    columns and guarantees that are refused before need none.

    Parameters
    ----------
    seconds : float, optional
        For how long a method may improve its result.
    keeps_best : bool
        Whether an interruption while improving keeps what has been reached.

    Yields
    ------
    callable
        To be called with every `Progress`.
    """
    waiting = not _jit_cache.done_before()
    words = ProgressWords(seconds, keeps_best)
    telling = Telling()
    with shown(_WORDS["read"]) as show:

        def on_progress(progress: Progress) -> None:
            nonlocal waiting
            if waiting and progress.stage in _COMPILING:
                waiting = False
                kept = _jit_cache.is_kept()
                often = "once on this machine" if kept else "in every run on this machine"
                err.print(f"Compiling the numeric kernels, {often} (about half a minute) …")
            text, share = words.of(progress)
            if is_asked():
                telling.of(progress, words.alone(progress), share)
            if progress.step is None:
                show(lambda: text, share)
            else:
                show(lambda: words.of(progress)[0], share)

        yield on_progress


@contextmanager
def steps_bar(first: str, *, each: bool = False) -> Iterator[Callable[[Step], None]]:
    """Show the steps of a command with the time that is left.

    Parameters
    ----------
    first : str
        What the command does before its first step.
    each : bool
        Whether a log has a line for every step, and not only now and then.

    Yields
    ------
    callable
        To be called with every `Step`.
    """
    words = StepWords()
    with shown(first, each=each) as show:

        def on_progress(step: Step) -> None:
            text = words.of(step)
            if is_asked():
                tell_progress("steps", text, step.share, None)
            show(lambda: words.of(step), step.share)

        yield on_progress


@contextmanager
def shown(
    first: str, *, each: bool = False
) -> Iterator[Callable[[Callable[[], str], float | None], None]]:
    """Show what a command does: a bar on a terminal, a line now and then in a log.

    Yields
    ------
    callable
        To be called with a function that says what is done, with the time left by then, and with
        the share that is done if it is known.
    """
    saying: list[Callable[[], str]] = [lambda: first]
    lines = ProgressLines(lambda text: err.print(text, highlight=False, markup=False))
    bar = ProgressBar(
        SpinnerColumn(),
        _Said(saying),
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        console=err,
        transient=True,
        disable=not err.is_terminal,
    )
    with bar, lines.due(saying, needed=bar.disable):
        task = bar.add_task("", total=None)

        def show(say: Callable[[], str], share: float | None) -> None:
            saying[0] = say
            bar.tasks[0].total = None if share is None else 1.0  # without a share, it pulses
            bar.update(task, completed=share or 0.0)
            if bar.disable and each:
                lines.write(say())
            elif bar.disable:
                lines.show(say())

        yield show


class _Said(ProgressColumn):
    """What is done, as it is said at the time it is shown."""

    def __init__(self, saying: list[Callable[[], str]]) -> None:
        super().__init__(table_column=Column(no_wrap=True))
        self._saying = saying

    def render(self, task: Task) -> Text:
        """Return what is done."""
        return Text(self._saying[0]())


@dataclass
class StepWords:
    """Says in plain words what a command is at, and how long the rest will take."""

    times: StepTimes = field(default_factory=StepTimes)

    def of(self, step: Step) -> str:
        """Return the number of the step, what it does, and the time that is left if it is known."""
        rest = time_left(self.times.left(step))
        return f"{step.number} of {len(step.sorts)}: {step.words}{rest}"


@dataclass
class ProgressWords:
    """Says in plain words what a run is doing, how far it is, and how long it will take."""

    seconds: float | None = None  # for improving
    keeps_best: bool = False
    now: Callable[[], float] = time.monotonic
    estimate: TimeEstimate = field(default_factory=TimeEstimate)
    steps: StepTimes = field(default_factory=StepTimes)
    began: float | None = None  # when improving began

    def of(self, progress: Progress) -> tuple[str, float | None]:
        """Return the words, and the share of the stage that is done if it is known."""
        share = progress.share
        if progress.step is not None:
            rest = time_left(self.steps.left(progress.step))
        else:
            rest = self.estimate.of(progress)
        if _is_improving(progress):
            rest, share = self._improving()
        loss = "" if progress.gcp is None else f", loss {progress.gcp:.4f}"
        keeps = f". {KEEPS_BEST}" if _is_improving(progress) and self.keeps_best else ""
        return f"{_stage(progress)}{rest}{loss}{keeps}", share

    def alone(self, progress: Progress) -> str:
        """Return the words without the loss, and without what belongs to a terminal."""
        return f"{_stage(progress)}{self._improving()[0] if _is_improving(progress) else ''}"

    def _improving(self) -> tuple[str, float | None]:
        """How long improving takes: until the time is up, or until a pass gains too little."""
        if self.began is None:
            self.began = self.now()
        if not self.seconds:
            return "", None
        left = max(self.seconds - (self.now() - self.began), 0.0)
        return f", {duration(left)} left", 1 - left / self.seconds


def _is_improving(progress: Progress) -> bool:
    return progress.stage == "arrange" and progress.gcp is not None


def _stage(progress: Progress) -> str:
    """What is done."""
    text = _IMPROVING if _is_improving(progress) else _WORDS.get(progress.stage, progress.stage)
    return f"{text}: {progress.detail}" if progress.detail else text


@dataclass
class Telling:
    """Tells a program that runs mottle how far it is, and what every column loses so far.

    A pass over a small table takes a millisecond; nobody wants to know of each.
    """

    tell: Callable[[str, str, float | None, float | None, Mapping[str, float] | None], None] = (
        tell_progress
    )
    now: Callable[[], float] = time.monotonic
    stage: str = ""
    next: float = 0.0  # when something may be told of the same stage

    def of(self, progress: Progress, text: str, share: float | None) -> None:
        """Tell it, unless something was told of the same stage a moment ago.

        Where it can be measured, GCP is told and not the objective: it is what the run will state.
        """
        if progress.stage == self.stage and self.now() < self.next:
            return
        found = None if progress.measure is None else progress.measure()
        loss, columns = (progress.gcp, None) if found is None else (found.gcp, found.ncp)
        self.tell(progress.stage, text, share, loss, columns)
        self.stage = progress.stage
        self.next = self.now() + (_TOLD if found is None else _MEASURED)


@dataclass
class ProgressLines:
    """Writes what a run is doing at most every half minute, for logs."""

    write: Callable[[str], None]
    now: Callable[[], float] = time.monotonic
    interval: float = _INTERVAL
    began: float | None = None
    last: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def show(self, text: str) -> None:
        """Write the text with the time since the beginning, unless the last line is recent."""
        with self.lock:
            now = self.now()
            if self.began is None:
                self.began = self.last = now
            if now - self.last >= self.interval:
                self.last = now
                self.write(f"{text} ({duration(now - self.began)})")

    @contextmanager
    def due(self, saying: list[Callable[[], str]], *, needed: bool) -> Iterator[None]:
        """Write lines also while nothing is reported for a long time."""
        if not needed:
            yield
            return
        ended = threading.Event()
        self.began = self.last = self.now()

        def look() -> None:
            while not ended.wait(_LOOK):
                with suppress(OSError, ValueError):  # nobody reads any more
                    self.show(saying[0]())

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
