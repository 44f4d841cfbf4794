"""Estimates of population uniques against the truth, and what `suggest` chooses.

Samples of the CENSUS substitute are taken, which stands for the population: how many of their rows
are unique in it is counted and compared with what the estimators of `mottle.risk` say from the
sample and its weights alone. Then `suggest` chooses k for several budgets, and the run is made.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _shared import markdown_table, report, require_data

import mottle
from mottle.risk import Keys, individual_risk, population_uniques

COLUMNS = {
    "4": ["age", "gender", "race", "state"],
    "6": ["age", "gender", "race", "state", "marital_status", "education"],
    "8": [
        "age",
        "gender",
        "race",
        "state",
        "marital_status",
        "education",
        "workclass",
        "citizenship_status",
    ],
}
FRACTIONS = (0.01, 0.05, 0.1)
DRAWS = 5
ESTIMATORS = ("by_weights", "log_linear", "zayatz", "pitman")
SUGGESTED_ROWS = 10_000
SECONDS = 20
BUDGETS = (0.01, 0.02, 0.05)


def uniques(people: pa.Table) -> Iterator[list[object]]:
    """True and estimated numbers of population uniques, means of several samples."""
    for name, columns in COLUMNS.items():
        everybody = Keys.of(people, columns)
        true_counts = everybody.frequencies
        for fraction in FRACTIONS:
            found = np.array(
                [
                    list(_one_sample(everybody, true_counts, columns, people, fraction, draw))
                    for draw in range(DRAWS)
                ]
            )
            means = found.mean(axis=0)
            singles, true, *estimated, links, true_links, risk, true_risk = means
            yield [
                name,
                f"{fraction:.0%}",
                f"{singles:,.0f}",
                f"{true:,.0f}",
                *(f"{each:,.0f} ({each / true:.2f})" for each in estimated),
                f"{true_links:,.0f}",
                f"{links:,.0f} ({links / true_links:.2f})",
                f"{true_risk:,.0f}",
                f"{risk:,.0f} ({risk / true_risk:.2f})",
            ]


def _one_sample(
    everybody: Keys,
    true_counts: np.ndarray,
    columns: list[str],
    people: pa.Table,
    fraction: float,
    draw: int,
) -> Iterator[float]:
    generator = np.random.default_rng([draw, int(1000 * fraction)])
    size = int(len(true_counts) * fraction)
    rows = np.sort(generator.choice(len(true_counts), size, replace=False))
    keys = Keys.of(people.select(columns).take(pa.array(rows)), columns)
    weights = np.full(size, len(true_counts) / size)
    found = population_uniques(keys, weights)
    yield float((keys.frequencies == 1).sum())
    yield float((true_counts[rows] == 1).sum())
    for estimator in ESTIMATORS:
        yield float(getattr(found, estimator))
    yield found.right_links
    yield float((1 / true_counts[rows][keys.frequencies == 1]).sum())
    sums = np.bincount(keys.group_of, weights)[keys.group_of]
    yield float(individual_risk(keys.frequencies, sums).sum())
    yield float((1 / true_counts[rows]).sum())


def suggestions(people: pa.Table) -> Iterator[list[object]]:
    """What `suggest` chooses for a budget, and what the run then loses."""
    columns = COLUMNS["6"]
    table = people.select(columns).slice(0, SUGGESTED_ROWS)  # rows are in random order
    schema = mottle.Schema.of(quasi_identifying=columns)
    for budget in BUDGETS:
        began = time.perf_counter()
        found = mottle.suggest(table, schema, max_loss=budget, objective="ncp")
        took = time.perf_counter() - began
        release = mottle.anonymize(
            table, schema, found.needed, objective="ncp", seed=1, effort=SECONDS
        )
        own = [each for each in found.previews if each.method == found.method]
        yield [
            f"{budget:.0%}",
            found.needed.degree,
            f"{found.loss:.2%}",
            "–" if found.next_stronger is None else f"{found.next_stronger.loss:.2%}",
            f"{release.certificate.loss:.2%}",
            f"{len(found.previews) - len(own)} nh, {len(own)} {found.method}",
            f"{took:.0f} s",
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", choices=("population", "suggest"))
    part = parser.parse_args().part
    people = pq.read_table(require_data("census_acs_full.parquet"))
    if part in (None, "population"):
        heading = ["columns", "sample", "sample uniques", "true population uniques"]
        names = ["by weights", "log-linear", "Zayatz", "Pitman"]  # as in ESTIMATORS
        risk = ["Σ 1/F of uniques", "τ₂", "Σ 1/F of all", "individual risks"]
        report(
            "risk-population",
            "Rows that are unique in the population",
            [
                f"Simple random samples of the {people.num_rows:,} people of census_acs_full, means"
                f" of {DRAWS} samples; in brackets, the estimate divided by the truth. Columns:"
                f" {', '.join(COLUMNS['8'])}, or the first 4 or 6 of them. Σ 1/F is the"
                " expected number of right links of whoever knows the population.",
                markdown_table([*heading, *names, *risk], list(uniques(people))),
            ],
            "risk.py population",
        )
    if part in (None, "suggest"):
        heading = ["budget", "k", "preview", "next k", "run", "previews", "time"]
        report(
            "risk-suggest",
            "The strongest k within a loss budget",
            [
                f"{SUGGESTED_ROWS:,} people of census_acs_full, {len(COLUMNS['6'])} columns"
                f" ({', '.join(COLUMNS['6'])}). `preview` is the loss of the method that will run,"
                " without refinement; `next k` that of the weakest k beyond the budget; `run` the"
                f" loss of the release after {SECONDS} s of refinement at most.",
                markdown_table(heading, list(suggestions(people))),
            ],
            "risk.py suggest",
        )


if __name__ == "__main__":
    main()
