"""Several releases of the same people: what they give away together, and what prevents it.

Usage: python benchmarks/over_time.py again|change|drop; each writes
benchmarks/results/over-time-<part>.md. Results are not improved (--seconds 0), because the attacks
do not depend on it.

again: the same command twice, with and without the owner's key. change: three releases, 5 % of the
people leaving and as many coming before the second and the third, with and without the links of the
release before. drop: what it costs to leave out every block that lost somebody.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _shared import markdown_table, report, require_data

import mottle
from mottle import GuaranteeError, KAnonymity, LDiversity, Release, Schema
from mottle.audit import AuditReport, EarlierRelease
from mottle.guarantees.base import Guarantee

ADULT = ("age", "sex", "race", "marital-status", "education", "native-country", "workclass")
CENSUS = ("age", "gender", "education", "marital_status", "race", "workclass", "country")
PEOPLE = ("age", "sex", "education", "marital_status", "origin")
LEAVING = 0.05  # share of the people that leave, and that come, before a further release
KEY = bytes(range(32))
HEADER = (
    "data",
    "releases",
    "how",
    "allowed",
    "fewest left",
    "named",
    "right",
    "values right",
    "most exposed tenth",
    "fewest left",
    "named",
    "right",
    "values right",
    "GCP of the last",
    "seconds",
)
NOTE = (
    "Columns 5 to 9 are by containment alone, 10 to 13 along the edges of all releases."
    " *Fewest left*: records that are left to a person when all releases are compared. *Named*:"
    " people of whom one record is left, their own. *Right*: guesses of a person's record;"
    " *values right*: guesses of the sensitive value. *Allowed*: 1/k or 1/ℓ."
)


@dataclass(frozen=True)
class Case:
    """A table, its roles and its guarantee."""

    name: str
    read: Callable[[], pa.Table]
    quasi_identifying: Sequence[str]
    sensitive: str | None  # None: one insensitive number of their own instead
    guarantee: Guarantee
    method: str

    @property
    def allowed(self) -> float:
        """The highest belief that is allowed."""
        promised = self.guarantee
        return 1 / (promised.l if isinstance(promised, LDiversity) else promised.degree)

    @property
    def schema(self) -> Schema:
        unchanged: dict[str, Any] = (
            {"insensitive": ["number"]}
            if self.sensitive is None
            else {"sensitive": [self.sensitive]}
        )
        return Schema.of(
            quasi_identifying=list(self.quasi_identifying), identifying=["id"], **unchanged
        )

    def table(self) -> pa.Table:
        """The people in random order, each with an identifier and, for k, a number of their own."""
        table = self.read()
        random = np.random.default_rng(0)
        rows = table.num_rows
        table = table.take(pa.array(random.permutation(rows)))
        table = table.append_column("number", pa.array(random.permutation(rows)))
        table = table.append_column("id", pa.array(np.arange(rows)))
        return table.select([column.name for column in self.schema.columns])


def shared(name: str, rows: int | None) -> Callable[[], pa.Table]:
    return lambda: pq.read_table(require_data(f"{name}.parquet")).slice(0, rows)


def generated(rows: int) -> Callable[[], pa.Table]:
    return lambda: mottle.datasets.population(rows, seed=1)


CASES = (
    Case("ADULT k = 10", shared("adult_arx", None), ADULT, None, KAnonymity(10), "freeform"),
    Case("ADULT k = 10, nh", shared("adult_arx", None), ADULT, None, KAnonymity(10), "nh"),
    Case("ADULT ℓ = 3", shared("adult_arx", None), ADULT, "occupation", LDiversity(3), "buckets"),
    Case("ADULT ℓ = 5", shared("adult_arx", None), ADULT, "occupation", LDiversity(5), "buckets"),
    Case("CENSUS k = 10", shared("census_acs", 20_000), CENSUS, None, KAnonymity(10), "freeform"),
    Case(
        "CENSUS ℓ = 5",
        shared("census_acs", 20_000),
        CENSUS,
        "occupation",
        LDiversity(5),
        "buckets",
    ),
    Case("generated k = 10", generated(20_000), PEOPLE, None, KAnonymity(10), "freeform"),
    Case("generated ℓ = 2", generated(20_000), PEOPLE, "diagnosis", LDiversity(2), "buckets"),
)


def released(case: Case, table: pa.Table, seed: int, **options: Any) -> Release:
    """One release; with another seed if a cut fails."""
    while True:
        drawn = {} if "key" in options else {"seed": seed}
        try:
            return mottle.anonymize(
                table, case.schema, case.guarantee, method=case.method, effort=0, **drawn, **options
            )
        except GuaranteeError:
            if "key" in options or seed > 20_000:
                raise
            seed += 1000


def attacked(tables: Sequence[pa.Table], releases: Sequence[Release]) -> AuditReport:
    """Compare all releases; people are told apart by their identifier."""
    earlier = [EarlierRelease(*pair) for pair in zip(releases[:-1], tables[:-1], strict=True)]
    return mottle.audit_release(
        tables[-1], releases[-1], earlier=earlier, same="id", adversaries=["intersection"]
    )


def row(case: Case, how: str, tables: Sequence[pa.Table], releases: Sequence[Release]) -> list[str]:
    began = time.perf_counter()
    found = attacked(tables, releases)
    taken = time.perf_counter() - began
    cells = []
    for ways in ("by containment", "along edges"):
        by = {each.measure.removesuffix(f", {ways}"): each for each in found.findings}
        cells += [
            f"{by['fewest records left to a person'].achieved}",
            f"{by['people named for certain'].achieved:.1%}",
            f"{by['right guesses of records'].achieved:.3f}",
        ]
        values = next((each for name, each in by.items() if name.endswith("guesses")), None)
        guesses = None if values is None else values.details["guesses"]
        cells.append("–" if guesses is None else f"{guesses['everybody']['right']:.3f}")
        if ways == "by containment":
            exposed = "–" if guesses is None else f"{guesses['most exposed tenth']['right']:.3f}"
            cells.append(exposed)
    allowed = f"{case.allowed:.3f}"
    return [
        case.name,
        str(len(releases)),
        how,
        allowed,
        *cells,
        f"{releases[-1].gcp:.4f}",
        f"{taken:.0f}",
    ]


def again() -> Iterator[list[str]]:
    for case in CASES:
        table = case.table()
        one, two = (released(case, table, seed) for seed in (1, 2))
        yield row(case, "one release", [table, table], [one, one])
        yield row(case, "the same command twice", [table, table], [one, two])
        if case.name == "CENSUS ℓ = 5":
            yield row(case, "three times", [table] * 3, [one, two, released(case, table, 3)])
        one, two = (released(case, table, 0, key=KEY) for _ in range(2))
        assert one.table.equals(two.table)
        yield row(case, "twice with --key", [table, table], [one, two])


def changing(table: pa.Table) -> list[pa.Table]:
    """Three tables: before the second and the third, 5 % leave and as many come."""
    size = int(table.num_rows / (1 + 2 * LEAVING))
    moved = int(LEAVING * size)
    random = np.random.default_rng(1)
    present, tables = np.arange(size), []
    for number in range(3):
        if number:
            stay = random.permutation(present)[moved:]
            present = np.sort(
                np.concatenate([stay, size + (number - 1) * moved + np.arange(moved)])
            )
        tables.append(table.take(pa.array(present)))
    return tables


def change() -> Iterator[list[str]]:
    for case in CASES:
        tables = changing(case.table())
        anew = [released(case, table, 1 + number) for number, table in enumerate(tables)]
        yield row(case, "each anew", tables, anew)
        chain = [released(case, tables[0], 1, same="id")]
        for number, table in enumerate(tables[1:]):
            chain.append(released(case, table, 2 + number, previous=chain[-1]))
        yield row(case, "each with --previous", tables, chain)


def drop() -> Iterator[list[str]]:
    for case in CASES[:3]:
        tables = changing(case.table())
        for leavers in ("keep", "drop"):
            last = released(case, tables[0], 1, same="id")
            for number, table in enumerate(tables[1:]):
                last = released(case, table, 2 + number, previous=last, leavers=leavers)
            facts = last.certificate.history
            assert facts is not None
            yield [
                case.name,
                leavers,
                f"{tables[-1].num_rows:,}",
                f"{last.num_rows:,}",
                f"{facts.left:,}",
                f"{facts.withheld:,}",
                f"{last.gcp:.4f}",
            ]


DROPPED = (
    "data",
    "--leavers",
    "people in the third table",
    "records published",
    "of people who left",
    "people withheld",
    "GCP",
)
PARTS = {
    "again": (again, "The same command twice, with and without the owner's key", HEADER, NOTE),
    "change": (change, "Three releases, 5 % leaving and coming each time", HEADER, NOTE),
    "drop": (
        drop,
        "What happens to the blocks of people who left",
        DROPPED,
        "The third of three releases, 5 % leaving and coming each time.",
    ),
}


def main() -> None:
    logging.disable(logging.WARNING)
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in PARTS:
        sys.exit(__doc__)
    rows, title, header, note = PARTS[name]
    found = []
    for each in rows():
        print(*each, sep="  ", flush=True)
        found.append(each)
    table = markdown_table(header, found)
    report(f"over-time-{name}", title, [note, table], f"over_time.py {name}")


if __name__ == "__main__":
    main()
