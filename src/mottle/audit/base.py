"""The registry of adversaries: what each assumes, and the function that plays it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mottle.audit.report import Outcome
from mottle.audit.view import Evidence, View
from mottle.errors import UsageError
from mottle.utils.registry import Registry

Play = Callable[[View, Evidence], Iterator[Outcome]]


@dataclass(frozen=True)
class Adversary:
    """A registered adversary."""

    name: str
    title: str  # one line for people
    assumes: str  # what the adversary knows
    play: Play


ADVERSARIES: Registry[Adversary] = Registry("adversary", "mottle.audit.adversaries")


def register(name: str, *, title: str, assumes: str) -> Callable[[Play], Play]:
    """Make the decorated function an adversary of every audit.

    The function gets the `View` of an adversary who knows everybody and the owner's `Evidence`. It
    works from the view alone; the evidence is for judging what came of it.
    """

    def add(play: Play) -> Play:
        ADVERSARIES.add(Adversary(name, title, assumes, play))
        return play

    return add


def registered() -> dict[str, Adversary]:
    """All adversaries by name."""
    return dict(ADVERSARIES)


def chosen(names: Sequence[str] | None) -> list[Adversary]:
    """The adversaries of the given names, or all."""
    if names is None:
        return list(ADVERSARIES.values())
    if isinstance(names, str):
        raise UsageError("The adversaries must be a list, not a text.", "Write [NAME].")
    return [ADVERSARIES.get_named(name) for name in names]
