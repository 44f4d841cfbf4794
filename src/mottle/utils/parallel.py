"""Work shared out over the cores: kernels that release the GIL, run on ranges of rows or blocks.

Threads of our own instead of `prange`: kernels compile in a fraction of the time, any threading
layer does, and between two ranges the program can show progress or be interrupted.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Item = TypeVar("Item")
Result = TypeVar("Result")

_RANGES_PER_THREAD = 4


def thread_count() -> int:
    """Cores this process may use; ``MOTTLE_THREADS`` overrides."""
    asked = os.environ.get("MOTTLE_THREADS", "")
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def over_rows(work: Callable[[int, int], Result], rows: int) -> list[Result]:
    """Call ``work(first, last)`` on ranges that cover ``0 .. rows``; results in order.

    >>> sum(over_rows(lambda first, last: last - first, 1000))
    1000
    """
    parts = min(max(rows // 4096, 1), thread_count() * _RANGES_PER_THREAD)
    bounds = np.linspace(0, rows, parts + 1).astype(np.int64)
    return _run(work, bounds)


def over_blocks(
    work: Callable[[int, int], Result],
    starts: NDArray[np.int64],
    rows_at_once: int | None = None,
) -> list[Result]:
    """Call ``work(first, last)`` on ranges of blocks that hold about equally many rows.

    With ``rows_at_once`` there are as many ranges as it takes to keep them about that small, so
    that long work notices a time limit or Ctrl-C soon.
    """
    parts = thread_count() * _RANGES_PER_THREAD
    if rows_at_once is not None:
        parts = max(parts, int(starts[-1]) // rows_at_once)
    targets = np.linspace(0, starts[-1], parts + 1)
    bounds = np.unique(np.searchsorted(starts, targets))
    return _run(work, bounds.astype(np.int64))


def in_turn(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Call ``work`` on every item; results in order, few of which wait to be taken.

    >>> list(in_turn(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    threads = thread_count()
    if threads == 1:
        yield from map(work, items)
        return
    waiting: deque[Future[Result]] = deque()
    pool = ThreadPoolExecutor(threads)
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _run(work: Callable[[int, int], Result], bounds: NDArray[np.int64]) -> list[Result]:
    def ranges() -> Iterator[tuple[int, int]]:
        return zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)

    if len(bounds) <= 2 or thread_count() == 1:
        return [work(first, last) for first, last in ranges()]
    pool = ThreadPoolExecutor(thread_count())
    try:
        return list(pool.map(lambda bound: work(*bound), ranges()))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
