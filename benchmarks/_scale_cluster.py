"""A simulated cluster: how long stages of many tasks take when machines straggle and fail.

A stage begins when the one before has ended. A core that is free takes the next task; a task takes
its share of the stage's work, times what chance adds. When a machine fails, the tasks that run on
it and those that it has finished in this stage, whose output lies on its disk, are done again by
others, and it comes back after a while. A speculative copy of a task is begun when most tasks of
the stage are done and a core is free, and ends with the first of the two, as in Spark.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

REPAIR = 600.0  # seconds until a failed machine is back
LOOKS_EVERY = 0.1  # seconds between two looks for late tasks, as `spark.speculation.interval`
QUANTILE, MULTIPLIER = 0.9, 3.0  # of `spark.speculation`: tasks done, and times their median


@dataclass(frozen=True)
class Stage:
    """Tasks of equal size that may run side by side."""

    tasks: int
    seconds: float  # processor seconds of all of them together
    measured: Sequence[float]  # seconds of some real tasks, whose spread is taken over


@dataclass(frozen=True)
class Chance:
    """What chance adds to the seconds of a task, and what it does to machines."""

    spread: float = 0.0  # sigma of a lognormal factor with mean 1, drawn for every attempt
    stragglers: float = 0.0  # share of attempts with a Pareto factor in addition
    shape: float = 1.5  # of that factor, which is 2 at least and 50 at most
    skew: float = 0.0  # sigma of a lognormal factor with mean 1, drawn for every task
    failures: float = 0.0  # of a machine, per hour
    speculation: bool = False

    def sizes(self, random: np.random.Generator, stage: Stage) -> np.ndarray:
        """Seconds of all tasks before anything goes wrong; their sum is the stage's work."""
        drawn = random.choice(np.asarray(stage.measured, float), stage.tasks)
        drawn *= _lognormal(random, self.skew, stage.tasks)
        return np.asarray(drawn * stage.seconds / drawn.sum())

    def factors(self, random: np.random.Generator, count: int) -> np.ndarray:
        """Factors of attempts."""
        found = _lognormal(random, self.spread, count)
        slow = random.random(count) < self.stragglers
        found[slow] *= np.minimum(2 * (1 + random.pareto(self.shape, int(slow.sum()))), 50)
        return found


def _lognormal(random: np.random.Generator, sigma: float, count: int) -> np.ndarray:
    return np.exp(random.normal(-sigma * sigma / 2, sigma, count)) if sigma else np.ones(count)


def makespan(
    stages: Sequence[Stage], machines: int, cores: int, chance: Chance, seed: int
) -> float:
    """Seconds until the last stage has ended."""
    random = np.random.default_rng(seed)
    return sum(_StageRun(stage, machines, cores, chance, random).run() for stage in stages)


@dataclass
class _StageRun:
    """One stage: events are ends of attempts, failures and repairs, by time."""

    stage: Stage
    machines: int
    cores: int
    chance: Chance
    random: np.random.Generator
    events: list[tuple[float, int, Callable[[float], None]]] = field(default_factory=list)
    counter: int = 0
    looks: float = 0.0  # when late tasks are looked for again

    def run(self) -> float:
        """Seconds from the first task to the last."""
        tasks = self.stage.tasks
        self.sizes = self.chance.sizes(self.random, self.stage)
        self.waiting = deque(range(tasks))
        self.free = deque(machine for _ in range(self.cores) for machine in range(self.machines))
        self.down = [False] * self.machines
        self.attempts: dict[int, dict[int, tuple[int, float]]] = {}  # by task: machine and start
        self.done: dict[int, int] = {}  # by task: the machine that has done it
        self.took: list[float] = []
        self.drawn = iter(())
        for machine in range(self.machines):
            self._plan_failure(machine, 0.0)
        now = 0.0
        self._start(now)
        while len(self.done) < tasks:
            now, _, event = heapq.heappop(self.events)
            event(now)
            self._start(now)
        return now

    def _at(self, time: float, event: Callable[[float], None]) -> None:
        self.counter += 1
        heapq.heappush(self.events, (time, self.counter, event))

    def _factor(self) -> float:
        found = next(self.drawn, None)
        if found is None:
            self.drawn = iter(self.chance.factors(self.random, 10_000).tolist())
            found = next(self.drawn)
        return float(found)

    def _start(self, now: float) -> None:
        """Give tasks, or copies of late ones, to free cores."""
        while self.free and self.waiting:
            task = self.waiting.popleft()
            if task not in self.done:
                self._attempt(task, now)
        if self.free and self.chance.speculation and len(self.done) >= QUANTILE * self.stage.tasks:
            if now < self.looks:
                return
            late = MULTIPLIER * float(np.median(self.took))
            for task, running in list(self.attempts.items()):
                begun = [begin for _, begin in running.values()]
                if self.free and len(begun) == 1 and now - begun[0] > late:
                    self._attempt(task, now)
            soon = [
                begin + late
                for running in self.attempts.values()
                if len(running) == 1
                for _, begin in running.values()
                if begin + late > now
            ]
            self.looks = min(soon, default=now) + LOOKS_EVERY
            self._at(self.looks, lambda _: None)

    def _attempt(self, task: int, now: float) -> None:
        machine = self.free.popleft()
        self.counter += 1
        number = self.counter
        self.attempts.setdefault(task, {})[number] = (machine, now)
        end = now + float(self.sizes[task]) * self._factor()
        self._at(end, lambda time: self._end(task, number, time))

    def _end(self, task: int, number: int, now: float) -> None:
        running = self.attempts.get(task, {})
        if number not in running:
            return  # its machine has failed, or another attempt was faster
        machine, begin = running[number]
        self.took.append(now - begin)
        self.done[task] = machine
        self.free.extend(place for place, _ in running.values())
        del self.attempts[task]

    def _plan_failure(self, machine: int, now: float) -> None:
        if self.chance.failures:
            wait = self.random.exponential(3600 / self.chance.failures)
            self._at(now + wait, lambda time: self._fail(machine, time))

    def _fail(self, machine: int, now: float) -> None:
        self.down[machine] = True
        self.free = deque(place for place in self.free if place != machine)
        for task, running in list(self.attempts.items()):
            for number in [number for number, (place, _) in running.items() if place == machine]:
                del running[number]
            if not running:
                del self.attempts[task]
                self.waiting.append(task)
        lost = [task for task, place in self.done.items() if place == machine]
        for task in lost:
            del self.done[task]
        self.waiting.extend(lost)
        self._at(now + REPAIR, lambda time: self._repair(machine, time))

    def _repair(self, machine: int, now: float) -> None:
        self.down[machine] = False
        self.free.extend([machine] * self.cores)
        self._plan_failure(machine, now)
