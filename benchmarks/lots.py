"""The least that two buckets filled by lot can lose, beside `nh` and `buckets` at ℓ = 2.

Usage: python benchmarks/lots.py [ROWS …]; writes benchmarks/results/sensitive-lots.md. 10,000 rows
by default: all pairs are weighed. At ℓ = 2 every record is published with one other, of the other
bucket. Which bucket a record lies in follows from its value, and where values tell nothing about
quasi-identifiers that is a lot. Every record is then paired at the least total loss that any
pairing of the two buckets has, over the whole table and without a first wave.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _shared import by_ncp, markdown_table, report, require_data
from scipy.optimize import linear_sum_assignment

import mottle
from mottle import KnownRecords, LDiversity, Schema
from mottle.encoding.cover import cover
from mottle.encoding.domain import Codes
from mottle.encoding.encode import encode
from mottle.graph.model import Graph
from mottle.loss.ncp import measure
from mottle.schema.model import Representation
from mottle.typing import Float64Array, Int64Array

CENSUS = ("age", "gender", "education", "marital_status", "race", "workclass", "country")
SIZES = (10_000,)
SEEDS = (1, 2, 3)
SMALLEST = 60  # records: `buckets` cuts no smaller block into two buckets


def main(sizes: list[int]) -> None:
    rows = []
    for size in sizes:
        table = pq.read_table(require_data("census_acs.parquet")).slice(0, size)
        schema = Schema.of(quasi_identifying=CENSUS, sensitive=["occupation"], rest="identifying")
        codes = encode(table, schema.covering(table.column_names), Representation.RANGE)
        whole = [np.arange(size)]
        blocks = list(cut(codes, whole[0]))
        least = [
            np.mean([least_loss(codes, parts, seed) for seed in SEEDS]) for parts in (whole, blocks)
        ]
        ours = np.mean([gcp(table, schema, "buckets", seed) for seed in SEEDS])
        losses = (*least, ours, gcp(table, schema, "nh", 1))
        rows.append([f"{size:,}", *[f"{loss:.4f}" for loss in losses]])
        print(rows[-1], flush=True)
    report(
        "sensitive-lots",
        "The least that two buckets filled by lot can lose, CENSUS, ℓ = 2: GCP",
        [
            markdown_table(["rows", "lots", "lots in blocks", "buckets, no bound", "nh"], rows),
            "Lots: half of the records drawn by lot, paired with the other half at the least total"
            f" loss. Lots in blocks: the same, but equally many of every block of {SMALLEST} or"
            " more records cut by quasi-identifiers, and paired across blocks, which `buckets` must"
            " not do. Neither has a first wave, which `buckets` publishes uncut. `nh` looks at"
            " values and quasi-identifiers together. Means of three secrets, not refined (pairs are"
            " matched at the least loss anyway).",
        ],
        "lots.py",
    )


def cut(codes: Codes, rows: Int64Array) -> Iterator[Int64Array]:
    """Blocks of at least `SMALLEST` rows by cuts at the median of the most divided column."""
    best = None
    for place in range(codes.matrix.shape[1]):
        column = codes.matrix[rows, place]
        for left in (column <= np.median(column), column < np.median(column)):
            fewer = min(int(left.sum()), int((~left).sum()))
            score = fewer * float(np.std(column)) / (codes.sizes[place] - 1)
            if fewer >= SMALLEST and (best is None or score > best[0]):
                best = (score, left)
    if best is None:
        yield rows
    else:
        yield from cut(codes, rows[best[1]])
        yield from cut(codes, rows[~best[1]])


def least_loss(codes: Codes, parts: list[Int64Array], seed: int) -> float:
    """GCP of the best pairing of two buckets with equally many records of every part."""
    generator = np.random.default_rng(seed)
    drawn = [generator.permutation(part) for part in parts]
    halves = [[part[: len(part) // 2], part[len(part) // 2 : len(part) // 2 * 2]] for part in drawn]
    one, other = (np.concatenate([half[side] for half in halves]) for side in (0, 1))
    costs = _costs(codes, one, other)
    _, partner = linear_sum_assignment(costs)
    pairs = np.stack([one, other[partner]], axis=1).astype(np.int32)
    graph = Graph.rings(
        pairs.ravel(), np.arange(len(pairs) + 1) * 2, np.full(len(pairs), 2, np.int32)
    )
    return measure(cover(graph, codes), codes).gcp


def _costs(codes: Codes, one: Int64Array, other: Int64Array) -> Float64Array:
    """[one, other]: what a pair loses, by ranges of numbers and sets of categories."""
    costs = np.zeros((len(one), len(other)))
    for place, domain in enumerate(codes.domains):
        column = codes.matrix[:, place].astype(np.float32)
        apart = np.abs(column[one][:, None] - column[other][None, :])
        if domain.name != "age":  # the only column with an order
            np.minimum(apart, 1, out=apart)
        costs += apart / np.float32(domain.size - 1)
    return costs


def gcp(table: pa.Table, schema: Schema, method: str, seed: int) -> float:
    guarantee = LDiversity(2) & KnownRecords(10**9) if method == "buckets" else LDiversity(2)
    options = {"method": method, "objective": by_ncp(method), "effort": 0, "seed": seed}
    return mottle.anonymize(table, schema, guarantee, **options).certificate.gcp


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or list(SIZES))
