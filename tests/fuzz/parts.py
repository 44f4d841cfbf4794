"""The parts of the fuzzer: what is drawn, how it is run, and how runs are counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fixed_draws import fixed
from hostile_cases import hostile_cases, hostile_runs
from hypothesis import given, seed
from hypothesis import strategies as st
from kill_cases import kill_cases, kill_runs
from later_cases import compare_cases, later_cases, run_compare, run_later
from set_cases import run_sets, set_cases
from table_cases import TableCase, table_cases
from table_runs import run_table

Run = Callable[[Any, Path], str]


@dataclass(frozen=True)
class Part:
    """One part: cases of a strategy, each run in an empty folder of its own."""

    name: str
    title: str
    strategy: st.SearchStrategy[Any]
    kind: Callable[[Any], str]  # by what the runs are counted
    prepared: Callable[[], AbstractContextManager[Run]]  # what all runs of the part share
    batch: int = 50  # cases that are drawn with one seed

    def cases(self, number: int) -> Iterator[Any]:
        """The cases of the batch with this seed: the same in every process."""
        found: list[Any] = []

        @seed(number)
        @fixed(self.batch)
        @given(self.strategy)
        def collect(case: Any) -> None:
            found.append(case)

        collect()
        yield from found[: self.batch]


def _kind_of_table(case: TableCase) -> str:
    return f"{case.engine}, {case.file}"


PARTS = {
    part.name: part
    for part in (
        Part(
            "tables",
            "Tables",
            table_cases(),
            _kind_of_table,
            lambda: nullcontext(run_table),
        ),
        Part(
            "hostile",
            "Hostile folders and files",
            hostile_cases(),
            lambda case: case.target,
            hostile_runs,
        ),
        Part(
            "kills",
            "Runs killed with signal 9",
            kill_cases(),
            lambda case: case.scenario,
            kill_runs,
            batch=10,
        ),
        Part("sets", "Sets", set_cases(), lambda case: case.form, lambda: nullcontext(run_sets)),
        Part(
            "later",
            "Releases over time",
            later_cases(),
            lambda later: later.case.file,
            lambda: nullcontext(run_later),
        ),
        Part(
            "compare",
            "Comparisons of methods",
            compare_cases(),
            lambda compared: compared.case.file,
            lambda: nullcontext(run_compare),
        ),
    )
}
