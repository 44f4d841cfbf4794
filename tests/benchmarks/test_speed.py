"""The benchmark of speed goes on where it was stopped, and counts all processes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from paths import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))  # as its scripts are run

import _speed_runs
from _speed_cores import times_faster
from _speed_passes import exponents
from _speed_runs import Kept, Used, median, used_by
from _speed_tools import within

BUSY = "for _ in range(3_000_000): pass"
WITH_CHILD = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BUSY!r}])"


def test_what_is_kept_is_not_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "speed.json"
    monkeypatch.setattr(_speed_runs, "version", lambda: "a")
    assert Kept(file).measured("part", "case", max, 1, 2) == 2
    assert Kept(file).measured("part", "case", max, 3, 4) == 2
    assert Kept(file).measured("part", "other case", max, 5, 6) == 6
    assert Kept(file, again=True).measured("part", "case", max, 3, 4) == 4
    monkeypatch.setattr(_speed_runs, "version", lambda: "b")  # the sources have changed
    assert Kept(file).measured("part", "case", max, 7, 8) == 8


def test_processor_time_is_that_of_all_processes() -> None:
    alone = used_by([sys.executable, "-c", "pass"])
    with_child = used_by([sys.executable, "-c", WITH_CHILD])
    assert with_child.processor > 1.5 * alone.processor


def test_median_of_times_and_largest_memory() -> None:
    runs = [Used(1.0, 9.0, 5.0), Used(2.0, 7.0, 6.0), Used(9.0, 8.0, 4.0)]
    assert median(runs) == Used(2.0, 8.0, 6.0)


def test_exponents_of_a_product_of_powers_are_found() -> None:
    seconds = {(rows, k): 3e-6 * rows**1.25 * k**0.5 for rows in (10, 100, 900) for k in (2, 7)}
    assert exponents(seconds) == pytest.approx((1.25, 0.5))


def test_more_cores_shorten_only_what_is_not_serial() -> None:
    assert times_faster(0.0, 64) == 64
    assert times_faster(1.0, 64) == 1
    assert times_faster(0.5, 2) == pytest.approx(4 / 3)


def test_a_tool_that_takes_too_long_is_stopped_and_the_page_says_so() -> None:
    assert within(0.01, "nh", 300) == {"failed": "more than 0"}


def test_a_tool_that_fails_does_not_stop_the_others() -> None:
    assert within(60, "no such tool", 300) == {"failed": "does not run"}
