"""Questions about the items of sets: bounds, intervals and errors beside naive readings and k^m.

    python benchmarks/sets_queries.py counts [chess|pumsb|retail …]

It asks 10,000 questions about items and pairs of chess, pumsb and retail, of releases drawn with
three secrets, and writes benchmarks/results/sets-queries-DATA.md.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from _shared import markdown_table, report, require_data

from mottle import KAnonymity, anonymize_sets
from mottle.evaluation.k_to_the_m import k_to_the_m
from mottle.io.read_sets import read_transactions
from mottle.itemsets.data import ItemSets
from mottle.queries import Condition
from mottle.queries.conditions import Where
from mottle.typing import Float64Array

K = 10
SECRETS = (1, 2, 3)  # seeds; figures are means over them
METHODS = ("gray-ring", "freeform")
NAMES = ("chess", "pumsb", "retail")
FILES = {"pumsb": "pumsb_first4334"}
ITEMS, ALL = 1200, 3600  # questions of each data set: single items, and items and pairs


def questions_of(data: ItemSets, random: np.random.Generator) -> list[tuple[int, ...]]:
    """Items, pairs of items of one record, and pairs of items of any records."""
    if data.universe < 100:
        pairs = [(one, other) for one in range(data.universe) for other in range(one)]
        return [(item,) for item in range(data.universe)] + pairs
    asked = {(int(item),): None for item in random.permutation(data.universe)[:ITEMS]}
    several = np.flatnonzero(data.sizes > 1)
    while len(asked) < ALL:
        record = several[random.integers(len(several))]
        held = data.items[data.starts[record] : data.starts[record + 1]]
        asked[tuple(sorted(random.choice(held, 2, replace=False).tolist()))] = None
        drawn = np.unique(data.items[random.integers(len(data.items), size=2)])
        if len(drawn) == 2:
            asked[tuple(drawn.tolist())] = None
    return list(asked)


def holders_of(items: np.ndarray, records: np.ndarray, universe: int) -> list[np.ndarray]:
    """The records that hold each item."""
    order = np.argsort(items, kind="stable")
    return np.split(records[order], np.cumsum(np.bincount(items, minlength=universe))[:-1])


def together(holders: Sequence[np.ndarray], questions: Sequence[tuple[int, ...]]) -> Float64Array:
    """How many records hold all items of each question."""
    counts = []
    for items in questions:
        left = holders[items[0]]
        for item in items[1:]:
            left = np.intersect1d(left, holders[item], assume_unique=True)
        counts.append(len(left))
    return np.array(counts, np.float64)


def relative_error(answers: Float64Array, true: Float64Array, chosen: np.ndarray) -> float:
    """The sum of absolute errors over the sum of true counts."""
    return float(np.abs(answers - true)[chosen].sum() / true[chosen].sum())


def counts(*chosen: str) -> None:
    for name in chosen or NAMES:
        count_in(name)


def count_in(name: str) -> None:
    """Ask one data set; the result is written anew after each method."""
    data = read_transactions(require_data(f"sets/{FILES.get(name, name)}.dat.gz"))
    questions = questions_of(data, np.random.default_rng(99))
    names = data.names.to_pylist()
    record_of = np.repeat(np.arange(data.records), data.sizes)
    true = together(holders_of(data.items, record_of, data.universe), questions)
    single = np.array([len(items) == 1 for items in questions])
    wheres = [
        {"items": tuple(Condition(values=(names[item],)) for item in items)} for items in questions
    ]
    of_km = k_to_the_m(data, K).counts(questions)
    rows: list[tuple[object, ...]] = []
    missed = 0
    coverages: list[float] = []
    for method in METHODS:
        asked = [_Asked.of(data, method, seed, questions, wheres) for seed in SECRETS]
        held = [(one.certain <= true) & (true <= one.possible) for one in asked]
        covered = [np.abs(one.expected - true) <= 1.96 * one.error + 0.5 for one in asked]
        missed += sum(int((~one).sum()) for one in held)
        for kind, chosen in (("items", single), ("pairs", ~single)):
            shares = [float(one[chosen].mean()) for one in covered]
            coverages += shares if kind == "pairs" else []
            rows.append(
                (
                    method,
                    kind,
                    int(chosen.sum()) * len(SECRETS),
                    sum(int(one[chosen].sum()) for one in held),
                    f"{100 * np.mean(shares):.1f} %",
                    _mean([np.mean((one.possible - one.certain)[chosen]) for one in asked], 1),
                    _mean([np.mean(1.96 * 2 * one.error[chosen]) for one in asked], 1),
                    _mean([relative_error(one.expected, true, chosen) for one in asked], 3),
                    _mean([relative_error(one.naive, true, chosen) for one in asked], 3),
                    f"{relative_error(of_km, true, chosen):.3f}",
                )
            )
        write_counts(name, data.records, rows, missed, coverages)


class _Asked(NamedTuple):
    """What a release answers to all questions."""

    expected: Float64Array
    certain: Float64Array
    possible: Float64Array
    error: Float64Array
    naive: Float64Array  # counted in base sets

    @classmethod
    def of(
        cls,
        data: ItemSets,
        method: str,
        seed: int,
        questions: Sequence[tuple[int, ...]],
        wheres: Sequence[Where],
    ) -> _Asked:
        """Draw a release and ask it."""
        release = anonymize_sets(data, KAnonymity(K), method=method, effort=0, seed=seed)
        found = release.queries().counts(wheres)
        bases = release.table.column("items").combine_chunks().field("base")
        code_of = {item: code for code, item in enumerate(data.names.to_pylist())}
        codes = np.array([code_of[item] for item in bases.flatten().to_pylist()], np.int64)
        sizes = np.diff(bases.offsets.to_numpy())
        based = holders_of(codes, np.repeat(np.arange(data.records), sizes), data.universe)
        naive = together(based, questions)
        return cls(found.expected, found.certain, found.possible, found.error, naive)


def _mean(figures: Sequence[float], digits: int) -> str:
    return f"{np.mean(figures):.{digits}f}"


def write_counts(
    name: str,
    records: int,
    rows: Sequence[tuple[object, ...]],
    missed: int,
    coverages: Sequence[float],
) -> None:
    asked = sum(int(str(row[2])) for row in rows)
    covers = all(0.93 <= one <= 0.99 for one in coverages)
    report(
        f"sets-queries-{name}",
        f"Sets: counts of items and pairs of {name}, {records:,} records, k = {K}",
        [
            f"Means over {len(SECRETS)} secrets; questions to all of them are counted. Questions:"
            " items drawn at random; half of the pairs from one record, half from two"
            " (chess: all items and all pairs). Bounds hold: the truth is within them. Covered:"
            " the truth, a whole number, is within 1.96 standard errors and a half of the expected"
            " count. Widths in records. Error: sum of absolute errors over the sum of true counts:"
            " of the release, of counting base sets, and of k^m-anonymity with m = 2 and a"
            " hierarchy of fan-out 5, its nodes read as equally likely items.",
            markdown_table(
                (
                    "method",
                    "questions",
                    "number",
                    "bounds hold",
                    "covered",
                    "width of bounds",
                    "width of intervals",
                    "error",
                    "base sets",
                    "k^m",
                ),
                rows,
            ),
            f"- bounds hold in all questions: **{'no' if missed else 'yes'}**"
            f" ({asked - missed:,} of {asked:,})\n"
            f"- 95 % intervals of pairs hold 93 to 99 %: **{'yes' if covers else 'no'}**"
            f" ({100 * min(coverages):.1f} to {100 * max(coverages):.1f} %)",
        ],
        f"sets_queries.py counts {name}",
    )


def main() -> None:
    part, *names = sys.argv[1:] or [""]
    if part != "counts" or not set(names) <= set(NAMES):
        sys.exit(f"The part is counts; its data sets are {', '.join(NAMES)}.")
    counts(*names)


if __name__ == "__main__":
    main()
