"""Other tools and methods on the same rows of the census, each in a process of its own.

    python benchmarks/_speed_tools.py TOOL ROWS

prints the loss and the seconds of one tool as JSON. The benchmark of speed runs it with a limit of
time, after which a tool does not run at this size. ARX is not a package that can be installed here:
``ARX's search`` is that of `_full_domain`, written in NumPy, so its loss can be compared and its
seconds cannot; what ARX itself takes on ADULT stands in `_rivals`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from _full_domain import Levels, Node, globally, locally, recoded
from _rivals import prepare_environment, run_rival
from _shared import DATA, markdown_table, report, require_data
from _speed_runs import CENSUS, K, Kept

import mottle
from mottle.encoding.cover import cover
from mottle.encoding.domain import Codes
from mottle.encoding.encode import encode
from mottle.guarantees.demand import Demand
from mottle.loss.ncp import measure
from mottle.methods import MethodContext
from mottle.schema.columns import Objective
from mottle.schema.model import Representation

METHODS = ("nh", "freeform", "mondrian")
PACKAGES = ("anonypy", "anonypyx")
SEARCHES: dict[str, Callable[[Sequence[Levels]], list[Node | None]]] = {
    "ARX's search, global": lambda columns: globally(columns, [K])[K],
    "ARX's search, local": lambda columns: locally(columns, K),
}
COLUMNS = ["age", "gender", "education", "marital_status", "race", "workclass", "country"]
SIZES = (30_000, CENSUS)
LIMIT = 300  # seconds for one tool on one table
HIERARCHIES = DATA / "hierarchies" / "census_acs"


def tools(kept: Kept) -> None:
    """Every tool on every size, and the page."""
    prepare_environment()
    lines = []
    for rows in SIZES:
        for tool in (*METHODS, *PACKAGES, *SEARCHES):
            found = kept.measured("tools", f"{tool}, {rows}, {LIMIT} s", within, LIMIT, tool, rows)
            lines.append([f"{rows:,}", tool, *_told(found)])
    report(
        "speed-tools",
        f"Other tools on the same rows: 7 quasi-identifiers of the census, k = {K}",
        [
            "Ours: seconds of arranging; others: as they measure themselves, without reading. Each"
            f" may take {LIMIT} s on a table. ARX cannot be installed here: its search is that of"
            " `benchmarks/_full_domain.py`, over hierarchies, in NumPy, which is not how fast ARX"
            " is. Its loss counts the leaves below a label, and suppressed records as lost.",
            markdown_table(
                ["rows", "tool or method", "GCP of the census", "suppressed, %", "seconds"], lines
            ),
        ],
        "speed.py tools",
    )


def within(seconds: float, tool: str, rows: int) -> dict[str, Any]:
    """What one tool finds in a process that ends, with those it started, after some seconds."""
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__)), tool, str(rows)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return {"failed": f"more than {seconds:.0f}"}
    if process.returncode:
        return {"failed": "does not run"}
    return json.loads(output)


def arranged(table: pa.Table, k: int, method: str) -> dict[str, float]:
    """Loss and time of one of our methods, compiled before."""
    codes = encode(
        table, mottle.Schema.of(quasi_identifying=table.column_names), Representation.RANGE
    )
    arrange = mottle.methods.get(method).arrange
    context = MethodContext(seed=1, objective=Objective.NCP)
    arrange(Codes(codes.domains, codes.matrix[:300]), Demand(5), context)  # compiles
    began, used = time.perf_counter(), time.process_time()
    graph = arrange(codes, Demand(k), context).graph
    seconds, processor = time.perf_counter() - began, time.process_time() - used
    gcp = measure(cover(graph, codes), codes).gcp
    return {"gcp": gcp, "seconds": seconds, "processor": processor, "suppressed": 0.0}


def _told(found: dict[str, Any]) -> tuple[str, str, str]:
    if "failed" in found:
        return "", "", found["failed"]
    return (
        f"{found['gcp']:.4f}",
        f"{100 * found['suppressed']:.1f}",
        f"{found['seconds']:.1f}",
    )


def _by(tool: str, rows: int) -> dict[str, float]:
    """Loss, seconds and share of suppressed records of a tool on the first rows."""
    table = pq.read_table(require_data("census_acs.parquet"), columns=COLUMNS).slice(0, rows)
    if tool in METHODS:
        return arranged(table, K, tool)
    if tool in PACKAGES:
        codes = encode(table, mottle.Schema.of(quasi_identifying=COLUMNS), Representation.RANGE)
        rival = run_rival(tool, table, codes, K)
        return {"gcp": rival.gcp, "seconds": rival.seconds, "suppressed": rival.suppressed}
    search = SEARCHES[tool]
    columns = [Levels.of(table.column(name), HIERARCHIES / f"{name}.csv") for name in COLUMNS]
    began = time.perf_counter()
    levels = search(columns)
    seconds = time.perf_counter() - began
    found = recoded(table, COLUMNS, columns, levels)
    return {"gcp": found.gcp, "seconds": seconds, "suppressed": found.suppressed}


if __name__ == "__main__":
    print(json.dumps(_by(sys.argv[1], int(sys.argv[2]))))
