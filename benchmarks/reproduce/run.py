"""Measure the points of figures, one after the other, and keep each as soon as it is known."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import isnan

from benchmarks.reproduce.figure import Figure, Found, Job, Outcome, Point
from benchmarks.reproduce.store import Store, fingerprint, key_of
from benchmarks.reproduce.work import WORK, NotAvailableError
from mottle.errors import MottleError

TIMED = ("generalize", "sets", "walk")  # measurements of time, for which kernels are compiled
WARM_ROWS = 1_500

Say = Callable[[str], None]


def measure(job: Job) -> Outcome:
    """Measure a job; a method that refuses is an outcome, one that is missing is none to keep."""
    began = time.process_time()
    try:
        numbers = WORK[job.work](**job.settings)
        note = ""
        numbers = {name: value for name, value in numbers.items() if not isnan(value)}
    except NotAvailableError as missing:
        numbers, note = None, str(missing)
    except MottleError as refusal:
        numbers, note = None, str(refusal).splitlines()[0]
    return Outcome(numbers, note, time.process_time() - began, fingerprint())


@dataclass
class Run:
    """A run over several figures: what is left, and about how long it takes."""

    figures: Sequence[Figure]
    store: Store
    say: Say = print
    keeps: bool = True  # whether points are written to files
    renew: bool = False  # whether points of older sources are measured again
    warms_up: bool = True
    _warm: set[str] = field(default_factory=set)
    _spent: float = 0.0
    _planned: float = 0.0

    def go(self) -> None:
        """Measure all that is not known yet: figures that take least time first."""
        planned = planned_seconds(self.figures)
        left = {figure.id: self._left(figure) for figure in self.figures}
        jobs = {key_of(point.job) for points in left.values() for point in points}
        seconds_left, done = sum(planned[job] for job in jobs), 0

        def cost(figure: Figure) -> float:
            return sum(planned[key_of(point.job)] for point in left[figure.id])

        for figure in sorted(self.figures, key=cost):
            if self.keeps:
                self.store.write(figure)  # points that other figures have measured
            for point in _by_job(left[figure.id]):
                job = key_of(point.job)
                if job not in jobs:
                    continue
                outcome = self._measure(figure, point)
                jobs.remove(job)
                done += 1
                self._planned += planned[job]
                seconds_left -= planned[job]
                pace = self._spent / self._planned if self._planned else 1.0
                self.say(
                    f"[{done}/{done + len(jobs)}] {figure.id} {_shown(point, outcome)}"
                    f"; {_hours(pace * seconds_left)} left"
                )

    def _left(self, figure: Figure) -> list[Point]:
        """Points that have to be measured; equal jobs count once."""
        points = {}
        for point in figure.points:
            outcome = self.store.outcome(point.job)
            if outcome is None or (self.renew and outcome.code != fingerprint()):
                points.setdefault(key_of(point.job), point)
        return list(points.values())

    def _measure(self, figure: Figure, point: Point) -> Outcome:
        if self.warms_up and point.job.work in TIMED:
            self._warm_up(point.job)
        began = time.process_time()
        outcome = measure(point.job)
        self._spent += time.process_time() - began
        if not outcome.note.startswith("method not available"):
            self.store.keep(point.job, outcome)
            if self.keeps:
                self.store.write(figure)
        return outcome

    def _warm_up(self, job: Job) -> None:
        """Compile what a job calls by a small one of its kind, once."""
        words = {n: v for n, v in job.settings.items() if not isinstance(v, int | float)}
        words["data"] = str(words["data"]).partition(" ")[0]  # drawn values are of the same kind
        kind = f"{job.work} {words} {sorted(job.settings)}"
        if kind not in self._warm:
            self._warm.add(kind)
            measure(job.small(WARM_ROWS))


def planned_seconds(figures: Sequence[Figure]) -> dict[str, float]:
    """Processor seconds that are planned for every job: an equal share of its figure's."""
    seconds: dict[str, float] = {}
    for figure in figures:
        share = 60 * figure.minutes / len(figure.points)
        for point in figure.points:
            job = key_of(point.job)
            seconds[job] = max(seconds.get(job, 0.0), share)
    return seconds


def _by_job(points: Sequence[Point]) -> list[Point]:
    """Points in an order in which those that share a release follow each other."""
    order = ("data", "rows", "beta", "l", "method")
    return sorted(
        points, key=lambda p: [p.job.work, *(str(p.job.settings.get(name)) for name in order)]
    )


def _shown(point: Point, outcome: Outcome) -> str:
    where = " ".join(str(part) for part in (point.group, point.series, point.x) if part != "")
    if outcome.numbers is None:
        return f"{where}: {outcome.note}"
    first = ", ".join(f"{name} {value:.4g}" for name, value in list(outcome.numbers.items())[:2])
    return f"{where}: {first} ({outcome.cost:.1f} s)"


def _hours(seconds: float) -> str:
    minutes = int(seconds / 60 + 0.5)
    if not minutes:
        return "under a minute"
    return f"about {minutes // 60} h {minutes % 60:02} min of one processor"


def trial(figures: Sequence[Figure], say: Say = print) -> list[Found]:
    """Run small versions of figures and keep nothing; returns what was found."""
    small = [figure.quick() for figure in figures]
    store = Store()
    Run(small, store, say, keeps=False, warms_up=False).go()
    return [store.found(figure) for figure in small]
