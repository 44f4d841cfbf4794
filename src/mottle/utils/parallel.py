"""Parallel work on threads: kernels that release the GIL, run on ranges of rows or blocks.

Python threads are used instead of Numba's `prange`: kernels compile in a fraction of the time, no
particular threading layer is needed, and between two ranges the program can show progress or be
interrupted.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["in_turn", "over_blocks", "over_rows", "thread_count"]

Item = TypeVar("Item")
Result = TypeVar("Result")

_RANGES_PER_THREAD = 4
_FEWEST_ROWS = 200  # in all blocks; starting threads takes longer than the work on fewer


def thread_count() -> int:
    """Return the number of threads to use.

    Returns
    -------
    int
        The cores that this process may use, unless ``MOTTLE_THREADS`` sets another number.
    """
    requested = os.environ.get("MOTTLE_THREADS", "")
    if requested.isdecimal() and int(requested) > 0:
        return int(requested)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def over_rows(work: Callable[[int, int], Result], rows: int) -> list[Result]:
    """Call ``work(first, last)`` on ranges that cover ``0 .. rows``.

    Parameters
    ----------
    work : callable
        Takes the first row of a range and the row after its last one.
    rows : int
        Number of rows.

    Returns
    -------
    list
        The results, in the order of the ranges.

    Examples
    --------
    >>> sum(over_rows(lambda first, last: last - first, 1000))
    1000
    """
    parts = min(max(rows // 4096, 1), thread_count() * _RANGES_PER_THREAD)
    bounds = np.linspace(0, rows, parts + 1).astype(np.int64)
    return _run(work, bounds, thread_count())


def over_blocks(
    work: Callable[[int, int], Result],
    starts: NDArray[np.int64],
    rows_at_once: int | None = None,
) -> list[Result]:
    """Call ``work(first, last)`` on ranges of blocks that hold about equally many rows.

    Parameters
    ----------
    work : callable
        Takes the first block of a range and the block after its last one.
    starts : int64 array of shape (blocks + 1,)
        The first row of each block, and the number of rows.
    rows_at_once : int, optional
        About how many rows a range has at most, so that long work notices a time limit or Ctrl-C
        soon.

    Returns
    -------
    list
        The results, in the order of the ranges.
    """
    threads = thread_count() if starts[-1] >= _FEWEST_ROWS else 1
    parts = threads * _RANGES_PER_THREAD
    if rows_at_once is not None:
        parts = max(parts, int(starts[-1]) // rows_at_once)
    targets = np.linspace(0, starts[-1], parts + 1)
    bounds = np.unique(np.searchsorted(starts, targets))
    return _run(work, bounds.astype(np.int64), threads)


def in_turn(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Call ``work`` on every item, ahead of the consumer by a few items only.

    Parameters
    ----------
    work : callable
        Takes one item.
    items : iterable
        The items; they are taken as they are needed.

    Yields
    ------
    object
        The results, in the order of the items.

    Examples
    --------
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


def _run(
    work: Callable[[int, int], Result], bounds: NDArray[np.int64], threads: int
) -> list[Result]:
    def ranges() -> Iterator[tuple[int, int]]:
        return zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)

    if len(bounds) <= 2 or threads == 1:
        return [work(first, last) for first, last in ranges()]
    pool = ThreadPoolExecutor(threads)
    try:
        return list(pool.map(lambda bound: work(*bound), ranges()))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
