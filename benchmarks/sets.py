"""Sets: freeform and buckets compared with SET12's methods, tours, and large inputs.

    python benchmarks/sets.py errors|diversity|tours|scale|universe …

    python benchmarks/sets.py universe 50000        # a trial with so many baskets; keeps nothing

Without an argument, all parts are run. Every part writes its table to
benchmarks/results/sets-PART.md and ends with its targets, met or not. SET12's own figures are run
by ``python -m benchmarks.reproduce SET12``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _shared import markdown_table, report, require_data

from mottle import GuaranteeError, KAnonymity, LDiversity, SetRelease, anonymize_sets
from mottle.evaluation.set_release import compare_sets
from mottle.io.read_sets import read_transactions
from mottle.itemsets.data import ItemSets, Sets
from mottle.itemsets.gray import gray_order
from mottle.itemsets.hamming import hamming, steps
from mottle.orderings._breakpoints import segments
from mottle.orderings._tsp import shorten

# |In| and |Ex|, SET12 §5.2.
QUERY_SIZES = {"chess": (3, 4), "pumsb_first4334": (1, 5), "retail": (1, 5)}
SECONDS = {"chess": 10.0, "pumsb_first4334": 15.0, "retail": 40.0}  # for freeform's refinement
DEGREES = (2, 5, 10, 20, 50)
DIVERSITIES = (2, 4, 6, 8, 10)
LABELLED = 10_000  # labelled baskets of retail: the paper's walks take O(n²)
SEED = 1


def read(name: str) -> ItemSets:
    return read_transactions(require_data(f"sets/{name}.dat.gz"))


def first(data: ItemSets, records: int) -> ItemSets:
    ends = data.starts[: records + 1]
    return ItemSets(data.names, ends, data.items[: ends[-1]])


def timed(run: Callable[[], SetRelease]) -> tuple[SetRelease, float]:
    began = time.perf_counter()
    return run(), time.perf_counter() - began


def verdict(name: str, met: bool, measured: str) -> str:
    return f"- {name}: **{'yes' if met else 'no'}** ({measured})"


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


# ------------------------------------------------------------------- Figure 6 (a, c, e, g): over k


def errors() -> None:
    rows = []
    for name in QUERY_SIZES:
        data = read(name)
        for k in DEGREES:
            for method in ("gray-ring", "gray-tsp-ring", "cahd", "freeform"):
                rows.append(error_row(name, data, k, method))
                print(*rows[-1], flush=True)
    report_errors(rows)


def error_row(name: str, data: ItemSets, k: int, method: str) -> tuple[str, ...]:
    effort = SECONDS[name] if method == "freeform" else None
    release, seconds = timed(
        partial(anonymize_sets, data, KAnonymity(k), method=method, effort=effort, seed=SEED)
    )
    present, absent = QUERY_SIZES[name]
    found = compare_sets(data, release, present=present, absent=absent)
    return (
        name,
        str(k),
        method,
        f"{release.error_rate:.4f}",
        f"{found.query_error_present:.5f}",
        f"{found.query_error_absent:.5f}",
        f"{found.item_frequency_error:.4f}",
        f"{found.pair_support_error:.4f}",
        f"{seconds:.1f}",
    )


def report_errors(rows: Sequence[tuple[str, ...]], note: str = "") -> None:
    rate = {(name, int(k), method): float(found) for name, k, method, found, *_ in rows}
    cases = [(name, k) for name in QUERY_SIZES for k in DEGREES]

    def below(method: str, *others: str) -> str:
        found = [
            rate[*case, method] < min(rate[*case, other] for other in others) for case in cases
        ]
        name = f"{method} below {' and '.join(others)} in all cases"
        return verdict(name, all(found), f"{sum(found)} of {len(found)}")

    saved = {case: 1 - rate[*case, "freeform"] / rate[*case, "gray-tsp-ring"] for case in cases}
    least = min(saved, key=lambda case: saved[case])
    report(
        "sets-errors",
        "Sets: error rate and query errors over k (SET12 Figure 6)",
        [
            "ER: wrong bits per item held. QE: difference of counts over n, mean of 500 random"
            " queries: records that hold all of |In| items (I), or none of |Ex| items (II);"
            f" (|In|, |Ex|) = {QUERY_SIZES}. freeform refines for {SECONDS} seconds.{note}",
            markdown_table(
                (
                    "data",
                    "k",
                    "method",
                    "ER",
                    "QE I",
                    "QE II",
                    "item frequencies",
                    "frequent pairs",
                    "seconds",
                ),
                rows,
            ),
            "\n".join(
                [
                    below("gray-tsp-ring", "gray-ring"),
                    below("gray-tsp-ring", "cahd"),
                    below("freeform", "gray-ring", "cahd"),
                    verdict(
                        "freeform at least 10 % below gray-tsp-ring in all cases",
                        saved[least] >= 0.1,
                        f"{sum(share >= 0.1 for share in saved.values())} of {len(saved)};"
                        f" least {percent(saved[least])} on {least[0]} at k = {least[1]}",
                    ),
                ]
            ),
            "Reduction of ER by freeform compared with Gray-TSP:",
            markdown_table(
                ("data", *(f"k = {k}" for k in DEGREES)),
                [(name, *(percent(saved[name, k]) for k in DEGREES)) for name in QUERY_SIZES],
            ),
        ],
        "sets.py errors",
    )


# ------------------------------------------------------------------- Figure 6 (b, d, f, h): over ℓ


def labelled(data: ItemSets) -> ItemSets:
    """Labels drawn with the frequencies of occupations in a census, as in SET12 §5."""
    column = pq.read_table(require_data("census_acs_full.parquet"), columns=["occupation"])
    drawn = np.random.default_rng(SEED).integers(0, column.num_rows, data.records)
    return data.with_labels(column.column(0).take(pa.array(drawn)), "occupation")


def diversity() -> None:
    rows, below = [], {"closed-walk-greedy": [], "buckets": []}
    for name, (present, absent) in QUERY_SIZES.items():
        data = labelled(first(read(name), LABELLED))
        for l in DIVERSITIES:  # noqa: E741 - the papers' name
            rates = {}
            for method in ("cahd", "closed-walk-greedy", "buckets"):
                unsafe = method == "closed-walk-greedy"
                try:
                    run = partial(
                        anonymize_sets,
                        data,
                        LDiversity(l),
                        method=method,
                        seed=SEED,
                        effort=10.0 if method == "buckets" else None,
                        unsafe_paper_randomization=unsafe,
                    )
                    release, seconds = timed(run)
                except GuaranteeError as error:
                    rows.append((name, l, method, str(error.problem), "", "", "", ""))
                    continue
                found = compare_sets(data, release, present=present, absent=absent)
                rates[method] = release.error_rate
                (exposed,) = (
                    check.measured.facts.get("individuals_with_repeated_value", 0)
                    for check in release.certificate.checks
                    if check.invariant == 4
                )
                rows.append(
                    (
                        name,
                        l,
                        method,
                        f"{release.error_rate:.4f}",
                        f"{found.query_error_present:.5f}",
                        f"{found.query_error_absent:.5f}",
                        percent(exposed / data.records),
                        f"{seconds:.1f}",
                    )
                )
                print(*rows[-1], flush=True)
            for method, found_below in below.items():
                if method in rates:
                    found_below.append(rates[method] < rates["cahd"])
    report(
        "sets-diversity",
        "Sets: error rate and query errors over ℓ (SET12 Figure 6)",
        [
            f"Columns as in sets-errors.md; the first {LABELLED:,} baskets of retail; labels drawn"
            " by the shares of 529 occupations. The paper's closed-walk-greedy leaks: *labels"
            " repeat* is the share of individuals whose matches repeat a label, 0 for every safe"
            " method.",
            markdown_table(
                ("data", "ℓ", "method", "ER", "QE I", "QE II", "labels repeat", "seconds"), rows
            ),
            "\n".join(
                verdict(
                    f"{method} below CAHD in all cases", all(found), f"{sum(found)} of {len(found)}"
                )
                for method, found in below.items()
            ),
        ],
        "sets.py diversity",
    )


# ----------------------------------------------------------------------------------------- tours


def mean_distance(sets: Sets, order: np.ndarray, places: int) -> float:
    """Mean Hamming distance of records that are ``places`` positions apart in a cyclic order."""
    further = np.roll(order, -places)
    return float(np.mean([hamming(sets, *pair) for pair in zip(order, further, strict=True)]))


def tours() -> None:
    rows, better, faster = [], [], []
    for name, records in (("chess", 3196), ("pumsb_first4334", 4334), ("retail", 4000)):
        sets = first(read(name), records).sets()
        gray = gray_order(sets)
        cuts = segments(steps(sets, gray))
        shorten(sets, gray[:600], np.array([0, 300, 600]), SEED)  # compile
        found = {"Gray order": (gray, 0.0)}
        for title, genetic in (("2-opt, Or-opt and kicks", False), ("genetic", True)):
            began = time.perf_counter()
            order = shorten(sets, gray, cuts, SEED, genetic=genetic)
            found[title] = (order, time.perf_counter() - began)
        lengths = {title: int(steps(sets, order).sum()) for title, (order, _) in found.items()}
        for title, (order, seconds) in found.items():
            further = [f"{mean_distance(sets, order, places):.1f}" for places in (1, 4, 9, 49)]
            rows.append((name, title, f"{lengths[title]:,}", *further, f"{seconds:.2f}"))
            print(*rows[-1], flush=True)
        better.append(lengths["2-opt, Or-opt and kicks"] <= lengths["genetic"])
        faster.append(found["2-opt, Or-opt and kicks"][1] < found["genetic"][1])
    report(
        "sets-tours",
        "Sets: paths through segments by the paper's genetic algorithm and by local search",
        [
            "Length: sum of Hamming distances around the cyclic order. Columns 1, 4, 9 and 49: mean"
            " distance of records that many positions apart, which a ring of degree 2, 5, 10, 50"
            " votes over. A tour minimizes only the length of the path; if records have little in"
            " common, it increases the distance of records further along, and Gray-TSP's error rate"
            " is above Gray's.",
            markdown_table(("data", "order", "length", "1", "4", "9", "49", "seconds"), rows),
            verdict(
                "local search shorter and faster than the genetic algorithm",
                all(better) and all(faster),
                f"shorter {sum(better)} of 3, faster {sum(faster)} of 3",
            ),
        ],
        "sets.py tours",
    )


# ------------------------------------------------------------------------------------ large inputs

ONE_RUN = """
import json, resource, sys, time
import mottle
source, k, method, effort, folder, items = *sys.argv[1:6], int(sys.argv[6])
began = time.perf_counter()
if source.isdigit():
    data = mottle.datasets.baskets(int(source), items, seed=1)
else:
    data = mottle.read_sets(source)
read = time.perf_counter() - began
effort = None if effort == "-" else float(effort)
release = mottle.anonymize_sets(data, mottle.KAnonymity(int(k)), method=method, effort=effort)
arranged = time.perf_counter() - began - read
release.save(folder, report=False)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
taken = time.perf_counter() - began
print(json.dumps([data.records, release.error_rate, read, arranged, taken, peak]))
"""


# Questions as analysts ask them, in a process that has only the release.
ONE_READER = """
import json, resource, sys, time
import mottle
began = time.perf_counter()
release = mottle.read_release(sys.argv[1])
read = time.perf_counter() - began
names = [item for item, _ in zip(release.items()["item"].to_pylist(), range(1000))]
pairs = [release.count_items(pair) for pair in zip(names[:100], names[1:101])]
found = release.frequent_itemsets(0.02, size=2)
release.query(f"SELECT count(*) FROM release WHERE contains(items, '{names[0]}')")
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(json.dumps([read, time.perf_counter() - began, found.num_rows, peak]))
"""


def in_child(program: str, *arguments: object) -> Sequence[float]:
    """Run a program in a process of its own; return the numbers that it prints last."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return list(json.loads(done.stdout.splitlines()[-1]))


def one_run(source: str, k: int, method: str, effort: str) -> Sequence[float]:
    with tempfile.TemporaryDirectory() as folder:
        return in_child(ONE_RUN, source, k, method, effort, Path(folder, "out"), 20_000)


# Generated baskets as a file, so that the process that anonymizes them does not generate them.
ONE_FILE = """
import json, sys
import mottle
import pyarrow as pa, pyarrow.parquet as pq
data = mottle.datasets.baskets(int(sys.argv[1]), int(sys.argv[2]), seed=1)
lists = pa.LargeListArray.from_arrays(pa.array(data.starts), data.names.take(data.items))
pq.write_table(pa.table({"items": lists}), sys.argv[3], row_group_size=1 << 16)
print(json.dumps([data.records]))
"""

IN_CHUNKS = """
import json, resource, sys, time
import mottle
file, folder, memory = sys.argv[1:4]
began = time.perf_counter()
release = mottle.anonymize_sets_stream(
    file, mottle.KAnonymity(10), folder, column="items", method="freeform", effort=0,
    memory=memory, report=False, work=folder + "-work",
)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
chunks = release.certificate.engine.chunks
print(json.dumps([release.error_rate, time.perf_counter() - began, peak, chunks]))
"""

UNIVERSE = 100_000
MEMORY = "4GB"


def universe(sizes: Sequence[int] = ()) -> None:
    rows, peak = [], 0.0
    for records in sizes or (250_000, 1_000_000):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "baskets.parquet")
            in_child(ONE_FILE, records, UNIVERSE, file)
            for engine in ("memory", f"chunks, {MEMORY}"):
                out = Path(folder, f"out {engine[:6]}")
                chunks = 1.0
                if engine == "memory":
                    _, rate, _, _, taken, made = in_child(
                        ONE_RUN, records, 10, "freeform", "0", out, UNIVERSE
                    )
                else:
                    rate, taken, made, chunks = in_child(IN_CHUNKS, file, out, MEMORY)
                print(engine, records, f"{rate:.4f} {taken:.0f} s {made:.2f} GB", flush=True)
                read, asked, found, reader = in_child(ONE_READER, out)
                print(f"{read:.0f} s {asked:.0f} s {found} sets {reader:.2f} GB", flush=True)
                peak = max(peak, made, reader)
                rows.append(
                    (
                        f"{records:,}",
                        f"{UNIVERSE:,}",
                        engine,
                        f"{chunks:.0f}",
                        f"{rate:.4f}",
                        f"{taken:.0f}",
                        f"{made:.2f}",
                        f"{read:.0f}",
                        f"{asked:.0f}",
                        f"{reader:.2f}",
                    )
                )
    if sizes:  # a trial
        return
    report(
        "sets-universe",
        "Sets: a million baskets over a hundred thousand items, k = 10",
        [
            "Generated: mottle.datasets.baskets, ten items per basket; freeform without refinement."
            " A process of its own anonymizes and writes the release, in memory or with --memory."
            " Another one reads it, lists"
            " all items with their counts, counts a hundred pairs, finds frequent items and pairs"
            " and answers a question in SQL. Peak memory in GB of each process; seconds on a busy"
            " machine.",
            markdown_table(
                (
                    "records",
                    "items",
                    "engine",
                    "chunks",
                    "ER",
                    "anonymize and write, s",
                    "GB",
                    "read, s",
                    "read and ask, s",
                    "GB of the reader",
                ),
                rows,
            ),
            verdict("all below 4 GB", peak < 4, f"{peak:.2f} GB"),
        ],
        "sets.py universe",
    )


def scale() -> None:
    retail = str(require_data("sets/retail.dat.gz"))
    cases = [("retail", retail, "gray-tsp-ring", "-"), ("retail", retail, "freeform", "0")]
    cases += [("retail", retail, "freeform", "60")]
    cases += [
        ("generated", str(records), "freeform", "0")
        for records in (125_000, 250_000, 500_000, 1_000_000)
    ]
    cases += [("generated", "1000000", "gray-tsp-ring", "-")]
    rows, by_size = [], {}
    peak = 0.0
    for name, source, method, effort in cases:
        records, rate, read_in, arranged, taken, memory = one_run(source, 10, method, effort)
        if name == "generated" and method == "freeform":
            by_size[records] = arranged
        peak = max(peak, memory)
        rows.append(
            (
                name,
                f"{records:,}",
                method,
                effort,
                f"{rate:.4f}",
                f"{read_in:.1f}",
                f"{arranged:.1f}",
                f"{taken:.1f}",
                f"{memory:.2f}",
            )
        )
        print(*rows[-1], flush=True)
    growth = by_size[1_000_000] / by_size[125_000]
    report(
        "sets-scale",
        "Sets: all retail baskets, and a million generated ones, k = 10",
        [
            "Generated: mottle.datasets.baskets, 20,000 items, ten per basket. Seconds for reading"
            " or generating, for anonymizing, and in total including writing; peak memory in GB of"
            " the whole process. Refinement: time limit in seconds.",
            markdown_table(
                (
                    "data",
                    "records",
                    "method",
                    "refinement",
                    "ER",
                    "read",
                    "anonymize",
                    "total",
                    "GB",
                ),
                rows,
            ),
            "\n".join(
                [
                    verdict("a million baskets below 4 GB", peak < 4, f"{peak:.2f} GB"),
                    verdict(
                        "time proportional to records (8 times as many: at most 12 times the time)",
                        growth <= 12,
                        f"{growth:.1f} times",
                    ),
                ]
            ),
        ],
        "sets.py scale",
    )


PARTS = {
    "errors": errors,
    "diversity": diversity,
    "tours": tours,
    "scale": scale,
    "universe": universe,
}


def main() -> None:
    if sys.argv[1:2] == ["universe"]:
        universe([int(size) for size in sys.argv[2:]])
        return
    for part in sys.argv[1:] or PARTS:
        if part not in PARTS:
            sys.exit(f"There is no part '{part}'; the parts are {', '.join(PARTS)}.")
        PARTS[part]()


if __name__ == "__main__":
    main()
