"""Times of FAST07's methods: to a checked release, and how they grow with the rows.

Usage: python benchmarks/fast07.py; writes benchmarks/results/fast07-times.md. The paper's figures
are run by ``python -m benchmarks.reproduce FAST07``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache

import pyarrow as pa
import pyarrow.parquet as pq
from _shared import by_ncp, markdown_table, report, require_data, seconds_of_anonymizing

import mottle
from mottle import methods
from mottle.encoding.domain import Codes
from mottle.encoding.encode import encode
from mottle.encoding.sensitive import encode_sensitive
from mottle.guarantees.base import Guarantee
from mottle.guarantees.demand import Demand
from mottle.guarantees.k_anonymity import KAnonymity
from mottle.guarantees.l_diversity import LDiversity
from mottle.schema.model import Representation

CENSUS = ("age", "gender", "education", "marital_status", "race", "workclass", "country")
ALL = 295_243

Row = tuple[object, ...]


@cache
def census() -> pa.Table:
    return pq.read_table(require_data("census_acs.parquet"))


@cache
def coded(rows: int) -> Codes:
    schema = mottle.Schema.of(quasi_identifying=CENSUS)
    return encode(census().slice(0, rows).select(CENSUS), schema, Representation.RANGE)


def demand_of(diversity: int, rows: int) -> Demand:
    table = census().slice(0, rows).select(["occupation"])
    schema = mottle.Schema.of(quasi_identifying=[], sensitive=["occupation"])
    return LDiversity(diversity).demand(rows, encode_sensitive(table, schema))


def arranging_seconds(codes: Codes, demand: Demand, method: str) -> float:
    """The fastest of five runs from codes to groups."""
    seconds = []
    for _ in range(5):
        began = time.perf_counter()
        methods.get(method).arrange(codes, demand, methods.MethodContext(seconds=0, seed=1))
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def verdict(what: str, target: str, measured: str, met: bool) -> Row:
    return what, target, measured, "yes" if met else "no"


def checked_release(rows: int, guarantee: Guarantee, method: str) -> mottle.Release:
    table = census().slice(0, rows).select([*CENSUS, "occupation"])
    schema = mottle.Schema.of(quasi_identifying=CENSUS, sensitive=["occupation"])
    return mottle.anonymize(
        table, schema, guarantee, method=method, objective=by_ncp(method), seed=1
    )


def checked_seconds(rows: int, guarantee: Guarantee, method: str) -> float:
    """The fastest of five runs from codes to a checked release."""
    runs = [checked_release(rows, guarantee, method) for _ in range(5)]
    return min(seconds_of_anonymizing(release.certificate) for release in runs)


def groups(rows: int, guarantee: Guarantee, method: str) -> None:
    demand = demand_of(guarantee.l, rows) if isinstance(guarantee, LDiversity) else Demand(50)
    codes = coded(rows)
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
    codes = coded(200_000)
    fast, mondrian = (
        arranging_seconds(codes, Demand(50), name) for name in ("hilbert-fast", "mondrian")
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
    return [note], verdicts


def main() -> None:
    for guarantee in (KAnonymity(5), LDiversity(2)):  # compile
        for method in ("hilbert", "hilbert-fast", "mondrian"):
            checked_release(500, guarantee, method)
    sections, verdicts = times()
    table = markdown_table(("measure", "target", "measured", "met"), verdicts)
    report("fast07-times", "Times of FAST07's methods", [*sections, table], "fast07.py")


if __name__ == "__main__":
    main()
