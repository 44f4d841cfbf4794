"""The promise of `buckets`: chance of failure, damage, and who infers more.

Usage: python benchmarks/promise.py failures [draws [cases]]|damage|association|decision; each
writes benchmarks/results/sensitive-<part>.md. Without refinement, because cuts do not depend on it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from importlib import import_module
from multiprocessing import get_context
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _shared import RESULTS, markdown_table, report, require_data
from scipy.stats import beta

import mottle
from mottle import BetaLikeness, KnownRecords, LDiversity, Schema
from mottle.assignment import assign
from mottle.audit.decisions import Decision, Replay
from mottle.encoding.encode import encode
from mottle.encoding.sensitive import encode_sensitive
from mottle.graph.model import Graph
from mottle.guarantees.base import Guarantee
from mottle.guarantees.demand import Demand, allowed
from mottle.methods import MethodContext
from mottle.methods.buckets.buckets import (
    Blocks,
    CutTiers,
    Run,
    arrange_in_buckets,
    cut_tiers,
    tiers_for,
)
from mottle.methods.buckets.records import TableRecords
from mottle.methods.buckets.tree import CutError
from mottle.schema.model import Representation
from mottle.typing import Int32Array, Int64Array
from mottle.utils.csprng import Secret

buckets_module = import_module("mottle.methods.buckets.buckets")
ADULT = ("age", "sex", "race", "marital-status", "education", "native-country", "workclass")
CENSUS = ("age", "gender", "education", "marital_status", "race", "workclass", "country")
UNBOUNDED = 10**9
MOST_BLOCKS = (64, 32, 16, 8, 4, 2)  # tried by the rule of earlier versions
RELEASES = 10  # whose worlds are tried
AT_ONCE = 30  # draws that one process makes before it is given others
Case = tuple[str, str, int | None, Sequence[str], str, Guarantee]
CASES: tuple[Case, ...] = (
    ("ADULT ℓ = 3", "adult_arx", None, ADULT, "occupation", LDiversity(3)),
    ("ADULT ℓ = 5", "adult_arx", None, ADULT, "occupation", LDiversity(5)),
    ("CENSUS 20,000 ℓ = 5", "census_acs", 20_000, CENSUS, "occupation", LDiversity(5)),
    ("CENSUS 100,000 ℓ = 5", "census_acs", 100_000, CENSUS, "occupation", LDiversity(5)),
    ("CENSUS 20,000 β = 3", "census_acs", 20_000, CENSUS, "salary_class", BetaLikeness(3)),
    ("CENSUS 10,000 ℓ = 2", "census_acs", 10_000, CENSUS, "occupation", LDiversity(2)),
    ("CENSUS 5,000 ℓ = 3", "census_acs", 5_000, CENSUS, "occupation", LDiversity(3)),
)
DECISION = (
    "The adversary knows everybody's quasi-identifiers, the graph, the algorithm and the values of"
    " people in other tables of buckets, repeats the method on worlds of the proof and strikes out"
    " those in which it decides otherwise. *Before* is the rule of earlier versions (blocks of"
    " equal size, as many as keep the caps; not for tables in tiers); *after* is the tree of"
    " `buckets`. Struck out: of all worlds that were tried."
    " Right: guesses, with an interval of 95 % confidence; where no world is struck out they are"
    " guesses by chance, each bounded by the cap of its value. Beyond the cap: people of whom the"
    " decisions tell more than that, per release. Without a bound on known records, not refined."
)
ASSUMED = (
    "The adversary `association` of the audit (docs/audit.md): he knows everybody's"
    " quasi-identifiers and the graph, and fits a regression of values on quasi-identifiers to the"
    " release (the deFinetti attack). The caps do not bound him. `buckets` by how many others one"
    " known record may give away, and other methods of the same ℓ; not refined, one secret. For"
    " comparison: a regression on the true values of other people, without any release; and the"
    " cap."
)


def release_of(table: pa.Table, schema: Schema, guarantee: Guarantee, seed: int) -> mottle.Release:
    """A release by `buckets`, not refined; with another secret if a cut fails."""
    while True:
        try:
            return mottle.anonymize(table, schema, guarantee, method="buckets", effort=0, seed=seed)
        except CutError:
            seed += 1000


@cache
def table_of(name: str, rows: int | None) -> pa.Table:
    table = pq.read_table(require_data(f"{name}.parquet"))
    return table if rows is None else table.slice(0, rows)


@cache
def coded(case: Case) -> tuple[TableRecords, Demand]:
    _, name, rows, qi, sensitive, guarantee = case
    table = table_of(name, rows)
    schema = Schema.of(quasi_identifying=qi, sensitive=[sensitive], rest="identifying")
    schema = schema.covering(table.column_names)
    records = TableRecords(encode(table, schema, Representation.RANGE))
    bounded = guarantee & KnownRecords(UNBOUNDED)
    return records, bounded.demand(table.num_rows, encode_sensitive(table, schema))


def context_of(seed: int) -> MethodContext:
    """A run with its own lots and draws."""
    secret = Secret.draw(seed)
    return MethodContext(
        0,
        tiebreak=lambda number: np.random.default_rng(seed).permutation(number),
        preview=lambda graph: assign(graph, secret, "buckets"),
    )


def arranged(records: TableRecords, demand: Demand, seed: int) -> Graph | None:
    """The graph of a run; None if a cut fails."""
    try:
        return arrange_in_buckets(records, demand, context_of(seed)).graph
    except CutError:
        return None


@cache
def releases_of(case: Case, draws: int) -> list[Graph]:
    """The releases whose worlds are tried; their seeds follow those of the draws."""
    records, demand = coded(case)
    graphs = [arranged(records, demand, seed) for seed in range(draws, draws + RELEASES)]
    return [graph for graph in graphs if graph is not None]


def fails(records: TableRecords, demand: Demand, seed: int) -> bool:
    """Whether a cut of a run fails; blocks are not matched."""
    context = context_of(seed)
    try:
        cut_tiers(Run.of(records, demand, context), context)
    except CutError:
        return True
    return False


def other_world(graph: Graph, values: Int32Array, seed: int) -> Int32Array:
    """A world of the proof: the same release by other permutations of the buckets."""
    one, two = (assign(graph, Secret.draw(2 * seed + each), "buckets") for each in (0, 1))
    world = values.copy()
    world[graph.members[two]] = values[graph.members[one]]
    return world


def upper(failed: int, tried: int) -> float:
    """The highest chance of failure that 95 % confidence leaves."""
    return 1.0 if failed == tried else float(beta.ppf(0.95, failed + 1, tried - failed))


def failed_draws(case: Case, seeds: range, draws: int) -> tuple[int, int]:
    """How many of these draws fail: of the true table, and of worlds of its proof."""
    records, demand = coded(case)
    graphs = releases_of(case, draws)
    failed = [0, 0]
    for seed in seeds:
        failed[0] += fails(records, demand, seed)
        codes = demand.sensitive_codes.copy()
        codes[:, 0] = other_world(graphs[seed % len(graphs)], demand.values, seed)
        world = replace(demand, sensitive_codes=codes)
        failed[1] += fails(records, world, seed + draws + RELEASES)
    return failed[0], failed[1]


def failures(draws: int = 300, *cases: int) -> None:
    """How often a cut fails: on the true table, and on worlds of its proof.

    A case whose kept row has fewer draws goes on after them; one that has all is run anew.
    """
    rows = kept_failures()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # the processes use all cores
    with ProcessPoolExecutor(max_workers=2, mp_context=get_context("spawn")) as pool:
        chosen = CASES if not cases else [CASES[number] for number in cases]
        found = []
        for case in chosen:
            done, *failed = rows.get(case[0], [0, 0, 0])
            if done >= draws:
                done, failed = 0, [0, 0]
            parts = [range(at, min(at + AT_ONCE, draws)) for at in range(done, draws, AT_ONCE)]
            results = [pool.submit(failed_draws, case, part, draws) for part in parts]
            found.append((case[0], failed, zip(parts, results, strict=True)))
        for name, failed, results in found:
            for part, result in results:
                failed = [sum(both) for both in zip(failed, result.result(), strict=True)]
                print(name, part.stop, failed, flush=True)
                rows[name] = [part.stop, *failed]
                write(rows)


def kept_failures() -> dict[str, list[int]]:
    """The draws and failures of the kept result, by case."""
    file = RESULTS / "sensitive-failures.md"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    known = {case[0] for case in CASES}
    return {row[0]: [int(cell.split()[0]) for cell in row[1:]] for row in cells if row[0] in known}


def write(rows: Mapping[str, Sequence[int]]) -> None:
    """Write the draws and failures of cases, with the highest chances that they leave."""
    shown = [
        [case[0], draws, *[f"{number} ({upper(number, draws):.1%})" for number in failed]]
        for case in CASES
        if case[0] in rows
        for draws, *failed in [rows[case[0]]]
    ]
    report(
        "sensitive-failures",
        "How often a cut of `buckets` fails, so that nothing is published",
        [
            "Every draw has its own lots. A world of the proof moves the values of one of"
            f" {RELEASES} releases by other permutations of its buckets; it is cut anew with other"
            " lots. In brackets the highest chance of failure that 95 % confidence leaves.",
            markdown_table(
                ["", "draws", "failed, true table", "failed, worlds of its proof"], shown
            ),
        ],
        "promise.py failures",
    )


def damage() -> None:
    """Loss over the bound on what one known record gives away."""
    bounds = (1, 3, 7, 15, 63, UNBOUNDED)
    rows = []
    for case in CASES[:4]:
        title, name, number, qi, sensitive, guarantee = case
        table = table_of(name, number)
        schema = Schema.of(quasi_identifying=qi, sensitive=[sensitive], rest="identifying")
        cells = []
        for bound in bounds:
            found = [
                release_of(table, schema, guarantee & KnownRecords(bound), s).certificate
                for s in (1, 2, 3)
            ]
            cells.append(f"{np.mean([each.gcp for each in found]):.4f}")
        groups = mottle.anonymize(table, schema, guarantee, method="mondrian", effort=0, seed=1)
        rows.append([title, *cells, f"{groups.certificate.gcp:.4f}"])
        print(rows[-1], flush=True)
        names = [f"{bound:,}" for bound in bounds[:-1]]
        report(
            "sensitive-damage",
            "GCP over how many others one known record may give away",
            [
                "Not refined, means of three secrets. Mondrian's groups are homogeneous: one known"
                " record gives away no other; but its decisions leak.",
                markdown_table(["", *names, "no bound", "mondrian"], rows),
            ],
            "promise.py damage",
        )


def association() -> None:
    """Somebody who assumes that similar people have similar values, and knows the graph."""
    bounds, others = (1, 3, 7, 15, 63, UNBOUNDED), ("anatomy", "mondrian", "nh")
    rows = []
    for title, name, number, qi, sensitive, guarantee in CASES[:3]:
        table = table_of(name, number)
        schema = Schema.of(quasi_identifying=qi, sensitive=[sensitive], rest="identifying")
        releases = [release_of(table, schema, guarantee & KnownRecords(b), 1) for b in bounds]
        releases += [
            mottle.anonymize(table, schema, guarantee, method=method, effort=0, seed=1)
            for method in others
        ]
        found = [
            release.audit(table, adversaries=["association"]).findings[0] for release in releases
        ]
        alone = found[0].details["right_by_regression_on_others"]
        cap = found[0].details["cap_of_guesses"]
        cells = [f"{each.achieved:.2f}" for each in found]
        rows.append([title, *cells, f"{alone:.2f}", f"{cap:.2f}"])
        print(rows[-1], flush=True)
        names = [f"{bound:,}" for bound in bounds[:-1]]
        report(
            "sensitive-association",
            "Right guesses of somebody who assumes that similar people have similar values",
            [
                ASSUMED,
                markdown_table(
                    ["", *names, "no bound", *others, "regression on others", "cap"], rows
                ),
            ],
            "promise.py association",
        )


def as_many_blocks_as_keep_the_caps(
    order: Int64Array, values: Int32Array, demand: Demand
) -> list[Int64Array]:
    """The rule before: blocks of equal size along the order, more if all of them keep the caps."""
    for number in MOST_BLOCKS:
        blocks = np.array_split(order, number)
        counts = [np.bincount(values[rows], minlength=len(demand.caps)) for rows in blocks]
        if all(
            np.all(held <= allowed(demand.caps, int(held.sum()))) for held in counts if held.any()
        ):
            return blocks
    return [order]


def cut_by_looking(run: Run, context: MethodContext) -> CutTiers:
    """Cut a table of one tier by the rule before."""
    (tier,) = tiers_for(run.demand)
    blocks = as_many_blocks_as_keep_the_caps(run.order, run.demand.values, run.demand)
    return CutTiers((tier,), [], None, [Blocks.of(tier.buckets, blocks)], context)


def replay_before(table: pa.Table, schema: Schema, guarantee: Guarantee) -> Replay:
    """Repeat the rule before in other worlds; equal records are in the order of the table."""
    schema = schema.covering(table.column_names)
    records = TableRecords(encode(table, schema, Representation.RANGE))
    demand = guarantee.demand(table.num_rows, encode_sensitive(table, schema))
    order = records.order(np.arange(table.num_rows))

    def decided(source: Int64Array) -> Decision:
        blocks = as_many_blocks_as_keep_the_caps(order, demand.values[source], demand)
        return Decision(b"", str(len(blocks)).encode())

    return decided


def below_the_cap(rows: int, cap: float, seed: int) -> pa.Table:
    """Generated people, one of whose illnesses is just below the cap and goes with age."""
    random = np.random.default_rng(seed)
    age = random.integers(18, 90, rows)
    top = round((cap - 0.01) * rows)
    values = np.array([f"illness {number % 20}" for number in range(rows)], dtype=object)
    values[np.argsort(age + random.normal(0, 25, rows))[:top]] = "a"
    columns = {
        "age": age,
        "sex": random.integers(0, 2, rows),
        "origin": random.integers(0, 50, rows),
    }
    return pa.table({**columns, "diagnosis": values.tolist()})


def decision_cases() -> Iterator[tuple[str, pa.Table, Schema, Guarantee]]:
    """The tables, schemas and guarantees against which decisions are replayed."""
    random = np.random.default_rng(1)
    adult, census = table_of("adult_arx", None), table_of("census_acs", None)
    of_adult = Schema.of(quasi_identifying=ADULT, sensitive=["occupation"], rest="identifying")
    for rows in (1000, 2000, 4000, len(adult)):
        table = adult.take(np.sort(random.permutation(len(adult))[:rows]))
        for least in (2, 3, 5):
            yield f"ADULT, {rows:,} rows, ℓ = {least}", table, of_adult, LDiversity(least)
    for rows in (2000, 10_000):
        table = census.take(np.sort(random.permutation(len(census))[:rows]))
        for column, guarantee, name in (
            ("occupation", LDiversity(3), "ℓ = 3"),
            ("occupation", LDiversity(5), "ℓ = 5"),
            ("salary_class", BetaLikeness(1), "β = 1"),
            ("salary_class", BetaLikeness(3), "β = 3"),
        ):
            schema = Schema.of(quasi_identifying=CENSUS, sensitive=[column], rest="identifying")
            yield f"CENSUS, {rows:,} rows, {name}", table, schema, guarantee
    people = ["age", "sex", "origin"]
    generated = Schema.of(quasi_identifying=people, sensitive=["diagnosis"], rest="identifying")
    for least in (2, 3):
        table = below_the_cap(1000, 1 / least, least)
        yield (
            f"generated, a value just below the cap, ℓ = {least}",
            table,
            generated,
            LDiversity(least),
        )


def attacked(
    table: pa.Table, schema: Schema, guarantee: Guarantee, seeds: Sequence[int], before: bool
) -> list[str]:
    """What the adversary finds in releases: worlds struck out, right guesses, or failures."""
    struck, worlds, beyond, failed = 0, 0, 0, 0
    right: dict[str, list[float]] = {"everybody": [], "most believed 1 %": []}
    sigmas: dict[str, list[float]] = {"everybody": [], "most believed 1 %": []}
    bound = guarantee & KnownRecords(UNBOUNDED)
    for seed in seeds:
        try:
            release = mottle.anonymize(table, schema, bound, method="buckets", effort=0, seed=seed)
        except CutError:
            failed += 1
            continue
        given = {"replay": replay_before(table, schema, bound)} if before else {}
        first, *others = release.audit(table, adversaries=["decision"], **given).findings
        beyond += int(first.achieved or 0)
        struck += first.details.get("worlds_struck_out", 0)
        worlds += first.details.get("worlds", 0)
        for found in others:
            for name, figures in found.details["guesses"].items():
                right[name].append(figures["right"])
                sigmas[name].append(figures["sigma"])
    shown = [
        f"{np.mean(each):.3f} ± {1.96 * np.sqrt(np.sum(np.square(sigmas[name]))) / len(each):.3f}"
        if each
        else "–"
        for name, each in right.items()
    ]
    lost = f" ({failed} failed)" if failed else ""
    return [f"{struck} of {worlds}{lost}", *shown, f"{beyond / max(len(seeds) - failed, 1):.0f}"]


def decision(secrets: int = 3) -> None:
    """What replaying the decisions tells: of the rule before, and of the tree."""
    rows = []
    for name, table, schema, guarantee in decision_cases():
        seeds = range(1, 1 + (secrets if table.num_rows <= 10_000 else 1))
        demand = guarantee.demand(
            table.num_rows, encode_sensitive(table, schema.covering(table.column_names))
        )
        before = ["–"] * 4
        if len(tiers_for(demand)) == 1:
            with patch.object(buckets_module, "cut_tiers", cut_by_looking):
                before = attacked(table, schema, guarantee, seeds, before=True)
        after = attacked(table, schema, guarantee, seeds, before=False)
        rows.append([name, len(seeds), f"{demand.caps.max():.2f}", *before, *after])
        print(rows[-1], flush=True)
        parts = ["struck out", "right, everybody", "right, most believed 1 %", "beyond the cap"]
        headings = [f"{part} ({which})" for which in ("before", "after") for part in parts]
        report(
            "sensitive-decision",
            "What the decisions of `buckets` tell to somebody who replays them",
            [DECISION, markdown_table(["", "secrets", "highest cap", *headings], rows)],
            "promise.py decision",
        )


PARTS = {
    "failures": failures,
    "damage": damage,
    "association": association,
    "decision": decision,
}

if __name__ == "__main__":
    part, *given = sys.argv[1:] or ["failures"]
    PARTS[part](*map(int, given))
