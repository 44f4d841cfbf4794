"""How fuzzed runs ended, by kind, over which version of the code, and what reproduces failures."""

from __future__ import annotations

import fcntl
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass
class Batches:
    """Batches of one part that one process has run."""

    version: str  # of the code, as git describes it
    first: int  # seed of the first batch
    last: int  # seed of the last one
    cases: int


@dataclass
class Failed:
    """A run that ended neither with a valid result nor with a named error."""

    kind: str
    reproduce: str  # part, seed and number
    why: str
    version: str
    again: str = ""  # how the same case ended later, over which version


@dataclass
class Tally:
    """What came out of one part of the fuzzer."""

    ends: Counter[str] = field(default_factory=Counter)  # by what was run and how it ended
    failures: list[Failed] = field(default_factory=list)
    runs: list[Batches] = field(default_factory=list)

    @property
    def cases(self) -> int:
        """The number of cases that have been run."""
        return sum(run.cases for run in self.runs)

    @property
    def next_seed(self) -> int:
        """The seed of the first batch that has not been run."""
        return max((run.last for run in self.runs), default=0) + 1

    def begin(self, version: str, seed: int) -> None:
        """Begin with batches over a version of the code."""
        self.runs.append(Batches(version, seed, seed, 0))

    def add(self, seed: int, kind: str, ended: str) -> None:
        """Count a run: ``kind`` says what was run, ``ended`` how it ended."""
        self.ends[f"{kind}|{ended}"] += 1
        self.runs[-1].last = seed
        self.runs[-1].cases += 1

    def fail(self, seed: int, kind: str, reproduce: str, why: str) -> None:
        """Count a run that failed."""
        self.add(seed, kind, "failure")
        self.failures.append(Failed(kind, reproduce, why, self.runs[-1].version))

    def table(self, name: str) -> tuple[list[str], list[list[str]]]:
        """The header and rows of a table: what was run, and how many runs ended how."""
        kinds = sorted({key.split("|")[0] for key in self.ends})
        columns = sorted({key.split("|")[1] for key in self.ends}, key=_order)
        rows = []
        for kind in kinds:
            found = [self.ends[f"{kind}|{column}"] for column in columns]
            rows.append(
                [kind, f"{sum(found):,}", *(f"{count:,}" if count else "–" for count in found)]
            )
        totals = [sum(self.ends[f"{kind}|{column}"] for kind in kinds) for column in columns]
        rows.append(["all", f"{self.ends.total():,}", *(f"{total:,}" for total in totals)])
        return [name, "runs", *columns], rows


def load(path: Path) -> dict[str, Tally]:
    """The tallies of all parts that a file holds; none if there is no file."""
    if not path.exists():
        return {}
    content = json.loads(path.read_text("utf-8"))
    return {
        name: Tally(
            Counter(part["ends"]),
            [Failed(**failed) for failed in part["failures"]],
            [Batches(**run) for run in part["runs"]],
        )
        for name, part in content.items()
    }


@contextmanager
def changing(path: Path) -> Iterator[dict[str, Tally]]:
    """Yield the tallies of a file and write them back; other processes wait meanwhile."""
    with open(path.with_suffix(".lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        parts = load(path)
        yield parts
        content = {
            name: {
                "ends": part.ends,
                "failures": [asdict(failed) for failed in part.failures],
                "runs": [asdict(run) for run in part.runs],
            }
            for name, part in parts.items()
        }
        text = json.dumps(content, ensure_ascii=False, indent=1)
        new = path.with_suffix(".new")
        new.write_text(text, "utf-8")
        new.replace(path)


def _order(ended: str) -> tuple[int, str]:
    """Valid results first, failures last."""
    return (0 if ended.startswith("valid") else 2 if ended == "failure" else 1, ended)
