"""How far a comparison is, and about how long the rest will take."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["Step", "StepTimes"]


@dataclass(frozen=True)
class Step:
    """One step of a comparison.

    Parameters
    ----------
    words : str
        What it does, for people.
    number : int
        Its place among all steps, from 1.
    sorts : tuple of str
        The sorts of all steps: steps of one sort take about as long as each other.
    """

    words: str
    number: int
    sorts: tuple[str, ...]

    @property
    def share(self) -> float:
        """The share of the steps that are done."""
        return (self.number - 1) / len(self.sorts)


@dataclass
class StepTimes:
    """Estimates the remaining time from the steps that are done.

    A step that is still to come takes as long as the last one of its sort did (the first one may
    have compiled kernels); where none was done, as long as the others did on average.
    """

    now: Callable[[], float] = time.monotonic
    last: tuple[int, str, float] | None = None  # number and sort of the current step, its beginning
    taken: dict[str, float] = field(default_factory=dict)  # seconds of the last step of a sort

    def left(self, step: Step) -> float | None:
        """Return the seconds that are left when a step begins; None before any step is done.

        Parameters
        ----------
        step : Step
            The step that begins now.

        Returns
        -------
        float or None
            Seconds.

        Examples
        --------
        >>> clock = iter([0.0, 10.0, 12.0])
        >>> times = StepTimes(now=lambda: next(clock))
        >>> sorts = ("run", "attack", "run", "attack")
        >>> [times.left(Step("", number, sorts)) for number in (1, 2, 3)]
        [None, 30.0, 12.0]
        """
        now = self.now()
        if self.last is not None:
            number, sort, since = self.last
            if step.number == number + 1:  # steps that were left out took no time
                self.taken[sort] = now - since
        self.last = (step.number, step.sorts[step.number - 1], now)
        if not self.taken:
            return None
        usual = sum(self.taken.values()) / len(self.taken)
        return sum(self.taken.get(sort, usual) for sort in step.sorts[step.number - 1 :])
