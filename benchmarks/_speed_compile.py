"""Run a method once from an empty cache of kernels and print, as JSON, what compiling took.

    python benchmarks/_speed_compile.py METHOD COLLECTIONS

The time of a kernel does not include that of kernels that it calls. The environment says how Numba
compiles, for instance ``NUMBA_OPT``; garbage is collected as the command line does (``few``) or as
often as Python does by itself (``many``). Afterwards the same method is run on more rows.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
import time
from collections import Counter

os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp()

from numba.core import event

import mottle
from mottle.utils.lean_process import OBJECTS_PER_COLLECTION

FEW, MANY = 600, 20_000
QUASI_IDENTIFIERS = ["age", "sex", "education", "marital_status", "origin", "workclass"]


class Compiling(event.Listener):
    """Processor seconds by kernel."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._running: list[list[float]] = []  # began at, of which in others

    def on_start(self, event: event.Event) -> None:
        """Begin a kernel."""
        self._running.append([time.process_time(), 0.0])

    def on_end(self, event: event.Event) -> None:
        """Count a kernel without those inside it."""
        began, inside = self._running.pop()
        seconds = time.process_time() - began
        function = event.data["dispatcher"].py_func
        self.seconds[f"{function.__module__}.{function.__qualname__}"] += seconds - inside
        if self._running:
            self._running[-1][1] += seconds


def run(method: str, rows: int) -> float:
    """Anonymize people; returns the processor seconds."""
    sensitive = ["diagnosis"] if method == "buckets" else []
    schema = mottle.Schema.of(
        quasi_identifying=QUASI_IDENTIFIERS,
        identifying=["person_id"],
        sensitive=sensitive,
        rest="insensitive",
    )
    guarantee = mottle.LDiversity(2) if sensitive else mottle.KAnonymity(5)
    people = mottle.datasets.population(rows, seed=1)
    began = time.process_time()
    mottle.anonymize(people, schema, guarantee, method=method, effort=0, seed=1)
    return time.process_time() - began


def main() -> None:
    """Compile, then work."""
    method, collections = sys.argv[1:]
    if collections == "few":
        gc.set_threshold(OBJECTS_PER_COLLECTION, *gc.get_threshold()[1:])
    compiling = Compiling()
    event.register("numba:compile", compiling)
    first, again = run(method, FEW), run(method, MANY)
    found = {
        "first": first,
        "compiling": sum(compiling.seconds.values()),
        "kernels": compiling.seconds.most_common(),
        "work": again,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    os.environ["MOTTLE_THREADS"] = "1"  # so that times belong to one kernel
    main()
