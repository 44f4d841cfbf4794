"""Speed from the first run to the largest table, by processor time and beside other programs.

    python benchmarks/speed.py [PART …] [--rows 30000,295243,2000000] [--runs 3] [--methods nh]
                               [--again]

Without a part all are measured: ``end_to_end`` (the command line beside DuckDB, which reads,
sorts, shuffles and writes the same rows; sizes up to 295,243 are rows of census_acs, larger ones
generated people), ``first_run`` (from an empty cache of kernels), ``compiling`` (which kernels take
how long to compile, by level of optimization), ``streaming`` (20 million rows
beside DuckDB), ``cores`` (one and two threads, and the serial share), ``passes`` (of freeform's
refinement, by rows and k), ``freeform`` (loss and time on ADULT), ``odd`` (wide tables, many
values, large k), ``tools`` (other tools on the same rows) and ``spark``. Figures are kept in
``benchmarks/results/speed.json`` as soon as they are measured: the same command goes on where it
was stopped, unless the sources have changed or ``--again`` is given.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from _shared import ROOT, markdown_table, report, require_data
from _speed_cores import cores
from _speed_parts import PARTS, REST
from _speed_passes import passes
from _speed_runs import CENSUS, MOTTLE, PLACE, Data, K, Kept, Used, in_turns, odd_tables, used_by
from _speed_tools import arranged, tools

import mottle

PARTS_OF = [sys.executable, str(ROOT / "benchmarks" / "_speed_parts.py")]
LARGE = 20_000_000
MEMORY = "2GB"
STARTS = {
    "`python -c 'import typer, rich'`": [sys.executable, "-c", "import typer, rich"],
    "`mottle --version`": [*MOTTLE, "--version"],
    "`mottle anonymize --help`": [*MOTTLE, "anonymize", "--help"],
    "`python -c 'import mottle; mottle.anonymize'`": [
        *(sys.executable, "-c", "import mottle; mottle.anonymize")
    ],
}
ADULT_QI = ["age", "sex", "race", "marital-status", "education", "native-country", "workclass"]
# The GCP that freeform reaches while refining pays, and half of the seconds that it took to.
FREEFORM = {5: (0.0081, 1.3), 10: (0.0168, 2.15), 20: (0.0309, 4.2), 50: (0.0632, 12.5)}
FIRST_RUN = {"nh": 8.0, "freeform": 12.0, "buckets": 12.0}  # most seconds on two free cores
CASES = {
    "nh": ("--k", "5", "--method", "nh"),
    "freeform": ("--k", "5", "--method", "freeform", "--seconds", "0"),
    "buckets": ("--sensitive", "diagnosis", "--l", "2", "--method", "buckets", "--seconds", "0"),
}

NAMES = (
    *("end_to_end", "first_run", "compiling", "cores", "passes", "freeform", "odd"),
    *("tools", "streaming", "spark"),
)


def end_to_end(kept: Kept, sizes: Sequence[int], runs: int) -> None:
    """Whole processes beside DuckDB, their parts, and start-up."""
    lines, parts = [], {}
    starts = kept.measured("starts", runs, _starts, runs)
    for rows in sizes:
        found = kept.measured("end_to_end", f"{rows}, {runs} runs", _sized, rows, runs)
        release, rewritten = (Used(**used) for used in found["used"])
        parts[rows] = found["parts"]
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
    first = starts[0]["processor"]
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
            f"Start-up, medians of {runs} runs:",
            markdown_table(
                ["command", "processor ms", "times the first"],
                [
                    [command, f"{1000 * used['processor']:.0f}", f"{used['processor'] / first:.2f}"]
                    for command, used in zip(STARTS, starts, strict=True)
                ],
            ),
        ],
        f"speed.py end_to_end --rows {','.join(map(str, sizes))} --runs {runs}",
    )


def _sized(rows: int, runs: int) -> dict[str, Any]:
    """One size: both programs, and the parts of ours."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = Data.of(rows, folder)
        ours = data.anonymized(folder)
        used_by([*MOTTLE, *ours])  # compiles what is not yet in the cache
        done = subprocess.run([*PARTS_OF, *ours], capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(ours)} failed: {done.stderr}")
        used = in_turns([[*MOTTLE, *ours], data.limit(folder)], runs)
        return {"used": _dicts(used), "parts": json.loads(done.stdout.splitlines()[-1])}


def _starts(runs: int) -> list[dict[str, float]]:
    for command in STARTS.values():  # what is not yet compiled to bytecode
        used_by(command)
    return _dicts(in_turns([*STARTS.values()], runs))


def _dicts(runs: Sequence[Used]) -> list[dict[str, float]]:
    return [dataclasses.asdict(used) for used in runs]


def first_run(kept: Kept, methods: Sequence[str]) -> None:
    """A first run, which compiles, beside a second one."""
    lines = []
    for name in methods:
        options = CASES[name]
        first, again = (Used(**used) for used in kept.measured("first_run", name, _first, options))
        lines.append(
            [
                name,
                *(f"{used:.1f}" for used in (first.wall, FIRST_RUN[name], first.processor)),
                *(f"{used:.1f}" for used in (again.wall, again.processor)),
                f"{first.processor - again.processor:.1f}",
            ]
        )
    report(
        "speed-first-run",
        "The first run from an empty cache of kernels: 1,000 people, report included",
        [
            "Seconds of whole processes, processor time with that of those that compile. The"
            " targets are those of wall-clock time on two cores that do nothing else.",
            markdown_table(
                [
                    *("method", "first run, wall", "target", "first run, processor"),
                    *("second run, wall", "second run, processor", "compiling, processor"),
                ],
                lines,
            ),
        ],
        f"speed.py first_run --methods {','.join(methods)}",
    )


def _first(options: Sequence[str]) -> list[dict[str, float]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pq.write_table(mottle.datasets.population(1000, seed=1), folder / "people.parquet")
        command = [*MOTTLE, "anonymize", str(folder / "people.parquet"), "-o", str(folder / "out")]
        command += ["--qi", "age,sex,education", "--id", "person_id", "--rest", "insensitive"]
        command += [*options, "--seed", "1", "--overwrite"]
        kernels = {"NUMBA_CACHE_DIR": str(folder / "kernels")}
        return _dicts([used_by(command, kernels) for _ in range(2)])


def compiling(kept: Kept, methods: Sequence[str]) -> None:
    """Where the time of compiling goes, and what levels of optimization are worth."""
    lines, largest = [], []
    for method in methods:
        for level, collections in (("3", "few"), ("1", "few"), ("0", "few"), ("3", "many")):
            case = f"{method}, {level}, {collections}"
            found = kept.measured("compiling", case, _compiled, method, level, collections)
            lines.append(
                [
                    *(method, level, collections, str(len(found["kernels"]))),
                    *(f"{found[part]:.1f}" for part in ("compiling", "work")),
                ]
            )
            if level == "3" and collections == "few":
                largest += [
                    [method, f"`{kernel}`", f"{seconds:.2f}"]
                    for kernel, seconds in found["kernels"][:10]
                ]
    report(
        "speed-compiling",
        "Compiling: processor seconds by level of optimization and by kernel",
        [
            "From an empty cache, one thread; the work is that of 20,000 people afterwards, not"
            " refined. Numba's default is level 3. Collections of garbage are few as in the command"
            " line, or as many as Python makes by itself.",
            markdown_table(
                [
                    *("method", "level", "collections", "kernels"),
                    *("compiling, processor s", "work, processor s"),
                ],
                lines,
            ),
            "The ten kernels of each method that take longest, without those that they call:",
            markdown_table(["method", "kernel", "processor s"], largest),
        ],
        f"speed.py compiling --methods {','.join(methods)}",
    )


def _compiled(method: str, level: str, collections: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "_speed_compile.py"), method, collections],
        env=os.environ | {"NUMBA_OPT": level},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def streaming(kept: Kept, rows: int = LARGE) -> None:
    """A table that is streamed, beside DuckDB."""

    def measure() -> list[dict[str, float]]:
        data = Data.of(rows, PLACE)
        ours = [*MOTTLE, *data.anonymized(PLACE, "--memory", MEMORY)]
        found = _dicts(in_turns([ours, data.limit(PLACE, MEMORY)], 1))
        for name in ("rows.parquet", "rows.csv"):  # of DuckDB: Spark needs the space
            (PLACE / name).unlink(missing_ok=True)
        shutil.rmtree(PLACE / "out", ignore_errors=True)
        return found

    ours, limit = (Used(**used) for used in kept.measured("streaming", rows, measure))
    report(
        "speed-streaming",
        f"Streaming {rows:,} rows: nh, k = {K}, {MEMORY}, report included, beside DuckDB's limit",
        [
            markdown_table(
                ["program", "processor s", "wall s", "peak MB", "rows / processor s"],
                [
                    [
                        program,
                        *(f"{figure:,.0f}" for figure in (used.processor, used.wall)),
                        *(f"{used.megabytes:,.0f}", f"{rows / used.processor:,.0f}"),
                    ]
                    for program, used in (("mottle", ours), ("DuckDB", limit))
                ],
            ),
            f"DuckDB has a memory limit of {MEMORY} as well, and spills to disk. Ratio of"
            f" processor time {ours.processor / limit.processor:.1f}, of wall-clock time"
            f" {ours.wall / limit.wall:.1f}.",
        ],
        "speed.py streaming",
    )


def freeform(kept: Kept) -> None:
    """Loss and time of freeform on ADULT, and of 3,000 rows at k = 50 beside hungarian."""
    table = pq.read_table(require_data("adult_arx.parquet")).select(ADULT_QI)
    lines = []
    for k, (loss, seconds) in FREEFORM.items():
        found = kept.measured("freeform", f"k = {k}", arranged, table, k, "freeform")
        lines.append(
            [
                str(k),
                *(f"{found['gcp']:.4f}", f"{loss:.4f}", f"{found['processor']:.1f}"),
                *(f"{found['seconds']:.1f}", f"{seconds:.2f}"),
            ]
        )
    few = table.slice(0, 3000)
    small = {
        method: kept.measured("freeform", f"3,000, {method}", arranged, few, 50, method)
        for method in ("freeform", "hungarian")
    }
    report(
        "speed-freeform",
        "Freeform on ADULT: loss and seconds of arranging, refined while it pays",
        [
            "Seconds are those of the clock, with their targets on two cores that do nothing else;"
            " processor seconds are those of all threads.",
            markdown_table(
                ["k", "GCP", "GCP, target", "processor s", "seconds", "seconds, target"], lines
            ),
            "The first 3,000 rows, k = 50:",
            markdown_table(
                ["method", "GCP of 3,000 rows", "processor s", "seconds"],
                [
                    [method, *(f"{found[name]:.4g}" for name in ("gcp", "processor", "seconds"))]
                    for method, found in small.items()
                ],
            ),
        ],
        "speed.py freeform",
    )


def odd(kept: Kept) -> None:
    """Wide tables, columns with many values, a large k and many sensitive values."""

    def measure(name: str) -> dict[str, float]:
        table, options = odd_tables()[name]
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            pq.write_table(table, folder / "data.parquet")
            command = [*MOTTLE, "anonymize", str(folder / "data.parquet"), *options]
            used = used_by([*command, "-o", str(folder / "out")])
            cells = table.num_rows * table.num_columns
            return dataclasses.asdict(used) | {"rows": table.num_rows, "cells": cells}

    lines = []
    for name in odd_tables():
        found = kept.measured("odd", name, measure, name)
        lines.append(
            [
                name,
                *(f"{found['processor']:.1f}", f"{found['wall']:.1f}"),
                f"{found['megabytes']:,.0f}",
                f"{1e6 * found['processor'] / found['cells']:.1f}",
            ]
        )
    report(
        "speed-odd",
        "Wide and odd tables, report included",
        [
            markdown_table(
                ["table", "processor s", "wall s", "peak MB", "processor µs per cell"], lines
            )
        ],
        "speed.py odd",
    )


def spark(kept: Kept, rows: int = LARGE) -> None:
    """Spark beside streaming, with the Java machine and its Python workers."""

    def measure(options: Sequence[str]) -> dict[str, float]:
        command = Data.of(rows, PLACE).anonymized(PLACE, *options)
        used = dataclasses.asdict(used_by([*MOTTLE, *command]))
        shutil.rmtree(PLACE / "out", ignore_errors=True)
        return used

    engines = {
        "streaming": ("--memory", MEMORY),
        "Spark, local[2]": ("--engine", "spark", "--master", "local[2]"),
    }
    lines, first = [], None
    for engine, options in engines.items():
        used = Used(**kept.measured("spark", f"{engine}, {rows}", measure, options))
        first = first or used
        lines.append(
            [
                engine,
                *(f"{used.processor:,.0f}", f"{used.wall:,.0f}"),
                f"{used.processor / first.processor:.2f}",
            ]
        )
    report(
        "speed-spark",
        f"Spark beside streaming: nh, k = {K}, {rows:,} rows, two cores",
        [
            markdown_table(
                ["engine", "processor s", "wall s", "times the processor time of streaming"], lines
            )
        ],
        "speed.py spark",
    )


def main() -> None:
    """Measure the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*NAMES, []], metavar="PART")
    parser.add_argument("--rows", default=f"30000,{CENSUS},2000000")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--methods", default=",".join(CASES), help="of first_run and compiling")
    parser.add_argument("--again", action="store_true", help="measure what is kept once more")
    asked = parser.parse_args()
    kept = Kept(again=asked.again)
    PLACE.mkdir(exist_ok=True)
    methods = asked.methods.split(",")
    sizes = [int(rows) for rows in asked.rows.split(",")]
    functions = {
        "end_to_end": lambda: end_to_end(kept, sizes, asked.runs),
        "first_run": lambda: first_run(kept, methods),
        "compiling": lambda: compiling(kept, methods),
        "cores": lambda: cores(kept),
        "passes": lambda: passes(kept),
        "freeform": lambda: freeform(kept),
        "odd": lambda: odd(kept),
        "tools": lambda: tools(kept),
        "streaming": lambda: streaming(kept),
        "spark": lambda: spark(kept),
    }
    for name in asked.parts or NAMES:
        functions[name]()
    shutil.rmtree(PLACE / "out", ignore_errors=True)


if __name__ == "__main__":
    main()
