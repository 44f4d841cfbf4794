"""Global (1, k)-anonymity beside k-anonymity: what it loses, and how surely it links people."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _global_one_k import as_graph, global_one_k, highest_probability, matches
from _shared import markdown_table, report, require_data

from mottle import KAnonymity, Schema, methods
from mottle.encoding.cover import cover
from mottle.encoding.encode import encode
from mottle.loss.ncp import measure
from mottle.methods.base import MethodContext
from mottle.schema.model import Representation

COLUMNS = ("age", "workclass", "education-num", "marital-status", "race", "sex", "native-country")
SCHEMA = Schema.of(quasi_identifying=COLUMNS)
RIVALS = ("freeform", "nh", "hilbert", "mondrian")
SIZES = (1_000, 2_000, 4_000)
SMALL, TABLES = 14, 100


def loss_and_time(table: pa.Table, method: str, k: int) -> tuple[float, float]:
    """GCP and processor seconds of a method of mottle."""
    codes = encode(table, SCHEMA, Representation.RANGE)
    demand = KAnonymity(k).demand(table.num_rows)
    began = time.process_time()
    graph = methods.get(method).arrange(codes, demand, MethodContext(seconds=0, seed=1)).graph
    return measure(cover(graph, codes), codes).gcp, time.process_time() - began


def losses(adult: pa.Table) -> str:
    """Loss over k and n."""
    rows = []
    settings = [(SIZES[1], k) for k in (2, 5, 10, 20)] + [(n, 10) for n in SIZES if n != SIZES[1]]
    for n, k in settings:
        table = adult.slice(0, n)
        codes = encode(table, SCHEMA, Representation.RANGE)
        began = time.process_time()
        covers = global_one_k(codes, k)
        seconds = time.process_time() - began
        numbers = matches(covers).sum(axis=0)
        assert numbers.min() >= k
        graph = as_graph(covers)
        found = {method: loss_and_time(table, method, k) for method in RIVALS}
        rows.append(
            (
                f"{n:,}",
                k,
                f"{measure(cover(graph, codes), codes).gcp:.4f}",
                *(f"{loss:.4f}" for loss, _ in found.values()),
                f"{int(numbers.min())} to {int(numbers.max())}",
                f"{seconds:.1f}",
                f"{found['nh'][1]:.2f}",
            )
        )
    header = ("rows", "k", "global (1, k)", *RIVALS, "matches of a person", "seconds", "nh")
    return markdown_table(header, rows)


def probabilities(adult: pa.Table) -> str:
    """The most likely pair of small tables, exactly."""
    random = np.random.default_rng(1)
    rows = []
    for k in (2, 3, 4):
        highest = []
        for _ in range(TABLES):
            chosen = np.sort(random.choice(adult.num_rows, SMALL, replace=False))
            codes = encode(adult.take(pa.array(chosen)), SCHEMA, Representation.RANGE)
            highest.append(highest_probability(global_one_k(codes, k)))
        beyond = sum(each > Fraction(1, k) for each in highest)
        rows.append(
            (
                k,
                f"{1 / k:.3f}",
                f"{float(np.median([float(each) for each in highest])):.3f}",
                f"{float(max(highest)):.3f}",
                f"{beyond} of {TABLES}",
            )
        )
    return markdown_table(("k", "1/k", "median", "highest", "tables above 1/k"), rows)


def main() -> None:
    adult = pq.read_table(require_data("adult_train.parquet")).select(COLUMNS)
    report(
        "one_k",
        "Global (1, k)-anonymity as a rival",
        [
            "The first rows of ADULT, seven quasi-identifiers, numbers as ranges and categories as"
            " sets; methods without refinement; processor seconds. NH10 §2: the principle only says"
            " that everybody has k matches.",
            losses(adult),
            f"{TABLES} tables of {SMALL} records drawn from ADULT: the highest probability with"
            " which a published record is a certain person's, all one-to-one assignments that fit"
            " being equally likely. Under k-anonymity as mottle promises it, nobody's exceeds 1/k.",
            probabilities(adult),
        ],
    )


if __name__ == "__main__":
    main()
