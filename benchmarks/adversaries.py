"""Methods against adversaries: achieved and allowed, on ADULT and a sample of CENSUS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
from _shared import markdown_table, report, require_data

import mottle
from mottle.audit import Finding, registered

ADULT = ["age", "sex", "race", "marital-status", "education", "native-country", "workclass"]
CENSUS = ["age", "gender", "education", "marital_status", "race", "workclass", "country"]
SAMPLE = 20_000
K10, L5, BETA2 = mottle.KAnonymity(10), mottle.LDiversity(5), mottle.BetaLikeness(2)
RUNS: list[tuple[str, mottle.Guarantee, dict[str, object]]] = [
    ("auto", K10, {}),
    ("nh", K10, {}),
    ("mondrian", K10, {}),
    ("auto", L5, {}),
    ("nh", L5, {}),
    ("mondrian", L5, {}),
    ("anatomy", L5, {}),
    ("het-hungarian", L5, {"unsafe_paper_randomization": True}),
    ("auto", BETA2, {}),
    ("mondrian", BETA2, {}),
]


def tables() -> list[tuple[str, pa.Table, mottle.Schema]]:
    adult = pq.read_table(require_data("adult_arx.parquet"))
    census = pq.read_table(require_data("census_acs.parquet")).slice(0, SAMPLE)
    return [
        (name, table, mottle.Schema.of(
            quasi_identifying=known, sensitive=[sensitive], rest="insensitive"))
        for name, table, known, sensitive in (
            ("ADULT, 30,162 rows, occupation", adult, ADULT, "occupation"),
            (f"CENSUS, {SAMPLE:,} rows, salary class", census, CENSUS, "salary_class"),
        )
    ]  # fmt: skip


def cell(findings: Sequence[Finding]) -> str:
    """All findings of one adversary: achieved / allowed, and whether that breaks the guarantee."""
    shown = []
    for finding in findings:
        if finding.achieved is None:
            continue
        text = f"{finding.achieved:.3g}"
        if finding.allowed is not None:
            text += f" / {finding.allowed:.3g}"
        shown.append(f"**{text} BROKEN**" if finding.passed is False else text)
    return "; ".join(shown) or "–"


def row(
    table: pa.Table, schema: mottle.Schema, method: str, guarantee: mottle.Guarantee,
    options: dict[str, object],
) -> list[list[str]]:  # fmt: skip
    release = mottle.anonymize(table, schema, guarantee, method=method, effort=0, seed=1, **options)
    picked = release.certificate["method"].get("picked")
    title = f"{method} ({picked})" if picked else method
    title += ", papers' walk" if options else ""
    rows = []
    for links, seen in (("yes", release), ("no", replace(release, links=None))):
        found = mottle.audit(table, seen)
        cells = [cell(found.of(name)) for name in registered()]
        rows.append(
            [title, str(guarantee.describe()["short"]), f"{release.gcp:.3f}", links, *cells]
        )
    return rows


def main() -> None:
    sections = [
        "Each cell: achieved / allowed for every finding of the adversary (docs/audit.md says what"
        " they are); without a second number it is for information. Releases without refinement."
    ]
    for name, table, schema in tables():
        rows = [line for run in RUNS for line in row(table, schema, *run)]
        header = ["method", "guarantee", "GCP", "links", *registered()]
        sections += [f"## {name}", markdown_table(header, rows)]
    report("adversaries", "Methods against adversaries", sections)


if __name__ == "__main__":
    main()
