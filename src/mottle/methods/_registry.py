"""The registry of methods: what each gives, where it comes from and what it costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from mottle.coding import Codes
from mottle.errors import UsageError
from mottle.graph import Graph
from mottle.guarantees import KAnonymity


@dataclass(frozen=True)
class Effort:
    """How long a method may improve its graph, and whom it tells of its progress."""

    seconds: float | None = None  # None: until it is no longer worth it
    seed: int = 0  # for choices that do not matter to privacy, such as the order of improvements
    tell: Callable[[float], None] = field(default=lambda _: None)  # called with the loss so far


@dataclass(frozen=True)
class Arrangement:
    """What a method returns: a graph, and what the certificate should say about its making."""

    graph: Graph
    facts: Mapping[str, object] = field(default_factory=dict)


Arrange = Callable[[Codes, KAnonymity, Effort], Arrangement]

_METHODS: dict[str, Method] = {}


@dataclass(frozen=True)
class Method:
    """A registered method."""

    name: str
    title: str  # one line for people who do not know the paper
    paper: str  # short name, as in docs/papers.md
    guarantees: tuple[type, ...]  # what it can give
    cost: str  # time and memory, in the symbols n, k, d
    arrange: Arrange

    def check_gives(self, guarantee: object) -> None:
        """Raise `UsageError` when the method cannot give ``guarantee``."""
        if not isinstance(guarantee, self.guarantees):
            able = [
                name
                for name, other in registered().items()
                if isinstance(guarantee, other.guarantees)
            ]
            raise UsageError(
                f"Method '{self.name}' does not give {type(guarantee).__name__}.",
                f"Methods that do: {', '.join(able) or 'none yet'}.",
            )


def register(
    name: str, *, title: str, paper: str, guarantees: tuple[type, ...], cost: str
) -> Callable[[Arrange], Arrange]:
    """Make the decorated function available as method ``name``."""

    def add(arrange: Arrange) -> Arrange:
        if name in _METHODS:
            raise ValueError(f"method {name} is registered twice")
        _METHODS[name] = Method(name, title, paper, guarantees, cost, arrange)
        return arrange

    return add


def registered() -> dict[str, Method]:
    """All methods by name."""
    return dict(sorted(_METHODS.items()))
