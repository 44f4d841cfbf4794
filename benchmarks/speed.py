"""Speed of the command line beside the limit that DuckDB sets, by processor time.

    python benchmarks/speed.py [end_to_end|first_run …] [--rows 30000,295243] [--runs 3]

``end_to_end`` starts the program, anonymizes tables by ``nh`` with k = 10, report included, and
compares with DuckDB reading, sorting, shuffling and writing the same rows as Parquet and as CSV:
in turns, so that both meet the same machine. Sizes up to 295,243 are rows of census_acs, larger
ones generated people. ``first_run`` lists what an empty cache of kernels costs, kernel by kernel.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
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
FIRST_RUNS = {  # what is anonymized from an empty cache of kernels
    "nh": ["--k", "5", "--method", "nh"],
    "freeform": ["--k", "5", "--method", "freeform", "--seconds", "1"],
    "buckets": ["--sensitive", "diagnosis", "--l", "2", "--method", "buckets", "--seconds", "1"],
}


@dataclass(frozen=True)
class Used:
    """What a process and those it started have used."""

    processor: float  # seconds, user and system
    wall: float  # seconds
    megabytes: float  # peak of resident memory


def used_by(command: Sequence[str], **environment: str) -> Used:
    began = time.perf_counter()
    process = subprocess.Popen(
        command,
        env={**os.environ, **environment},
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
            parts[rows] = measured_parts("parts", ours)
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


def measured_parts(wanted: str, arguments: Sequence[str], **environment: str) -> dict[str, float]:
    done = subprocess.run(
        [*PARTS_OF, wanted, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{' '.join(arguments)} failed: {done.stderr}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def first_run() -> None:
    """What Numba compiles for each method from an empty cache, and a second run with that cache."""
    lines, kernels = [], []
    with tempfile.TemporaryDirectory() as name:
        data = Path(name, "people.parquet")
        pq.write_table(mottle.datasets.population(3000, seed=1), data)
        columns = ["--qi", PEOPLE, "--id", "person_id", "--rest", "insensitive"]
        for method, options in FIRST_RUNS.items():
            cache = Path(name, f"cache-{method}")
            written = ["-o", str(Path(name, "out")), "--overwrite", "--another-draw"]
            run = ["anonymize", str(data), *columns, *options, *written]
            found = measured_parts("kernels", run, NUMBA_CACHE_DIR=str(cache))
            again = measured_parts("kernels", run, NUMBA_CACHE_DIR=str(cache))
            compiled = {each: took for each, took in found.items() if each != REST}
            by_kernel: dict[str, list[float]] = {}
            for each, took in compiled.items():
                by_kernel.setdefault(each.partition("\t")[0], []).append(took)
            spent = sum(compiled.values())
            several = sum(len(each) > 1 for each in by_kernel.values())
            lines.append(
                [
                    *(method, len(by_kernel), len(compiled), several, f"{spent:.1f}"),
                    *(f"{found[REST]:.1f}", f"{sum(again.values()):.1f}"),
                ]
            )
            by_cost = sorted(by_kernel, key=lambda each: -sum(by_kernel[each]))
            kernels += [
                [
                    *(method, f"`{each}`", len(by_kernel[each])),
                    *(f"{sum(by_kernel[each]):.2f}", f"{sum(by_kernel[each]) / spent:.0%}"),
                ]
                for each in by_cost[:12]
            ]
            shutil.rmtree(cache)
    report(
        "speed-first-run",
        "The first run: what Numba compiles from an empty cache",
        [
            "Processor seconds of one process with 3,000 generated people. Kernels that a kernel"
            " calls are counted by themselves where Numba compiles them by themselves, and with"
            " their caller where they are inlined.",
            markdown_table(
                [
                    *("method", "kernels", "signatures", "kernels with several"),
                    *("compiling", "all else", "second run"),
                ],
                lines,
            ),
            "The twelve kernels of each method that cost most:",
            markdown_table(["method", "kernel", "signatures", "seconds", "share"], kernels),
        ],
        "speed.py first_run",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help="end_to_end, first_run; both if none is named")
    parser.add_argument("--rows", default=f"30000,{CENSUS},2000000")
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    for part in asked.parts or ["end_to_end", "first_run"]:
        if part == "first_run":
            first_run()
        elif part == "end_to_end":
            end_to_end([int(rows) for rows in asked.rows.split(",")], asked.runs)
        else:
            parser.error(f"there is no part {part}")


if __name__ == "__main__":
    main()
