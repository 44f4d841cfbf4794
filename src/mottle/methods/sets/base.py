"""The registry of methods for sets: what each gives, its paper and its cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mottle.errors import UsageError
from mottle.guarantees.base import Guarantee, check_is_guarantee, met_by
from mottle.guarantees.capability import Capability
from mottle.guarantees.decisions import DecidesBy, check_declared
from mottle.guarantees.demand import Demand
from mottle.itemsets.data import Sets
from mottle.methods.base import Arrangement, MethodContext
from mottle.methods.options import MethodOption, check_options
from mottle.utils.registry import Registry

Arrange = Callable[[Sets, Demand, MethodContext], Arrangement]


@dataclass(frozen=True)
class SetMethod:
    """A registered method."""

    name: str
    title: str  # one line for people who do not know the paper
    paper: str  # short name, as in docs/papers.md
    offers: Capability  # what guarantees may require of it
    cost: str  # time and memory, in the symbols n, k, and s for items per record
    arrange: Arrange
    # Whether it follows its paper although that leaks; it then runs only with
    # ``unsafe_paper_randomization``.
    unsafe: bool = False
    # What its decisions depend on when labels are capped; otherwise all decide by sets alone.
    decides_by: DecidesBy = DecidesBy.QUASI_IDENTIFIERS
    mixed_decision: str = ""  # the decision that depends on sets and labels together, if any
    options: tuple[MethodOption[Any], ...] = ()  # constants that users may set

    def __post_init__(self) -> None:
        check_declared(self.name, self.offers, self.decides_by, self.mixed_decision)

    @property
    def guarantees(self) -> tuple[type[Guarantee], ...]:
        """The single guarantees that the method can give."""
        return met_by(self.offers)

    def gives(self, guarantee: Guarantee) -> bool:
        """Tell whether the method can give every part of ``guarantee``.

        Parameters
        ----------
        guarantee : Guarantee
            What is to be promised.

        Returns
        -------
        bool
            Whether the method offers what the guarantee requires; see `Guarantee.met_by`.
        """
        return guarantee.met_by(self.offers)

    def check_options(self, given: Mapping[str, object]) -> dict[str, int | float | str]:
        """Check values for the options of the method.

        Parameters
        ----------
        given : mapping of str to object
            As for `mottle.methods.Method.check_options`.

        Returns
        -------
        dict
            The same values in their types.

        Raises
        ------
        UsageError
            There is no option of a name, or a value is not allowed.
        """
        return check_options(self.name, self.options, given)


METHODS: Registry[SetMethod] = Registry(
    "method for sets", "mottle.methods.sets", group="mottle.methods.sets"
)


def register(
    name: str,
    *,
    title: str,
    paper: str,
    offers: Capability,
    cost: str,
    unsafe: bool = False,
    decides_by: DecidesBy = DecidesBy.QUASI_IDENTIFIERS,
    mixed_decision: str = "",
    options: tuple[MethodOption[Any], ...] = (),
) -> Callable[[Arrange], Arrange]:
    """Make the decorated function available as a method for sets.

    Parameters
    ----------
    name : str
        As for `mottle.methods.base.register`.
    title : str
        As for `mottle.methods.base.register`.
    paper : str
        As for `mottle.methods.base.register`.
    offers : Capability
        As for `mottle.methods.base.register`.
    cost : str
        As for `mottle.methods.base.register`; s is the number of items per record.
    unsafe : bool
        Whether it follows its paper although that leaks; it then runs only with
        ``unsafe_paper_randomization``.
    decides_by : DecidesBy
        As for `mottle.methods.base.register`; the items are the quasi-identifiers.
    mixed_decision : str
        As for `mottle.methods.base.register`.
    options : tuple of MethodOption
        As for `mottle.methods.base.register`.

    Returns
    -------
    callable
        The decorator.
    """

    def add(arrange: Arrange) -> Arrange:
        METHODS.add(
            SetMethod(
                name,
                title,
                paper,
                offers,
                cost,
                arrange,
                unsafe,
                decides_by,
                mixed_decision,
                options,
            )
        )
        return arrange

    return add


def registered() -> dict[str, SetMethod]:
    """Return all methods for sets by name."""
    return dict(METHODS)


def method_for(name: object, guarantee: object) -> SetMethod:
    """Look up a method that can give a guarantee.

    Parameters
    ----------
    name : str
        The name of the method.
    guarantee : Guarantee
        What is to be promised.

    Returns
    -------
    SetMethod
        The method of that name.

    Raises
    ------
    UsageError
        There is no such method, it cannot give the guarantee, or ``guarantee`` is not one.
    """
    guarantee = check_is_guarantee(guarantee)
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
