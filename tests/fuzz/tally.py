"""How fuzzed runs ended, by kind, and what reproduces those that failed."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Tally:
    """Counts of ends by part of the fuzzer, and failures with what reproduces them."""

    ends: dict[str, Counter[str]] = field(default_factory=dict)
    failures: list[dict[str, str]] = field(default_factory=list)

    def add(self, part: str, kind: str, ended: str) -> None:
        """Count a run: ``kind`` says what was run, ``ended`` how it ended."""
        self.ends.setdefault(part, Counter())[f"{kind}|{ended}"] += 1

    def fail(self, part: str, kind: str, reproduce: str, why: str) -> None:
        """Count a run that ended neither with a valid result nor with a named error."""
        self.add(part, kind, "failure")
        self.failures.append({"part": part, "kind": kind, "reproduce": reproduce, "why": why})

    def merge(self, other: Tally) -> None:
        """Add the counts of another run."""
        for part, counts in other.ends.items():
            self.ends.setdefault(part, Counter()).update(counts)
        self.failures += other.failures

    def save(self, path: Path) -> None:
        """Write the tally as JSON."""
        content = {"ends": self.ends, "failures": self.failures}
        path.write_text(json.dumps(content, ensure_ascii=False, indent=1), "utf-8")

    @classmethod
    def load(cls, path: Path) -> Tally:
        """Read a tally that `save` wrote."""
        content = json.loads(path.read_text("utf-8"))
        ends = {part: Counter(counts) for part, counts in content["ends"].items()}
        return cls(ends, content["failures"])

    def table(self, part: str) -> tuple[list[str], list[list[str]]]:
        """The header and rows of a part: what was run, and how many runs ended how."""
        counts = self.ends[part]
        kinds = sorted({key.split("|")[0] for key in counts})
        columns = sorted({key.split("|")[1] for key in counts}, key=_order)
        rows = []
        for kind in kinds:
            found = [counts[f"{kind}|{column}"] for column in columns]
            rows.append(
                [kind, f"{sum(found):,}", *(f"{count:,}" if count else "–" for count in found)]
            )
        totals = [sum(counts[f"{kind}|{column}"] for kind in kinds) for column in columns]
        rows.append(["all", f"{counts.total():,}", *(f"{total:,}" for total in totals)])
        return [part, "runs", *columns], rows


def _order(ended: str) -> tuple[int, str]:
    """Valid results first, failures last."""
    return (0 if ended.startswith("valid") else 2 if ended == "failure" else 1, ended)
