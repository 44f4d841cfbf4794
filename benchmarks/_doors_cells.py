"""The loss of cells in steps, with open ends and by units of the calendar, against free ones."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Mapping
from statistics import fmean
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _shared import by_ncp, markdown_table, report, require_data

import mottle
from mottle import KAnonymity, Release, Schema
from mottle.kinds.coarsening import Coarsening

ROWS = 20_000
K = 10
SEEDS = (1, 2, 3)
METHODS = ("nh", "freeform")
CATEGORIES = ("gender", "marital_status", "race")
NUMBERS = ("age", "income", "travel_time_to_work")
STEPS = {"age": 5, "income": 5_000, "travel_time_to_work": 15}
Options = Mapping[str, Mapping[str, Any]]
RULES: dict[str, tuple[str, Options]] = {
    "free": ("age", {}),
    "steps": ("age", {"snaps": STEPS}),
    "open ends": (
        "age",
        {"tops": {"age": 75, "income": 200_000, "travel_time_to_work": 90}, "bottoms": {"age": 20}},
    ),
    "steps and open ends": (
        "age",
        {
            "snaps": STEPS,
            "tops": {"age": 75, "income": 200_000, "travel_time_to_work": 90},
            "bottoms": {"age": 20},
        },
    ),
    "breaks": (
        "age",
        {
            "breaks": {
                "age": [25, 35, 45, 55, 65],
                "income": [10_000, 25_000, 50_000, 100_000, 200_000],
                "travel_time_to_work": [15, 30, 60, 90],
            }
        },
    ),
    "days": ("born", {}),
    "months": ("born", {"granularities": {"born": "month"}}),
    "quarters": ("born", {"granularities": {"born": "quarter"}}),
    "years": ("born", {"granularities": {"born": "year"}}),
    "decades": ("born", {"granularities": {"born": "decade"}}),
}


def cells() -> list[str]:
    """Loss and exact cells of every rule, for two methods."""
    table = _people()
    lines = []
    for method in METHODS:
        for rule, (column, options) in RULES.items():
            names = (column, *NUMBERS[1:])
            schema = Schema.of(quasi_identifying=[*names, *CATEGORIES], **options)
            found = [_measured(table, schema, names, method, seed) for seed in SEEDS]
            lines.append(_line(method, rule, [each[0] for each in found]))
            if rule == "free":
                lines.append(_line(method, "free, widened to steps", [each[1] for each in found]))
    heading = ("method", "cells", "GCP stated", "loss", "loss of numbers", "exact cells", "widths")
    note = (
        f"{ROWS:,} rows of census_acs_full, k = {K}, --seconds 0, means of {len(SEEDS)} seeds."
        f" Quasi-identifiers: {', '.join(NUMBERS)}, {', '.join(CATEGORIES)}; in the last five rows"
        " of each method the age is a date of birth, drawn at random within its year. *GCP"
        " stated*: by the certificate, where a column is as wide as its bins and an open end as"
        " one mean step. *Loss*: the same for all rules, measured by the owner: widths of cells by"
        " the range of the original values, open ends up to the last of these, and the NCP of the"
        " categories. *Exact cells*: of the numbers and dates, cells with one value. *Widths*:"
        " different pairs of ends over all cells of numbers and dates. *Free, widened to steps*:"
        " cells of the free release, rounded outwards to the steps afterwards."
    )
    return [note, markdown_table(heading, lines)]


def _people() -> pa.Table:
    source = pq.read_table(require_data("census_acs_full.parquet"))
    random = np.random.default_rng(0)
    table = source.take(pa.array(random.permutation(source.num_rows)[:ROWS]))
    years = np.array(table["age"])
    days = random.integers(0, 365, ROWS)
    born = [
        dt.date(2018, 12, 31) - dt.timedelta(days=int(365.25 * year) + int(day))
        for year, day in zip(years, days, strict=True)
    ]
    return table.select([*NUMBERS, *CATEGORIES]).append_column("born", pa.array(born))


Measured = tuple[float, float, float, float, int]


def _measured(
    table: pa.Table, schema: Schema, names: tuple[str, ...], method: str, seed: int
) -> tuple[Measured, Measured]:
    """What a release loses, and what it would lose with its cells widened to steps."""
    kept = table.select([column.name for column in schema.columns])
    release = mottle.anonymize(
        kept,
        schema,
        KAnonymity(K),
        method=method,
        objective=by_ncp(method),
        seed=seed,
        effort=0,
    )
    ncp = [float(release.certificate.ncp[name]) for name in CATEGORIES]
    both = []
    for widened in (False, True):
        widths, exact, ends = [], [], set()
        for name in names:
            low, high, single = _ends(table, release, name, widened)
            extent = np.ptp(_numbers(table[name]))
            widths.append(float(np.mean(high - low) / extent))
            exact.append(float(np.mean(single)))
            ends |= {(name, *pair) for pair in zip(low.tolist(), high.tolist(), strict=True)}
        loss = fmean([*widths, *ncp])
        both.append((release.gcp, loss, fmean(widths), fmean(exact), len(ends)))
    return both[0], both[1]


def _ends(
    table: pa.Table, release: Release, name: str, widened: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The ends of all cells of a column, with open ends as far as values reach."""
    described = next(column for column in release.columns if column.name == name)
    published = release.table[name].combine_chunks()
    lowest, highest = published.field("lo"), published.field("hi")
    known = np.asarray(lowest.is_valid())
    lowest, highest = lowest.drop_null(), highest.drop_null()
    if widened and name in STEPS:
        grid = Coarsening(snap=STEPS[name])
        lowest, highest = grid.bins(lowest, name).lower, grid.bins(highest, name).upper
    low, high = _numbers(lowest), _numbers(highest)
    values = _numbers(table[name])
    open_ends = np.zeros(len(low), np.bool_)
    if described.rule is not None:
        bottom, top = described.rule.tails(lowest.type, name)
        if bottom is not None:
            open_ends |= low == bottom
            low = np.where(low == bottom, values.min(), low)
        if top is not None:
            open_ends |= high == top
            high = np.where(high == top, values.max(), high)
    missing = np.asarray(published.field("missing"))[known]
    single = (low == high) & ~open_ends & ~missing
    low, high = (np.clip(ends, values.min(), values.max()) for ends in (low, high))
    return low, high, single


def _numbers(values: pa.Array | pa.ChunkedArray) -> np.ndarray:
    if pa.types.is_date(values.type):
        values = values.cast(pa.int32())
    return np.asarray(values.drop_null()).astype(np.float64)


def _line(method: str, rule: str, found: list[Measured]) -> tuple[str, ...]:
    stated, loss, numbers, exact, ends = (fmean(part) for part in zip(*found, strict=True))
    return (
        method,
        rule,
        "–" if "widened" in rule else f"{stated:.4f}",
        f"{loss:.4f}",
        f"{numbers:.4f}",
        f"{exact:.1%}",
        f"{ends:,.0f}",
    )


def main() -> None:
    logging.disable(logging.WARNING)
    title = "Cells in steps, with open ends and by the calendar, against free ones"
    report("doors-cells", title, cells(), "doors.py cells")
