"""The steps of a longer piece of work: how far it is, and about how long the rest will take."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

__all__ = ["Announced", "Step", "StepTimes"]

_TRUST = 0.1  # part of all expected seconds that weighs as much as seconds that were measured
_SKIPPED = 0.02  # part of the expected seconds below which a step did not really take place
_LEAST_DONE = 0.1  # part of a step that must be done for the rest to follow from it
_OVERRUN = 0.25  # of the time a step has taken: the least that is left of it


@dataclass(frozen=True)
class Step:
    """One step of a piece of work.

    Parameters
    ----------
    words : str
        What it does, for people.
    number : int
        Its place among all steps, from 1.
    sorts : tuple of str
        The sorts of all steps: steps of one sort take about as long as each other.
    seconds : tuple of float
        About how long each step may take; empty where nothing is known beforehand.
    done : float
        The share of the step itself that is done, where it is known; else 0.
    """

    words: str
    number: int
    sorts: tuple[str, ...]
    seconds: tuple[float, ...] = ()
    done: float = 0.0

    @property
    def share(self) -> float:
        """The share of all work that is done."""
        weights = self.seconds or (1.0,) * len(self.sorts)
        before = sum(weights[: self.number - 1]) + self.done * weights[self.number - 1]
        return before / sum(weights)


class Announced:
    """Announces the steps of a piece of work, one after the other.

    Parameters
    ----------
    on_progress : callable
        Called with every `Step` when it begins, and where its share is known also during it.
    sorts : sequence of str
        The sorts of all steps, in their order.
    seconds : sequence of float, optional
        About how long each may take.

    Examples
    --------
    >>> told = []
    >>> steps = Announced(told.append, ["read", "ask", "ask"])
    >>> steps.begin("read", "Reading"), steps.begin("ask", "Asking"), steps.reached(1, 4)
    (None, None, None)
    >>> [(step.number, step.words, step.share) for step in told][1:]
    [(2, 'Asking', 0.3333333333333333), (2, 'Asking', 0.4166666666666667)]
    """

    def __init__(
        self,
        on_progress: Callable[[Step], None] | None,
        sorts: Sequence[str],
        seconds: Sequence[float] = (),
    ) -> None:
        self._tell = on_progress or (lambda _: None)
        self._step = Step("", 0, tuple(sorts), tuple(seconds))

    def begin(self, sort: str, words: str = "") -> None:
        """Announce the next step of a sort; steps between it and the last one are left out."""
        number = self._step.sorts.index(sort, self._step.number) + 1
        self._step = replace(self._step, words=words or sort, number=number, done=0.0)
        self._tell(self._step)

    def reached(self, done: int, of: int) -> None:
        """Announce how much of the current step is done."""
        self._step = replace(self._step, done=done / of)
        self._tell(self._step)


@dataclass
class StepTimes:
    """Estimates the remaining time from the steps that are done.

    A step that is still to come takes as long as the last one of its sort did (the first one may
    have compiled kernels). Where none was done, it takes as long as it was expected to take, and
    longer or shorter as the others did; or as long as the others on average, if nothing was
    expected. A step that takes longer than that needs another part of the time that it has taken:
    the estimate does not reach 0 before the end.
    """

    now: Callable[[], float] = time.monotonic
    current: Step | None = None
    began: float = 0.0  # when the current step did
    taken: dict[str, float] = field(default_factory=dict)  # seconds of the last step of a sort

    def left(self, step: Step) -> float | None:
        """Return the seconds that are left; None before anything is known.

        Parameters
        ----------
        step : Step
            The step that begins now or is under way.

        Returns
        -------
        float or None
            Seconds.

        Examples
        --------
        >>> clock = iter([0.0, 10.0, 12.0, 20.0])
        >>> times = StepTimes(now=lambda: next(clock))
        >>> sorts = ("run", "attack", "run", "attack")
        >>> [times.left(Step("", number, sorts)) for number in (1, 2, 3, 3)]
        [None, 30.0, 12.0, 4.0]
        """
        now, last = self.now(), self.current
        if last is None or step.number > last.number:
            if last is not None and step.number == last.number + 1:  # none was left out
                self.taken[last.sorts[last.number - 1]] = now - self.began
            self.began = now
        if last is None or step.number >= last.number:  # a bar may still show the step before
            self.current = last = step
        elapsed = now - self.began
        pace = self._pace(last, elapsed)
        if pace is None:
            return None
        weights = last.seconds or (1.0,) * len(last.sorts)
        expected = [
            self.taken.get(sort, pace * weight)
            for sort, weight in zip(last.sorts, weights, strict=True)
        ]
        return sum(expected[last.number :]) + _rest(expected[last.number - 1], elapsed, last.done)

    def _pace(self, step: Step, elapsed: float) -> float | None:
        """How much longer steps take than expected; without expectations, their mean seconds."""
        weights = step.seconds or (1.0,) * len(step.sorts)
        of_sort = dict(zip(step.sorts, weights, strict=True))
        measured = {
            sort: seconds
            for sort, seconds in self.taken.items()
            if not step.seconds or seconds >= _SKIPPED * of_sort[sort]
        }
        trust = _TRUST * sum(step.seconds)
        if not measured and not trust:
            return None
        seconds = trust + sum(measured.values())
        weight = trust + sum(of_sort[sort] for sort in measured)
        current = step.sorts[step.number - 1]
        if current not in self.taken and elapsed * weight > of_sort[current] * seconds:
            seconds += elapsed  # it takes longer already, so others probably will
            weight += of_sort[current]
        return seconds / weight


def _rest(expected: float, elapsed: float, done: float) -> float:
    """The seconds that are left of a step."""
    if done >= _LEAST_DONE:
        return elapsed * (1 - done) / done
    return max(expected - elapsed, _OVERRUN * elapsed)
