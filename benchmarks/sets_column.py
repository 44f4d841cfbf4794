"""A set column alongside ordinary ones: the loss of each method, and of each kind of column.

    python benchmarks/sets_column.py [ROWS]

People of `mottle.datasets.population` with the diagnoses of `mottle.datasets.with_diagnoses`. The
whole table is anonymized, then only its ordinary columns, then only its sets.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import pyarrow as pa
from _shared import by_ncp, markdown_table, report

import mottle
from mottle import KAnonymity, LDiversity, Schema
from mottle.encoding.set_columns import read_sets
from mottle.evaluation import query_error, random_counts
from mottle.graph.bit_voting import vote
from mottle.guarantees.base import Guarantee
from mottle.loss.set_errors import error

ROWS = 20_000
K, L = 10, 2
SECONDS = 20.0  # for refinement
SEED = 1
ORDINARY = ["age", "sex", "marital_status", "education"]
SETS = "diagnoses"
RUNS = (
    ("freeform", KAnonymity(K)),
    ("nh", KAnonymity(K)),
    ("hilbert", KAnonymity(K)),
    ("hp", KAnonymity(K)),
    ("buckets", LDiversity(L)),
    ("nh", LDiversity(L)),
)
COLUMNS = {
    "all": [*ORDINARY, SETS],
    "ordinary alone": ORDINARY,
    "sets alone": [SETS],
}


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    people = mottle.datasets.population(rows, seed=SEED)
    table = mottle.datasets.with_diagnoses(people, seed=SEED).select([*ORDINARY, SETS, "diagnosis"])
    lines, losses = [], {}
    for method, guarantee in RUNS:
        for what, columns in COLUMNS.items():
            line, ncp = measured(table, columns, method, guarantee, what)
            losses[method, guarantee.describe()["short"], what] = ncp
            lines.append(line)
            print(*line, flush=True)
    k, l_ = (each.describe()["short"] for each in (KAnonymity(K), LDiversity(L)))
    whole, rings = losses["freeform", k, "all"], losses["nh", k, "all"]
    bucketed, turned = losses["buckets", l_, "all"], losses["nh", l_, "all"]
    report(
        "sets-column",
        f"A set column alongside ordinary ones: {rows:,} generated people",
        [
            f"{', '.join(ORDINARY)} and a set of diagnoses. NCP of ordinary columns: their mean."
            " NCP of sets: misreported items per item held. ER: SET12's error rate, relative to"
            " each person's own number of items. Query error: median over 100 counts of people who"
            f" hold an item. Refinement: {SECONDS:g} seconds.",
            markdown_table(
                (
                    "guarantee",
                    "method",
                    "anonymized",
                    "GCP",
                    "NCP of ordinary",
                    "NCP of sets",
                    "ER of sets",
                    "query error",
                    "seconds",
                ),
                lines,
            ),
            "\n".join(
                [
                    verdict(
                        "freeform loses less than nh",
                        gcp(whole) < gcp(rings),
                        f"{gcp(whole):.4f} against {gcp(rings):.4f}",
                    ),
                    verdict(
                        "buckets loses less than nh",
                        gcp(bucketed) < gcp(turned),
                        f"{gcp(bucketed):.4f} against {gcp(turned):.4f}",
                    ),
                ]
            ),
        ],
        "sets_column.py",
    )


def gcp(ncp: dict[str, float]) -> float:
    return float(np.mean(list(ncp.values())))


def verdict(name: str, met: bool, numbers: str) -> str:
    return f"- {name}: **{'yes' if met else 'no'}** ({numbers})"


def measured(
    table: pa.Table, columns: list[str], method: str, guarantee: Guarantee, what: str
) -> tuple[tuple[str, ...], dict[str, float]]:
    schema = Schema.of(quasi_identifying=columns, sensitive=["diagnosis"])
    chosen = table.select([*columns, "diagnosis"])
    began = time.perf_counter()
    release = mottle.anonymize(
        chosen,
        schema,
        guarantee,
        method=method,
        objective=by_ncp(method),
        effort=SECONDS,
        seed=SEED,
    )
    seconds = time.perf_counter() - began
    ncp = release.certificate.ncp
    ordinary = [ncp[name] for name in columns if name != SETS]
    rate, median_error = "", ""
    if SETS in columns:
        data = read_sets(table.column(SETS), SETS, ";")
        graph = release.links.graph
        rate = f"{error(graph, data.sets(), vote(graph, data.sets())).rate:.4f}"
        wheres = random_counts(table, [SETS], None, conditions=1, number=100, seed=SEED)
        median_error = f"{query_error(chosen, release, wheres).median:.3f}"
    line = (
        guarantee.describe()["short"],
        method,
        what,
        f"{release.gcp:.4f}",
        f"{np.mean(ordinary):.4f}" if ordinary else "",
        f"{ncp[SETS]:.4f}" if SETS in ncp else "",
        rate,
        median_error,
        f"{seconds:.1f}",
    )
    return line, ncp


if __name__ == "__main__":
    main()
