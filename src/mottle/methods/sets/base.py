"""The registry of methods for sets: what each gives, where it comes from and what it costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mottle.errors import UsageError
from mottle.guarantees.base import Guarantee
from mottle.guarantees.demand import Demand
from mottle.guarantees.k_anonymity import KAnonymity
from mottle.itemsets.data import Sets
from mottle.methods.base import Arrangement, MethodContext
from mottle.utils.registry import Registry

Arrange = Callable[[Sets, Demand, MethodContext], Arrangement]


@dataclass(frozen=True)
class SetMethod:
    """A registered method."""

    name: str
    title: str  # one line for people who do not know the paper
    paper: str  # short name, as in docs/papers.md
    guarantees: tuple[type, ...]  # what it can give
    cost: str  # time and memory, in the symbols n, k, and s for items per record
    arrange: Arrange
    unsafe: bool = False  # keeps to its paper where that leaks; runs only when asked for by name

    def gives(self, guarantee: Guarantee) -> bool:
        """Whether the method can give every part of ``guarantee``.

        Whoever gives a sensitive guarantee minds the least degree too: k-anonymity comes along.
        """
        others = [part for part in guarantee.parts if not isinstance(part, KAnonymity)]
        return all(isinstance(part, self.guarantees) for part in others or guarantee.parts)


METHODS: Registry[SetMethod] = Registry("method for sets", "mottle.methods.sets")


def register(
    name: str,
    *,
    title: str,
    paper: str,
    guarantees: tuple[type, ...],
    cost: str,
    unsafe: bool = False,
) -> Callable[[Arrange], Arrange]:
    """Make the decorated function available as method ``name``."""

    def add(arrange: Arrange) -> Arrange:
        METHODS.add(SetMethod(name, title, paper, guarantees, cost, arrange, unsafe))
        return arrange

    return add


def registered() -> dict[str, SetMethod]:
    """All methods by name."""
    return dict(METHODS)


def method_for(name: object, guarantee: object) -> SetMethod:
    """The method of that name, or `UsageError` when there is none or it cannot give that."""
    if not isinstance(guarantee, Guarantee):
        raise UsageError(
            f"A {type(guarantee).__name__} is not a guarantee.",
            "Write for instance KAnonymity(10) or LDiversity(3).",
        )
    chosen = METHODS.get_named(name)
    if not chosen.gives(guarantee):
        able = [
            other.name
            for other in registered().values()
            if other.gives(guarantee) and not other.unsafe
        ]
        raise UsageError(
            f"Method '{name}' does not give {guarantee.describe()['name']} for sets.",
            f"Methods that do: {', '.join(able) or 'none'}.",
        )
    return chosen
