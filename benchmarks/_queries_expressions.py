"""How often intervals of SQL expressions hold the truth, and whether their bounds always do.

Sums and averages of calculated columns, of CASE and under OR, quantiles, deviations and groups by
CASE are asked of releases as SQL, and of the originals by DuckDB, which knows nothing of cells.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _queries_coverage import EFFORT, Tally
from _shared import markdown_table, require_data

import mottle
from mottle import BetaLikeness, KAnonymity, LDiversity, Release, Schema
from mottle.queries.estimate import Estimate

ROWS = 10_000
SECRET = 21  # another than those with which rules were chosen
QUESTIONS = 12  # of each sort
FEWEST = 10  # records that a question is about
CASES = {
    "k = 10, freeform": (KAnonymity(10), "freeform"),
    "k = 5, nh": (KAnonymity(5), "nh"),
    "ℓ = 3, buckets": (LDiversity(3), "buckets"),
    "β = 2, buckets": (BetaLikeness(2), "buckets"),
}


@dataclass(frozen=True)
class Data:
    """A table, its quasi-identifiers and its sensitive column."""

    name: str
    known: tuple[str, ...]
    sensitive: str
    numbers: tuple[str, ...]

    def table(self) -> pa.Table:
        """The last rows: rules were chosen with the first ones."""
        read = pq.read_table(require_data(f"{self.name}.parquet"))
        if self.name == "census_acs":  # years of education, so that there are two numbers
            levels = sorted(set(read.column("education").to_pylist()))
            codes = [levels.index(one) for one in read.column("education").to_pylist()]
            read = read.set_column(
                read.column_names.index("education"), "education", pa.array(codes)
            )
        table = read.slice(read.num_rows - ROWS, ROWS).select([*self.known, self.sensitive])
        wide = [pa.int64() if pa.types.is_integer(one.type) else one.type for one in table.schema]
        return table.cast(pa.schema(zip(table.column_names, wide, strict=True)))


DATA = (
    Data(
        "adult_full",
        (
            *("age", "workclass", "education-num", "marital-status", "race", "sex"),
            *("native-country", "hours-per-week", "relationship"),
        ),
        "occupation",
        ("age", "education-num", "hours-per-week"),
    ),
    Data(
        "census_acs",
        ("age", "gender", "education", "marital_status", "race", "workclass", "country"),
        "salary_class",
        ("age", "education"),
    ),
    Data(
        "census_acs_full",
        (
            *("age", "workclass", "education", "marital_status", "gender", "state"),
            *("travel_time_to_work", "vehicle_occupancy"),
        ),
        "income",
        ("age", "travel_time_to_work", "vehicle_occupancy"),
    ),
)


@dataclass(frozen=True)
class Asked:
    """A question in SQL, and what it is an example of."""

    sort: str
    value: str  # the aggregate
    where: str = ""
    key: str = "0"

    @property
    def sql(self) -> str:
        """The same SQL for releases and originals."""
        grouped = " GROUP BY g" if self.key != "0" else ""
        shown = f"{self.key} AS g, " if grouped else ""
        return f"SELECT {shown}{self.value} AS n FROM release{self.where}{grouped}"


@dataclass
class Questions:
    """Random questions about a table."""

    table: pa.Table
    data: Data
    random: np.random.Generator
    _values: dict[str, list[object]] = field(default_factory=dict)

    def all(self) -> Iterator[Asked]:
        """Every sort of question, several times."""
        for _ in range(QUESTIONS):
            first, second = (_quoted(one) for one in self._some(self.data.numbers, 2))
            by, times = (int(self.random.choice([1, 2, 3, 5, 10, -1])) for _ in range(2))
            one, two = self.conditions(2)
            other = self.conditions(1)[0]
            scores = f"CASE WHEN {one} THEN 10 WHEN {two} THEN 25 ELSE 0 END"
            formulas = {
                "one column": f"{first} * {by} + 7",
                "several columns": f"{first} * {by} + {second} * {times}",
                "product": f"{first} * {second}",
                "CASE of 1 and 0": f"CASE WHEN {one} THEN 1 ELSE 0 END",
                "CASE of scores": scores,
                "CASE of columns": f"CASE WHEN {one} THEN {first} WHEN {two} THEN {second} END",
            }
            where = self.where(int(self.random.integers(0, 3)))
            for sort, formula in formulas.items():
                for kind in ("sum", "avg"):
                    yield Asked(f"{kind}, {sort}", f"{kind}({formula})", where)
            for kind in ("sum", "avg"):
                yield Asked(f"{kind} under OR", f"{kind}({first})", f" WHERE {one} OR {other}")
            yield from self._spreads(first, second, where)
            yield from self._sensitive(first, one, where)

    def _spreads(self, first: str, second: str, where: str) -> Iterator[Asked]:
        for share in (0.25, 0.5, 0.9):
            yield Asked("quantile", f"quantile_cont({first}, {share})", where)
        yield Asked("deviation", f"stddev({first})", where)
        yield Asked("deviation", f"var_pop({first} * 2 + {second})", where)
        if self.random.random() < 0.2:
            one, two = self.conditions(2)
            key = f"CASE WHEN {one} THEN 'a' WHEN {two} THEN 'b' ELSE 'c' END"
            for value in ("count(*)", f"sum({first} * 2)", f"avg({first} * 2)"):
                yield Asked("groups by CASE", value, key=key)

    def _sensitive(self, first: str, condition: str, where: str) -> Iterator[Asked]:
        name, own = self.data.sensitive, _quoted(self.data.sensitive)
        flag = f"CASE WHEN {self.condition(name, 0.2)} THEN 1 ELSE 0 END"
        yield Asked("sum, S in CASE", f"sum({flag})", where)
        yield Asked("avg, S in CASE", f"avg({flag})", where)
        if not isinstance(self.values(name)[0], str):
            for sort, formula in {
                "S": f"{own} * 2 + 7",
                "S and column": f"{own} * 3 + {first}",
                "CASE of S": f"CASE WHEN {condition} THEN {own} ELSE 0 END",
            }.items():
                for kind in ("sum", "avg"):
                    yield Asked(f"{kind}, {sort}", f"{kind}({formula})", where)

    def where(self, number: int) -> str:
        """A clause with so many conditions."""
        return f" WHERE {' AND '.join(self.conditions(number))}" if number else ""

    def conditions(self, number: int) -> list[str]:
        """Conditions on random columns."""
        share = float(self.random.choice([0.05, 0.1, 0.25, 0.5])) ** (1 / number)
        return [self.condition(name, share) for name in self._some(self.data.known, number)]

    def condition(self, name: str, share: float) -> str:
        """A run of about this share of the values of a column, or the value of a random row."""
        if self.random.random() < 0.4:
            value = self.table.column(name)[int(self.random.integers(ROWS))].as_py()
            return (
                f"{_quoted(name)} IS NULL" if value is None else f"{_quoted(name)} = {_lit(value)}"
            )
        values = self.values(name)
        length = max(1, min(len(values) - 1, round(len(values) * share)))
        first = int(self.random.integers(len(values) - length + 1))
        run = values[first : first + length]
        if isinstance(run[0], str):
            return f"{_quoted(name)} IN ({', '.join(_lit(one) for one in run)})"
        return f"{_quoted(name)} BETWEEN {run[0]} AND {run[-1]}"

    def values(self, name: str) -> list[object]:
        """The values of a column, in order."""
        if name not in self._values:
            known = self.table.column(name).drop_null().unique().to_pylist()
            self._values[name] = sorted(known)
        return self._values[name]

    def _some(self, names: Sequence[str], number: int) -> list[str]:
        return [names[at] for at in self.random.choice(len(names), number, replace=False)]


def _quoted(name: str) -> str:
    return f'"{name}"'


def _lit(value: object) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


@dataclass
class Judged(Tally):
    """Answers of one sort, and how many lay outside their bounds."""

    outside: int = 0
    unflagged: int = 0  # missed, and not said to be unreliable

    def judge(self, answer: Estimate, true: float) -> None:
        """Judge one answer."""
        held = self.held
        self.add(answer, 0.0, true)
        slack = 1e-6 * max(abs(true), 1.0)
        self.outside += not answer.certain - slack <= true <= answer.possible + slack
        self.unflagged += self.held == held and answer.reliable


def expression_coverage() -> Iterator[list[str]]:
    """Ask all tables under all guarantees; the sections of the page so far."""
    found: dict[str, dict[str, Judged]] = {}
    for data in DATA:
        table = data.table()
        schema = Schema.of(quasi_identifying=data.known, sensitive=[data.sensitive])
        for case, (guarantee, method) in CASES.items():
            release = mottle.anonymize(
                table, schema, guarantee, method=method, effort=EFFORT, seed=SECRET
            )
            seed = [SECRET, zlib.crc32(f"{data.name} {case}".encode())]
            tallies = found.setdefault(data.name, {})
            questions = Questions(table, data, np.random.default_rng(seed))
            _judge(release, table, questions, tallies)
            print(data.name, case, {s: f"{100 * t.share:.0f}" for s, t in tallies.items()})
            yield _sections(found)


def _judge(
    release: Release, table: pa.Table, questions: Questions, tallies: dict[str, Judged]
) -> None:
    with duckdb.connect() as truth:
        truth.register("release", table)
        for asked in questions.all():
            records = truth.execute(f"SELECT count(*) FROM release{asked.where}").fetchone()
            if records is None or records[0] < FEWEST:
                continue
            exact = {
                row[0] if len(row) > 1 else 0: row[-1]
                for row in truth.execute(asked.sql).fetchall()
            }
            for row in release.query(asked.sql).to_pylist():
                true = exact.get(row.get("g", 0))
                if true is not None:
                    parts = (row[f"n{ending}"] for ending in ("", "_low", "_high", "_error"))
                    answer = Estimate(*parts, "" if row["n_reliable"] else "unreliable")
                    tallies.setdefault(asked.sort, Judged()).judge(answer, float(true))


def _sections(found: dict[str, dict[str, Judged]]) -> list[str]:
    sorts = list(dict.fromkeys(sort for tallies in found.values() for sort in tallies))
    every = [one for tallies in found.values() for one in tallies.values()]
    outside, asked = sum(one.outside for one in every), sum(one.asked for one in every)
    missed = sum(one.asked - one.held for one in every)
    rows = []
    for sort in sorts:
        own = [tallies[sort] for tallies in found.values() if sort in tallies]
        total = Judged()
        for one in own:
            total.merge(one)
        low, high = total.confidence
        rows.append(
            [
                sort,
                *(
                    f"{100 * found[name][sort].share:.1f}" if sort in found[name] else "–"
                    for name in found
                ),
                f"{total.asked:,}",
                f"{100 * total.share:.1f} ({100 * low:.1f} to {100 * high:.1f})",
                f"{100 * total.unreliable / max(total.asked, 1):.0f}",
            ]
        )
    return [
        f"The last {ROWS:,} rows of each table, one secret, {', '.join(CASES)}; {QUESTIONS}"
        " questions of each sort and release with up to two conditions, about at least"
        f" {FEWEST} records; S is the sensitive column. Rules were chosen with the first rows,"
        " other secrets and questions. Share of 95 % intervals that hold the truth, in percent (of"
        " all, with its confidence interval):",
        markdown_table(
            ["question", *found, "asked", "hold the truth, %", "flagged unreliable, %"], rows
        ),
        f"Truths outside the bounds: **{outside}** of {asked:,}. Of {missed:,} intervals that miss"
        f" the truth, {sum(one.unflagged for one in every):,} are not flagged.",
    ]
