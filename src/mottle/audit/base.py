"""The registry of adversaries: what each assumes, and the function that plays it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mottle.audit.report import Outcome
from mottle.errors import UsageError
from mottle.utils.registry import Registry

if TYPE_CHECKING:  # the registry alone is read by runs that play nobody
    from mottle.audit.view import Evidence, View

    PlayFunction = Callable[[View, Evidence], Iterator[Outcome]]

SECONDS = 10.0  # of an adversary that does not say how long it takes


@dataclass(frozen=True)
class Adversary:
    """A registered adversary.

    Attributes
    ----------
    name : str
        The name under which it is selected.
    title : str
        What it does, in one line for people.
    assumes : str
        What the adversary is assumed to know.
    play : callable
        The function that plays it: takes a `View` and the owner's `Evidence`, yields `Outcome`.
    judged : bool
        Whether guarantees are about what it does. Certificates do not name the others: that a
        guarantee held says nothing about them.
    seconds : float
        About how long playing it takes for a million people, where it can be played: progress is
        estimated by it.
    """

    name: str
    title: str
    assumes: str
    play: PlayFunction
    judged: bool = True
    seconds: float = SECONDS


ADVERSARIES: Registry[Adversary] = Registry(
    "adversary", "mottle.audit.adversaries", group="mottle.audit.adversaries"
)


def register(
    name: str, *, title: str, assumes: str, judged: bool = True, seconds: float = SECONDS
) -> Callable[[PlayFunction], PlayFunction]:
    """Make the decorated function an adversary of every audit.

    The function receives the `View` of an adversary who knows everybody's quasi-identifiers, and
    the owner's `Evidence`. It must work from the view alone; the evidence serves only to judge the
    result. Its outcomes are the owner's alone unless they are declared `Outcome.public`.

    Parameters
    ----------
    name : str
        The name under which the adversary is selected.
    title : str
        What it does, in one line for people.
    assumes : str
        What the adversary is assumed to know.
    judged : bool
        False if no guarantee is about what the adversary does; its outcomes have no verdict.
    seconds : float
        About how long playing it takes for a million people, for estimates of the time left.

    Returns
    -------
    callable
        A decorator that registers the function and returns it unchanged.
    """

    def add(play: PlayFunction) -> PlayFunction:
        ADVERSARIES.add(Adversary(name, title, assumes, play, judged, seconds))
        return play

    return add


def registered() -> dict[str, Adversary]:
    """Return all adversaries by name.

    Returns
    -------
    dict of str to Adversary
        Sorted by name.
    """
    return dict(ADVERSARIES)


def select_adversaries(names: Sequence[str] | None) -> list[Adversary]:
    """Return the adversaries of the given names, or all of them."""
    if names is None:
        return list(ADVERSARIES.values())
    if isinstance(names, str):
        raise UsageError("The adversaries must be a list, not a text.", "Write [NAME].")
    return [ADVERSARIES.get_named(name) for name in names]
