"""Methods against adversaries: achieved and allowed, on ADULT and a sample of CENSUS.

Usage: python benchmarks/adversaries.py [adult|census]; both without an argument. Writes
benchmarks/results/adversaries-<name>.md, and the table into docs/audit.md between its markers.

python benchmarks/adversaries.py planted [RELEASES] plays the adversaries against planted defects at
1,500 and 8,000 rows, and against RELEASES (200 by default) small sound releases of several methods
to count false alarms. Writes benchmarks/results/adversaries-planted.md.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _shared import ROOT, markdown_table, report, require_data

import mottle
from mottle.audit import Finding
from mottle.graph.model import Graph
from mottle.release.links import Links

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
JUDGED = (
    "linkage",
    "assignments",
    "sensitive",
    "algorithm",
    "order",
    "permutations",
    "corruption",
    "learning",
    "decision",
    "minimality",
)
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
        found = seen.audit(table, adversaries=players)
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


# ------------------------------------------------------------------- planted and sound releases

ROWS = (1500, 8000)
KNOWN = ["age", "sex", "origin"]
PEOPLE = mottle.Schema.of(quasi_identifying=KNOWN, sensitive=["diagnosis"], rest="insensitive")
FAST = [name for name in mottle.audit.registered() if name not in ("learning", "classic")]
SOUND: list[tuple[str, mottle.Guarantee]] = [
    ("nh", mottle.KAnonymity(5)),
    ("freeform", mottle.KAnonymity(5)),
    ("mondrian", mottle.KAnonymity(5)),
    ("het-greedy", mottle.LDiversity(3)),
    ("hilbert", mottle.KAnonymity(4)),
]


def population(rows: int, seed: int = 5) -> pa.Table:
    """People, and eight illnesses that are independent of everything else."""
    people = mottle.datasets.population(rows, seed=seed).select(KNOWN)
    drawn = np.random.default_rng(seed).integers(0, 8, rows)
    return people.append_column("diagnosis", pa.array([f"illness {each}" for each in drawn]))


def with_rows(release: mottle.Release, order: np.ndarray) -> mottle.Release:
    """The release with its rows in another order."""
    links = release.links
    again = Links(links.graph, links.position_of_row[order], links.truth)
    return replace(release, stored=release.table.take(pa.array(order)), links=again)


def with_truth(release: mottle.Release, table: pa.Table, truth: np.ndarray) -> mottle.Release:
    """The release with another assignment on the same graph."""
    links = release.links
    again = Links(links.graph, links.position_of_row, truth.astype(np.int32))
    values = table.column("diagnosis").take(pa.array(again.original_of_row))
    place = release.table.schema.get_field_index("diagnosis")
    field = release.table.schema.field("diagnosis")
    return replace(release, stored=release.table.set_column(place, field, values), links=again)


def moved(graph: Graph, shift: int) -> np.ndarray:
    """Every unit of every block moved by the same number of places."""
    truth = np.empty(graph.records, np.int64)
    blocks = np.repeat(np.arange(len(graph.sizes)), graph.sizes)
    for position, block in enumerate(blocks):
        preimages = graph.preimages(position)
        own = int(np.flatnonzero(preimages == position)[0])
        truth[position] = preimages[(own + shift) % graph.degrees[block]]
    return truth


def in_order(release: mottle.Release) -> np.ndarray:
    return np.argsort(release.links.original_of_row)


def near_order(release: mottle.Release) -> np.ndarray:
    rows = release.num_rows
    jitter = np.random.default_rng(3).normal(0, 0.05 * rows, rows)
    return np.argsort(release.links.original_of_row + jitter)


def half_of_one_value(rows: int, seed: int) -> pa.Table:
    """49 % have one of many illnesses."""
    random = np.random.default_rng(seed)
    top = round(0.49 * rows)
    values = ["a"] * top + [f"illness {number % 20}" for number in range(rows - top)]
    ages, origins = random.integers(18, 90, rows), random.integers(0, 50, rows)
    sexes = random.integers(0, 2, rows)
    columns = {"age": ages, "sex": sexes, "origin": origins}
    return pa.table({**columns, "diagnosis": random.permutation(values)})


def planted(rows: int) -> Iterator[tuple[str, pa.Table, mottle.Release]]:
    """Releases that give something away, by the name of the defect."""
    table = population(rows)
    made: Callable[..., mottle.Release] = mottle.anonymize
    buckets = made(table, PEOPLE, mottle.LDiversity(3), method="buckets", effort=0, seed=2)
    rings = made(table, PEOPLE, mottle.LDiversity(3), method="nh", seed=2)
    yield "rows in the order of the table", table, with_rows(buckets, in_order(buckets))
    yield "rows near the order of the table", table, with_rows(buckets, near_order(buckets))
    for shift in (0, 1):
        for name, release in (("buckets", buckets), ("rings", rings)):
            truth = moved(release.links.graph, shift)
            yield f"{name} always moved by {shift}", table, with_truth(release, table, truth)
    for method in ("nh", "hilbert", "idistance", "mondrian", "het-greedy-threshold"):
        release = made(table, PEOPLE, mottle.LDiversity(3), method=method, effort=0, seed=2)
        yield f"{method} decides by values", table, release
    release = made(table, PEOPLE, mottle.BetaLikeness(2), method="burel", seed=2)
    yield "burel decides by values", table, release


def number_of_blocks(runs: int) -> list[str]:
    """How many releases of buckets at ℓ = 2, 1,000 rows, are caught by their number of blocks."""
    caught = 0
    for seed in range(runs):
        table = half_of_one_value(1000, seed)
        release = mottle.anonymize(
            table, PEOPLE, mottle.LDiversity(2), method="buckets", effort=0, seed=seed
        )
        caught += not release.audit(table, adversaries=["decision"]).passed
    return ["buckets, ℓ = 2, a value of 49 %", "1,000", f"{caught} of {runs} runs"]


def play_planted(releases: int) -> None:
    rows_of_table = []
    for rows in ROWS:
        for name, table, release in planted(rows):
            failed = release.audit(table, adversaries=FAST).failed
            shown = ", ".join(dict.fromkeys(found.adversary for found in failed)) or "**nobody**"
            rows_of_table.append([name, f"{rows:,}", shown])
            print(rows_of_table[-1], flush=True)
    rows_of_table.append(number_of_blocks(20))
    alarms: Counter[str] = Counter()
    wrong = 0
    for number in range(releases):
        method, guarantee = SOUND[number % len(SOUND)]
        table = population(300 + 100 * (number % 4), seed=number)
        release = mottle.anonymize(
            table, PEOPLE, guarantee, method=method, effort=0, seed=1000 + number
        )
        failed = release.audit(table, adversaries=FAST).failed
        wrong += bool(failed)
        alarms.update({f"{found.adversary}: {found.measure}" for found in failed})
    told = "; ".join(f"{name} ({count})" for name, count in alarms.most_common()) or "none"
    methods = ", ".join(f"{method} ({given.describe()['short']})" for method, given in SOUND)
    sections = [
        "Planted defects, and the adversaries that find them (`learning` and `classic` are not"
        " played):",
        markdown_table(["defect", "rows", "found by"], rows_of_table),
        f"{releases} sound releases of 300 to 600 rows, by {methods}: {wrong} false alarms"
        f" ({wrong / max(releases, 1):.2%}). By whom: {told}.",
    ]
    title = "Planted defects and false alarms"
    report("adversaries-planted", title, sections, f"adversaries.py planted {releases}")


if __name__ == "__main__":
    words = sys.argv[1:] or ["adult", "census"]
    if words[0] == "planted":
        play_planted(int(words[1]) if len(words) > 1 else 200)
    else:
        for word in words:
            play(word)
