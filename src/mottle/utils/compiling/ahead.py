"""Compile the kernels of a run in several processes, from its beginning on.

Numba compiles a kernel when it is first called, one after the other. Which kernels a run will call
is known (`kernel_list`), so processes of their own compile them into the cache while the run
imports, reads and works. A kernel is compiled once all kernels that it calls are in the cache, by
one process only. Where the run itself calls a kernel that is not yet compiled, it compiles others
of the list until it is.

All of this is about time alone: a process that fails or is killed leaves its kernels to the others,
and what is not in the cache at last is compiled as ever.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import IO, Any

from numba.core import caching
from numba.core.registry import cpu_target

from mottle.utils.compiling.kernel_list import CompileList, key_of
from mottle.utils.compiling.processes import Helper, started
from mottle.utils.lean_process import is_own_process
from mottle.utils.parallel import thread_count

__all__ = ["compile_all", "compiled_ahead"]

_MOST_PROCESSES = 4  # more would wait for each other: kernels call kernels
_PATIENCE = 120.0  # seconds without a kernel from other processes; then it is compiled here


@contextmanager
def compiled_ahead(*runs: str) -> Iterator[None]:
    """Have the kernels of runs compiled by other processes if they are not in the cache.

    Parameters
    ----------
    *runs : str
        Names of runs in the list of kernels; of others nothing is known.

    Examples
    --------
    >>> with compiled_ahead("a run without a list"):
    ...     pass
    """
    processes = min(thread_count() - 1, _MOST_PROCESSES)
    kernels = CompileList.of(runs)
    if processes < 1 or _in_cache(kernels):
        yield
        return
    if is_own_process():
        cpu_target.target_context.refresh()  # what compiling needs, once for all copies of this one
    with Compilation(kernels, runs, processes).under_way():
        yield


def compile_all(*runs: str) -> None:
    """Compile all kernels of runs that are not in the cache, on all cores.

    Parameters
    ----------
    *runs : str
        Names of runs in the list of kernels.
    """
    kernels = CompileList.of(runs)
    processes = min(thread_count() - 1, _MOST_PROCESSES)
    compilation = Compilation(kernels, runs, processes)
    with compilation.under_way():
        for number in range(len(kernels.items)):
            compilation.wait_for(number)


def _in_cache(kernels: CompileList) -> bool:
    """Whether Python's own calls find compiled kernels, or there is no place for them."""
    for item in kernels.called_by_python():
        module, _, name = item.kernel.partition(":")
        with suppress(AttributeError):  # as Numba keeps them now; if it does not, nothing is done
            if module in sys.modules:
                index = getattr(sys.modules[module], name)._cache._cache_file
                if not index._load_index():
                    return False
    return True


class Compilation:
    """What of a list is compiled, what is under way, and the processes that compile it."""

    def __init__(self, kernels: CompileList, runs: Sequence[str], processes: int) -> None:
        self._kernels = kernels
        self._items = kernels.items
        self._number = {item.key: number for number, item in enumerate(self._items)}
        self._runs = runs
        self._processes = processes
        self._changed = threading.Condition()
        self._done: set[int] = set()
        self._begun: set[int] = set()  # also those that are done
        self._ended = False
        self._here = threading.local()

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Compile in other processes until the end of the block."""
        kept: Any = caching.Cache
        original = kept.load_overload

        def load_overload(cache: Any, signature: Any, context: Any) -> Any:
            """Load a kernel from the cache, when it is there if it is in the list."""
            found = original(cache, signature, context)
            if found is None and self._awaited(cache, signature):
                found = original(cache, signature, context)
            return found

        with ExitStack() as ending:
            for helper in self._start(ending):
                served = (helper.questions, helper.answers)
                threading.Thread(target=self._serve, args=served, daemon=True).start()
            kept.load_overload = load_overload
            try:
                yield
            finally:
                kept.load_overload = original
                with self._changed:
                    self._ended = True
                    self._changed.notify_all()

    def wait_for(self, number: int) -> None:
        """Wait until an item is compiled, and compile others meanwhile."""
        began = time.monotonic()
        while time.monotonic() - began < _PATIENCE:
            with self._changed:
                if number in self._done or self._ended:
                    return
                other = self._next()
                if other is None:
                    if self._changed.wait(_PATIENCE):
                        began = time.monotonic()
                    continue
            self._compile(other)
            began = time.monotonic()

    def _awaited(self, cache: Any, signature: Any) -> bool:
        """Wait for a kernel of the list; False if it is not in it, or this thread compiles it."""
        function = getattr(cache, "_py_func", None)
        key = None if function is None else key_of(function, signature)
        number = None if key is None else self._number.get(key)
        if number is None:
            return False
        if number == getattr(self._here, "number", None):
            return False
        self.wait_for(number)
        return True

    def _compile(self, number: int) -> None:
        """Compile an item in this thread, perhaps while another one of this thread waits."""
        before = getattr(self._here, "number", None)
        self._here.number = number
        try:
            with suppress(Exception):  # whoever calls it is told what is wrong
                self._items[number].compile()
        finally:
            self._here.number = before
            self._finish(number, done=True)

    def _finish(self, number: int, *, done: bool) -> None:
        """State that an item is compiled, or is left to others."""
        with self._changed:
            if done:
                self._done.add(number)
            else:
                self._begun.discard(number)
            self._changed.notify_all()

    def _next(self) -> int | None:
        """Begin the item whose dependents take longest, of those that can be compiled now."""
        busy = {self._items[number].kernel for number in self._begun - self._done}
        ready = [
            number
            for number, item in enumerate(self._items)
            if number not in self._begun
            and item.kernel not in busy  # two processes would overwrite each other's index
            and self._done.issuperset(item.calls)
        ]
        if not ready:
            return None
        chosen = max(ready, key=lambda number: self._items[number].path)
        self._begun.add(chosen)
        return chosen

    def _start(self, ending: ExitStack) -> list[Helper]:
        """Start the processes that compile, all before there is another thread here."""
        helpers: list[Helper] = []
        with suppress(OSError):
            for _ in range(self._processes):
                helpers.append(started(self._kernels, self._runs))
                ending.callback(helpers[-1].end)
        return helpers

    def _serve(self, questions: IO[str], answers: IO[str]) -> None:
        """Let a process compile one item after the other, as long as it lives."""
        while True:
            with self._changed:
                number = None
                while number is None:
                    if self._ended or len(self._begun) == len(self._items):
                        return
                    number = self._next()
                    if number is None:
                        self._changed.wait()
            answered = False
            try:
                with suppress(OSError, ValueError):  # it has ended
                    questions.write(f"{number}\n")
                    questions.flush()
                    answered = answers.readline().strip() == str(number)
            finally:
                self._finish(number, done=answered)
            if not answered:
                return
