"""The command ``mottle warm``."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.parquet as pq

from mottle.cli._console import Console
from mottle.cli.commands import Warm
from mottle.datasets import population
from mottle.errors import StorageError
from mottle.utils.compiling.ahead import compile_all

_PEOPLE, _ROWS = "people.parquet", 1000
_TABLE = [
    *("anonymize", _PEOPLE, "--qi", "age,sex,education", "--id", "person_id"),
    *("--rest", "insensitive", "--k", "5", "--seed", "1", "--seconds", "0"),
]
_SENSITIVE = ["--sensitive", "diagnosis", "--l", "2"]
_BASKETS = "baskets.txt"
# What each is run with. `tools/kernels.py` records from these runs what they compile.
RUNS: dict[str, list[str]] = {
    "nh": [*_TABLE, "--method", "nh"],
    "freeform": [*_TABLE, "--method", "freeform"],
    "buckets": [*_TABLE, *_SENSITIVE, "--method", "buckets"],
    "sets": ["anonymize-sets", _BASKETS, "--k", "5", "--seed", "1", "--seconds", "0"],
}


def run(command: Warm) -> None:
    """Compile the kernels of some methods by running them on generated tables."""
    out = Console()
    names = list(dict.fromkeys(command.methods or RUNS))
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_data(folder)
        compile_all(*names)
        with ThreadPoolExecutor(os.cpu_count()) as pool:  # compiles what is not in the list
            list(pool.map(lambda name: _run(name, folder), names))
    seconds = time.perf_counter() - began
    out.print(f"Compiled for {', '.join(names)} in {seconds:.0f} s; the first run is now quick.")


def write_data(folder: Path) -> None:
    """Write the generated data that runs read."""
    pq.write_table(population(_ROWS, seed=1), folder / _PEOPLE)
    (folder / _BASKETS).write_text(_baskets(), encoding="utf-8")


def _run(name: str, folder: Path) -> None:
    """Run a method in a process of its own."""
    command = [sys.executable, "-m", "mottle", *RUNS[name], "-o", f"released-{name}"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env=_environment()
    )
    if done.returncode:
        raise StorageError(
            f"The kernels of '{name}' could not be compiled: exit code {done.returncode}.",
            "Set NUMBA_CACHE_DIR to a folder that you can write to.",
        )


def _environment() -> dict[str, str]:
    """Environment variables of the process, which may find this package by a relative path."""
    paths = [str(Path(path).resolve()) for path in sys.path if path]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}


def _baskets() -> str:
    """A few sets of items, one on each line."""
    return "".join(
        " ".join(f"item{(first * step) % 13}" for step in range(1, 5)) + "\n"
        for first in range(1, 61)
    )
