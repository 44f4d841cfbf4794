"""The promise of `buckets`: chance of failure, damage, and who infers more.

Usage: python benchmarks/promise.py failures [draws]|damage|association; each writes
benchmarks/results/promise-<part>.md. Without refinement, because cuts do not depend on it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _shared import markdown_table, report, require_data
from scipy.stats import beta

import mottle
from mottle import BetaLikeness, KnownRecords, LDiversity, Schema
from mottle.assignment import assign
from mottle.encoding.encode import encode
from mottle.encoding.sensitive import encode_sensitive
from mottle.graph.model import Graph
from mottle.guarantees.base import Guarantee
from mottle.guarantees.demand import Demand
from mottle.methods import MethodContext
from mottle.methods.buckets.association import Association
from mottle.methods.buckets.buckets import arrange_in_buckets
from mottle.methods.buckets.cut_columns import codes_of, cut_columns
from mottle.methods.buckets.records import TableRecords
from mottle.methods.buckets.tree import CutError
from mottle.methods.buckets.waves import published_tables
from mottle.schema.model import Representation
from mottle.typing import Int32Array
from mottle.utils.csprng import Secret

ADULT = ("age", "sex", "race", "marital-status", "education", "native-country", "workclass")
CENSUS = ("age", "gender", "education", "marital_status", "race", "workclass", "country")
UNBOUNDED = 10**9
Case = tuple[str, str, int | None, Sequence[str], str, Guarantee]
CASES: tuple[Case, ...] = (
    ("ADULT ℓ = 3", "adult_arx", None, ADULT, "occupation", LDiversity(3)),
    ("ADULT ℓ = 5", "adult_arx", None, ADULT, "occupation", LDiversity(5)),
    ("CENSUS 20,000 ℓ = 5", "census_acs", 20_000, CENSUS, "occupation", LDiversity(5)),
    ("CENSUS 100,000 ℓ = 5", "census_acs", 100_000, CENSUS, "occupation", LDiversity(5)),
    ("CENSUS 20,000 β = 3", "census_acs", 20_000, CENSUS, "salary_class", BetaLikeness(3)),
)
ASSUMED = (
    "He knows everybody's quasi-identifiers and the graph, and fits a regression of values on"
    " quasi-identifiers to the release, weighing the permutations of every table by it (the"
    " deFinetti attack). The caps do not bound him. For comparison: a regression fitted to the true"
    " table, without any release; and the cap. By how many others one known record may give away:"
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


def coded(case: Case) -> tuple[TableRecords, Demand]:
    _, name, rows, qi, sensitive, guarantee = case
    table = table_of(name, rows)
    schema = Schema.of(quasi_identifying=qi, sensitive=[sensitive], rest="identifying")
    schema = schema.covering(table.column_names)
    records = TableRecords(encode(table, schema, Representation.RANGE))
    bounded = guarantee & KnownRecords(UNBOUNDED)
    return records, bounded.demand(table.num_rows, encode_sensitive(table, schema))


def arranged(records: TableRecords, demand: Demand, seed: int) -> Graph | None:
    """A run with its own lots; None if a cut fails."""
    secret = Secret.draw(seed)
    context = MethodContext(
        0,
        tiebreak=lambda number: np.random.default_rng(seed).permutation(number),
        preview=lambda graph: assign(graph, secret, "buckets"),
    )
    try:
        return arrange_in_buckets(records, demand, context).graph
    except CutError:
        return None


def other_world(graph: Graph, values: Int32Array, seed: int) -> Int32Array:
    """A world of the proof: the same release by other permutations of the buckets."""
    one, two = (assign(graph, Secret.draw(2 * seed + each), "buckets") for each in (0, 1))
    world = values.copy()
    world[graph.members[two]] = values[graph.members[one]]
    return world


def upper(failed: int, tried: int) -> float:
    """The highest chance of failure that 95 % confidence leaves."""
    return 1.0 if failed == tried else float(beta.ppf(0.95, failed + 1, tried - failed))


def failures(draws: int = 300) -> None:
    """How often a cut fails: on the true table, and on worlds of its proof."""
    rows = []
    for case in CASES:
        records, demand = coded(case)
        tried = draws if len(records.matrix) < 50_000 else max(draws // 5, 10)
        failed = [0, 0]
        last: Graph | None = None
        for seed in range(tried):
            graph = arranged(records, demand, seed)
            failed[0] += graph is None
            last = graph if graph is not None else last
            if last is None:
                continue
            world = other_world(last, demand.values, seed)
            codes = demand.sensitive_codes.copy()
            codes[:, 0] = world
            failed[1] += (
                arranged(records, replace(demand, sensitive_codes=codes), seed + tried) is None
            )
        rows.append([case[0], tried, *[f"{each} ({upper(each, tried):.1%})" for each in failed]])
        print(rows[-1], flush=True)
        write(rows)


def write(rows: Sequence[Sequence[object]]) -> None:
    report(
        "sensitive-failures",
        "How often a cut of `buckets` fails, so that nothing is published",
        [
            "Every draw has its own lots. A world of the proof moves the values of one release by"
            " other permutations of its buckets; it is cut anew with other lots. In brackets the"
            " highest chance of failure that 95 % confidence leaves.",
            markdown_table(
                ["", "draws", "failed, true table", "failed, worlds of its proof"], rows
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
    bounds = (1, 3, 7, 15, 63, UNBOUNDED)
    rows = []
    for case in CASES[:3]:
        title, name, number, qi, sensitive, guarantee = case
        table = table_of(name, number)
        schema = Schema.of(quasi_identifying=qi, sensitive=[sensitive], rest="identifying")
        records, demand = coded(case)
        columns = cut_columns(records.matrix, records.metric(2))
        codes = codes_of(columns, records.matrix)
        unknown = Association.unknown(columns, codes, demand.counts)
        own = unknown.class_of[demand.values]
        cells = []
        for bound in bounds:
            release = release_of(table, schema, guarantee & KnownRecords(bound), 1)
            tables = list(published_tables(release.links.graph, release.links.truth, demand.values))
            _, evidence = unknown.fitted_to_wave(codes, tables)
            order = np.concatenate([each.rows for each in tables])
            cells.append(f"{(evidence.held.argmax(axis=1) == own[order]).mean():.2f}")
        alone = unknown.fitted_to_nodes(
            None,
            unknown.indices(codes),
            np.arange(len(own), dtype=np.int32),
            np.eye(len(demand.counts), dtype=np.int64)[demand.values],
        )
        guess = alone.predicted(alone.indices(codes)).argmax(axis=1)
        rows.append([title, *cells, f"{(guess == own).mean():.2f}", f"{demand.caps.max():.2f}"])
        print(rows[-1], flush=True)
        names = [f"{bound:,}" for bound in bounds[:-1]]
        report(
            "sensitive-association",
            "Right guesses of somebody who assumes that similar people have similar values",
            [
                ASSUMED,
                markdown_table(["", *names, "no bound", "true regression", "cap"], rows),
            ],
            "promise.py association",
        )


PARTS = {"failures": failures, "damage": damage, "association": association}

if __name__ == "__main__":
    part, *given = sys.argv[1:] or ["failures"]
    PARTS[part](*map(int, given))
