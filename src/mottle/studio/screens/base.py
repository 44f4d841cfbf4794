"""What a screen of the studio is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from mottle.errors import MottleError, UsageError
from mottle.studio.state import Studio

Action = Callable[[Studio, Mapping[str, Any]], Awaitable[dict[str, Any]]]


class Mark(StrEnum):
    """How far a step is."""

    DONE = "done"
    OPEN = "open"
    INVALID = "invalid"

    @property
    def icon(self) -> str:
        """A sign for it."""
        return {Mark.DONE: "✓", Mark.OPEN: "○", Mark.INVALID: "✗"}[self]


@dataclass(frozen=True)
class Screen:
    """One step of the work: a page and what can be done on it."""

    name: str  # in its address, and of its template
    title: str
    measure: Callable[[Studio], Mark]  # may raise a MottleError, which marks it invalid
    content: Callable[[Studio], dict[str, Any]]  # what its template shows
    actions: Mapping[str, Action] = field(default_factory=dict)

    def mark(self, studio: Studio) -> Mark:
        """How far the step is."""
        try:
            return self.measure(studio)
        except MottleError:
            return Mark.INVALID


def text_of(body: Mapping[str, Any], name: str) -> str:
    """An entry of a request that has to be text."""
    value = body.get(name)
    if not isinstance(value, str):
        raise UsageError("The request is not complete.", "Load the page again.")
    return value


def number_of(body: Mapping[str, Any], name: str) -> int:
    """An entry of a request that has to be a whole number of 0 or more."""
    value = body.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise UsageError("The request is not complete.", "Load the page again.")
    return value
