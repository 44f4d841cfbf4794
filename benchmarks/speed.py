"""Speed of the command line beside the limit that DuckDB sets, by processor time.

    python benchmarks/speed.py [end_to_end] [--rows 30000,295243] [--runs 3]

``end_to_end`` starts the program, anonymizes tables by ``nh`` with k = 10, report included, and
compares with DuckDB reading, sorting, shuffling and writing the same rows as Parquet and as CSV:
in turns, so that both meet the same machine. Sizes up to 295,243 are rows of census_acs, larger
ones generated people.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
from _shared import ROOT, markdown_table, report, require_data
from _speed_parts import PARTS, REST

import mottle

K = 10
MOTTLE = [sys.executable, "-m", "mottle"]
PARTS_OF = [sys.executable, str(ROOT / "benchmarks" / "_speed_parts.py")]
CENSUS = 295_243
PEOPLE = "age,sex,education,marital_status,origin,workclass,occupation"
LIMIT = """
import duckdb, sys
data, folder, columns = sys.argv[1:]
duckdb.sql(f"create table rows as select * from read_parquet('{data}') order by {columns}")
duckdb.sql("create table shuffled as select * from rows order by hash(rowid)")
duckdb.sql(f"copy shuffled to '{folder}/rows.parquet' (compression zstd)")
duckdb.sql(f"copy shuffled to '{folder}/rows.csv'")
"""
STARTS = {
    "`python -c 'import typer, rich'`": [sys.executable, "-c", "import typer, rich"],
    "`mottle --version`": [*MOTTLE, "--version"],
    "`mottle anonymize --help`": [*MOTTLE, "anonymize", "--help"],
    "`python -c 'import mottle; mottle.anonymize'`": [
        *(sys.executable, "-c", "import mottle; mottle.anonymize")
    ],
}


@dataclass(frozen=True)
class Used:
    """What a process and those it started have used."""

    processor: float  # seconds, user and system
    wall: float  # seconds
    megabytes: float  # peak of resident memory


def used_by(command: Sequence[str]) -> Used:
    began = time.perf_counter()
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    if status != 0:
        sys.exit(f"{' '.join(command)} failed")
    return Used(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024)


def median(runs: Sequence[Used]) -> Used:
    return Used(
        statistics.median(run.processor for run in runs),
        statistics.median(run.wall for run in runs),
        max(run.megabytes for run in runs),
    )


def in_turns(commands: Sequence[Sequence[str]], runs: int) -> list[Used]:
    """The medians of several runs of each command, one after the other in every turn."""
    turns = [[used_by(command) for command in commands] for _ in range(runs)]
    return [median(of_command) for of_command in zip(*turns, strict=True)]


@dataclass(frozen=True)
class Data:
    """A table to anonymize."""

    rows: int
    path: Path
    columns: str  # its quasi-identifiers
    options: tuple[str, ...]

    @classmethod
    def of(cls, rows: int, folder: Path) -> Data:
        path = folder / f"rows-{rows}.parquet"
        if rows <= CENSUS:
            table = pq.read_table(require_data("census_acs.parquet")).slice(0, rows)
            names = ",".join(table.column_names)
            pq.write_table(table, path)
            return cls(rows, path, names, ("--qi", names))
        with pq.ParquetWriter(path, mottle.datasets.population(1).schema) as writer:
            for first in range(0, rows, 1_000_000):
                part = min(rows - first, 1_000_000)
                writer.write_table(mottle.datasets.population(part, seed=first))
        others = ("--id", "person_id", "--rest", "insensitive")
        return cls(rows, path, PEOPLE, ("--qi", PEOPLE, *others))

    def anonymized(self, folder: Path) -> list[str]:
        method = ["--k", str(K), "--method", "nh", "--overwrite", "--another-draw"]
        return ["anonymize", str(self.path), *self.options, *method, "-o", str(folder / "out")]


def end_to_end(sizes: Sequence[int], runs: int) -> None:
    lines, parts = [], {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        starts = in_turns(list(STARTS.values()), max(runs, 3))
        for rows in sizes:
            data = Data.of(rows, folder)
            ours = data.anonymized(folder)
            limit = [sys.executable, "-c", LIMIT, str(data.path), name, data.columns]
            if not lines:
                used_by([*MOTTLE, *ours])  # compiles what is not yet in the cache
            parts[rows] = measured_parts(ours)
            release, rewritten = in_turns([[*MOTTLE, *ours], limit], runs)
            lines.append(
                [
                    f"{rows:,}",
                    *(f"{used:.2f}" for used in (release.processor, rewritten.processor)),
                    f"{release.processor / rewritten.processor:.1f}",
                    *(f"{used:.2f}" for used in (release.wall, rewritten.wall)),
                    f"{release.wall / rewritten.wall:.1f}",
                    *(f"{used:,.0f}" for used in (release.megabytes, rewritten.megabytes)),
                ]
            )
            data.path.unlink()
    first = starts[0].processor
    sized = [f"{rows:,} rows" for rows in sizes]
    report(
        "speed",
        f"Speed: nh, k = {K}, report included, beside DuckDB's limit",
        [
            "DuckDB reads, sorts, shuffles and writes the same rows as Parquet and CSV, in turns"
            f" with mottle; medians of {runs} runs of whole processes. Processor time is that of"
            " user and system; times are in seconds. Wall-clock times mean little on a machine"
            " that does other work.",
            markdown_table(
                [
                    *("rows", "processor, mottle", "processor, DuckDB", "ratio"),
                    *("wall, mottle", "wall, DuckDB", "ratio of wall"),
                    *("peak MB, mottle", "peak MB, DuckDB"),
                ],
                lines,
            ),
            "Processor time of the parts of a run, in one process; checksums are taken while the"
            " files are written.",
            markdown_table(
                ["part", *sized],
                [
                    [part, *(f"{parts[rows].get(part, 0.0):.2f}" for rows in sizes)]
                    for part in (*PARTS, REST)
                ],
            ),
            f"Start-up, medians of {max(runs, 3)} runs:",
            markdown_table(
                ["command", "processor ms", "times the first"],
                [
                    [command, f"{1000 * used.processor:.0f}", f"{used.processor / first:.2f}"]
                    for command, used in zip(STARTS, starts, strict=True)
                ],
            ),
        ],
        f"speed.py end_to_end --rows {','.join(map(str, sizes))} --runs {runs}",
    )


def measured_parts(arguments: Sequence[str]) -> dict[str, float]:
    done = subprocess.run(
        [*PARTS_OF, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{' '.join(arguments)} failed: {done.stderr}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", choices=["end_to_end"], default="end_to_end")
    parser.add_argument("--rows", default=f"30000,{CENSUS},2000000")
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    end_to_end([int(rows) for rows in asked.rows.split(",")], asked.runs)


if __name__ == "__main__":
    main()
