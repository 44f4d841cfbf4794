"""SET12's closed walk against NH10's backtracking walk on one ring, over n and k."""

from __future__ import annotations

import statistics
import time

import numpy as np
from _shared import markdown_table, report

from mottle.assignment import WALKS, assign
from mottle.graph.model import Graph
from mottle.utils.csprng import Secret

RECORDS = (1_250, 2_500, 5_000, 10_000, 20_000)
DEGREES = (10, 50, 100)
DRAWS = 9


def ring(records: int, degree: int) -> Graph:
    return Graph.rings(np.arange(records), np.array([0, records]), np.array([degree]))


def seconds(graph: Graph, walk: str, seed: int) -> float:
    began = time.perf_counter()
    assign(graph, Secret.draw(seed), walk)
    return time.perf_counter() - began


def main() -> None:
    for walk in WALKS:
        seconds(ring(20, 3), walk, 0)  # compile
    rows = []
    for records in RECORDS:
        for degree in DEGREES:
            graph = ring(records, degree)
            # The same seeds make both walks extract the same number of assignments, so that the
            # means are comparable on a noisy machine.
            times = {walk: [seconds(graph, walk, seed) for seed in range(DRAWS)] for walk in WALKS}
            closed = statistics.mean(times["closed"])
            backtracking = statistics.mean(times["backtracking"])
            rows.append(
                (
                    f"{records:,}",
                    degree,
                    f"{1000 * closed:.1f}",
                    f"{1000 * backtracking:.1f}",
                    f"{backtracking / closed:.2f}",
                )
            )
    report(
        "walks",
        "Closed walk (SET12) against backtracking walk (NH10)",
        [
            f"One ring of |P| records, degree k; mean milliseconds of {DRAWS} draws, both walks"
            " with the same seeds, hence the same number of assignments to extract.",
            markdown_table(
                ("|P|", "k", "closed, ms", "backtracking, ms", "backtracking / closed"), rows
            ),
        ],
    )


if __name__ == "__main__":
    main()
