"""The simulated cluster does all work, and what goes wrong takes time."""

from __future__ import annotations

import sys

import pytest
from paths import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))  # as its scripts are run

from _scale_cluster import Chance, Stage, makespan

STAGES = [Stage(40, 400.0, [1.0])]


def test_without_chance_the_work_is_divided_among_all_cores() -> None:
    assert makespan(STAGES, 2, 2, Chance(), 1) == pytest.approx(100)
    assert makespan(STAGES * 2, 2, 5, Chance(), 1) == pytest.approx(80)


def test_stragglers_and_failures_take_time_and_the_same_seed_the_same() -> None:
    slow = Chance(spread=0.3, stragglers=0.2)
    assert makespan(STAGES, 2, 2, slow, 1) > 100
    assert makespan(STAGES, 2, 2, slow, 1) == makespan(STAGES, 2, 2, slow, 1)
    failing = Chance(failures=60.0)
    assert makespan(STAGES, 2, 2, failing, 1) > 100


def test_copies_of_late_tasks_save_time() -> None:
    late = [Stage(100, 1000.0, [1.0])]
    chance = Chance(stragglers=0.05, shape=0.5)
    alone = sum(makespan(late, 2, 5, chance, seed) for seed in range(10))
    copied = sum(
        makespan(late, 2, 5, Chance(stragglers=0.05, shape=0.5, speculation=True), seed)
        for seed in range(10)
    )
    assert copied < alone
