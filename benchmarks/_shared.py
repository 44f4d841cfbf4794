"""Shared by the benchmarks: location of data, tables, result files, measured processes."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mottle import Certificate, methods

ROOT = Path(__file__).resolve().parent.parent
DATA_VARIABLE = "MOTTLE_BENCHMARK_DATA"  # where the data are, if not beside the project
DATA = Path(os.environ.get(DATA_VARIABLE, ROOT.parent / "shared" / "data"))
RESULTS = ROOT / "benchmarks" / "results"


def require_data(name: str) -> Path:
    """The path of a data file; exits if it does not exist."""
    path = DATA / name
    if not path.exists():
        sys.exit(
            f"This benchmark needs {name} in {DATA}, which does not exist; {DATA_VARIABLE} says"
            " where the data are."
        )
    return path


def code_version() -> str:
    """The version of the code, and whether files differ from it other than results."""
    others = ["--", ".", ":!benchmarks/results"]
    described, changed = (
        subprocess.run(["git", *words], capture_output=True, text=True, check=True, cwd=ROOT).stdout
        for words in (["describe", "--always"], ["status", "--porcelain", "-uno", *others])
    )
    return described.strip() + ("-dirty" if changed else "")


def by_ncp(method: str) -> str | None:
    """The objective of the papers, for a method that follows one: losses are compared by GCP."""
    return "ncp" if methods.get(method).follows_objective else None


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def report(name: str, title: str, sections: Sequence[str], command: str | None = None) -> None:
    """Print the sections and write them as the latest result."""
    machine = f"Python {platform.python_version()}, {os.cpu_count()} cores"
    text = "\n\n".join(
        [f"# {title}", f"`python benchmarks/{command or f'{name}.py'}`; {machine}.", *sections]
    )
    print(text)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.md").write_text(text + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Measurements:
    """What was measured of a process."""

    seconds: float
    peak_megabytes: float


def run_measured(command: Sequence[str], **environment: str) -> Measurements:
    """Run a command without its output; measure wall-clock time and peak memory."""
    began = time.perf_counter()
    process = subprocess.Popen(
        command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    if status != 0:
        sys.exit(f"{' '.join(command)} failed")
    return Measurements(seconds, usage.ru_maxrss / 1024)


def seconds_of_anonymizing(certificate: Certificate) -> float:
    """Time from codes to a checked release, without coding and publishing."""
    return sum(certificate.seconds[stage] for stage in ("arrange", "cover", "assign", "check"))
