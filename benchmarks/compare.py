"""``mottle compare`` on ADULT, as a user would run it: methods side by side, with PrivBayes.

Two parts: ``k``, k-anonymity by four methods, and ``beta``, β-likeness compared with PrivBayes at
ε = ln(1 + β); without an argument both are run. The tables are stored in benchmarks/results; the
charts, which the command writes to its output folder, are not.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _shared import markdown_table, report, require_data

QI = "age,workclass,education,marital-status,race,sex,native-country"
RUNS = {
    "k": ("k-anonymity", "--methods freeform,nh,mondrian,hilbert --k 5,10,20"),
    "beta": (
        "β-likeness and differential privacy",
        "--methods buckets,mondrian,privbayes --beta 1,2,4",
    ),
}
SECONDS = 10  # for refining each result
COLUMNS = {
    "method": "method",
    "guarantee": "guarantee",
    "loss": "information lost",
    "query_error": "query error",
    "accuracy": "accuracy",
    "linked": "people linked",
    "guessed": "guessed right",
    "seconds": "seconds",
}


def main() -> None:
    for name in sys.argv[1:] or RUNS:
        title, options = RUNS[name]
        sections = [
            "Columns as in docs/compare.md; accuracy is that of predicting `income`, the sensitive"
            " column is `occupation`. A quarter of the 48,842 rows is held out. Times were measured"
            " on a machine with other users.",
            *_compared(options),
        ]
        report(
            f"compare-{name}", f"mottle compare on ADULT: {title}", sections, f"compare.py {name}"
        )


def _compared(options: str) -> list[str]:
    """Run the command; return the command itself, its table, its time and its notes."""
    data = require_data("adult_full.parquet")
    words = shlex.split(f"--qi {QI} --sensitive occupation --rest insensitive --target income")
    words += shlex.split(f"{options} --seconds {SECONDS}")
    with tempfile.TemporaryDirectory() as folder:
        command = ["compare", str(data), *words, "-o", str(Path(folder, "out")), "--json"]
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "mottle", *command], stdout=subprocess.PIPE, check=True
        )
        seconds = time.perf_counter() - began
    lines = json.loads(done.stdout)
    cells = [[_cell(name, line[name]) for name in COLUMNS] for line in lines if not line["note"]]
    notes = [
        f"- {line['method']}, {line['guarantee']}: {line['note']}" for line in lines if line["note"]
    ]
    return [
        "    " + " ".join(["mottle compare adult_full.parquet", *words, "-o compared"]),
        markdown_table(list(COLUMNS.values()), cells),
        f"The whole command took {seconds:.0f} s.",
        *(["\n".join(notes)] if notes else []),
    ]


def _cell(name: str, value: object) -> str:
    if value is None:
        return "–"
    if not isinstance(value, float):
        return str(value)
    return f"{value:.1f}" if name == "seconds" else f"{100 * value:.1f} %"


if __name__ == "__main__":
    main()
