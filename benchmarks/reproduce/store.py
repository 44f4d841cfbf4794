"""The kept points: one JSON file per figure, so that runs go on where they ended.

A point is found by its job: the function that measures it, the revisions of function and method,
and the settings. A job that changes is another job. A function that measures otherwise gets another
number in `REVISIONS`, a method whose releases change on purpose one in `METHOD_REVISIONS`; points
with earlier numbers are not used any more. Each point also carries a fingerprint of the sources
that it was made with. It stays valid when these change, because most changes concern other things;
the page says how many points are older than the sources, and ``--renew`` makes them anew. Nothing
of a point depends on the machine but its processor seconds, so a run may go on on another one.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from benchmarks._shared import RESULTS, ROOT
from benchmarks.reproduce.figure import Figure, Found, Job, Outcome

KEPT = RESULTS / "reproduce"
# Raised when a function of `work` measures something else than before.
REVISIONS = {
    "generalize": 1,
    "node_mondrian": 1,
    "random_parts": 1,
    "curve": 1,
    "largest_buckets": 1,
    "fullest_bucket": 1,
    "counts": 1,
    "cube": 1,
    "bayes": 1,
    "sets": 1,
    "walk": 1,
}
# Raised, from 1, when a method gives other releases than before for the same settings.
METHOD_REVISIONS: dict[str, int] = {}
_SOURCES = (
    "assignment",
    "encoding",
    "evaluation",
    "guarantees",
    "kernels",
    "kinds",
    "loss",
    "methods",
    "orderings",
    "queries",
)


def key_of(job: Job) -> str:
    """The text under which a job is kept."""
    of_method = METHOD_REVISIONS.get(str(job.settings.get("method")), 1)
    revision = f"{REVISIONS[job.work]}" + (f".{of_method}" if of_method > 1 else "")
    return f"{revision} {job.key}"


@cache
def fingerprint() -> str:
    """A digest of the sources that decide what a point measures."""
    digest = hashlib.sha256()
    folders = [ROOT / "src" / "mottle" / name for name in _SOURCES]
    files = [Path(__file__).with_name("work.py"), *(p for f in folders for p in f.rglob("*.py"))]
    for path in sorted(files):
        digest.update(path.relative_to(ROOT).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


@dataclass
class Store:
    """All kept points, by job."""

    folder: Path = KEPT
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path = KEPT) -> Store:
        """Read the files of all figures."""
        store = cls(folder)
        for path in sorted(folder.glob("*.json")):
            for point in json.loads(path.read_text("utf-8"))["points"]:
                numbers = point.get("numbers")
                store.outcomes[point["job"]] = Outcome(
                    numbers, point.get("note", ""), point["cost"], point["code"]
                )
        return store

    def outcome(self, job: Job) -> Outcome | None:
        return self.outcomes.get(key_of(job))

    def keep(self, job: Job, outcome: Outcome) -> None:
        self.outcomes[key_of(job)] = outcome

    def write(self, figure: Figure) -> None:
        """Write the points of a figure that are known, all of the file or nothing."""
        points = []
        for point in figure.points:
            outcome = self.outcome(point.job)
            if outcome is not None:
                kept: dict[str, object] = {"series": point.series, "x": point.x}
                if point.group:
                    kept["group"] = point.group
                kept["numbers" if outcome.note == "" else "note"] = (
                    _rounded(outcome.numbers) if outcome.numbers is not None else outcome.note
                )
                kept |= {
                    "cost": round(outcome.cost, 2),
                    "code": outcome.code,
                    "job": key_of(point.job),
                }
                points.append(kept)
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{figure.slug}.json"
        lines = ",\n".join(json.dumps(point, ensure_ascii=False) for point in points)
        text = f'{{"figure": "{figure.id}", "points": [\n{lines}\n]}}\n'
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text(text, encoding="utf-8")
        os.replace(unfinished, path)

    def found(self, figure: Figure) -> Found:
        """What is known of a figure."""
        known = {
            (point.group, point.series, point.x): outcome
            for point in figure.points
            if (outcome := self.outcome(point.job)) is not None
        }
        return Found(figure, known)


def _rounded(numbers: Mapping[str, float]) -> dict[str, float]:
    return {name: float(f"{value:.6g}") for name, value in numbers.items()}


def forget(folder: Path, figures: Iterable[Figure]) -> None:
    """Delete files of figures that no longer exist."""
    known = {f"{figure.slug}.json" for figure in figures}
    for path in folder.glob("*.json"):
        if path.name not in known:
            path.unlink()
