"""The fuzzer's short profile: a fixed number of cases of every part, the same in every run.

``make fuzz`` runs many more of them (`benchmarks/fuzz.py`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fixed_draws import fixed
from hostile_cases import HostileCase, hostile_cases, hostile_runs
from hostile_material import make_material
from hypothesis import given, seed
from kill_cases import KillCase, Killer, run_kill
from later_cases import CompareCase, LaterCase, compare_cases, later_cases, run_compare, run_later
from parts import PARTS
from set_cases import SetCase, run_sets, set_cases
from table_cases import TableCase, table_cases
from table_runs import run_table


def in_a_folder(run: Callable[[Any, Path], str], case: Any) -> str:
    """Run a case in an empty folder; Hypothesis runs many in one test."""
    with tempfile.TemporaryDirectory(prefix="mottle-fuzz-") as folder:
        return run(case, Path(folder))


@seed(1)
@fixed(70, shrink=True)
@given(table_cases())
def test_tables_end_with_a_valid_release_or_a_named_error(case: TableCase) -> None:
    in_a_folder(run_table, case)


@seed(2)
@fixed(40, shrink=True)
@given(set_cases())
def test_sets_end_with_a_valid_release_or_a_named_error(case: SetCase) -> None:
    in_a_folder(run_sets, case)


@seed(4)
@fixed(10, shrink=True)
@given(later_cases())
def test_releases_over_time_keep_their_records_or_end_with_a_named_error(case: LaterCase) -> None:
    in_a_folder(run_later, case)


@seed(5)
@fixed(5, shrink=True)
@given(compare_cases())
def test_comparisons_end_with_a_result_or_a_named_error(case: CompareCase) -> None:
    in_a_folder(run_compare, case)


@pytest.fixture(scope="module")
def run_hostile_case() -> Iterator[Callable[[HostileCase, Path], str]]:
    with hostile_runs() as run:
        yield run


def test_hostile_folders_and_files_end_with_a_result_or_a_named_error(
    run_hostile_case: Callable[[HostileCase, Path], str],
) -> None:
    @seed(3)
    @fixed(60, shrink=True)
    @given(hostile_cases())
    def each(case: HostileCase) -> None:
        in_a_folder(run_hostile_case, case)

    each()


@pytest.fixture(scope="module")
def killer(tmp_path_factory: pytest.TempPathFactory) -> Killer:
    material = tmp_path_factory.mktemp("killed") / "material"
    make_material(material)
    return Killer(material)


@pytest.mark.parametrize(
    "case",
    [
        KillCase("memory, over a release", True, 0.7, True),
        KillCase("streaming", True, 0.8, True),
        KillCase("sets, streaming", True, 0.6, False),
        KillCase("DuckDB", True, 0.9, False),
    ],
    ids=lambda case: case.scenario,
)
def test_killed_run_leaves_the_old_release_or_the_new_one(
    case: KillCase, killer: Killer, tmp_path: Path
) -> None:
    assert run_kill(case, tmp_path, killer).startswith("valid: killed")


def test_a_seed_gives_the_same_cases_again() -> None:
    """Otherwise a failure of the long profile could not be repeated."""
    for part in PARTS.values():
        first, second = (list(part.cases(7)) for _ in range(2))
        assert len(first) == part.batch
        assert [str(case) for case in first] == [str(case) for case in second]
