"""Work is shared out completely, in order, and failures are not swallowed."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mottle.utils import parallel


def ranges(first: int, last: int) -> tuple[int, int]:
    return first, last


def covered(parts: list[tuple[int, int]]) -> list[int]:
    return [item for first, last in parts for item in range(first, last)]


@given(st.integers(0, 100_000))
def test_every_row_is_worked_on_once_and_in_order(rows: int):
    assert covered(parallel.over_rows(ranges, rows)) == list(range(rows))


@given(st.lists(st.integers(1, 500), min_size=1, max_size=60))
def test_every_block_is_worked_on_once_and_in_order(sizes: list[int]):
    starts = np.concatenate([[0], np.cumsum(sizes)])
    assert covered(parallel.over_blocks(ranges, starts)) == list(range(len(sizes)))


def test_one_giant_block_does_not_hide_the_small_ones():
    starts = np.array([0, 1, 2, 1_000_000, 1_000_001])
    assert covered(parallel.over_blocks(ranges, starts)) == [0, 1, 2, 3]


@pytest.mark.parametrize("threads", ["1", "2", "7"])
def test_results_do_not_depend_on_the_number_of_threads(monkeypatch, threads: str):
    monkeypatch.setenv("MOTTLE_THREADS", threads)
    assert parallel.thread_count() == int(threads)
    assert covered(parallel.over_rows(ranges, 50_000)) == list(range(50_000))


@pytest.mark.parametrize("nonsense", ["", "0", "-3", "many", "1.5"])
def test_nonsense_thread_count_falls_back_to_the_cores(monkeypatch, nonsense: str):
    monkeypatch.setenv("MOTTLE_THREADS", nonsense)
    assert parallel.thread_count() >= 1


def test_superscript_thread_count_falls_back_to_the_cores(monkeypatch):
    monkeypatch.setenv("MOTTLE_THREADS", "²")
    assert parallel.thread_count() >= 1


@pytest.mark.parametrize("threads", ["1", "4"])
def test_failure_in_one_range_reaches_the_caller(monkeypatch, threads: str):
    monkeypatch.setenv("MOTTLE_THREADS", threads)

    def work(first: int, last: int) -> None:
        if first > 0:
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        parallel.over_rows(work, 100_000)


def test_no_thread_outlives_the_work(monkeypatch):
    monkeypatch.setenv("MOTTLE_THREADS", "4")
    before = threading.active_count()
    parallel.over_rows(ranges, 100_000)
    assert threading.active_count() == before


@pytest.mark.parametrize(("rows", "elsewhere"), [(40, False), (4000, True)])
def test_threads_are_started_for_blocks_that_are_worth_it(monkeypatch, rows: int, elsewhere: bool):
    monkeypatch.setenv("MOTTLE_THREADS", "4")
    starts = np.arange(0, rows + 1, 4)
    found = parallel.over_blocks(lambda *_: threading.current_thread(), starts)
    assert (set(found) != {threading.current_thread()}) is elsewhere
