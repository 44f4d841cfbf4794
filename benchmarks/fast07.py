"""FAST07's Figures 12 to 19 on our data: loss and time of one-dimensional and other methods.

Usage: python benchmarks/fast07.py, about a quarter of an hour; writes benchmarks/results/fast07.md.
With the argument "times" only times are measured, into benchmarks/results/fast07-times.md.

Seconds are those of a method alone, from codes to groups, including mapping and sorting, with
kernels compiled; "to a checked release" also includes covering, drawing and all invariants.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from _rivals import run_rival
from _shared import DATA, markdown_table, report, require_data, seconds_of_anonymizing

import mottle
from mottle import methods
from mottle.encoding.cover import cover
from mottle.encoding.domain import Codes
from mottle.encoding.encode import encode
from mottle.encoding.sensitive import encode_sensitive
from mottle.graph.model import Graph
from mottle.guarantees.base import Guarantee
from mottle.guarantees.demand import Demand
from mottle.guarantees.k_anonymity import KAnonymity
from mottle.guarantees.l_diversity import LDiversity
from mottle.loss.graph_measures import discernibility
from mottle.loss.ncp import measure
from mottle.schema.model import Representation

ADULT = ("age", "sex", "race", "marital-status", "education", "native-country", "workclass")
CENSUS = ("age", "gender", "education", "marital_status", "race", "workclass", "country")
TAXONOMIES = ("gender", "marital_status", "race", "workclass", "country")
ALL = 295_243
ONE_DIMENSIONAL = ("hilbert", "hilbert-fast", "idistance", "idistance-fast")
FOR_K = (*ONE_DIMENSIONAL, "mondrian", "nh")
FOR_L = (*ONE_DIMENSIONAL, "mondrian")

Row = tuple[object, ...]


@dataclass(frozen=True)
class Result:
    """Loss, time and graph of one run."""

    gcp: float
    seconds: float
    graph: Graph

    def __str__(self) -> str:
        return f"{self.gcp:.4f} ({self.seconds:.2f} s)"


@cache
def table_of(name: str) -> pa.Table:
    return pq.read_table(require_data(name))


@cache
def coded(name: str, rows: int, columns: tuple[str, ...], taxonomies: bool = False) -> Codes:
    table = table_of(name).slice(0, rows).select(columns)
    folder = DATA / "hierarchies" / "census_acs"
    trees = {column: folder / f"{column}.csv" for column in TAXONOMIES if taxonomies}
    orders = {}
    if taxonomies:  # FAST07, Table 1: age and education are numbers
        orders["education"] = mottle.Hierarchy.read(folder / "education.csv").leaves
    schema = mottle.Schema.of(quasi_identifying=columns, hierarchies=trees, orders=orders)
    return encode(table, schema, Representation.RANGE)


def run(codes: Codes, demand: Demand, method: str, times: int = 1) -> Result:
    """Arrange ``times`` times; measure the loss, and the seconds of the fastest run."""
    arrange = methods.get(method).arrange
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        graph = arrange(codes, demand, methods.MethodContext(seconds=0, seed=1)).graph
        seconds.append(time.perf_counter() - began)
    return Result(measure(cover(graph, codes), codes).gcp, min(seconds), graph)


def compare(codes: Codes, demand: Demand, names: Iterable[str]) -> dict[str, Result]:
    return {name: run(codes, demand, name) for name in names}


def demand_of(diversity: int, rows: int, values: int = 50) -> Demand:
    """ℓ-diversity of occupations, merged into ``values`` values by runs of codes (§6.2)."""
    occupation = table_of("census_acs.parquet").column("occupation").slice(0, rows)
    leaves = mottle.Hierarchy.read(DATA / "hierarchies" / "census_acs" / "occupation.csv").leaves
    codes = pc.index_in(occupation, value_set=pa.array(leaves)).to_numpy()
    table = pa.table({"occupation": codes * values // len(leaves)})
    schema = mottle.Schema.of(quasi_identifying=[], sensitive=["occupation"])
    return LDiversity(diversity).demand(rows, encode_sensitive(table, schema))


def show(
    title: str, names: Sequence[str], results: dict[object, dict[str, Result]]
) -> tuple[str, str]:
    rows = [
        (key, *(str(found[name]) if name in found else "-" for name in names))
        for key, found in results.items()
    ]
    return title, markdown_table(("", *names), rows)


def verdict(what: str, target: str, measured: str, met: bool) -> Row:
    return what, target, measured, "yes" if met else "no"


def below(what: str, results: dict[object, dict[str, Result]], ours: str, rival: str) -> Row:
    """Whether our method loses less than the other in all results that have both."""
    pairs = {key: found for key, found in results.items() if ours in found and rival in found}
    ratios = {key: found[ours].gcp / found[rival].gcp for key, found in pairs.items()}
    missed = [str(key) for key, ratio in ratios.items() if ratio >= 1]
    measured = f"{min(ratios.values()):.2f} to {max(ratios.values()):.2f}"
    if missed:
        measured += f"; not at {', '.join(missed)}"
    return verdict(f"{what}: GCP of {ours} / {rival}", "< 1", measured, not missed)


# ------------------------------------------------------------------------------------ k-anonymity


def figure_12() -> tuple[list[str], list[Row]]:
    codes = coded("adult_arx.parquet", 30_162, ADULT)
    names = (*FOR_K, "topdown", "freeform")
    results: dict[object, dict[str, Result]] = {
        f"k = {k}": compare(codes, Demand(k), names) for k in (5, 10, 20, 50)
    }
    rows = [
        (key, *(f"{discernibility(found[name].graph):,.0f}" for name in FOR_K))
        for key, found in results.items()
    ]
    sections = [
        *show("## Figure 12: ADULT, 30,162 rows, over k", names, results),
        "Discernibility DM.",
        markdown_table(("", *FOR_K), rows),
    ]
    rivals = ("mondrian", "topdown")
    verdicts = [below("ADULT", results, "hilbert", rival) for rival in rivals]
    return sections, verdicts


def figures_13_to_15() -> tuple[list[str], list[Row]]:
    name = "census_acs.parquet"
    names = (*FOR_K, "freeform")
    by_k: dict[object, dict[str, Result]] = {}
    for k in (10, 25, 50, 100):
        with_freeform = names if k in (10, 50) else FOR_K
        by_k[f"k = {k}"] = compare(coded(name, 200_000, CENSUS), Demand(k), with_freeform)
    by_rows: dict[object, dict[str, Result]] = {}
    for rows in (50_000, 100_000, 200_000, ALL):
        if rows == 200_000:
            by_rows[f"n = {rows:,}"] = by_k["k = 50"]
        else:
            with_freeform = names if rows <= 50_000 else FOR_K
            by_rows[f"n = {rows:,}"] = compare(coded(name, rows, CENSUS), Demand(50), with_freeform)
    by_columns: dict[object, dict[str, Result]] = {}
    for columns in (1, 2, 3, 5, 7):
        codes = coded(name, 50_000, CENSUS[:columns])
        with_freeform = names if columns in (3, 7) else FOR_K
        by_columns[f"d = {columns}"] = compare(codes, Demand(50), with_freeform)
    sections = [
        *show("## Figure 13: CENSUS, 200,000 rows, over k", names, by_k),
        *show("## Figure 14: CENSUS, k = 50, over n", names, by_rows),
        *show("## Figure 15: CENSUS, 50,000 rows, k = 50, over d", names, by_columns),
    ]
    everything = {**by_k, **by_rows, **by_columns}
    verdicts = [
        below("CENSUS", everything, ours, "mondrian")
        for ours in ("hilbert", "hilbert-fast", "idistance")
    ]
    return sections, verdicts


def small() -> tuple[list[str], list[Row]]:
    """topdown, which is quadratic, on few rows, without and with the paper's taxonomies."""
    names = (*FOR_K, "topdown")
    sections, verdicts = [], []
    for taxonomies in (False, True):
        codes = coded("census_acs.parquet", 10_000, CENSUS, taxonomies)
        results: dict[object, dict[str, Result]] = {
            f"k = {k}": compare(codes, Demand(k), names) for k in (5, 10, 25, 50, 100)
        }
        how = "with taxonomies" if taxonomies else "categories as sets"
        sections += show(f"## With topdown: CENSUS, 10,000 rows, {how}", names, results)
        verdicts += [
            below(f"CENSUS, 10,000 rows, {how}", results, "hilbert", rival)
            for rival in ("mondrian", "topdown")
        ]
    return sections, verdicts


# ------------------------------------------------------------------------------------ ℓ-diversity


def figures_16_to_19() -> tuple[list[str], list[Row]]:
    name = "census_acs.parquet"
    half = 100_000
    by_l: dict[object, dict[str, Result]] = {
        f"ℓ = {diversity}": compare(
            coded(name, 200_000, CENSUS), demand_of(diversity, 200_000), (*FOR_L, "anatomy")
        )
        for diversity in (2, 3, 5, 7, 10, 13)
    }
    by_rows: dict[object, dict[str, Result]] = {
        f"n = {rows:,}": compare(coded(name, rows, CENSUS), demand_of(5, rows), FOR_L)
        for rows in (50_000, 100_000, ALL)
    }
    by_columns: dict[object, dict[str, Result]] = {
        f"d = {columns}": compare(coded(name, half, CENSUS[:columns]), demand_of(5, half), FOR_L)
        for columns in (1, 2, 3, 5, 7)
    }
    by_values: dict[object, dict[str, Result]] = {
        f"m = {values}": compare(coded(name, half, CENSUS), demand_of(5, half, values), FOR_L)
        for values in (10, 20, 30, 40, 50)
    }
    sections = [
        "Sensitive: occupation. anatomy's GCP is that of its groups if they were generalized.",
        *show("## Figure 16: CENSUS, 200,000 rows, over ℓ", (*FOR_L, "anatomy"), by_l),
        *show("## Figure 17: CENSUS, ℓ = 5, over n", FOR_L, by_rows),
        *show("## Figure 18: CENSUS, 100,000 rows, ℓ = 5, over d", FOR_L, by_columns),
        *show("## Figure 19: CENSUS, 100,000 rows, ℓ = 5, over m", FOR_L, by_values),
    ]
    everything = {**by_l, **by_rows, **by_columns, **by_values}
    verdicts = [
        below("CENSUS, ℓ-diversity", everything, ours, "mondrian")
        for ours in ("hilbert", "idistance")
    ]
    return sections, verdicts


# ------------------------------------------------------------------------------------------ times


def checked_release(rows: int, guarantee: Guarantee, method: str) -> mottle.Release:
    table = table_of("census_acs.parquet").slice(0, rows).select([*CENSUS, "occupation"])
    schema = mottle.Schema.of(quasi_identifying=CENSUS, sensitive=["occupation"])
    return mottle.anonymize(table, schema, guarantee, method=method, seed=1)


def checked_seconds(rows: int, guarantee: Guarantee, method: str) -> float:
    """The fastest of five runs from codes to a checked release."""
    runs = [checked_release(rows, guarantee, method) for _ in range(5)]
    return min(seconds_of_anonymizing(release.certificate) for release in runs)


def groups(rows: int, guarantee: Guarantee, method: str) -> None:
    demand = demand_of(guarantee.l, rows) if isinstance(guarantee, LDiversity) else Demand(50)
    codes = coded("census_acs.parquet", rows, CENSUS)
    methods.get(method).arrange(codes, demand, methods.MethodContext(seconds=0, seed=1))


def growth_of(
    work: Callable[[int, Guarantee, str], object], guarantee: Guarantee, method: str
) -> float:
    """The factor by which processor time grows for ten times the rows; best of five runs.

    Wall-clock time would also measure the load by other users of the machine.
    """
    least = []
    for rows in (ALL, ALL // 10):
        seconds = []
        for _ in range(5):
            began = time.process_time()
            work(rows, guarantee, method)
            seconds.append(time.process_time() - began)
        least.append(min(seconds))
    return least[0] / least[1]


def times() -> tuple[list[str], list[Row]]:
    codes = coded("census_acs.parquet", 200_000, CENSUS)
    fast, mondrian = (
        run(codes, Demand(50), name, times=5).seconds for name in ("hilbert-fast", "mondrian")
    )
    hilbert = checked_seconds(200_000, KAnonymity(50), "hilbert")
    diverse = checked_seconds(200_000, LDiversity(5), "hilbert")
    by_k, by_l = KAnonymity(50), LDiversity(5)
    growth = {
        "hilbert, k = 50": growth_of(groups, by_k, "hilbert"),
        "hilbert, k = 50, whole call to a checked release": growth_of(
            checked_release, by_k, "hilbert"
        ),
        "hilbert, ℓ = 5": growth_of(groups, by_l, "hilbert"),
        "hilbert-fast, ℓ = 5": growth_of(groups, by_l, "hilbert-fast"),
        "hilbert, ℓ = 5, whole call to a checked release": growth_of(
            checked_release, by_l, "hilbert"
        ),
    }
    verdicts = [
        verdict(
            "hilbert, 200,000 rows, k = 50, to a checked release",
            "< 3 s",
            f"{hilbert:.2f} s",
            hilbert < 3,
        ),
        verdict(
            "hilbert-fast / mondrian, 200,000 rows, k = 50, seconds (best of five)",
            "≤ 1.1",
            f"{fast:.2f} s / {mondrian:.2f} s = {fast / mondrian:.2f}",
            fast <= 1.1 * mondrian,
        ),
        *(
            verdict(
                f"{name}: processor time at {ALL:,} / at {ALL // 10:,} rows",
                "≤ 12",
                f"{ratio:.1f}",
                ratio <= 12,
            )
            for name, ratio in growth.items()
        ),
    ]
    note = f"hilbert, 200,000 rows, ℓ = 5, to a checked release: {diverse:.2f} s."
    return ["## Times", note], verdicts


# ----------------------------------------------------------------------------------------- rivals


def rivals() -> tuple[list[str], list[Row]]:
    table = table_of("adult_arx.parquet").select(ADULT)
    codes = coded("adult_arx.parquet", 30_162, ADULT)
    rows, verdicts = [], []
    for k in (10, 50):
        ours = run(codes, Demand(k), "mondrian", times=3)
        strict = run(codes, Demand(k), "mondrian-strict", times=3)
        shown: list[object] = [f"k = {k}", ours, strict]
        for tool in ("anonypy", "anonypyx"):
            theirs = run_rival(tool, table, codes, k)
            shown.append(f"{theirs.gcp:.4f} ({theirs.seconds:.1f} s)")
            faster = theirs.seconds / ours.seconds
            verdicts += [
                verdict(
                    f"k = {k}: GCP of mondrian / {tool}'s",
                    "≤ 1",
                    f"{ours.gcp / theirs.gcp:.2f}",
                    ours.gcp <= theirs.gcp,
                ),
                verdict(
                    f"k = {k}: times faster than {tool}", "≥ 20", f"{faster:,.0f}", faster >= 20
                ),
            ]
        rows.append(shown)
    header = ("", "mondrian", "mondrian-strict", "anonypy 0.2.1", "anonypyx 0.2.11")
    title = "## Mondrian compared with other packages: ADULT, 30,162 rows, seven quasi-identifiers"
    return [title, markdown_table(header, rows)], verdicts


def compile_kernels() -> None:
    codes = coded("adult_arx.parquet", 500, ADULT)
    values = np.arange(500) % 20
    diverse = Demand(2, values.astype(np.int32)[:, None], np.full(20, 0.2), np.full(20, 25))
    for name in {*FOR_K, "topdown", "freeform", "mondrian-strict"}:
        run(codes, Demand(5), name)
    for name in {*FOR_L, "anatomy"}:
        run(codes, diverse, name)
    for guarantee in (KAnonymity(5), LDiversity(2)):
        checked_seconds(500, guarantee, "hilbert")
    run(coded("census_acs.parquet", 500, CENSUS, True), Demand(5), "hilbert")


def main() -> None:
    compile_kernels()
    sections: list[str] = []
    verdicts: list[Row] = []
    for part in (times, figure_12, figures_13_to_15, small, figures_16_to_19, rivals):
        shown, judged = part()
        sections += shown
        verdicts += judged
    report(
        "fast07",
        "FAST07 on our data: GCP, and seconds in brackets",
        [
            "CENSUS is the substitute of 295,243 rows. freeform is not refined (effort 0). Seconds"
            " are those of a method alone, from codes to groups, unless stated otherwise.",
            markdown_table(("measure", "target", "measured", "met"), verdicts),
            *sections,
        ],
    )


def only_times() -> None:
    compile_kernels()
    sections, verdicts = times()
    table = markdown_table(("measure", "target", "measured", "met"), verdicts)
    report("fast07-times", "Times of FAST07's methods", [*sections, table], "fast07.py times")


if __name__ == "__main__":
    only_times() if sys.argv[1:] == ["times"] else main()
