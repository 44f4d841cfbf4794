"""One thread and two, and which share of the work is serial.

    python benchmarks/_speed_cores.py anonymize DATA …

runs the command line in this process and prints, as JSON, the processor seconds of the main thread
and of all threads, of the whole run and of arranging. The main thread waits while others work, so
what it uses itself is what more threads would not make shorter. Other programs on the machine make
such a run longer, but do not change these shares.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from _shared import markdown_table, report
from _speed_runs import CENSUS, MOTTLE, PLACE, Data, K, Kept, Used, used_by

CASES: dict[str, tuple[tuple[str, ...], int]] = {
    "nh, 295,243 rows": ((), CENSUS),
    "nh, 2,000,000 rows": ((), 2_000_000),
    "freeform, 30,000 rows, 10 passes": (
        ("--method", "freeform", "--seconds", "1000", "--set", "passes=10"),
        30_000,
    ),
    "freeform, 295,243 rows, 10 passes": (
        ("--method", "freeform", "--seconds", "1000", "--set", "passes=10"),
        CENSUS,
    ),
}
MANY = 64


def cores(kept: Kept) -> None:
    """The same runs with one thread and with two, and what their serial share allows."""
    times, shares = [], []
    for name, (options, rows) in CASES.items():
        found = kept.measured("cores", name, _measured, options, rows)
        one, two = (Used(**used) for used in found["used"])
        times.append(
            [
                name,
                *(f"{figure:.1f}" for figure in (one.wall, two.wall)),
                f"{one.wall / two.wall:.2f}",
                *(f"{figure:.1f}" for figure in (one.processor, two.processor)),
            ]
        )
        for part, label in (("run", "whole run"), ("arrange", "arranging")):
            main, every = found["shares"][part]
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
            "Seconds. Wall-clock times mean little on a machine that does other work.",
            markdown_table(
                [
                    *("run", "wall, 1 thread", "wall, 2 threads", "times faster"),
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


def _measured(options: tuple[str, ...], rows: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = Data.of(rows, PLACE)
        arguments = data.anonymized(folder, "--no-report", *options)
        used = [
            vars(used_by([*MOTTLE, *arguments], {"MOTTLE_THREADS": str(threads)}))
            for threads in (1, 2)
        ]
        done = subprocess.run(
            [sys.executable, __file__, *arguments], capture_output=True, text=True, check=True
        )
        return {"used": used, "shares": json.loads(done.stdout.splitlines()[-1])}


def main() -> None:
    """Run the command line and print what the main thread and all threads have used."""
    from mottle.__main__ import main as command_line
    from mottle.pipeline.table_records import TableRecords

    arranging: list[float] = []
    arrange = TableRecords.arrange

    @functools.wraps(arrange)
    def timed(*given: Any, **named: Any) -> Any:
        main, every = time.thread_time(), time.process_time()
        found = arrange(*given, **named)
        arranging.extend((time.thread_time() - main, time.process_time() - every))
        return found

    setattr(TableRecords, "arrange", timed)  # noqa: B010  mypy forbids to assign to a method
    sys.argv = ["mottle", *sys.argv[1:]]
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            command_line()
        except SystemExit as end:
            if end.code:
                raise
    print(json.dumps({"run": [time.thread_time(), time.process_time()], "arrange": arranging}))


if __name__ == "__main__":
    main()
