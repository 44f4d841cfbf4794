"""Times each stage of a run and reports progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from mottle.utils.steps import Step

__all__ = ["STAGES", "Clock", "Progress"]

STAGES = ("code", "arrange", "cover", "assign", "check", "publish")


@dataclass(frozen=True)
class LossSoFar:
    """What is lost by the records as a method has arranged them so far."""

    gcp: float
    ncp: Mapping[str, float]  # by column


@dataclass(frozen=True)
class Progress:
    """The progress of a run, for progress bars."""

    stage: str  # one of STAGES, beginning now; "done" at the end
    # The loss so far, once it is known: of the objective while a method improves, then GCP.
    gcp: float | None = None
    share: float | None = None  # of the stage's rows that are done, if it works in parts
    detail: str = ""  # what the stage is at, in words
    # Measures GCP so far, and what every column loses, on a sample; None if the method does not
    # know it. It is called while progress is reported or never: the method goes on afterwards.
    measure: Callable[[], LossSoFar] | None = None
    step: Step | None = None  # of the stage, if it has several that take different times


@dataclass
class Clock:
    """Times each stage of a run and reports progress."""

    on_progress: Callable[[Progress], None]
    seconds: dict[str, float] = field(default_factory=dict)
    gcp: float | None = None
    measure: Callable[[], LossSoFar] | None = None  # belongs to the next loss

    @classmethod
    def of(cls, on_progress: Callable[[Progress], None] | None) -> Clock:
        """Make a clock that reports to ``on_progress``, if given."""
        return cls(on_progress or (lambda _: None))

    def report_loss(self, stage: str, gcp: float) -> None:
        """Report the loss so far."""
        measure, self.measure = self.measure, None
        self.on_progress(Progress(stage, gcp, measure=measure))

    def report_share(self, stage: str, rows: int, done: int) -> None:
        """Report how many of a stage's rows are done."""
        self.on_progress(Progress(stage, self.gcp, done / rows))

    def report_step(self, stage: str, step: Step) -> None:
        """Report a step of a stage."""
        self.on_progress(Progress(stage, self.gcp, step.share, step.words, step=step))

    def report_end(self) -> None:
        """Report that everything is done."""
        self.on_progress(Progress("done", self.gcp))

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Report the beginning of a stage and measure its time."""
        self.on_progress(Progress(name, self.gcp))
        begin = time.perf_counter()
        yield
        self.seconds[name] = round(time.perf_counter() - begin, 4)
