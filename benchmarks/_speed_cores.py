"""One thread and two, and which share of the work is serial.

    python benchmarks/_speed_cores.py anonymize DATA …

runs the command line in this process and prints, as JSON, the seconds by the clock, of the main
thread's processor time and of that of all threads, for the whole run and for arranging. The main
thread waits while others work, so what it uses itself is what more threads would not make shorter.
Other programs on the machine make a run longer, but hardly change these shares.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from _shared import markdown_table, report
from _speed_runs import CENSUS, Data, K, Kept

CASES: dict[str, tuple[tuple[str, ...], int]] = {
    "nh, 295,243 rows": ((), CENSUS),
    "freeform, 30,000 rows, 5 passes": (
        ("--method", "freeform", "--seconds", "1000", "--set", "passes=5"),
        30_000,
    ),
}
MANY = 64


def cores(kept: Kept) -> None:
    """The same runs with one thread and with two, and what their serial share allows."""
    times, shares = [], []
    for name, (options, rows) in CASES.items():
        found = kept.measured("cores", name, _measured, options, rows)
        for part, label in (("run", "whole run"), ("arrange", "arranging")):
            (wall, _, alone), (wall_of_two, main, every) = (each[part] for each in found)
            times.append(
                [
                    *(name, label),
                    *(f"{figure:.1f}" for figure in (wall, wall_of_two)),
                    f"{wall / wall_of_two:.2f}",
                    *(f"{figure:.1f}" for figure in (alone, every)),
                ]
            )
            serial = main / every
            shares.append(
                [
                    *(name, label, f"{every:.1f}", f"{main:.2f}", f"{100 * serial:.1f} %"),
                    *(f"{times_faster(serial, cores):.1f}" for cores in (2, 8, MANY)),
                ]
            )
    report(
        "speed-cores",
        f"One thread and two: k = {K}, without report",
        [
            "Seconds. Wall-clock times mean little on a machine that does other work: its load was"
            f" {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores when this was written.",
            markdown_table(
                [
                    *("run", "part", "wall, 1 thread", "wall, 2 threads", "times faster"),
                    *("processor, 1 thread", "processor, 2 threads"),
                ],
                times,
            ),
            "Processor seconds of all threads and of the main thread, with two threads: what the"
            " main thread does itself is serial. Amdahl's law says how many times faster than on"
            " one core that is at most, 1 / (serial + (1 - serial) / cores).",
            markdown_table(
                [
                    *("run", "part", "all threads", "main thread", "serial share"),
                    *("at most, 2 cores", "at most, 8 cores", "at most, 64 cores"),
                ],
                shares,
            ),
        ],
        "speed.py cores",
    )


def times_faster(serial: float, cores: int) -> float:
    """Amdahl's law."""
    return 1 / (serial + (1 - serial) / cores)


def _measured(options: tuple[str, ...], rows: int) -> list[dict[str, list[float]]]:
    """The seconds with one thread and with two."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = Data.of(rows, folder)
        command = [sys.executable, __file__, *data.anonymized(folder, "--no-report", *options)]
        found = []
        for threads in (1, 2):
            environment = os.environ | {"MOTTLE_THREADS": str(threads)}
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=True
            )
            found.append(json.loads(done.stdout.splitlines()[-1]))
        return found


def main() -> None:
    """Run the command line and print the seconds."""
    from mottle.__main__ import run as command_line
    from mottle.pipeline.table_records import TableRecords

    began, *_ = _seconds()
    arranging: list[float] = []
    arrange = TableRecords.arrange

    @functools.wraps(arrange)
    def timed(*given: Any, **named: Any) -> Any:
        before = _seconds()
        found = arrange(*given, **named)
        arranging.extend(after - began for began, after in zip(before, _seconds(), strict=True))
        return found

    setattr(TableRecords, "arrange", timed)  # noqa: B010  mypy forbids to assign to a method
    sys.argv = ["mottle", *sys.argv[1:]]
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            command_line()
        except SystemExit as end:
            if end.code:
                raise
    clock, main, every = _seconds()
    print(json.dumps({"run": [clock - began, main, every], "arrange": arranging}))


def _seconds() -> tuple[float, float, float]:
    """By the clock, of the processor for this thread, and for all threads."""
    return time.perf_counter(), time.thread_time(), time.process_time()


if __name__ == "__main__":
    main()
