"""What the benchmark of speed measures: processes, tables to anonymize, and figures that are kept.

Processes find compiled Python in a folder of the benchmark, as they would after an installation:
otherwise start-up would depend on whether the checkout may be written to.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _shared import RESULTS, ROOT, require_data

import mottle

K = 10
MOTTLE = [sys.executable, "-m", "mottle"]
CENSUS = 295_243
PEOPLE = "age,sex,education,marital_status,origin,workclass,occupation"
PLACE = Path(tempfile.gettempdir()) / "mottle-speed"
TICKS = os.sysconf("SC_CLK_TCK")
LIMIT = """
import duckdb, sys
data, folder, columns, *memory = sys.argv[1:]
if memory:
    duckdb.sql(f"set memory_limit='{memory[0]}'")
    duckdb.sql(f"set temp_directory='{folder}/spill'")
duckdb.sql(f"create table rows as select * from read_parquet('{data}') order by {columns}")
duckdb.sql("create table shuffled as select * from rows order by hash(rowid)")
duckdb.sql(f"copy shuffled to '{folder}/rows.parquet' (compression zstd)")
duckdb.sql(f"copy shuffled to '{folder}/rows.csv'")
"""


@dataclass(frozen=True)
class Used:
    """What a process and those it started have used."""

    processor: float  # seconds, user and system
    wall: float  # seconds
    megabytes: float  # peak of resident memory of the largest process


def used_by(command: Sequence[str], variables: Mapping[str, str] | None = None) -> Used:
    """Run a command and the processes it starts, also those that nobody waits for."""
    began = time.perf_counter()
    environment = {name: text for name, text in os.environ.items() if name not in _NOT_INHERITED}
    environment |= {"PYTHONPYCACHEPREFIX": str(PLACE / "pyc"), "SPARK_LOCAL_IP": "127.0.0.1"}
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment | dict(variables or {}),
    )
    seen: dict[int, float] = {}  # by process: the seconds that it has used
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.2):
            seen.update(_seconds_of_descendants(process.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - began
    done.set()
    watcher.join()
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed")
    waited_for = usage.ru_utime + usage.ru_stime
    return Used(max(waited_for, sum(seen.values())), wall, usage.ru_maxrss / 1024)


_NOT_INHERITED = ("PYTHONDONTWRITEBYTECODE",)


def _seconds_of_descendants(root: int) -> dict[int, float]:
    """The processor seconds of a process and all its descendants, by process."""
    children: dict[int, list[int]] = {}
    seconds: dict[int, float] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                status = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            children.setdefault(int(status[1]), []).append(int(entry.name))
            seconds[int(entry.name)] = (int(status[11]) + int(status[12])) / TICKS
    found, waiting = {}, [root]
    while waiting:
        process = waiting.pop()
        found[process] = seconds.get(process, 0.0)
        waiting += children.get(process, [])
    return found


def median(runs: Sequence[Used]) -> Used:
    """The medians of times, and the largest memory."""
    return Used(
        statistics.median(run.processor for run in runs),
        statistics.median(run.wall for run in runs),
        max(run.megabytes for run in runs),
    )


def in_turns(commands: Sequence[Sequence[str]], runs: int) -> list[Used]:
    """The medians of several runs of each command, one after the other in every turn."""
    turns = [[used_by(command) for command in commands] for _ in range(runs)]
    return [median(of_command) for of_command in zip(*turns, strict=True)]


class Kept:
    """Figures by part and case, kept as soon as they are measured, so that a run can go on."""

    def __init__(self, path: Path = RESULTS / "speed.json", *, again: bool = False) -> None:
        self._path = path
        self._again = again
        self._all: dict[str, Any] = {}
        if path.exists():
            self._all = json.loads(path.read_text(encoding="utf-8"))
        self._version = version()

    def measured(
        self, part: str, case: object, measure: Callable[..., Any], *arguments: object
    ) -> Any:
        """What is kept of this version of the code, or else is measured now."""
        name = f"{part}: {case}"
        known = self._all.get(name)
        if known is not None and known["version"] == self._version and not self._again:
            return known["figures"]
        figures = measure(*arguments)
        self._all[name] = {"version": self._version, "figures": figures}
        text = json.dumps(self._all, indent=1, sort_keys=True)
        self._path.write_text(text + "\n", encoding="utf-8")
        return figures


def version() -> str:
    """The version of the sources in git, and whether files differ from it."""

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
        )
        return done.stdout.strip()

    changed = "+" if git("status", "--porcelain", "--", "src") else ""
    return git("rev-parse", "--short", "HEAD:src") + changed


@dataclass(frozen=True)
class Data:
    """A table to anonymize."""

    rows: int
    path: Path
    columns: str  # its quasi-identifiers
    options: tuple[str, ...]

    @classmethod
    def of(cls, rows: int, folder: Path) -> Data:
        """The first rows of the census, or people if it has not so many."""
        path = folder / f"rows-{rows}.parquet"
        if rows <= CENSUS:
            table = pq.read_table(require_data("census_acs.parquet")).slice(0, rows)
            names = ",".join(table.column_names)
            pq.write_table(table, path)
            return cls(rows, path, names, ("--qi", names))
        if not path.exists():
            partial = path.with_suffix(".partial")
            with pq.ParquetWriter(partial, mottle.datasets.population(1).schema) as writer:
                for first in range(0, rows, 1_000_000):
                    part = min(rows - first, 1_000_000)
                    writer.write_table(mottle.datasets.population(part, seed=first))
            partial.rename(path)
        # every million people have the same numbers
        others = ("--id", "person_id", "--rest", "insensitive", "--unit", "row")
        return cls(rows, path, PEOPLE, ("--qi", PEOPLE, *others))

    def anonymized(self, folder: Path, *options: str) -> list[str]:
        """The arguments that anonymize it by ``nh``."""
        method = ["--k", str(K), "--method", "nh", "--overwrite", "--another-draw", *options]
        return ["anonymize", str(self.path), *self.options, *method, "-o", str(folder / "out")]

    def limit(self, folder: Path, *memory: str) -> list[str]:
        """The command that only reads, sorts, shuffles and writes, in a given memory if any."""
        return [sys.executable, "-c", LIMIT, str(self.path), str(folder), self.columns, *memory]


def odd_tables() -> dict[str, tuple[pa.Table, list[str]]]:
    """Tables in which something is unusually large, and the options to anonymize them."""
    random = np.random.default_rng(1)
    base = mottle.datasets.population(20_000, seed=1).select(PEOPLE.split(","))
    names = PEOPLE
    wide = pa.table({f"column{i}": random.integers(0, 20, 20_000) for i in range(100)})
    many = pa.table(
        {
            "number": random.permutation(1_000_000),
            "age": random.integers(18, 90, 1_000_000),
            "sex": random.choice(["f", "m"], 1_000_000),
        }
    )
    diverse = base.append_column("value", pa.array(random.integers(0, 50_000, 20_000)))
    twice = pa.concat_tables([diverse] * 5)
    nh = ("--method", "nh")
    return {
        "7 quasi-identifiers, 20,000 rows": (base, ["--qi", names, "--k", "10", *nh]),
        "100 quasi-identifiers, 20,000 rows": (
            wide,
            ["--qi", ",".join(wide.column_names), "--k", "10", *nh],
        ),
        "100 quasi-identifiers, 20,000 rows, freeform": (
            wide,
            [
                *("--qi", ",".join(wide.column_names), "--k", "10"),
                *("--method", "freeform", "--seconds", "0"),
            ],
        ),
        "a column with 1,000,000 values, 1,000,000 rows": (
            many,
            ["--qi", "number,age,sex", "--k", "10", *nh],
        ),
        "k = 5,000, 20,000 rows": (base, ["--qi", names, "--k", "5000", *nh]),
        "k = 5,000, 20,000 rows, freeform": (
            base,
            ["--qi", names, "--k", "5000", "--method", "freeform", "--seconds", "0"],
        ),
        "50,000 sensitive values, 100,000 rows, nh": (
            twice,
            ["--qi", names, "--sensitive", "value", "--l", "5", *nh],
        ),
        "50,000 sensitive values, 100,000 rows, buckets": (
            twice,
            ["--qi", names, "--sensitive", "value", "--l", "5", "--method", "buckets"],
        ),
    }
