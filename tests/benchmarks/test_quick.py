"""The verdict of the quick benchmarks: what counts as slower, and what does not."""

from __future__ import annotations

import sys
from pathlib import Path

from paths import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))  # as its scripts are run

import quick


def measured(*ratios: float) -> list[quick.Compared]:
    """What is said of a benchmark kept as 1 whose measurements are these, one after the other."""
    following = iter(ratios)
    return quick.compared(["nh"], {"nh": 1.0}, lambda _: next(following))


def test_a_quarter_more_is_worse_only_if_every_try_says_so() -> None:
    assert not measured(1.25)[0].worse
    assert measured(1.26, 1.5, 1.27)[0].worse
    assert not measured(1.9, 1.8, 1.1)[0].worse


def test_smallest_ratio_counts_and_nothing_is_measured_again_without_need() -> None:
    assert measured(1.9, 1.2, 9.0)[0].ratio == 1.2
    assert measured(0.5, 9.0)[0].ratio == 0.5


def test_new_benchmark_is_not_compared() -> None:
    (one,) = quick.compared(["new"], {"nh": 1.0}, lambda _: 5.0)
    assert (one.kept, one.times, one.worse) == (None, None, False)


def test_processor_time_counts_processes_that_are_started() -> None:
    loop = "for _ in range(2_000_000): pass"
    used = quick.processor_seconds(lambda: quick._run([sys.executable, "-c", loop]))
    assert used > 0.01


def test_there_are_ten_benchmarks(tmp_path: Path) -> None:
    assert len(quick.Benchmarks(tmp_path).all) == 10
