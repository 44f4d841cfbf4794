"""Questions about the items of sets: bounds, intervals and errors beside naive readings and k^m.

    python benchmarks/sets_queries.py counts [chess|pumsb|retail …]
    python benchmarks/sets_queries.py large

``counts`` asks 10,000 questions about items and pairs of chess, pumsb and retail and writes
benchmarks/results/sets-queries-DATA.md. ``large`` anonymizes a million baskets over 100,000 items,
asks the release and writes benchmarks/results/sets-large.md.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from _k_to_the_m import anonymize_k_to_the_m
from _shared import markdown_table, report, require_data

from mottle import KAnonymity, anonymize_sets, datasets, read_release
from mottle.io.read_sets import read_transactions
from mottle.itemsets.data import ItemSets
from mottle.queries import Condition
from mottle.typing import Float64Array

K = 10
SEED = 1
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


def relative_error(answers: Float64Array, true: Float64Array, chosen: np.ndarray) -> str:
    """The sum of absolute errors over the sum of true counts."""
    return f"{np.abs(answers - true)[chosen].sum() / true[chosen].sum():.3f}"


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
    of_km = anonymize_k_to_the_m(data, K).counts(questions)
    rows: list[tuple[object, ...]] = []
    missed, coverages = 0, []
    for method in METHODS:
        release = anonymize_sets(data, KAnonymity(K), method=method, effort=0, seed=SEED)
        found = release.queries().counts(wheres)
        bases = release.table.column("items").combine_chunks().field("base")
        code_of = {item: code for code, item in enumerate(names)}
        codes = np.array([code_of[item] for item in bases.flatten().to_pylist()], np.int64)
        sizes = np.diff(bases.offsets.to_numpy())
        based = holders_of(codes, np.repeat(np.arange(data.records), sizes), data.universe)
        naive = together(based, questions)
        held = (found.certain <= true) & (true <= found.possible)
        covered = np.abs(found.expected - true) <= 1.96 * found.error + 0.5
        missed += int((~held).sum())
        for kind, chosen in (("items", single), ("pairs", ~single)):
            coverages += [float(covered[chosen].mean())] if kind == "pairs" else []
            rows.append(
                (
                    method,
                    kind,
                    int(chosen.sum()),
                    int(held[chosen].sum()),
                    f"{100 * covered[chosen].mean():.1f} %",
                    f"{np.mean((found.possible - found.certain)[chosen]):.1f}",
                    f"{np.mean(1.96 * 2 * found.error[chosen]):.1f}",
                    relative_error(found.expected, true, chosen),
                    relative_error(naive, true, chosen),
                    relative_error(of_km, true, chosen),
                )
            )
        write_counts(name, data.records, rows, missed, coverages)


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
            "Questions: items drawn at random; half of the pairs from one record, half from two"
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


# ------------------------------------------------------------------------------ a large universe

RECORDS, UNIVERSE = 1_000_000, 100_000


def large() -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = {}
        for step in ("release", "ask"):
            process = subprocess.Popen(
                [sys.executable, __file__, f"large-{step}", folder], stdout=subprocess.PIPE
            )
            assert process.stdout is not None
            output = process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            if status != 0:
                sys.exit(f"The step '{step}' failed.")
            found[step] = (json.loads(output), usage.ru_maxrss / 2**20)
    (made, memory), (answered, asking) = found["release"], found["ask"]
    report(
        "sets-large",
        f"Sets: {RECORDS:,} baskets over {UNIVERSE:,} items, k = {K}",
        [
            "Generated by mottle.datasets.baskets. Seconds of processor time; peak memory in GB of"
            " the whole process: generating, anonymizing and writing; reading and asking.",
            markdown_table(
                ("step", "processor seconds", "GB", "result"),
                [
                    ("release", f"{made['seconds']:.0f}", f"{memory:.2f}", f"ER {made['er']:.4f}"),
                    ("ask", f"{answered['seconds']:.0f}", f"{asking:.2f}", answered["answer"]),
                ],
            ),
            f"- anonymized in 4 GB: **{'yes' if memory < 4 else 'no'}** ({memory:.2f} GB)",
        ],
        "sets_queries.py large",
    )


def large_release(folder: str) -> None:
    data = datasets.baskets(RECORDS, UNIVERSE, seed=SEED)
    release = anonymize_sets(data, KAnonymity(K), effort=0, seed=SEED, method="gray-ring")
    release.save(Path(folder, "out"), report=False)
    print(json.dumps({"seconds": time.process_time(), "er": release.error_rate}))


def large_ask(folder: str) -> None:
    release = read_release(Path(folder, "out"))
    frequent = release.columns[0].item_totals.items[:2]
    answer = str(release.count_items(frequent))
    print(json.dumps({"seconds": time.process_time(), "answer": answer}))


PARTS = {"counts": counts, "large": large}
STEPS = {"large-release": large_release, "large-ask": large_ask}


def main() -> None:
    if len(sys.argv) == 3 and sys.argv[1] in STEPS:
        STEPS[sys.argv[1]](sys.argv[2])
        return
    part, *names = sys.argv[1:] or [""]
    if part not in PARTS or not set(names) <= set(NAMES if part == "counts" else ()):
        sys.exit(f"The parts are counts and large; data sets of counts are {', '.join(NAMES)}.")
    PARTS[part](*names)


if __name__ == "__main__":
    main()
