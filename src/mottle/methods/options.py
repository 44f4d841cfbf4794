"""Options of methods: the constants of the papers' algorithms, declared where they are registered.

A method declares an option once (`MethodOption`), lists it in its registration, and reads it with
`MethodContext.option`. Values come from ``--set NAME=VALUE`` or from ``anonymize(options={…})`` and
are checked against the declaration before anything is run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from numbers import Integral, Real
from typing import Any, Generic, TypeVar

from mottle.errors import UsageError, did_you_mean

Value = TypeVar("Value", int, float, str)


@dataclass(frozen=True)
class MethodOption(Generic[Value]):
    """A constant of a method that users may set; its type is that of the default.

    Parameters
    ----------
    name : str
        How it is written: ``--set NAME=VALUE``.
    default : int, float or str
        The value without the option.
    help : str
        One line for people.
    least : float
        The smallest number that is allowed.
    most : float
        The largest number that is allowed.
    choices : sequence of str
        The words that are allowed, for a text.

    Examples
    --------
    >>> bits = MethodOption("bits", 12, "bits per dimension", least=1, most=31)
    >>> bits.parse("8"), bits.allowed
    (8, 'a whole number from 1 to 31')
    >>> MethodOption("passes", 10, "most passes", least=1, most=1e6).allowed
    'a whole number from 1 to 1,000,000'
    >>> bits.parse("40")
    Traceback (most recent call last):
    mottle.errors.UsageError: The option 'bits' must be a whole number from 1 to 31.
    """

    name: str
    default: Value
    help: str
    least: float = -inf
    most: float = inf
    choices: tuple[str, ...] = ()

    @property
    def allowed(self) -> str:
        """The values that are allowed, in words."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        kind = "a whole number" if isinstance(self.default, int) else "a number"
        lower = f" from {self.least:,.12g}" if isfinite(self.least) else ""
        return kind + lower + (f" to {self.most:,.12g}" if isfinite(self.most) else "")

    def parse(self, given: object) -> Value:
        """Return a value as the option's type.

        Parameters
        ----------
        given : object
            A number, or text as it is typed on the command line.

        Returns
        -------
        int, float or str
            The value.

        Raises
        ------
        UsageError
            The value is not allowed.
        """
        value = _converted(given, type(self.default))
        if isinstance(value, str):
            fits = value in self.choices
        else:
            fits = value is not None and self.least <= value <= self.most and isfinite(value)
        if not fits:
            raise UsageError(f"The option '{self.name}' must be {self.allowed}.")
        return value  # type: ignore[return-value]  # of the default's type, as `_converted` says


def _converted(given: object, kind: type[Any]) -> int | float | str | None:
    """The value in a type; None if it has none in it."""
    if isinstance(given, bool):
        return None
    if kind is str:
        return given if isinstance(given, str) else ""
    try:
        if isinstance(given, str):
            return int(given) if kind is int else float(given)
        if kind is int:
            return int(given) if isinstance(given, Integral) else None
        return float(given) if isinstance(given, Real) else None
    except ValueError:
        return None


def check_options(
    method: str, declared: Sequence[MethodOption[Any]], given: Mapping[str, object]
) -> dict[str, int | float | str]:
    """Check the options that are given to a method.

    Parameters
    ----------
    method : str
        The name of the method, for messages.
    declared : sequence of MethodOption
        The options that it has.
    given : mapping of str to object
        Values by name.

    Returns
    -------
    dict
        The same values in their types.

    Raises
    ------
    UsageError
        The method has no option of a name, or a value is not allowed.
    """
    known = {option.name: option for option in declared}
    checked: dict[str, int | float | str] = {}
    for name, value in given.items():
        if name not in known:
            raise UsageError(
                f"Method '{method}' has no option '{name}'.",
                did_you_mean(name, list(known))
                if known
                else f"It has none: see 'mottle methods {method}'.",
            )
        checked[name] = known[name].parse(value)
    return checked
