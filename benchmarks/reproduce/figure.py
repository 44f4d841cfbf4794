"""What a figure is: points to measure, panels that show them, and claims that they decide."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

X = float | str
Numbers = Mapping[str, float]  # what was measured at a point: "loss", "seconds", …


@dataclass(frozen=True)
class Job:
    """One measurement: the name of a function in `work.WORK` and its arguments."""

    work: str
    settings: Mapping[str, Any]

    @property
    def key(self) -> str:
        """The measurement as text; equal jobs are measured once, whatever figure shows them."""
        return json.dumps([self.work, self.settings], sort_keys=True, ensure_ascii=False)

    def small(self, rows: int) -> Job:
        """The same measurement with fewer rows, for a trial."""
        settings = dict(self.settings)
        for name in ("rows", "records"):
            if name in settings:
                settings[name] = min(settings[name], rows)
        limits = {"seeds": 1, "queries": 30, "partition": rows // 4, "part": rows // 2, "times": 2}
        for name, most in limits.items():
            if name in settings:
                settings[name] = min(settings[name], most)
        return replace(self, settings=settings)


@dataclass(frozen=True)
class Point:
    """A place in a figure: a series (a method, as the paper names it) at one x."""

    series: str
    x: X
    job: Job
    group: str = ""  # points of one panel, where panels show different data


@dataclass(frozen=True)
class Panel:
    """A chart of the figure: one measure of the points of one group."""

    title: str
    measure: str
    group: str = ""
    y_title: str = "information loss (GCP)"
    x_title: str = ""  # empty: that of the figure
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds in what was measured; None if points are missing."""

    holds: bool | None
    measured: str


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper in our words, and how it is decided."""

    says: str
    decide: Callable[[Found], Verdict]
    # Why it does not hold here, if it does not; names the figure or experiment that shows it.
    why: str = ""


@dataclass(frozen=True)
class Figure:
    """A figure of a paper, or an experiment that explains why a claim does not hold."""

    id: str  # "NH10-11"; experiments: "NH10-why-hilbert"
    title: str
    paper: str  # the setting of the paper
    ours: str  # what differs here
    x_title: str
    panels: Sequence[Panel]
    points: Sequence[Point]
    minutes: float  # of one processor, for the whole figure; what is shared with others not counted
    claims: Sequence[Claim] = ()
    # The paper's numbers, where it prints them: (group, series, x) to numbers.
    printed: Mapping[tuple[str, str, X], Numbers] = field(default_factory=dict)
    explains: str = ""  # experiments: the question that they answer

    def __post_init__(self) -> None:
        places = [(point.group, point.series, point.x) for point in self.points]
        if len(set(places)) < len(places):
            twice = next(place for place in places if places.count(place) > 1)
            raise ValueError(f"{self.id} has two points at {twice}.")

    @property
    def is_experiment(self) -> bool:
        return bool(self.explains)

    @property
    def name(self) -> str:
        """The figure as the page calls it."""
        short, _, rest = self.id.partition("-")
        return (
            f"{short}, experiment: {self.title}" if self.is_experiment else f"{short} Fig. {rest}"
        )

    @property
    def slug(self) -> str:
        """The name of its files."""
        return self.id.lower()

    def quick(self) -> Figure:
        """A trial of the figure: few rows, the first and the last x of every series."""
        ends = []
        for group in dict.fromkeys(point.group for point in self.points):
            for series in dict.fromkeys(p.series for p in self.points if p.group == group):
                own = [p for p in self.points if p.group == group and p.series == series]
                ends += own if len(own) < 3 else [own[0], own[-1]]
        return replace(self, points=[replace(p, job=p.job.small(QUICK_ROWS)) for p in ends])


QUICK_ROWS = 600


@dataclass(frozen=True)
class Outcome:
    """What was measured at a point, or why nothing could be."""

    numbers: Numbers | None
    note: str = ""  # "method not available", the message of an error
    cost: float = 0.0  # processor seconds that the measurement took
    code: str = ""  # fingerprint of the sources that it was made with


@dataclass(frozen=True)
class Found:
    """The outcomes of a figure's points."""

    figure: Figure
    outcomes: Mapping[tuple[str, str, X], Outcome]

    def value(self, series: str, x: X, measure: str, group: str = "") -> float | None:
        """A number at a point; None if it was not measured."""
        outcome = self.outcomes.get((group, series, x))
        if outcome is None or outcome.numbers is None:
            return None
        return outcome.numbers.get(measure)

    def note(self, series: str, x: X, group: str = "") -> str:
        """Why there is no number at a point."""
        outcome = self.outcomes.get((group, series, x))
        return "not run yet" if outcome is None else outcome.note

    def line(self, series: str, measure: str, group: str = "") -> dict[X, float]:
        """All numbers of a series by x."""
        xs = [p.x for p in self.figure.points if p.series == series and p.group == group]
        values = {x: self.value(series, x, measure, group) for x in xs}
        return {x: value for x, value in values.items() if value is not None}

    def expected(self, series: str, group: str = "") -> list[X]:
        """All x of a series, measured or not."""
        return [p.x for p in self.figure.points if p.series == series and p.group == group]

    @property
    def groups(self) -> list[str]:
        return list(dict.fromkeys(point.group for point in self.figure.points))
