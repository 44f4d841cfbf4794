"""Refuse files that do not belong in the repository: data, and anything large.

Personal data must never be committed, and a table in a test is better generated than stored. Called
with names of files by pre-commit; prints what is wrong and ends with exit code 1.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

MOST_BYTES = 200_000
DATA_SUFFIXES = {
    ".arff",
    ".arrow",
    ".avro",
    ".csv",
    ".db",
    ".dta",
    ".duckdb",
    ".feather",
    ".gz",
    ".h5",
    ".ipc",
    ".jsonl",
    ".ndjson",
    ".npy",
    ".npz",
    ".orc",
    ".parquet",
    ".pickle",
    ".pkl",
    ".sas7bdat",
    ".sav",
    ".sqlite",
    ".sqlite3",
    ".tsv",
    ".xls",
    ".xlsx",
    ".zip",
    ".zst",
}


def problem_with(path: Path) -> str | None:
    """Why a file may not be committed, or None when it may."""
    if DATA_SUFFIXES & {suffix.lower() for suffix in path.suffixes}:
        return f"{path} has a format of data; generate the data in the test that needs it"
    if path.is_file() and path.stat().st_size > MOST_BYTES:
        return f"{path} is larger than {MOST_BYTES:,} bytes"
    return None


def main(names: Sequence[str]) -> int:
    """Print what is wrong with the named files; 1 if anything is, else 0."""
    problems = [problem for name in names if (problem := problem_with(Path(name))) is not None]
    for problem in problems:
        print(problem)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
