"""Processor time of a pass of freeform's refinement, by rows and by k.

A pass costs O(n · (k + \\|J\\|) · d) for sets J of at least 120 records, so that its time per edge
(one of the n · k preimages) should not grow with n, and fall where k is small beside \\|J\\|.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _shared import markdown_table, report, require_data
from _speed_runs import Kept

import mottle
from mottle.encoding.domain import Codes
from mottle.encoding.encode import encode
from mottle.guarantees.demand import Demand
from mottle.methods import MethodContext
from mottle.schema.columns import Objective
from mottle.schema.model import Representation

COLUMNS = ["age", "gender", "education", "marital_status", "race", "workclass", "country"]
ROWS = (2_500, 5_000, 10_000, 20_000, 40_000)
DEGREES = (5, 10, 20, 50)
PASSES = 6  # three by each of the two kinds of orders
NEVER = 1e6  # seconds: the number of passes ends the refinement, not what they gain


def passes(kept: Kept) -> None:
    """Time per pass and edge, and the exponents of rows and k that fit it."""
    census = pq.read_table(require_data("census_acs.parquet")).select(COLUMNS)
    shuffled = census.take(np.random.default_rng(5).permutation(len(census))[: max(ROWS)])
    seconds: dict[tuple[int, int], float] = {
        (rows, k): kept.measured("passes", f"{rows}, {k}", _seconds_of_pass, shuffled, rows, k)
        for rows in ROWS
        for k in DEGREES
    }
    by_rows, by_degree = exponents(seconds)
    per_edge = [
        [f"{rows:,}", *(f"{1e6 * seconds[rows, k] / (rows * k):.2f}" for k in DEGREES)]
        for rows in ROWS
    ]
    whole = [[f"{rows:,}", *(f"{seconds[rows, k]:.3f}" for k in DEGREES)] for rows in ROWS]
    report(
        "speed-passes",
        "Freeform: processor time of a pass of the refinement",
        [
            f"Rows of the census with {len(COLUMNS)} quasi-identifiers, in random order; means of"
            f" the first {PASSES} passes; ncp. Microseconds of processor time per edge, of which"
            " there are n · k:",
            markdown_table(["rows", *(f"k = {k}" for k in DEGREES)], per_edge),
            "Seconds of processor time per pass:",
            markdown_table(["rows", *(f"k = {k}" for k in DEGREES)], whole),
            "Exponents of a power of n times a power of k, by least squares of the logarithms;"
            " linear time has 1.",
            markdown_table(
                ["fitted", "of n", "of k"], [["all", f"{by_rows:.2f}", f"{by_degree:.2f}"]]
            ),
        ],
        "speed.py passes",
    )


def _seconds_of_pass(table: pa.Table, rows: int, k: int) -> float:
    """The mean processor seconds of the first passes, of all threads."""
    schema = mottle.Schema.of(quasi_identifying=table.column_names)
    codes = encode(table.slice(0, rows), schema, Representation.RANGE)
    arrange = mottle.methods.get("freeform").arrange
    times: list[float] = []
    context = MethodContext(
        seconds=NEVER,
        seed=1,
        on_progress=lambda _: times.append(time.process_time()),
        objective=Objective.NCP,
        options={"passes": PASSES},
    )
    arrange(Codes(codes.domains, codes.matrix[:500]), Demand(5), context)  # compiles
    times.clear()
    arrange(codes, Demand(k), context)
    return (times[-1] - times[0]) / (len(times) - 1)  # the first is that of the start


def exponents(seconds: Mapping[tuple[int, int], float]) -> tuple[float, float]:
    """Powers of rows and of k whose product fits seconds best, by least squares of logarithms."""
    measured = np.array([[1.0, np.log(rows), np.log(k)] for rows, k in seconds])
    fitted = np.linalg.lstsq(measured, np.log([*seconds.values()]), rcond=None)[0]
    return float(fitted[1]), float(fitted[2])
