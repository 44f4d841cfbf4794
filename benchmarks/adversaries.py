"""Methods against adversaries: achieved and allowed, on ADULT and a sample of CENSUS.

Usage: python benchmarks/adversaries.py [adult|census]; both without an argument. Writes
benchmarks/results/adversaries-<name>.md, and the table into docs/audit.md between its markers.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
from _shared import ROOT, markdown_table, report, require_data

import mottle
from mottle.audit import Finding

ADULT = ["age", "sex", "race", "marital-status", "education", "native-country", "workclass"]
CENSUS = ["age", "gender", "education", "marital_status", "race", "workclass", "country"]
SAMPLE = 20_000
K10, L5, BETA2 = mottle.KAnonymity(10), mottle.LDiversity(5), mottle.BetaLikeness(2)
PAPERS = {"unsafe_paper_randomization": True}
RUNS: list[tuple[str, mottle.Guarantee, dict[str, bool]]] = [
    ("auto", L5, {}),
    ("het-greedy", L5, PAPERS),
    ("mondrian", L5, {}),
    ("anatomy", L5, {}),
    ("auto", K10, {}),
    ("auto", BETA2, {}),
    ("nh", L5, {}),
    ("het-greedy", L5, {}),
    ("nh", K10, {}),
    ("mondrian", K10, {}),
    ("mondrian", BETA2, {}),
    ("burel", BETA2, {}),
]
JUDGED = ("linkage", "assignments", "sensitive", "algorithm", "order", "learning", "minimality")
OUTSIDE = ("linkage", "assignments", "sensitive")  # those that do not need the links


def table_of(word: str) -> tuple[str, pa.Table, mottle.Schema]:
    if word == "adult":
        table, known, sensitive = (
            pq.read_table(require_data("adult_arx.parquet")),
            ADULT,
            "occupation",
        )
    else:
        table = pq.read_table(require_data("census_acs.parquet")).slice(0, SAMPLE)
        known, sensitive = CENSUS, "salary_class"
    schema = mottle.Schema.of(quasi_identifying=known, sensitive=[sensitive], rest="insensitive")
    title = f"{word.upper()}, {table.num_rows:,} rows, {sensitive.replace('_', ' ')} sensitive"
    return title, table, schema


def cell(findings: Sequence[Finding]) -> str:
    """All findings of one adversary: achieved / allowed, and whether the guarantee is broken."""
    shown = []
    for finding in findings:
        if "does_not_apply" in finding.details:
            shown.append("does not apply")
        if finding.achieved is None:
            continue
        text = f"{finding.achieved:.3g}"
        if finding.allowed is not None:
            text += f" / {finding.allowed:.3g}"
        shown.append(f"**{text} BROKEN**" if finding.passed is False else text)
    return "; ".join(shown) or "–"


def rows_of(
    table: pa.Table,
    schema: mottle.Schema,
    method: str,
    guarantee: mottle.Guarantee,
    options: dict[str, bool],
) -> list[list[str]]:
    release = mottle.anonymize(table, schema, guarantee, method=method, effort=0, seed=1, **options)
    picked = release.certificate.method.picked
    title = f"{method} ({picked})" if picked else method
    title += ", the papers' walk" if options else ""
    rows = []
    for links, seen, players in (
        ("yes", release, JUDGED),
        ("no", replace(release, links=None), OUTSIDE),
    ):
        began = time.perf_counter()
        found = mottle.audit_release(table, seen, adversaries=players)
        cells = [cell(found.of(name)) if name in players else "" for name in JUDGED]
        short = str(guarantee.describe()["short"])
        rows.append([title, short, f"{release.gcp:.3f}", links, *cells])
        print(rows[-1], f"{time.perf_counter() - began:.0f} s", flush=True)
    return rows


def play(word: str) -> None:
    title, table, schema = table_of(word)
    header = ["method", "guarantee", "GCP", "links", *JUDGED]
    rows: list[list[str]] = []
    for run in RUNS:
        rows += rows_of(table, schema, *run)
        shown = markdown_table(header, rows)
        # After every run, so that an interrupted benchmark leaves the rows so far.
        into_document(word, f"**{title}**\n\n{shown}")
    sections = [
        "Each cell: achieved / allowed for every finding of the adversary, as described in"
        " docs/audit.md; without a second number it is for information. Releases are not"
        " refined. `links`: whether the owner's link file was given.",
        shown,
    ]
    report(f"adversaries-{word}", title, sections, f"adversaries.py {word}")


def into_document(word: str, text: str) -> None:
    """Write the table between its markers in docs/audit.md."""
    path = ROOT / "docs" / "audit.md"
    begin, end = f"<!-- adversaries {word} -->", f"<!-- end of adversaries {word} -->"
    before, rest = path.read_text(encoding="utf-8").split(begin)
    path.write_text(f"{before}{begin}\n{text}\n{end}{rest.split(end)[1]}", encoding="utf-8")


if __name__ == "__main__":
    for word in sys.argv[1:] or ("adult", "census"):
        play(word)
