"""What is computed once for the release that is there, and forgotten when there is another one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class OfRelease(Generic[T]):
    """Something that belongs to one release; pages show it when it is ready.

    Parameters
    ----------
    make : callable
        Computes it; this may take a while.
    mark : callable
        By which the release that is there is recognized.
    """

    def __init__(self, make: Callable[[], T], mark: Callable[[], str]) -> None:
        self._make, self._mark = make, mark
        self._turn = threading.Lock()
        self._made: tuple[str, T] | None = None

    @property
    def ready(self) -> T | None:
        """What was computed for the release that is there; None if nothing was yet."""
        made = self._made
        return made[1] if made is not None and made[0] == self._mark() else None

    def prepare(self) -> T:
        """Compute it, unless that was done; two pages that ask for it wait for one computation."""
        with self._turn:
            found = self.ready
            if found is None:
                mark = self._mark()
                found = self._make()
                self._made = mark, found
            return found
