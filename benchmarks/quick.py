"""Ten quick benchmarks that say whether anything has become slower than what was last kept.

    python benchmarks/quick.py [--keep] [--only NAME …]

Every benchmark is measured in turns with DuckDB's limit, which reads, sorts, shuffles and writes
the same rows, in processor time: what is compared is the ratio of both, so that results of
different machines, and of machines that do other work, can be compared. ``--keep`` makes the ratios
those that later runs are compared with (``benchmarks/results/quick.json``). Without it the command
fails if a ratio is a quarter above the kept one, three times in a row.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

import duckdb
import pyarrow.csv
import pyarrow.parquet as pq
from _shared import RESULTS, markdown_table, report

import mottle

KEPT = RESULTS / "quick.json"
ALLOWED = 1.25  # times the kept ratio
TRIES = 3  # so often a benchmark has to be worse
TURNS = 3
ROWS, FEW_ROWS = 30_000, 3_000
QUASI_IDENTIFIERS = ["age", "sex", "education", "marital_status", "origin", "workclass"]
SENSITIVE = "diagnosis"
UNCOMPILED = "PYTHONDONTWRITEBYTECODE"  # makes every start compile its modules


@dataclass(frozen=True)
class Compared:
    """A benchmark beside its kept ratio."""

    name: str
    ratio: float  # processor time over that of the limit
    kept: float | None  # None for a benchmark that is new

    @property
    def times(self) -> float | None:
        """How many times the kept ratio it is."""
        return None if self.kept is None else self.ratio / self.kept

    @property
    def worse(self) -> bool:
        """Whether it is slower than is allowed."""
        return self.times is not None and self.times > ALLOWED


def compared(
    names: Sequence[str], kept: Mapping[str, float], measure: Callable[[str], float]
) -> list[Compared]:
    """Measure the benchmarks; one that seems slower is measured again, and the best counts.

    Other work on a machine makes a benchmark slower and never quicker, so the smallest of several
    ratios is the closest one.
    """
    found = []
    for name in names:
        one = Compared(name, measure(name), kept.get(name))
        for _ in range(TRIES - 1):
            if one.worse:
                one = Compared(name, min(one.ratio, measure(name)), one.kept)
        found.append(one)
    return found


class Benchmarks:
    """What is measured, on generated people."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.people = mottle.datasets.population(ROWS, seed=1)
        self.few = self.people.slice(0, FEW_ROWS)
        self.parquet, self.csv = folder / "people.parquet", folder / "people.csv"
        pq.write_table(self.people, self.parquet)
        pyarrow.csv.write_csv(self.people, self.csv)
        names = ", ".join(QUASI_IDENTIFIERS)
        self.steps = [
            f"create or replace table rows as select * from '{self.parquet}' order by {names}",
            "create or replace table shuffled as select * from rows order by hash(rowid)",
            f"copy shuffled to '{folder}/rows.parquet' (compression zstd)",
            f"copy shuffled to '{folder}/rows.csv'",
        ]

    @property
    def schema(self) -> mottle.Schema:
        """Roles of the columns."""
        return mottle.Schema.of(
            quasi_identifying=QUASI_IDENTIFIERS, identifying=["person_id"], rest="insensitive"
        )

    @cached_property
    def release(self) -> mottle.Release:
        """A release to save, describe and query."""
        return self._anonymized("nh", ROWS)

    def limit(self) -> None:
        """Read, sort, shuffle and write the rows with DuckDB."""
        with duckdb.connect() as database:
            for step in self.steps:
                database.execute(step)

    def _anonymized(self, method: str, rows: int, k: int = 10) -> mottle.Release:
        return mottle.anonymize(
            self.people.slice(0, rows),
            schema=self.schema,
            guarantee=mottle.KAnonymity(k),
            method=method,
            effort=0,
            seed=1,
        )

    def _diverse(self) -> None:
        schema = mottle.Schema.of(
            quasi_identifying=QUASI_IDENTIFIERS,
            identifying=["person_id"],
            sensitive=[SENSITIVE],
            rest="insensitive",
        )
        guarantee = mottle.LDiversity(2)
        mottle.anonymize(
            self.few, schema=schema, guarantee=guarantee, method="buckets", effort=0, seed=1
        )

    def _saved(self, *, with_report: bool) -> None:
        self.release.save(
            self.folder / "release", overwrite=True, another_draw=True, report=with_report
        )

    def _queried(self) -> None:
        queries = mottle.Release(
            self.release.stored, self.release.columns, self.release.certificate
        )
        for age in range(20, 70):
            queries.count({"age": (age, age + 9), "sex": "female"})

    @property
    def all(self) -> dict[str, Callable[[], object]]:
        """The benchmarks by name."""
        python = [sys.executable, "-m", "mottle"]
        compiled = {"PYTHONPYCACHEPREFIX": str(self.folder / "compiled")}  # as after installing
        return {
            "start": lambda: _run([*python, "--version"], compiled),
            "help of a command": lambda: _run([*python, "anonymize", "--help"], compiled),
            "read CSV": lambda: mottle.read_table(self.csv),
            "nh": lambda: self._anonymized("nh", ROWS),
            "hilbert": lambda: self._anonymized("hilbert", ROWS),
            "freeform": lambda: self._anonymized("freeform", FEW_ROWS),
            "freeform, k = 50": lambda: self._anonymized("freeform", FEW_ROWS, 50),
            "buckets": self._diverse,
            "save with report": lambda: self._saved(with_report=True),
            "queries": self._queried,
        }

    def ratio(self, name: str) -> float:
        """The median time of a benchmark over that of the limit, measured in turns."""
        function = self.all[name]
        function()  # what is compiled or imported at first is no part of it
        self.limit()
        turns = [(processor_seconds(function), processor_seconds(self.limit)) for _ in range(TURNS)]
        own, limit = (statistics.median(times) for times in zip(*turns, strict=True))
        return own / limit


def _run(command: Sequence[str], variables: Mapping[str, str] | None = None) -> None:
    environment = {name: text for name, text in os.environ.items() if name != UNCOMPILED}
    subprocess.run(
        command, check=True, stdout=subprocess.DEVNULL, env=environment | dict(variables or {})
    )


def processor_seconds(function: Callable[[], object]) -> float:
    """User and system time of a call, in this process and in those it starts."""

    def used() -> float:
        children = getrusage(RUSAGE_CHILDREN)
        return time.process_time() + children.ru_utime + children.ru_stime

    before = used()
    function()
    return used() - before


def _kept() -> dict[str, float]:
    return json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}


def main() -> None:
    """Measure, print, and keep or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--only", nargs="+", metavar="NAME")
    asked = parser.parse_args()
    logging.getLogger("mottle").setLevel(logging.ERROR)  # what tables give away is not asked here
    with tempfile.TemporaryDirectory() as folder:
        benchmarks = Benchmarks(Path(folder))
        names = asked.only or list(benchmarks.all)
        found = compared(names, {} if asked.keep else _kept(), benchmarks.ratio)
    if asked.keep:
        ratios = _kept() | {one.name: round(one.ratio, 4) for one in found}
        KEPT.write_text(json.dumps(ratios, indent=1) + "\n", encoding="utf-8")
        report(
            "quick",
            f"Quick benchmarks: processor time over that of DuckDB's limit, {ROWS:,} people",
            [
                f"Medians of {TURNS} turns. `make bench-quick` fails if a ratio is {ALLOWED} times"
                " the one that is kept here.",
                markdown_table(
                    ["benchmark", "times DuckDB's limit"],
                    [[name, f"{ratio:.3g}"] for name, ratio in ratios.items()],
                ),
            ],
            "quick.py --keep",
        )
        return
    table = markdown_table(
        ["benchmark", "times DuckDB's limit", "kept", "times the kept ratio"],
        [
            [
                one.name,
                f"{one.ratio:.3g}",
                "" if one.kept is None else f"{one.kept:.3g}",
                "" if one.times is None else f"{one.times:.2f}",
            ]
            for one in found
        ],
    )
    print(table)
    worse = [one.name for one in found if one.worse]
    if worse:
        sys.exit(f"Slower than {ALLOWED} times what was kept: {', '.join(worse)}")


if __name__ == "__main__":
    main()
