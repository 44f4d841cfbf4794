"""People with several rows: no record with more than a k-th part of one person, and what it costs.

    python benchmarks/people.py visits       generated hospitals of several sizes
    python benchmarks/people.py households   census_acs with made-up households (../shared/data)
    python benchmarks/people.py attack       whose record is it? rows counted, and people counted

Shares of people are recomputed from the private link file and the person column alone.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _shared import by_ncp, markdown_table, report, require_data

import mottle
from mottle import KAnonymity, Release, Schema

SEED = 7
SIZES = (1_000, 4_000, 20_000)  # patients
QI = ["age", "sex", "region", "origin", "department"]
KEPT = ["ward", "days", "insurer", "diagnosis"]
KINDS = {"region": "prefix"}


def largest_share(links: Path, whose: np.ndarray) -> tuple[float, float]:
    """Largest share of one person among the candidates of a record, and mean of the largest."""
    table = pq.read_table(links)
    record, original = (table.column(place).to_numpy() for place in (0, 1))
    degree = np.bincount(record)
    key = record.astype(np.int64) * (whose.max() + 1) + whose[original]
    found, times = np.unique(key, return_counts=True)
    of = found // (whose.max() + 1)
    most = np.zeros(len(degree))
    np.maximum.at(most, of, times / degree[of])
    return float(most.max()), float(most.mean())


def codes_of(table: pa.Table, column: str) -> np.ndarray:
    """Whose row each row is."""
    return np.unique(table.column(column).to_numpy(zero_copy_only=False), return_inverse=True)[1]


def measured(
    table: pa.Table, column: str, schema: Schema, k: int, method: str, effort: float | None
) -> tuple[Release, float, float, float]:
    """A release, its seconds, and the shares of people recomputed from its link file."""
    began = time.perf_counter()
    release = mottle.anonymize(
        table,
        schema,
        KAnonymity(k),
        method=method,
        objective=by_ncp(method),
        effort=effort,
        seed=SEED,
    )
    seconds = time.perf_counter() - began
    with tempfile.TemporaryDirectory() as folder:
        links = Path(folder, "links.parquet")
        release.save(Path(folder, "out"), report=False, private=links)
        highest, mean = largest_share(links, codes_of(table, column))
    return release, seconds, highest, mean


def rows_of(table: pa.Table, column: str, schemas: dict[str, Schema], runs: list) -> list:
    """One line for every run, counting rows and counting people."""
    lines = []
    people = codes_of(table, column)
    for k, method, effort in runs:
        for counted, schema in schemas.items():
            release, seconds, highest, mean = measured(table, column, schema, k, method, effort)
            lines.append(
                [
                    f"{people.max() + 1:,}",
                    f"{table.num_rows:,}",
                    int(np.bincount(people).max()),
                    k,
                    method + ("" if effort is None else ", not refined"),
                    counted,
                    f"{highest:.3f}",
                    f"{mean:.3f}",
                    "yes" if highest <= 1 / k + 1e-12 else "no",
                    f"{release.gcp:.4f}",
                    f"{seconds:.1f}",
                ]
            )
            print(*lines[-1], flush=True)
    return lines


HEADER = [
    "people",
    "rows",
    "most rows of one",
    "k",
    "method",
    "k counts",
    "largest share of one person",
    "mean of the largest",
    "within 1/k",
    "GCP",
    "seconds",
]


def schemas_of(qi: list[str], person: str, **given: object) -> dict[str, Schema]:
    """The same columns, with rows and with people as what k counts."""
    return {
        "rows": Schema.of(
            quasi_identifying=qi, identifying=[person], unit="row", rest="identifying", **given
        ),
        "people": Schema.of(quasi_identifying=qi, person=person, rest="identifying", **given),
    }


def visits() -> None:
    """Hospitals of several sizes."""
    lines = []
    for people in SIZES:
        table = mottle.datasets.visits(people, seed=SEED)
        runs = [(5, "nh", None), (11, "nh", None), (5, "freeform", 0.0), (11, "freeform", 0.0)]
        if people < SIZES[-1]:
            runs += [(5, "freeform", None), (11, "freeform", None)]
        lines += rows_of(table, "patient", schemas_of(QI, "patient", kinds=KINDS), runs)
    report(
        "people-visits",
        "k counted in people: generated hospitals",
        [
            f"`mottle.datasets.visits`, quasi-identifiers {', '.join(QI)}. Shares are recomputed"
            " from the link file and the patient column.",
            markdown_table(HEADER, lines),
        ],
        "people.py visits",
    )


def households() -> None:
    """The census, whose rows are given to made-up households of one to twelve neighbours."""
    table = pq.read_table(require_data("census_acs.parquet")).slice(0, 40_000)
    random = np.random.default_rng(SEED)
    sizes = np.minimum(random.geometric(0.38, table.num_rows), 12)
    household = np.repeat(np.arange(len(sizes)), sizes)[: table.num_rows]
    qi = table.column_names
    table = table.append_column("household", pa.array(household))
    runs = [(5, "nh", None), (10, "nh", None), (5, "freeform", 0.0), (10, "freeform", 0.0)]
    lines = rows_of(table, "household", schemas_of(qi, "household"), runs)
    report(
        "people-households",
        "k counted in people: census with made-up households",
        [
            f"The first {table.num_rows:,} rows of census_acs, quasi-identifiers {', '.join(qi)}."
            " Consecutive rows are one household of 1 to 12, so that rows of one are not alike.",
            markdown_table(HEADER, lines),
        ],
        "people.py households",
    )


def attack() -> None:
    """Whose record is it: guesses of an adversary who knows which rows belong together."""
    cases = {
        "five visits each, 300 people": _five_each(300),
        "visits(1500)": mottle.datasets.visits(1500, seed=3),
        "visits(5000)": mottle.datasets.visits(5000, seed=3),
    }
    lines = []
    for name, table in cases.items():
        known = [
            column for column in ("age", "sex", "region", "origin") if column in table.column_names
        ]
        given = {"insensitive": ["ward", "days"], "kinds": KINDS}
        schemas = schemas_of(known, "patient", **given)
        for counted, schema in schemas.items():
            for k in (5, 11):
                release = mottle.anonymize(
                    table, schema, KAnonymity(k), effort=0.0, method="freeform", seed=SEED
                )
                found = mottle.audit_release(
                    table, release, schema=schemas["people"], adversaries=["people", "same_person"]
                )
                fewest, share, right = found.of("people")
                lines.append(
                    [
                        name,
                        k,
                        counted,
                        f"{fewest.details['records_of_one_person']:.1%}",
                        f"{fewest.details['records_with_too_few']:.1%}",
                        fewest.achieved,
                        f"{share.achieved:.3f}",
                        f"{right.achieved:.3f}",
                        f"{1 / k:.3f}",
                        f"{release.gcp:.4f}",
                    ]
                )
                print(*lines[-1], flush=True)
    report(
        "people-attack",
        "Whose record is it: before and after",
        [
            "An adversary who knows everybody's quasi-identifiers and which rows belong together:"
            " which people fit a record (by containment), and, along the graph, guesses the person"
            " who has most of a record's candidates.",
            markdown_table(
                [
                    "table",
                    "k",
                    "k counts",
                    "records that fit one person only",
                    "that fit fewer than k",
                    "fewest people",
                    "largest share",
                    "right guesses",
                    "allowed",
                    "GCP",
                ],
                lines,
            ),
        ],
        "people.py attack",
    )


def _five_each(people: int) -> pa.Table:
    """Five rows for each patient, alike but for the age."""
    table = mottle.datasets.visits(people, seed=SEED)
    first = np.unique(table.column("patient").to_numpy(zero_copy_only=False), return_index=True)[1]
    rows = np.repeat(first, 5)
    random = np.random.default_rng(SEED)
    taken = table.take(pa.array(rows))
    ages = taken.column("age").to_numpy() + np.tile(np.arange(5), people)
    place = taken.column_names.index("age")
    return taken.set_column(place, "age", pa.array(ages)).take(
        pa.array(random.permutation(len(rows)))
    )


if __name__ == "__main__":
    parts = {"visits": visits, "households": households, "attack": attack}
    for part in sys.argv[1:] or parts:
        parts[part]()
