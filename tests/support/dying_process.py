"""A process that dies at a chosen one of its calls that change the disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

CALLS = ("replace", "rename", "link", "mkdir", "unlink", "remove", "rmdir", "fsync", "chmod")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Killed(BaseException):
    """Raised instead of ending the process; nothing can be written after it."""


class Dying:
    """Counts calls that change the disk; from number ``at`` on, none of them has any effect."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.calls = 0

    @property
    def dead(self) -> bool:
        return self.calls >= self.at

    def step(self) -> None:
        self.calls += 1
        if self.dead:
            raise Killed

    def wrapped(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapping(*arguments: Any, **options: Any) -> Any:
            self.step()
            return call(*arguments, **options)

        return wrapping

    def opening(self, call: Callable[..., int]) -> Callable[..., int]:
        def wrapping(path: Any, flags: int, *arguments: Any, **options: Any) -> int:
            if flags & _WRITING:
                self.step()
            return call(path, flags, *arguments, **options)

        return wrapping


@contextmanager
def dying_at(at: int, counter: Dying | None = None) -> Iterator[Dying]:
    """Let the process die at call number ``at``, if it comes so far; yields the counter."""
    dying = counter or Dying(at)
    before = {name: getattr(os, name) for name in (*CALLS, "open")}
    for name in CALLS:
        setattr(os, name, dying.wrapped(before[name]))
    os.open = dying.opening(before["open"])  # type: ignore[assignment]
    try:
        yield dying
    except Killed:
        pass
    finally:
        for name, call in before.items():
            setattr(os, name, call)


def every_death(action: Callable[[], object], first: int = 1, step: int = 1) -> Iterator[int]:
    """Let ``action`` die at every call in turn; yields after each death, until it survives."""
    at = first
    while True:
        with dying_at(at) as dying:
            action()
        if not dying.dead:
            return
        yield at
        at += step
