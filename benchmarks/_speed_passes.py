"""Processor time of a pass of freeform's refinement, by rows and by k.

A pass costs O(n · (k + |J|) · d) for sets J of at least 120 records, so that its time per edge
(one of the n · k preimages) should not grow with n, and fall where k is small beside |J|.
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
    sections, fitted = [], []
    for name, table in tables().items():
        seconds: dict[tuple[int, int], float] = {
            (rows, k): kept.measured(
                "passes", f"{name}, {rows}, {k}", _seconds_of_pass, table, rows, k
            )
            for rows in ROWS
            for k in DEGREES
        }
        per_edge = [
            [f"{rows:,}", *(f"{1e6 * seconds[rows, k] / (rows * k):.2f}" for k in DEGREES)]
            for rows in ROWS
        ]
        sections += [
            f"Microseconds of processor time per pass and edge, {name}:",
            markdown_table(["rows", *(f"k = {k}" for k in DEGREES)], per_edge),
        ]
        by_rows, by_degree = exponents(seconds)
        slowest = max(seconds[rows, k] / (rows * k) for rows, k in seconds)
        fitted.append([name, f"{by_rows:.2f}", f"{by_degree:.2f}", f"{1e6 * slowest:.2f}"])
    report(
        "speed-passes",
        "Freeform: processor time of a pass of the refinement",
        [
            f"Seven quasi-identifiers; the objective is ncp; means of the first {PASSES} passes,"
            " by the processor time of all threads. A release has n · k edges. Records of the"
            " census that lose nothing take no part in a pass, and of more rows more are equal; no"
            " rows of the random numbers are.",
            *sections,
            "Exponents of a power of n times a power of k that fit the time of a pass, by least"
            " squares of the logarithms; linear time has 1.",
            markdown_table(["table", "exponent of n", "exponent of k", "most µs per edge"], fitted),
        ],
        "speed.py passes",
    )


def tables() -> dict[str, pa.Table]:
    """Rows of the census, and as many of which no two are equal."""
    random = np.random.default_rng(5)
    census = pq.read_table(require_data("census_acs.parquet")).select(COLUMNS)
    numbers = {name: random.integers(0, 1000, max(ROWS)) for name in COLUMNS}
    return {
        "census": census.take(random.permutation(len(census))[: max(ROWS)]),
        "random numbers": pa.table(numbers),
    }


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
