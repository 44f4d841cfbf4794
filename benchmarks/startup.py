"""Processor time that the command line takes before it does anything, in turns on one machine."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from _shared import markdown_table, report

RUNS = 9
MOTTLE = [sys.executable, "-m", "mottle"]
FLOOR = "`python -c 'import typer, rich'`"
EMPTY_APP = """
import typer
app = typer.Typer(add_completion=False)
app.callback()(lambda: None)
for number in range(11):
    app.command(f"command-{number}")(lambda: None)
app()
"""
COMMANDS: dict[str, list[str]] = {
    FLOOR: [sys.executable, "-c", "import typer, rich"],
    "`mottle --version`": [*MOTTLE, "--version"],
    "`mottle --help`": [*MOTTLE, "--help"],
    "`mottle anonymise` (no such command)": [*MOTTLE, "anonymise"],
    "`mottle anonymize --help`": [*MOTTLE, "anonymize", "--help"],
    "`mottle anonymize people.csv --l 2.5` (wrong value)": [
        *(*MOTTLE, "anonymize", "people.csv", "--l", "2.5")
    ],
    "`mottle methods`": [*MOTTLE, "methods"],
    "an empty Typer app with 11 commands, `--help`": [sys.executable, "-c", EMPTY_APP, "--help"],
    "`python -c 'import mottle'`": [sys.executable, "-c", "import mottle"],
    "`python -c 'import mottle; mottle.anonymize'`": [
        *(sys.executable, "-c", "import mottle; mottle.anonymize")
    ],
    "`mottle anonymize` of 200 rows": [],  # filled in below
}


def processor_seconds(command: Sequence[str]) -> float:
    """User and system time of a process and of those it started."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        people = Path(folder, "people.csv")
        rows = [f"{20 + row % 50},{'fm'[row % 2]}" for row in range(200)]
        people.write_text("\n".join(["age,sex", *rows]) + "\n", encoding="utf-8")
        written = ["-o", str(Path(folder, "out")), "--overwrite", "--another-draw", "--no-report"]
        run = [*MOTTLE, "anonymize", str(people), "--qi", "age,sex", "--k", "5", *written]
        commands = {name: command or run for name, command in COMMANDS.items()}
        for command in commands.values():
            processor_seconds(command)  # compile what is cached on disk
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(RUNS):
            for name, command in commands.items():
                times[name].append(processor_seconds(command))
    medians = {name: statistics.median(each) for name, each in times.items()}
    table = [
        [name, f"{1000 * seconds:.0f}", f"{seconds / medians[FLOOR]:.2f}"]
        for name, seconds in medians.items()
    ]
    ratios = [medians[f"`mottle {option}`"] / medians[FLOOR] for option in ("--version", "--help")]
    verdict = "met" if max(ratios) <= 1.5 else "missed"
    report(
        "startup",
        "Start-up of the command line",
        [
            f"Processor time (user and system), median of {RUNS} runs of each command in turns."
            f" The target for `--version` and `--help` is 1.5 times {FLOOR}: {verdict}.",
            markdown_table(["command", "ms", "times the first"], table),
        ],
    )


if __name__ == "__main__":
    main()
