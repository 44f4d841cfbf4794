"""Time and memory of the exact audit over n: whole commands on CENSUS, k = 10 and ℓ = 5."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
from _shared import ROOT, markdown_table, report, require_data

import mottle
from mottle.cli.audit import BROKEN

QUASI_IDENTIFIERS = ["age", "gender", "education", "marital_status", "race", "workclass", "country"]
ROWS = (25_000, 100_000, 295_243)
RUNS = (("nh", mottle.KAnonymity(10)), ("buckets", mottle.LDiversity(5)))
ADVERSARIES = ("linkage", "assignments", "sensitive")
LIMIT_SECONDS, LIMIT_MEGABYTES = 60, 4096


@dataclass(frozen=True)
class Audited:
    seconds: float
    megabytes: float
    report: dict


def audit(folder: Path, private: bool, *adversaries: str) -> Audited:
    """Run the whole command, including reading."""
    command = [str(ROOT / ".venv" / "bin" / "mottle"), "audit", str(folder / "original.parquet")]
    command += [str(folder / "release"), "--json"]
    command += ["--private", str(folder / "links.parquet")] if private else []
    for adversary in adversaries:
        command += ["--adversary", adversary]
    began = time.perf_counter()
    with open(folder / "report.json", "w") as output:
        process = subprocess.Popen(command, stdout=output)
        _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    if os.waitstatus_to_exitcode(status) not in (0, BROKEN):
        sys.exit(f"{' '.join(command)} failed")
    found = json.loads((folder / "report.json").read_text())
    return Audited(seconds, usage.ru_maxrss / 1024, found)


def prepare(folder: Path, rows: int, method: str, guarantee: mottle.Guarantee) -> float:
    """Write an original, its release and the links; return the seconds of anonymizing."""
    schema = mottle.Schema.of(
        quasi_identifying=QUASI_IDENTIFIERS, sensitive=["salary_class"], rest="insensitive"
    )
    table = pq.read_table(require_data("census_acs.parquet")).slice(0, rows)
    folder.mkdir()
    pq.write_table(table, folder / "original.parquet")
    began = time.perf_counter()
    release = mottle.anonymize(table, schema, guarantee, method=method, effort=0, seed=1)
    seconds = time.perf_counter() - began
    release.save(folder / "release", private=folder / "links.parquet")
    return seconds


def main() -> None:
    rows: list[list[object]] = []
    verdicts: list[list[object]] = []
    within = True
    with tempfile.TemporaryDirectory() as place:
        warm = Path(place, "warm")
        prepare(warm, 2_000, *RUNS[0])
        audit(warm, True)
        for method, guarantee in RUNS:
            for count in ROWS:
                folder = Path(place, f"{method}-{count}")
                anonymizing = prepare(folder, count, method, guarantee)
                for private in (False, True):
                    shown: list[object] = []
                    for adversaries in (*((name,) for name in ADVERSARIES), ()):
                        found = audit(folder, private, *adversaries)
                        within &= found.seconds < LIMIT_SECONDS
                        within &= found.megabytes < LIMIT_MEGABYTES
                        shown += [f"{found.seconds:.1f} s, {found.megabytes:,.0f} MB"]
                    links = "with links" if private else "without"
                    title = f"{method}, {guarantee.describe()['short']}"
                    rows.append([title, f"{count:,}", links, f"{anonymizing:.1f} s", *shown])
                    if count == ROWS[-1]:
                        verdicts += [
                            [
                                title,
                                links,
                                each["adversary"],
                                each["measure"],
                                _number(each["achieved"]),
                                _number(each["allowed"]),
                                {True: "within", False: "BROKEN", None: "–"}[each["passed"]],
                            ]
                            for each in found.report["findings"]
                        ]
    header = ["release", "rows", "private file", "anonymizing", *ADVERSARIES, "all adversaries"]
    judged = ["release", "private file", "adversary", "measure", "achieved", "allowed", "verdict"]
    report(
        "audit",
        "Auditing releases of CENSUS, exactly",
        [
            "Whole commands `mottle audit ORIGINAL RELEASE --adversary NAME`, including start and"
            " reading; everybody is examined, nothing is sampled. The limit of"
            f" {LIMIT_SECONDS} s and {LIMIT_MEGABYTES:,} MB is {'met' if within else 'EXCEEDED'}.",
            markdown_table(header, rows),
            f"Findings on {ROWS[-1]:,} rows:",
            markdown_table(judged, verdicts),
        ],
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


if __name__ == "__main__":
    main()
