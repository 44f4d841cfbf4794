"""The registry of adversaries: what each assumes, and the function that plays it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mottle.audit._evidence import Evidence, View
from mottle.audit._report import Outcome
from mottle.errors import UsageError, did_you_mean

Play = Callable[[View, Evidence], Iterator[Outcome]]

_ADVERSARIES: dict[str, Adversary] = {}


@dataclass(frozen=True)
class Adversary:
    """A registered adversary."""

    name: str
    title: str  # one line for people
    assumes: str  # what the adversary knows
    play: Play


def register(name: str, *, title: str, assumes: str) -> Callable[[Play], Play]:
    """Make the decorated function an adversary of every audit.

    The function gets the `View` of an adversary who knows everybody and the owner's `Evidence`. It
    works from the view alone; the evidence is for judging what came of it.
    """

    def add(play: Play) -> Play:
        if name in _ADVERSARIES:
            raise ValueError(f"adversary {name} is registered twice")
        _ADVERSARIES[name] = Adversary(name, title, assumes, play)
        return play

    return add


def registered() -> dict[str, Adversary]:
    """All adversaries by name."""
    return dict(sorted(_ADVERSARIES.items()))


def chosen(names: Sequence[str] | None) -> list[Adversary]:
    """The adversaries of the given names, or all."""
    known = registered()
    if names is None:
        return list(known.values())
    if isinstance(names, str):
        raise UsageError("The adversaries must be a list, not a text.", "Write [NAME].")
    for name in names:
        if name not in known:
            raise UsageError(f"There is no adversary '{name}'.", did_you_mean(str(name), known))
    return [known[name] for name in names]
