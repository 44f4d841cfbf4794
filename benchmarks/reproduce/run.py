"""Measure the points of figures, one after the other, and keep each as soon as it is known."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import chain
from math import isnan
from multiprocessing import get_context

from benchmarks.reproduce.figure import Figure, Found, Job, Outcome, Point
from benchmarks.reproduce.store import Store, fingerprint, key_of
from benchmarks.reproduce.work import WORK, NotAvailableError
from mottle.errors import MottleError

TIMED = ("generalize", "sets", "walk")  # measurements of time, for which kernels are compiled
WARM_ROWS = 1_500
RELEASE = ("data", "rows", "columns", "beta", "l", "method", "seeds")  # what makes a release

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


_warm: set[str] = set()  # kinds of jobs whose kernels this process has compiled


def _warm_up(job: Job) -> None:
    """Compile what a job calls by a small one of its kind, once."""
    words = {n: v for n, v in job.settings.items() if not isinstance(v, int | float)}
    words["data"] = str(words["data"]).partition(" ")[0]  # drawn values are of the same kind
    kind = f"{job.work} {words} {sorted(job.settings)}"
    if job.work in TIMED and kind not in _warm:
        _warm.add(kind)
        measure(job.small(WARM_ROWS))


def measure_all(jobs: Sequence[Job], warms_up: bool = True) -> list[Outcome]:
    """Measure jobs that share a release, one after the other in one process."""
    outcomes = []
    for job in jobs:
        if warms_up:
            _warm_up(job)
        outcomes.append(measure(job))
    return outcomes


@dataclass
class Run:
    """A run over several figures: what is left, and about how long it takes."""

    figures: Sequence[Figure]
    store: Store
    say: Say = print
    keeps: bool = True  # whether points are written to files
    renew: bool = False  # whether points of older sources are measured again
    warms_up: bool = True
    processes: int = 1
    _spent: float = 0.0
    _planned: float = 0.0

    def go(self) -> None:
        """Measure all that is not known yet: figures that take least time first."""
        planned = planned_seconds(self.figures)
        left = {figure.id: self._left(figure) for figure in self.figures}
        waiting = {key_of(point.job) for points in left.values() for point in points}
        total, seconds_left = len(waiting), sum(planned[job] for job in waiting)

        def cost(figure: Figure) -> float:
            return sum(planned[key_of(point.job)] for point in left[figure.id])

        for figure in sorted(self.figures, key=cost):
            if self.keeps:
                self.store.write(figure)  # points that other figures have measured
            own = [point for point in left[figure.id] if key_of(point.job) in waiting]
            for point, outcome in self._outcomes(_by_release(own)):
                self._keep(figure, point, outcome)
                job = key_of(point.job)
                waiting.remove(job)
                self._spent += outcome.cost
                self._planned += planned[job]
                seconds_left -= planned[job]
                pace = self._spent / self._planned if self._planned else 1.0
                self.say(
                    f"[{total - len(waiting)}/{total}] {figure.id} {_shown(point, outcome)}"
                    f"; {_hours(pace * seconds_left / self.processes)} left"
                )

    def _left(self, figure: Figure) -> list[Point]:
        """Points that have to be measured; equal jobs count once."""
        points = {}
        for point in figure.points:
            outcome = self.store.outcome(point.job)
            if outcome is None or (self.renew and outcome.code != fingerprint()):
                points.setdefault(key_of(point.job), point)
        return list(points.values())

    def _outcomes(self, tasks: Sequence[Sequence[Point]]) -> Iterator[tuple[Point, Outcome]]:
        if self.processes == 1:
            for point in chain.from_iterable(tasks):
                yield point, measure_all([point.job], self.warms_up)[0]
            return
        started = get_context("spawn")  # compiled kernels and Arrow have threads: no fork
        with ProcessPoolExecutor(self.processes, started) as pool:
            running = {
                pool.submit(measure_all, [point.job for point in task], self.warms_up): task
                for task in tasks
            }
            for future in as_completed(running):
                yield from zip(running[future], future.result(), strict=True)

    def _keep(self, figure: Figure, point: Point, outcome: Outcome) -> None:
        if not outcome.note.startswith("method not available"):
            self.store.keep(point.job, outcome)
            if self.keeps:
                self.store.write(figure)


def planned_seconds(figures: Sequence[Figure]) -> dict[str, float]:
    """Processor seconds that are planned for every job: an equal share of its figure's."""
    seconds: dict[str, float] = {}
    for figure in figures:
        share = 60 * figure.minutes / len(figure.points)
        for point in figure.points:
            job = key_of(point.job)
            seconds[job] = max(seconds.get(job, 0.0), share)
    return seconds


def _by_release(points: Sequence[Point]) -> list[list[Point]]:
    """Points grouped by the release that they are measured on, if they share one."""
    groups: dict[str, list[Point]] = {}
    for point in points:
        job = point.job
        shared = [job.work, *(str(job.settings.get(name)) for name in RELEASE)]
        groups.setdefault(str(shared if job.work not in TIMED else key_of(job)), []).append(point)
    return list(groups.values())


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
    return f"about {minutes // 60} h {minutes % 60:02} min"


def trial(figures: Sequence[Figure], say: Say = print) -> list[Found]:
    """Run small versions of figures and keep nothing; returns what was found."""
    small = [figure.quick() for figure in figures]
    store = Store()
    Run(small, store, say, keeps=False, warms_up=False).go()
    return [store.found(figure) for figure in small]
