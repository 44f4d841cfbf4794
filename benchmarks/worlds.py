"""Associations in sampled tables: column by column, and jointly as `mottle sample` draws them.

Usage: python benchmarks/worlds.py [ROWS]; writes benchmarks/results/worlds.md. Every table is
released with k-anonymity by the default method, with three secrets, and two tables are sampled from
each release. Numbers are compared in ten ranges of about equally many originals, other columns by
their ten most frequent values and the rest. Cramér's V measures how strongly two columns are
associated; "pairs of values" is the share of records that would have to change for the counts of
all pairs of values to be those of the original (total variation), "values" the same for single
columns.
"""

from __future__ import annotations

import sys
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from _shared import markdown_table, report, require_data

import mottle
from mottle import KAnonymity, Schema
from mottle.queries.sampling import sample
from mottle.typing import Float64Array, Int64Array

TABLES = {
    "census_acs": (
        ("age", "gender", "education", "marital_status", "race", "workclass", "country"),
        "occupation",
    ),
    "adult_full": (
        ("age", "sex", "race", "marital-status", "education", "native-country", "workclass"),
        "occupation",
    ),
}
ROWS = 10_000
CLASSES = 10
HEADER = (
    "table",
    "k",
    "drawn",
    "error of V",
    "pairs of values",
    "values",
    "error of V, sensitive",
)
DRAWS = {"column by column": False, "jointly": True}


def classes_of(original: pa.ChunkedArray) -> pa.Array | Float64Array:
    """The edges of ten ranges of numbers, or the most frequent values of other columns."""
    if pa.types.is_integer(original.type) or pa.types.is_floating(original.type):
        numbers = original.cast(pa.float64()).drop_null().to_numpy()
        return np.unique(np.quantile(numbers, np.linspace(0, 1, CLASSES + 1)[1:-1]))
    counted = pc.value_counts(original.drop_null().combine_chunks())
    order = np.argsort(-counted.field("counts").to_numpy(), kind="stable")[:CLASSES]
    return counted.field("values").take(pa.array(order))


def coded(column: pa.ChunkedArray, classes: pa.Array | Float64Array) -> Int64Array:
    """The class of every row; missing values and rare ones have classes of their own."""
    if isinstance(classes, pa.Array):
        found = pc.fill_null(pc.index_in(column, value_set=classes), CLASSES)
        return np.asarray(pc.if_else(pc.is_null(column), CLASSES + 1, found).to_numpy())
    numbers = column.cast(pa.float64()).to_numpy()
    return np.where(np.isnan(numbers), CLASSES + 1, np.searchsorted(classes, numbers, "right"))


def table_of(one: Int64Array, two: Int64Array) -> Float64Array:
    """The shares of all pairs of classes."""
    size = CLASSES + 2
    return np.bincount(one * size + two, minlength=size**2).reshape(size, size) / len(one)


def cramers_v(shares: Float64Array) -> float:
    """How strongly two columns are associated, from 0 to 1."""
    shares = shares[shares.sum(axis=1) > 0][:, shares.sum(axis=0) > 0]
    expected = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    chi = ((shares - expected) ** 2 / expected).sum()
    return float(np.sqrt(chi / max(min(shares.shape) - 1, 1)))


def compared(original: pa.Table, drawn: pa.Table, names: list[str], sensitive: str) -> list[float]:
    """Errors of a sampled table: V, pairs, values, correlations, V with the sensitive column."""
    classes = {name: classes_of(original.column(name)) for name in (*names, sensitive)}
    before = {name: coded(original.column(name), every) for name, every in classes.items()}
    after = {name: coded(drawn.column(name), every) for name, every in classes.items()}
    strengths, apart = [], []
    for one, two in combinations(names, 2):
        true, found = table_of(before[one], before[two]), table_of(after[one], after[two])
        strengths.append(abs(cramers_v(true) - cramers_v(found)))
        apart.append(np.abs(true - found).sum() / 2)
    single = [
        np.abs(table_of(before[name], before[name]) - table_of(after[name], after[name])).sum() / 2
        for name in names
    ]
    lifted = [
        abs(
            cramers_v(table_of(before[name], before[sensitive]))
            - cramers_v(table_of(after[name], after[sensitive]))
        )
        for name in names
    ]
    return [float(np.mean(part)) for part in (strengths, apart, single, lifted)]


def measured(name: str, k: int, rows: int) -> list[list[object]]:
    columns, sensitive = TABLES[name]
    table = pq.read_table(require_data(f"{name}.parquet"))
    chosen = np.sort(np.random.default_rng(1).choice(len(table), min(rows, len(table)), False))
    table = table.take(pa.array(chosen)).select([*columns, sensitive])
    schema = Schema.of(quasi_identifying=columns, sensitive=[sensitive])
    errors: dict[str, list[list[float]]] = {draw: [] for draw in DRAWS}
    for secret in (1, 2, 3):
        release = mottle.anonymize(table, schema, KAnonymity(k), effort=5, seed=secret)
        for draw, pairs in DRAWS.items():
            tables = sample(release.queries("fitted"), release, 2, secret, pairs=pairs)
            errors[draw] += [compared(table, one, list(columns), sensitive) for one in tables]
    return [
        [name, k, draw, *(f"{value:.4f}" for value in np.mean(found, axis=0))]
        for draw, found in errors.items()
    ]


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    lines = [line for name in TABLES for k in (5, 10) for line in measured(name, k, rows)]
    report(
        "worlds",
        "Associations in sampled tables",
        [f"{rows:,} rows of each table; means over three secrets.", markdown_table(HEADER, lines)],
    )


if __name__ == "__main__":
    main()
