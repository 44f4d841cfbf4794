"""Accuracy of queries by the defaults and under the papers' uniform assumption, speed, learning.

Usage: python benchmarks/queries.py
[bounds|likeness|diversity|matches|speed|learning|coverage|expressions|regressions|rivals]; all
of them without an argument; each writes benchmarks/results/queries-<part>.md. "rivals" needs
access to PyPI for anonypy, in an environment of its own. "coverage" keeps what it found in
queries-coverage.json and goes on where it was stopped; "coverage adult_full" is about one table,
"coverage anew" forgets what is kept. CENSUS is the first rows
of census_acs in codes (age and education as numbers, the others as categories), COIL2000 the five
columns of HET. Every release is queried in two ways: as by default (values weighted by what the
release says), and under the papers' uniform assumption. Errors are median relative errors of random
conjunctive counts, without true counts of 0. "× 5" is our method with weight 5 in the schema for
categories, which then lose less, and numbers more; "no bound" lets one known record give away any
number of others, as rings of ``nh`` do. "likeness" and "diversity" state means of three secrets.
Releases are refined while it pays, as by default: on a loaded machine they are the same.
"""

from __future__ import annotations

import gzip
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from _privbayes import epsilon_of, privbayes
from _queries_coverage import measure_coverage
from _queries_expressions import expression_coverage
from _queries_learning import learning_by_table
from _queries_regressions import regressions_by_table
from _queries_rivals import rivals_by_degree
from _shared import markdown_table, report, require_data

import mottle
from mottle import BetaLikeness, KAnonymity, KnownRecords, LDiversity, Release, Schema
from mottle.evaluation.workloads import prefix_counts, query_error, random_counts
from mottle.guarantees.base import Guarantee
from mottle.queries.engine import Queries

CENSUS = ("age", "gender", "education", "marital_status", "race", "workclass", "country")
NUMBERS = ("age", "education")
COIL = ("num_houses", "avg_household_size", "avg_age_class", "customer_main_type")
ROWS = 10_000
QUERIES = 600
SECRETS = (1, 2, 3)
WEIGHTED, UNBOUNDED = " × 5", ", no bound"
FOR_BETA = ("buckets", "buckets × 5", "burel", "mondrian")
FOR_K = ("freeform", "freeform × 5", "nh", "hilbert", "mondrian")
FOR_L = ("buckets", "buckets × 5", "buckets, no bound", "nh", "hilbert", "mondrian", "anatomy")
FITS = {"with fitted values (the default)": "fitted", "under the uniform assumption": "uniform"}


@cache
def census(rows: int = ROWS) -> pa.Table:
    with gzip.open(require_data("census_acs_codes.csv.gz")) as file:
        return pyarrow.csv.read_csv(file).slice(0, rows)


@cache
def parquet(name: str) -> pa.Table:
    return pq.read_table(require_data(f"{name}.parquet"))


def schema_of(columns: Sequence[str], sensitive: str, weight: float = 1.0) -> Schema:
    kinds = {name: "category" for name in (*columns, sensitive) if name not in NUMBERS}
    return Schema.of(
        quasi_identifying=columns,
        sensitive=[sensitive],
        rest="identifying",
        kinds=kinds,
        importance={name: weight for name in columns if name not in NUMBERS},
    )


def released(
    table: pa.Table,
    columns: Sequence[str],
    sensitive: str,
    guarantee: Guarantee,
    method: str,
    seed: int = 1,
) -> Release:
    schema = schema_of(columns, sensitive, 5.0 if method.endswith(WEIGHTED) else 1.0)
    name = method.removesuffix(WEIGHTED).removesuffix(UNBOUNDED)
    if method.endswith(UNBOUNDED):
        guarantee = guarantee & KnownRecords(table.num_rows)
    return mottle.anonymize(table, schema, guarantee, method=name, seed=seed)


def unweighted_gcp(releases: Sequence[Release]) -> float:
    """The mean loss with equal weights of all columns, so that releases can be compared."""
    return float(np.mean([list(release.certificate.ncp.values()) for release in releases]))


def mean_error(
    truth: Queries, sources: Sequence[Queries], wheres: Sequence[Mapping[str, object]]
) -> float:
    """The mean over several releases of the median error."""
    return float(np.mean([query_error(truth, source, wheres).median for source in sources]))


def is_ours(name: str) -> bool:
    return name.startswith(("buckets", "freeform"))


def verdict(claim: str, met: bool, figures: str) -> str:
    return f"- {claim}: **{'yes' if met else 'no'}** ({figures})"


def below_the_others(
    found: Mapping[str, Mapping[str, float]], ours: str, others: Sequence[str]
) -> str:
    """Whether our method's error is below that of every other generalization, in every case."""
    ratios = {
        (case, other): errors[ours] / errors[other]
        for case, errors in found.items()
        for other in others
    }
    case, other = max(ratios, key=lambda key: ratios[key])
    wins = sum(ratio < 1 for ratio in ratios.values())
    return verdict(
        f"{ours} below every other generalization method at the same guarantee",
        ratios[case, other] < 1,
        f"{wins} of {len(ratios)} comparisons; highest ratio {ratios[case, other]:.2f}"
        f" against {other} at {case}",
    )


def against(found: Mapping[str, Mapping[str, float]], ours: str, other: str) -> str:
    ratios = [errors[other] / errors[ours] for errors in found.values()]
    return (
        f"- {other} has {min(ratios):.2f} to {max(ratios):.2f} times the error of {ours}"
        f" ({sum(ratio > 1 for ratio in ratios)} of {len(ratios)} cases above it)."
    )


def table_of(found: Mapping[str, Mapping[str, float]], heading: str) -> str:
    names = list(next(iter(found.values())))
    rows = [[case, *(f"{errors[name]:.4f}" for name in names)] for case, errors in found.items()]
    return markdown_table([heading, *names], rows)


# -------------------------------------------------------------------------------- HET Figures 8-10


class Likeness:
    """Releases and synthetic tables of one data set, made once for each β."""

    def __init__(self, table: pa.Table, columns: Sequence[str], sensitive: str) -> None:
        self.table, self.columns, self.sensitive = table, list(columns), sensitive
        self.truth = Queries.of(table)
        self.made: dict[tuple[float, str], dict[str, list[Queries]]] = {}
        self.releases: dict[float, dict[str, list[Release]]] = {}

    def sources(self, beta: float, fit: str) -> dict[str, list[Queries]]:
        if beta not in self.releases:
            self.releases[beta] = {
                method: [
                    released(
                        self.table, self.columns, self.sensitive, BetaLikeness(beta), method, seed
                    )
                    for seed in SECRETS
                ]
                for method in FOR_BETA
                if "education" in self.columns or not method.endswith(WEIGHTED)
            }
            print(beta, {m: unweighted_gcp(r) for m, r in self.releases[beta].items()}, flush=True)
        if (beta, fit) not in self.made:
            columns = [*self.columns, self.sensitive]
            self.made[beta, fit] = {
                method: [Queries.of(release, fit) for release in releases]
                for method, releases in self.releases[beta].items()
            } | {
                "PrivBayes": [
                    Queries.of(privbayes(self.table, columns, epsilon_of(beta), seed=seed))
                    for seed in SECRETS
                ]
            }
        return self.made[beta, fit]

    def errors(
        self, beta: float, wheres: Sequence[Mapping[str, object]]
    ) -> dict[str, dict[str, float]]:
        """Median errors by fit and method."""
        return {
            fit: {
                name: mean_error(self.truth, sources, wheres)
                for name, sources in self.sources(beta, fit).items()
            }
            for fit in FITS.values()
        }

    def random(self, conditions: int, selectivity: float) -> list[Mapping[str, object]]:
        return random_counts(
            self.table,
            self.columns,
            self.sensitive,
            conditions=conditions,
            selectivity=selectivity,
            number=QUERIES // 3,
            seed=1,
        )


Found = Mapping[str, Mapping[str, Mapping[str, float]]]  # case → fit → method → error


def by_both(found: Found) -> list[str]:
    """A table and verdicts for each fit."""
    sections = []
    for title, fit in FITS.items():
        errors = {case: by_fit[fit] for case, by_fit in found.items()}
        names = list(next(iter(errors.values())))
        others = [n for n in names if not is_ours(n) and n not in ("anatomy", "PrivBayes")]
        ours = [name for name in names if is_ours(name)]
        lines = [below_the_others(errors, name, others) for name in ours]
        lines += [
            against(errors, ours[0], name) for name in names if name in ("anatomy", "PrivBayes")
        ]
        sections += [f"Error {title}:", table_of(errors, "case"), "\n".join(lines)]
    gains = [
        by_fit["uniform"][name] / by_fit["fitted"][name]
        for by_fit in found.values()
        for name in by_fit["fitted"]
        if name not in ("anatomy", "PrivBayes")
    ]
    sections.append(
        verdict(
            "the default is more accurate than the uniform assumption, for every method",
            min(gains) > 1,
            f"error divided by {min(gains):.2f} to {max(gains):.2f}",
        )
    )
    return sections


def likeness() -> None:
    """HET Figures 8 (CENSUS), 9 (COIL2000) and 10."""
    sections = []
    cases = (
        ("CENSUS, sensitive occupation (Figure 8)", census(), CENSUS, "occupation", 6),
        (
            "COIL2000, sensitive subtype (Figure 9)",
            parquet("coil2000_5attr"),
            COIL,
            "customer_subtype",
            4,
        ),
    )
    for title, table, columns, sensitive, widest in cases:
        data = Likeness(table, columns, sensitive)
        found = {f"β = {beta}": data.errors(beta, data.random(3, 0.1)) for beta in (1, 3, 5)}
        found |= {
            f"λ = {width}": data.errors(3, data.random(width, 0.1))
            for width in range(1, widest + 1)
            if width != 3
        }
        found |= {f"Θ = {share}": data.errors(3, data.random(3, share)) for share in (0.05, 0.25)}
        sections += [
            f"## {title}\n\nβ = 3, λ = 3, Θ = 0.1 unless stated otherwise; ε = ln(1 + β).",
            *by_both(found),
        ]
        if sensitive == "occupation":
            singles = ("age", "gender", "marital_status", "race")
            prefixes = prefix_counts(table, "education", singles, number=QUERIES, seed=1)
            wide = {f"β = {b}": data.errors(b, data.random(3, 0.1)) for b in (10,)}
            prefixed = {f"prefix, β = {b}": data.errors(b, prefixes) for b in (1, 3, 10)}
            sections += [
                "## The range of β (Figure 10a) and prefix ranges (Figure 10c), CENSUS",
                *by_both(wide | prefixed),
            ]
        losses = {
            f"β = {beta}": {method: unweighted_gcp(r) for method, r in made.items()}
            for beta, made in data.releases.items()
        }
        sections += ["Information loss (GCP, equal weights of columns):", table_of(losses, "case")]
    report("queries-likeness", "Range queries with β-likeness", sections, "queries.py likeness")


def diversity() -> None:
    """The same queries for ℓ-diversity and k-anonymity, with λ and Θ as in Figures 8 and 9."""
    table, truth = census(), Queries.of(census())

    def workload(conditions: int, selectivity: float) -> list[Mapping[str, object]]:
        return random_counts(
            table,
            CENSUS,
            "occupation",
            conditions=conditions,
            selectivity=selectivity,
            number=QUERIES,
            seed=1,
        )

    sections = []
    for title, methods, guarantees in (
        ("ℓ-diversity", FOR_L, [LDiversity(bound) for bound in (5, 3, 10)]),
        ("k-anonymity", FOR_K, [KAnonymity(bound) for bound in (10, 5, 20)]),
    ):
        found: dict[str, dict[str, dict[str, float]]] = {}
        losses: dict[str, dict[str, float]] = {}
        for number, guarantee in enumerate(guarantees):
            short = guarantee.describe()["short"]
            releases = {
                method: [
                    released(table, CENSUS, "occupation", guarantee, method, seed)
                    for seed in SECRETS
                ]
                for method in methods
            }
            losses[short] = {name: unweighted_gcp(each) for name, each in releases.items()}
            workloads = {short: workload(3, 0.1)}
            if number == 0:
                workloads |= {f"{short}, λ = {width}": workload(width, 0.1) for width in (1, 2, 5)}
                workloads |= {f"{short}, Θ = {share}": workload(3, share) for share in (0.05, 0.25)}
            for fit in FITS.values():
                prepared = {
                    name: [Queries.of(release, fit) for release in each]
                    for name, each in releases.items()
                }
                for case, wheres in workloads.items():
                    found.setdefault(case, {})[fit] = {
                        name: mean_error(truth, sources, wheres)
                        for name, sources in prepared.items()
                    }
            print(short, {case: found[case] for case in workloads}, flush=True)
        sections += [
            f"## {title}\n\nλ = 3, Θ = 0.1 unless stated otherwise.",
            *by_both(found),
            "Information loss (GCP, equal weights of columns) of the same releases:",
            table_of(losses, "case"),
        ]
    sections.append(
        "Means of three secrets. Anatomy publishes exact quasi-identifiers and is not a"
        " generalization method. `buckets` bounds by default how many others one known record gives"
        " away; without this bound it keeps the same beliefs as with it, while `nh`, `hilbert` and"
        " `mondrian` keep shares on the matches only, and the rings of `nh` have no such bound."
    )
    report("queries-diversity", "Range queries with ℓ-diversity", sections, "queries.py diversity")


def matches() -> None:
    """Errors due to the release or to the estimate: answers by somebody who sees all matches.

    Such an analyst counts the share of a record's matches that satisfy the conditions, in all
    columns jointly. If sensitive values are informative about quasi-identifiers, fitted answers can
    be better than that.
    """
    table, truth, seeds = census(), Queries.of(census()), (1, 2, 3)
    rows = []
    for guarantee in (LDiversity(3), LDiversity(5)):
        for method in ("buckets", "buckets × 5", "nh"):
            releases = [
                released(table, CENSUS, "occupation", guarantee, method, seed) for seed in seeds
            ]
            for conditions in (1, 3):
                wheres = random_counts(
                    table,
                    CENSUS,
                    "occupation",
                    conditions=conditions,
                    selectivity=0.1,
                    number=QUERIES,
                    seed=1,
                )
                best = [_error_by_matches(truth, release, wheres) for release in releases]
                answered = [query_error(truth, Queries.of(r), wheres).median for r in releases]
                case = [guarantee.describe()["short"], f"λ = {conditions}", method]
                rows.append([*case, *(f"{np.mean(each):.4f}" for each in (best, answered))])
                print(*rows[-1], flush=True)
    sections = [
        markdown_table(["guarantee", "queries", "method", "all matches seen", "estimated"], rows),
        "Means of three releases. `nh` chooses neighbours by quasi-identifiers and sensitive values"
        " jointly; `buckets` must not, since that leaks: at the same GCP its matches contain less"
        " information about both jointly, however cells are evaluated.",
    ]
    report("queries-matches", "Answers by all matches", sections, "queries.py matches")


def _error_by_matches(
    truth: Queries, release: Release, wheres: Sequence[Mapping[str, object]]
) -> float:
    links = release.links
    assert links is not None
    graph = links.graph
    block_of = np.repeat(np.arange(len(graph.degrees)), graph.sizes)
    position = np.repeat(np.arange(graph.records), graph.degrees[block_of])
    original = graph.members[np.concatenate([graph.preimages(p) for p in range(graph.records)])]
    published = graph.members[links.truth]
    errors = []
    for where in wheres:
        quasi = {name: wanted for name, wanted in where.items() if name != "occupation"}
        secret = {name: wanted for name, wanted in where.items() if name == "occupation"}
        satisfied = truth.likelihoods(truth.parse_where(quasi)) > 0
        sensitive = truth.likelihoods(truth.parse_where(secret)) > 0
        count = np.count_nonzero(satisfied & sensitive)
        if count:
            shares = np.bincount(position, satisfied[original]) / graph.degrees[block_of]
            errors.append(abs(shares[sensitive[published]].sum() - count) / count)
    return float(np.median(errors))


# ------------------------------------------------------------------------- bounds, speed, learning


def bounds() -> None:
    """The truth always lies within the bounds."""
    rows = []
    good = True
    number = 10_000
    table, truth = census(), Queries.of(census())
    wheres = [
        where
        for width in (1, 2, 3, 5)
        for where in random_counts(
            table,
            CENSUS,
            "occupation",
            conditions=width,
            selectivity=0.1,
            number=number // 4,
            seed=width,
        )
    ]
    for method, guarantee in (
        ("freeform", KAnonymity(10)),
        ("nh", KAnonymity(10)),
        ("mondrian", KAnonymity(10)),
        ("buckets", LDiversity(5)),
        ("anatomy", LDiversity(5)),
    ):
        found = query_error(truth, released(table, CENSUS, "occupation", guarantee, method), wheres)
        good &= found.within_bounds == number
        rows.append([method, guarantee.describe()["short"], number, found.within_bounds])
        print(rows[-1], flush=True)
    sections = [
        markdown_table(["method", "guarantee", "queries", "truth within the bounds"], rows),
        verdict("the truth always lies within the bounds", good, f"{len(rows)} releases"),
    ]
    report("queries-bounds", "Bounds of counts", sections, "queries.py bounds")


def speed() -> None:
    """1,000 conjunctive counts on 295,243 rows."""
    table = parquet("census_acs")
    release = released(table, CENSUS, "occupation", KAnonymity(10), "nh")
    wheres = random_counts(table, CENSUS, "occupation", number=1000, seed=1)
    Queries.of(release.slice(0, 1000)).counts(wheres[:2])  # compile

    def seconds(work: Callable[[], object]) -> tuple[float, float]:
        wall, processor = time.perf_counter(), time.process_time()
        work()
        return time.perf_counter() - wall, time.process_time() - processor

    prepared = Queries.of(release)
    rows = [
        ["prepare the release, once", *seconds(lambda: Queries.of(release))],
        ["1,000 counts, λ = 3 and the sensitive column", *seconds(lambda: prepared.counts(wheres))],
        [
            "group by education and occupation",
            *seconds(lambda: prepared.group_by(["education", "occupation"])),
        ],
        ["draw one possible world", *seconds(lambda: release.sample(1, seed=1))],
    ]
    shown = [[name, f"{wall:.2f}", f"{processor:.2f}"] for name, wall, processor in rows]
    sections = [
        f"{table.num_rows:,} rows, k = 10, nh.",
        markdown_table(["", "seconds", "seconds of processor time"], shown),
        verdict(
            "1,000 counts in seconds", rows[1][2] < 10, f"{rows[1][2]:.1f} s of processor time"
        ),
    ]
    report("queries-speed", "Speed of queries", sections, "queries.py speed")


def learning() -> None:
    """Train on releases of four tables, test on originals that were not released."""
    for sections in learning_by_table():
        report("queries-learning", "Learning from releases", sections, "queries.py learning")


def coverage(*tables: str) -> None:
    """How often stated 95 % intervals hold the truth; of some tables, or all; kept case by case."""
    names = [name for name in tables if name != "anew"]
    for sections in measure_coverage(names, anew="anew" in tables):
        report("queries-coverage", "How often intervals hold", sections, "queries.py coverage")


def expressions() -> None:
    """How often intervals of SQL expressions hold the truth, and whether bounds always do."""
    for sections in expression_coverage():
        report("queries-expressions", "SQL expressions", sections, "queries.py expressions")


def regressions() -> None:
    """How often pooled intervals hold the coefficients of the original."""
    for sections in regressions_by_table():
        report("queries-regressions", "Pooled regressions", sections, "queries.py regressions")


def rivals() -> None:
    """Beside releases of ARX and anonypy, read in the usual way."""
    report("queries-rivals", "Beside ARX and anonypy", rivals_by_degree(), "queries.py rivals")


PARTS = {
    part.__name__: part
    for part in (
        *(bounds, likeness, diversity, matches, speed, learning),
        *(coverage, expressions, regressions, rivals),
    )
}


if __name__ == "__main__":
    if sys.argv[1:2] == ["coverage"] and not set(sys.argv[2:]) & set(PARTS):
        coverage(*sys.argv[2:])
        sys.exit()
    for word in sys.argv[1:] or PARTS:
        if word not in PARTS:
            sys.exit(f"There is no part '{word}'; the parts are {', '.join(PARTS)}.")
        PARTS[word]()
