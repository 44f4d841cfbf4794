"""What analysts get from each objective of freeform and buckets, beside nh, hilbert and mondrian.

Usage: python benchmarks/objective.py [TABLE …]; all four tables without an argument. Each writes
benchmarks/results/objective-TABLE.md. Refinement is limited by
passes, not by seconds, so that figures do not depend on the machine's load. Questions are random
conjunctive counts over λ quasi-identifiers; with ℓ-diversity and β-likeness also over the sensitive
column. Errors are medians of relative errors, without true counts of 0, and root mean squares in
records; means of three secrets.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _shared import markdown_table, report, require_data

import mottle
from mottle import BetaLikeness, KAnonymity, LDiversity, Release, Schema
from mottle.evaluation.workloads import random_counts
from mottle.guarantees.base import Guarantee
from mottle.queries.engine import Queries
from mottle.schema.model import Objective

ROWS, QUESTIONS, PASSES, SECRETS = 2_000, 100, 3, (1, 2, 3)
WIDTHS = (1, 2, 3)  # λ
SELECTIVITY = 0.1
FITS = ("fitted", "uniform")
RIVALS = ("nh", "hilbert", "mondrian")


@dataclass(frozen=True)
class Table:
    """A table of the benchmark: quasi-identifiers, those that are numbers, the sensitive column."""

    file: str
    columns: tuple[str, ...]
    numbers: tuple[str, ...]
    sensitive: str

    def rows(self) -> pa.Table:
        table = pq.read_table(require_data(f"{self.file}.parquet"))
        table = table.select([*self.columns, self.sensitive]).drop_null()
        chosen = np.random.default_rng(1).permutation(table.num_rows)[:ROWS]
        return table.take(pa.array(np.sort(chosen)))

    @property
    def schema(self) -> Schema:
        names = (*self.columns, self.sensitive)
        return Schema.of(
            quasi_identifying=self.columns,
            sensitive=[self.sensitive],
            kinds={name: "category" for name in names if name not in self.numbers},
        )


TABLES = {
    "adult_full": Table(
        "adult_full",
        (
            "age",
            "sex",
            "race",
            "marital-status",
            "education",
            "native-country",
            "workclass",
            "hours-per-week",
        ),
        ("age", "hours-per-week"),
        "occupation",
    ),
    "census_acs": Table(
        "census_acs",
        ("age", "gender", "education", "marital_status", "race", "workclass", "country"),
        ("age",),
        "occupation",
    ),
    "census_acs_full": Table(
        "census_acs_full",
        (
            "age",
            "gender",
            "race",
            "education",
            "marital_status",
            "workclass",
            "region",
            "citizenship_status",
            "place_of_birth",
            "nativity",
            "ability_to_speak_english",
            "mobility_status",
            "military_service",
            "hearing_difficulty",
            "vision_difficulty",
        ),
        ("age",),
        "occupation",
    ),
    "coil2000_full": Table(
        "coil2000_full",
        (
            "MAANTHUI",
            "MGEMOMV",
            "MGEMLEEF",
            "MGODRK",
            "MRELGE",
            "MOPLHOOG",
            "MHKOOP",
            "MAUT1",
            "MINKGEM",
            "MKOOPKLA",
        ),
        ("MRELGE", "MHKOOP"),
        "MOSTYPE",
    ),
}


@dataclass(frozen=True)
class Answers:
    """How well a release answers: by reading, the median relative error and rmse for every λ."""

    median: dict[str, list[float]]
    rmse: dict[str, list[float]]
    gcp: float


def released(
    table: Table,
    rows: pa.Table,
    guarantee: Guarantee,
    method: str,
    objective: str | None,
    seed: int,
) -> Release:
    return mottle.anonymize(
        rows,
        table.schema,
        guarantee,
        method=method,
        objective=objective,
        options={} if objective is None else {"passes": PASSES},
        seed=seed,
    )


def answers(
    release: Release, truth: Sequence[np.ndarray], workloads: Sequence[Sequence[Mapping]]
) -> Answers:
    median: dict[str, list[float]] = {}
    rmse: dict[str, list[float]] = {}
    for fit in FITS:
        queries = Queries.of(release, fit)
        for true, wheres in zip(truth, workloads, strict=True):
            found = np.array([count.expected for count in queries.counts(wheres)])
            errors = np.abs(found - true)
            median.setdefault(fit, []).append(
                float(np.median((errors / np.maximum(true, 1))[true > 0]))
            )
            rmse.setdefault(fit, []).append(float(np.sqrt(np.mean(errors**2))))
    return Answers(median, rmse, float(np.mean(list(release.certificate.ncp.values()))))


def mean(found: Sequence[Answers]) -> Answers:
    """The means over secrets."""
    return Answers(
        {fit: np.mean([one.median[fit] for one in found], axis=0).tolist() for fit in FITS},
        {fit: np.mean([one.rmse[fit] for one in found], axis=0).tolist() for fit in FITS},
        float(np.mean([one.gcp for one in found])),
    )


def measured(table: Table) -> Iterator[dict[str, dict[str, Answers]]]:
    """By guarantee and method, after each guarantee what has been measured so far."""
    rows = table.rows()
    exact = Queries.of(rows)
    found: dict[str, dict[str, Answers]] = {}
    for guarantee in (
        *(KAnonymity(k) for k in (5, 10, 20)),
        *(LDiversity(bound) for bound in (3, 5)),
        BetaLikeness(2),
    ):
        sensitive = table.sensitive if guarantee.about_values else None
        workloads = [
            random_counts(
                rows,
                table.columns,
                sensitive,
                conditions=width,
                selectivity=SELECTIVITY,
                number=QUESTIONS,
                seed=width,
            )
            for width in WIDTHS
        ]
        truth = [
            np.array([count.expected for count in exact.counts(wheres)]) for wheres in workloads
        ]
        ours = "buckets" if guarantee.about_values else "freeform"
        rivals = [name for name in RIVALS if mottle.methods.get(name).gives(guarantee)]
        short = guarantee.describe()["short"]
        for method, objective in (
            *((name, None) for name in rivals),
            *((ours, str(objective)) for objective in Objective),
        ):
            # Without a sensitive column, answers follow from the graph, which has no secret here.
            secrets = SECRETS if guarantee.about_values or objective is not None else SECRETS[:1]
            found.setdefault(short, {})[objective or method] = mean(
                [
                    answers(
                        released(table, rows, guarantee, method, objective, secret),
                        truth,
                        workloads,
                    )
                    for secret in secrets
                ]
            )
            one = found[short][objective or method]
            print(short, objective or method, one.median, one.rmse, f"{one.gcp:.4f}", flush=True)
        yield found


def shown(found: Mapping[str, Mapping[str, Answers]], measure: str, fit: str, digits: int) -> str:
    """A table of one measure by one way of reading."""
    names = list(max(found.values(), key=len))
    rows = [
        [
            f"{short}, λ = {width}",
            *(
                f"{getattr(by[name], measure)[fit][place]:.{digits}f}" if name in by else "-"
                for name in names
            ),
        ]
        for short, by in found.items()
        for place, width in enumerate(WIDTHS)
    ]
    return markdown_table(["case", *names], rows)


def won(found: Mapping[str, Mapping[str, Answers]], objective: str, measure: str) -> str:
    """In how many comparisons an objective is below or equal to the rivals, by guarantee."""
    kinds: dict[str, list[bool]] = {}
    for short, by in found.items():
        ours = getattr(by[objective], measure)["fitted"]
        for rival in (name for name in by if name in RIVALS):
            theirs = getattr(by[rival], measure)["fitted"]
            pairs = zip(ours, theirs, strict=True)
            kinds.setdefault(short.split()[0], []).extend(one <= other for one, other in pairs)
    return ", ".join(f"{kind}: {sum(wins)} of {len(wins)}" for kind, wins in kinds.items())


def page(name: str) -> None:
    """Measure a table; the page is written after every guarantee, so that none is lost."""
    for found in measured(TABLES[name]):
        write(name, found)


def write(name: str, found: Mapping[str, Mapping[str, Answers]]) -> None:
    names = list(max(found.values(), key=len))
    losses = [
        [short, *(f"{by[each].gcp:.4f}" if each in by else "-" for each in names)]
        for short, by in found.items()
    ]
    counted = [
        [objective, won(found, objective, "median"), won(found, objective, "rmse")]
        for objective in map(str, Objective)
    ]
    table = TABLES[name]
    report(
        f"objective-{name}",
        f"Objectives, {name}",
        [
            f"{ROWS:,} rows, {len(table.columns)} quasi-identifiers ({len(table.numbers)} of them"
            f" numbers), {QUESTIONS} questions per case, at most {PASSES} passes of refinement."
            " reading, ncp and entropy are freeform (k) or buckets (ℓ, β) with that objective.",
            "Median relative error, fitted values (the default):",
            shown(found, "median", "fitted", 4),
            "Root mean square error in records, fitted values:",
            shown(found, "rmse", "fitted", 1),
            "Median relative error under the uniform assumption:",
            shown(found, "median", "uniform", 4),
            "GCP, equal weights of columns:",
            markdown_table(["guarantee", *names], losses),
            "Comparisons with nh, hilbert and mondrian in which an objective is not worse, by"
            " fitted values:",
            markdown_table(
                ["objective", "median relative error", "root mean square error"], counted
            ),
        ],
        f"objective.py {name}",
    )


if __name__ == "__main__":
    for word in sys.argv[1:] or TABLES:
        if word not in TABLES:
            sys.exit(f"There is no table '{word}'; the tables are {', '.join(TABLES)}.")
        page(word)
